import type { Family } from '../family/family.js'
import type { Stored } from '../storage/storage.js'
import type { Caller } from './caller.js'
import type { CommandRecord } from './command.js'
import { nameRecord, readTarget } from './record.js'

/** Tells of a change that is durable now. */
export function tellCaller (
  family: Family,
  caller: Caller,
  record: CommandRecord,
  items: { readonly before: Stored | undefined, readonly after: Stored | undefined }
): void {
  if (caller.committed === undefined) return
  const { action, params = {}, principal, revision, createdAt: at } = record
  const id = readTarget(family, record)
  const command = nameRecord(record, principal)
  caller.committed({ family: family.name, action, id, command, params, principal, revision, at, ...items })
}
