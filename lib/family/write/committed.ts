import type { FastifyRequest } from 'fastify'
import type { Stored } from '../../storage/storage.js'
import type { CommandRecord } from '../model/command.js'
import type { Family } from '../model/family.js'
import { targetOf } from '../model/record.js'
import type { Mount } from '../mount/mount.js'

/** Writes what became of a command into the request's log; what was sent is nobody's business there. */
export function logCommand (family: Family, request: FastifyRequest, record: CommandRecord, replayed: boolean): void {
  const { action, outcome, revision } = record
  request.log.info({ family: family.name, action, id: targetOf(family, record), outcome, revision, ...(replayed ? { replayed } : {}) }, 'command')
}

/** Tells the host of a change that was committed. Nobody waits for it, and its failure is only logged. */
export async function tellHost ({ family, onCommitted }: Mount, request: FastifyRequest, record: CommandRecord, before: Stored | undefined, after: Stored | undefined): Promise<void> {
  const { action, id: command, params, principal, revision, createdAt: at } = record
  try {
    await onCommitted?.({ family: family.name, action, id: targetOf(family, record), command, params, principal, revision, at, before, after }, request)
  } catch (error) {
    request.log.error({ err: error, family: family.name, action }, 'onCommitted failed')
  }
}
