import type { FastifyRequest } from 'fastify'
import type { Command } from '../model/command.js'
import { compileEnvelope } from '../write/envelope.js'
import type { Mount } from '../mount/mount.js'
import { targetOfPath } from '../mount/paths.js'
import { bodyOf } from '../write/sent.js'

/** `PUT …/{id}` with `{ "action", "params" }`. */
export function updateReader (mount: Mount): (request: FastifyRequest) => Command {
  const readEnvelope = compileEnvelope(mount.family)
  return request => {
    const { action, params } = readEnvelope(bodyOf(request))
    return { action, params, target: targetOfPath(mount, request) }
  }
}
