import type { Endpoint } from '../../http/routes.js'
import { answerCommand } from '../answers.js'
import { describeCommand } from '../describe-writes.js'
import { compileEnvelope } from '../envelope.js'
import type { Mount } from '../mount.js'
import { bodyOf, commandOfPath, targetOfPath } from '../sent.js'
import { writeHandler } from '../write.js'

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
