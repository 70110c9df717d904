import { readIdempotencyKey } from '../../http/idempotency.js'
import type { Endpoint } from '../../http/routes.js'
import { answerNoun } from '../write/answers.js'
import { describeOperation } from '../openapi/writes.js'
import type { CompiledOperation } from '../model/family.js'
import { logEndpoints } from '../read/log.js'
import type { Mount } from '../mount/mount.js'
import { targetOfPath } from '../mount/paths.js'
import { bodyOf, readSent } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'

/** `POST …/{id}/holds` with the parameters as the body, and the holds there have been, to read. */
export function nounEndpoints (mount: Mount, compiled: CompiledOperation): Endpoint[] {
  const { operation, params } = compiled
  return [
    {
      method: 'POST',
      path: `${mount.home}/:id/${operation.noun}`,
      schema: describeOperation(mount, compiled, 'noun'),
      handler: writeHandler(mount, {
        read: request => ({
          action: operation.action,
          target: targetOfPath(mount, request),
          params: readSent(params, bodyOf(request)),
          key: readIdempotencyKey(request.headers)
        }),
        answer: answerNoun(operation.noun)
      })
    },
    ...logEndpoints(mount, operation)
  ]
}
