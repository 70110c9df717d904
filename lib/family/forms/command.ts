import type { Endpoint } from '../../http/routes.js'
import { answerCommand } from '../write/answers.js'
import { describeCommand } from '../openapi/writes.js'
import { compileEnvelope } from '../write/envelope.js'
import type { Mount } from '../mount/mount.js'
import { commandOfPath, targetOfPath } from '../mount/paths.js'
import { bodyOf } from '../write/sent.js'
import { writeHandler } from '../write/pipeline.js'

/** `PUT …/{id}/commands/{command_id}` with `{ "action", "params" }`: a command as a resource that the client names. */
export function commandEndpoints (mount: Mount): Endpoint[] {
  const readEnvelope = compileEnvelope(mount.family)
  return [{
    method: 'PUT',
    path: `${mount.home}/:id/commands/:command`,
    schema: describeCommand(mount),
    handler: writeHandler(mount, {
      read (request) {
        const { action, params } = readEnvelope(bodyOf(request))
        return { action, params, target: targetOfPath(mount, request), id: commandOfPath(request) }
      },
      answer: answerCommand
    })
  }]
}
