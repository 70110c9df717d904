import { Type } from '@sinclair/typebox'
import { readIdempotencyKey } from '../../http/idempotency.js'
import type { Endpoint } from '../../http/routes.js'
import { answerCreated, answerDeleted } from '../write/answers.js'
import { describeCreate, describeDelete } from '../openapi/writes.js'
import type { Lifecycle } from '../model/family.js'
import type { Mount } from '../mount/mount.js'
import { compileParams } from '../model/params.js'
import { targetOfPath } from '../mount/paths.js'
import { bodyOf, readSent } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'

/** `POST` on the collection creates, `DELETE` on an item deletes it. */
export function lifecycleEndpoints (mount: Mount, { createAction, deleteAction, params }: Lifecycle): Endpoint[] {
  return [
    {
      method: 'POST',
      path: mount.home,
      schema: describeCreate(mount),
      handler: writeHandler(mount, {
        read: request => ({ action: createAction, target: undefined, params: readSent(params, bodyOf(request)), key: readIdempotencyKey(request.headers) }),
        answer: answerCreated
      })
    },
    {
      method: 'DELETE',
      path: `${mount.home}/:id`,
      schema: describeDelete(mount),
      handler: writeHandler(mount, {
        read: request => {
          readSent(nothing, bodyOf(request))
          return { action: deleteAction, target: targetOfPath(mount, request), params: {} }
        },
        answer: answerDeleted
      })
    }
  ]
}

const nothing = compileParams(Type.Object({}))
