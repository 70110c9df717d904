import type { FastifyRequest } from 'fastify'
import { Problem } from '../../problems.js'
import type { Id } from '../../storage/storage.js'
import { isCommandId } from '../model/command.js'
import type { Mount } from './mount.js'

/** The id of the item in the path; what cannot be one is not there. */
export function targetOfPath ({ family }: Mount, request: FastifyRequest): Id {
  const text = (request.params as { id: string }).id
  const id = family.readId(text)
  if (id === undefined) throw new Problem('not-found', `There is no ${family.singular} "${text}"`)
  return id
}

/** The command id in the path, as the client chose it. */
export function commandOfPath (request: FastifyRequest): string {
  const { command } = request.params as { command: string }
  if (!isCommandId(command)) {
    const detail = 'A command id has 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -'
    throw new Problem('bad-request', detail, { errors: [{ parameter: 'command_id', detail }] })
  }
  return command
}
