import type { Params } from '../../core/family/params.js'
import { hashText } from '../../core/values/ids.js'
import { measureAll } from '../../core/values/json.js'
import type { SampleRequest } from '../../representations/item-view.js'
import type { Exchange } from '../mount.js'
import type { Saying } from '../requests.js'
import { makeSampleParams } from './sample-params.js'

// What is longer nobody copies from a page, which would have it once for every form.
const maxLength = 5000

/**
 * The requests that do what the button of a form does, in every form that is mounted; the first does it as the button.
 *
 * @param key of the form, so that ids of commands are others for every form
 */
export function listRequests (
  { mount: { requestWriters, preconditions }, request }: Exchange,
  { operation, item }: Pick<Saying, 'operation' | 'item'>,
  { params: expected, entered, key }: { params: Params, entered: ReadonlyMap<string, string> | undefined, key: string }
): SampleRequest[] {
  const params = makeSampleParams(expected, entered, item)
  if (params === undefined || measureAll([params]) > maxLength) return []
  const command = hashText(`${operation?.name ?? 'create'} ${key}`).slice(0, 22)
  const condition: Record<string, string> = item === undefined || preconditions === 'optional'
    ? {}
    : { 'if-match': `"${item.revision}"` }
  return [...requestWriters].flatMap(([form, write]) => {
    const written = write(request, { operation, item, params, command })
    if (written === undefined) return []
    const { body, type = 'application/json', ...line } = written
    // No bytes are the empty object.
    if (body === undefined || Object.keys(body).length === 0) return [{ form, ...line, headers: condition }]
    return [{ form, ...line, headers: { 'content-type': type, ...condition }, body }]
  })
}
