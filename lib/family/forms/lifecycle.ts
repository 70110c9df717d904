import type { Endpoint } from '../../http/routes.js'
import { answerCreated, answerDeleted } from '../write/answers.js'
import { describeCreate, describeDelete } from '../openapi/writes.js'
import type { Lifecycle } from '../model/family.js'
import type { Mount } from '../mount/mount.js'
import { targetOfPath } from '../mount/paths.js'
import { bodyOf, keyOf, readSent, sentOf } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'

/** `POST` on the collection creates, `DELETE` on an item deletes it. */
export function lifecycleEndpoints (mount: Mount, { createAction, deletion, params }: Lifecycle): Endpoint[] {
  return [
    {
      method: 'POST',
      path: mount.home,
      schema: describeCreate(mount),
      handler: writeHandler(mount, {
        read: request => ({ action: createAction, target: undefined, params: readSent(params, sentOf(request)), key: keyOf(request) }),
        answer: answerCreated
      })
    },
    {
      method: 'DELETE',
      path: `${mount.home}/:id`,
      schema: describeDelete(mount),
      handler: writeHandler(mount, {
        read: request => ({ action: deletion.operation.action, target: targetOfPath(mount, request), params: readSent(deletion.params, bodyOf(request)) }),
        answer: answerDeleted
      })
    }
  ]
}
