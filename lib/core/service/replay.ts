import type { Family } from '../family/family.js'
import { notFound, Problem } from '../problems.js'
import { matcher } from '../storage/conditions.js'
import type { Storage } from '../storage/storage.js'
import { ConstraintError } from '../storage/storage.js'
import type { Grant } from './caller.js'
import type { Command, CommandId, CommandRecord } from './command.js'
import { isSameCommand } from './command.js'
import { readTarget } from './record.js'

/** What is asked for, and where it is looked up. */
interface Asked {
  readonly storage: Pick<Storage, 'get'>
  readonly family: Family
  readonly command: Command
  readonly grant: Grant
}

/**
 * The record of a command that was settled under this id before, so that it is not done again. An id that was used for
 * a different command is a problem.
 */
export async function findReplay (
  { storage, family, command, grant }: Asked,
  identity: CommandId
): Promise<CommandRecord | undefined> {
  const record = await getRecord(storage, identity, grant.principal)
  if (record === undefined) return undefined
  const { target, key } = command
  // The id of an item of another family may not be valid here.
  const isVisible = record.family !== family.name || await canSeeReplay(storage, family, record, grant)
  // An item that the caller names and may not see does not exist; a guessed key reveals nothing.
  if (!isVisible && target !== undefined && record.target === String(target)) throw notFound(family.singular, target)
  if (!isVisible || !isSameCommand(record, family, command, grant.principal)) {
    throw new Problem('id-reused', key === undefined
      ? `The command id "${identity.id}" was used for another command`
      : 'This Idempotency-Key was used for another request')
  }
  return record
}

/**
 * The record of a command that a constraint has refused because another process did the same command meanwhile. Throws
 * the refusal where that is not so.
 */
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

/** The record of a command by the id of its principal; commands of others under the same id are not found. */
async function getRecord (
  storage: Asked['storage'],
  { id, row }: CommandId,
  principal: string | undefined
): Promise<CommandRecord | undefined> {
  if (row === id) return await storage.get('commands', row) as CommandRecord | undefined
  // Rows of old databases have the id itself, for every principal.
  const [own, shared] = await Promise.all([storage.get('commands', row), storage.get('commands', id)])
  const record = own ?? (shared?.principal === principal ? shared : undefined)
  return record as CommandRecord | undefined
}

// The conditions of a grant hold for replays too; where the item is gone, only its principal sees the replay.
async function canSeeReplay (
  storage: Asked['storage'],
  family: Family,
  record: CommandRecord,
  { where = [] }: Grant
): Promise<boolean> {
  if (where.length === 0) return true
  const item = await storage.get(family.name, readTarget(family, record))
  return item === undefined ? record.principal !== undefined : matcher(where)(item)
}
