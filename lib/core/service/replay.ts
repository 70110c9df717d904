import type { Family } from '../family/family.js'
import { idReused, notFound, Problem } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import { ConstraintError, type Storage } from '../storage/storage.js'
import type { Caller, Grant } from './caller.js'
import { type Command, type CommandId, type CommandRecord, isSameCommand } from './command.js'
import { readTarget } from './record.js'

interface Asked {
  readonly storage: Pick<Storage, 'get'>
  readonly family: Family
  readonly caller: Pick<Caller, 'signal'>
  readonly command: Command
  readonly grant: Grant
}

/** An id that was used for a different command is a problem. */
export async function findReplay (asked: Asked, identity: CommandId): Promise<CommandRecord | undefined> {
  const { family, command, grant } = asked
  const record = await getRecord(asked, identity)
  if (record === undefined) return undefined
  const { target, key } = command
  // The id of an item of another family may not be valid here.
  const isVisible = record.family !== family.name || await canSeeReplay(asked, record)
  // To the caller, an invisible item does not exist; a guessed key reveals nothing.
  if (!isVisible && target !== undefined && record.target === String(target)) throw notFound(family.singular, target)
  if (!isVisible || !isSameCommand(record, family, command, grant.principal)) {
    throw idReused(key === undefined ? identity.id : undefined)
  }
  return record
}

/** Another process may have run the same command meanwhile, and so broken a constraint. */
export async function findConcurrentReplay (
  refusal: unknown,
  asked: Asked,
  identity: CommandId | undefined
): Promise<CommandRecord> {
  const isConstraint = refusal instanceof Problem && refusal.cause instanceof ConstraintError
  const earlier = isConstraint && identity !== undefined ? await findReplay(asked, identity) : undefined
  if (earlier === undefined) throw refusal
  return earlier
}

async function getRecord (
  { storage, caller: { signal }, grant: { principal } }: Asked,
  { id, row }: CommandId
): Promise<CommandRecord | undefined> {
  if (row === id) return await storage.get('commands', row, signal) as CommandRecord | undefined
  // In old databases, the row is the id itself, for every principal.
  const [own, shared] = await Promise.all([storage.get('commands', row, signal), storage.get('commands', id, signal)])
  return (own ?? (shared?.principal === principal ? shared : undefined)) as CommandRecord | undefined
}

// The conditions of a grant hold for replays too; if the item is deleted, only its principal sees the replay.
async function canSeeReplay (
  { storage, family, caller: { signal }, grant: { where = [] } }: Asked,
  record: CommandRecord
): Promise<boolean> {
  if (where.length === 0) return true
  const item = await storage.get(family.name, readTarget(family, record), signal)
  return item === undefined ? record.principal !== undefined : matcher(where)(item)
}
