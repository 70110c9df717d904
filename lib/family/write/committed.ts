import type { FastifyRequest } from 'fastify'
import type { Stored } from '../../storage/storage.js'
import type { CommandRecord } from '../model/command.js'
import type { Family } from '../model/family.js'
import { targetOf } from '../model/record.js'
import type { Mount } from '../mount/mount.js'

/** Writes what was decided into the request's log, and tells the host of a change; neither can fail the request. */
export function report (mount: Mount, request: FastifyRequest, record: CommandRecord, before: Stored | undefined, after: Stored | undefined): void {
  const { family, onCommitted } = mount
  const { action, outcome, revision } = record
  const id = targetOf(family, record)
  request.log.info({ family: family.name, action, id, outcome, revision }, 'command')
  if (onCommitted === undefined || outcome !== 'done') return
  const { id: command, params, principal, createdAt } = record
  tell(family, request, async () => await onCommitted({ family: family.name, action, id, command, params, principal, revision, at: createdAt, before, after }, request))
}

async function tell (family: Family, request: FastifyRequest, call: () => Promise<void>): Promise<void> {
  try {
    await call()
  } catch (error) {
    request.log.error({ err: error, family: family.name }, 'onCommitted failed')
  }
}
