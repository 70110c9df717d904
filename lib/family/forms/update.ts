import type { FastifyRequest } from 'fastify'
import type { Command } from '../command.js'
import { compileEnvelope } from '../envelope.js'
import type { Mount } from '../mount.js'
import { bodyOf, targetOfPath } from '../sent.js'

/** `PUT …/{id}` with `{ "action", "params" }`. */
export function updateReader (mount: Mount): (request: FastifyRequest) => Command {
  const readEnvelope = compileEnvelope(mount.family)
  return request => {
    const { action, params } = readEnvelope(bodyOf(request))
    return { action, params, target: targetOfPath(mount, request) }
  }
}
