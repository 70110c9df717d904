import type { Endpoint } from '../../http/routes.js'
import { answerNoun } from '../write/answers.js'
import { describeNoun } from '../openapi/writes.js'
import type { Spoken } from '../model/operation.js'
import type { Params } from '../model/params.js'
import { logEndpoints } from '../read/log.js'
import type { Mount } from '../mount/mount.js'
import { targetOfPath } from '../mount/paths.js'
import { keyOf, readSent, sentOf } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'

/** `POST …/{id}/holds` with the parameters as the body, and the holds there have been, to read. */
export function nounEndpoints (mount: Mount, compiled: { readonly operation: Spoken, readonly params: Params }): Endpoint[] {
  const { operation, params } = compiled
  return [
    {
      method: 'POST',
      path: `${mount.home}/:id/${operation.noun}`,
      schema: describeNoun(mount, compiled),
      handler: writeHandler(mount, {
        read: request => ({
          action: operation.action,
          target: targetOfPath(mount, request),
          params: readSent(params, sentOf(request)),
          key: keyOf(request)
        }),
        answer: answerNoun(operation.noun)
      })
    },
    ...logEndpoints(mount, operation)
  ]
}
