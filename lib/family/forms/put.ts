import type { Endpoint } from '../../http/routes.js'
import { answerItem } from '../write/answers.js'
import { describeAttributes, describePut } from '../openapi/writes.js'
import type { Mount } from '../mount/mount.js'
import { bodyOf } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'
import { attributeReader } from './attributes.js'
import { updateReader } from './update.js'

/** `PUT …/{id}`: the form `update` where the body has an action, else the form `attributes`, which `PATCH` also speaks. */
export function putEndpoints (mount: Mount): Endpoint[] {
  const path = `${mount.home}/:id`
  const update = mount.forms.has('update') ? updateReader(mount) : undefined
  const attributes = mount.forms.has('attributes') ? attributeReader(mount) : undefined
  const endpoints: Endpoint[] = []
  const either = update ?? attributes
  if (either !== undefined) {
    endpoints.push({
      method: 'PUT',
      path,
      schema: describePut(mount),
      handler: writeHandler(mount, {
        read: request => (Object.hasOwn(bodyOf(request), 'action') ? update ?? either : attributes ?? either)(request),
        answer: answerItem
      })
    })
  }
  if (attributes !== undefined) {
    endpoints.push({ method: 'PATCH', path, schema: describeAttributes(mount), handler: writeHandler(mount, { read: attributes, answer: answerItem }) })
  }
  return endpoints
}
