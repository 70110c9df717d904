import type { TSchema } from '@sinclair/typebox'
import { listFields } from '../../core/family/fields.js'
import type { Params } from '../../core/family/params.js'
import { readValue } from '../../core/query/values.js'
import type { Field } from '../../core/storage/storage.js'
import { makeExample } from '../../core/values/example.js'
import type { Members } from '../../core/values/json.js'
import { isText } from './form-fields.js'

/**
 * Parameters as somebody could send them: what was entered, what the item has where it is changed plainly, and
 * otherwise something that the schema allows. Undefined where nothing is found that it does.
 */
export function makeSampleParams (
  params: Params,
  entered: ReadonlyMap<string, string> | undefined,
  item: Members | undefined
): Members | undefined {
  const read = params.read(listMembers(params, entered, item))
  return 'params' in read ? read.params : undefined
}

function listMembers ({ schema, isPartial }: Params, entered?: ReadonlyMap<string, string>, item?: Members): Members {
  const members: Record<string, unknown> = {}
  for (const field of listFields(schema)) {
    const { name, optional } = field
    const text = entered?.get(name)
    const typed = text === undefined || text === '' ? undefined : readEntered(field, text)
    const value = typed ?? (isPartial
      ? isText(field) ? item?.[name] : undefined
      : optional ? undefined : makeExample(schema.properties[name] as TSchema))
    if (value !== undefined) members[name] = value
  }
  return members
}

function readEntered (field: Field, text: string): unknown {
  const read = readValue(field, text)
  return 'value' in read ? read.value : undefined
}
