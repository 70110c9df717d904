import type { TObject, TSchema } from '@sinclair/typebox'
import { listFields, withoutNull } from '../family/fields.js'
import type { Params } from '../family/params.js'
import { readValue } from '../query/values.js'
import type { Field } from '../storage/storage.js'
import type { Members } from '../values/json.js'
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
      : optional ? undefined : makeSample(schema.properties[name] as TSchema))
    if (value !== undefined) members[name] = value
  }
  return members
}

function readEntered (field: Field, text: string): unknown {
  const read = readValue(field, text)
  return 'value' in read ? read.value : undefined
}

/** A value that a schema allows, as far as that can be seen from it. */
function makeSample (schema: TSchema): unknown {
  const { examples, default: value, const: literal, enum: values, anyOf, ...plain } = withoutNull(schema)
  const given = [...examples ?? [], value, literal, ...values ?? []].find(each => each !== undefined)
  if (given !== undefined) return given
  if (anyOf?.[0] !== undefined) return makeSample(anyOf[0] as TSchema)
  switch (plain.type) {
    case 'boolean': return true
    case 'integer': case 'number': return makeNumber(plain as TSchema)
    case 'string': return makeText(plain as TSchema)
    case 'array': return []
    case 'object': return listMembers({ schema: plain as TObject, isPartial: false } as Params)
    default: return null
  }
}

function makeNumber ({ minimum, exclusiveMinimum, maximum, multipleOf = 1 }: TSchema): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : Number(exclusiveMinimum) + multipleOf)
  return Math.min(Math.max(least ?? multipleOf, multipleOf), maximum ?? Infinity)
}

const texts: Readonly<Record<string, string>> = {
  date: '2027-03-31',
  'date-time': '2027-03-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'ann@example.com',
  uri: 'https://example.com/',
  uuid: '0197c1f0-0000-7000-8000-000000000000'
}

function makeText ({ format, description = 'Any text', minLength = 0, maxLength = Infinity }: TSchema): string {
  const text = texts[format ?? ''] ?? description
  return [...text.padEnd(minLength, '.')].slice(0, maxLength).join('')
}
