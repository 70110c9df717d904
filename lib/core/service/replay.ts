import { erasedText } from '../family/neutral.js'
import { idReused, notFound, Problem } from '../problems.js'
import { completer } from '../storage/shapes.js'
import { ConflictError } from '../storage/storage.js'
import { canSee } from './caller.js'
import { type CommandId } from './command-ids.js'
import type { DecidedCommand } from './commit.js'
import { refuseHidden, showGranted } from './granted.js'
import type { Execution } from './load.js'
import { Reader } from './reader.js'
import { type CommandRecord, isSameCommand, nameRecord, readTarget, restoreProblem } from './record.js'
import { toShown } from './shown.js'
import { isConflict } from './storage-access.js'

/** The outcome of a command that was done before; undefined if it was not. */
export async function replayIfDone (execution: Execution): Promise<DecidedCommand | undefined> {
  const { identity } = execution
  const earlier = identity && await findReplay(execution, identity)
  return earlier && replay(execution, earlier)
}

/** Another process may have done the same command meanwhile, which is why it fails here. Then it is found now. */
export async function repeatIfDone (execution: Execution, error: unknown): Promise<void> {
  const { identity } = execution
  if (identity === undefined || isConflict(error) || (error instanceof Problem && error.statusCode >= 500)) return
  if (await getRecord(execution, identity) !== undefined) throw new ConflictError('commands', identity.row)
}

function replay (execution: Execution, found: CommandRecord): DecidedCommand {
  const { family, caller, storage, grant } = execution
  // A version with more fields may have run it.
  const record = toShown(family, found, family)
  const outcome = showGranted(execution, {
    record,
    id: nameRecord(record, grant.principal),
    // It may have been created before the family had all its fields.
    item: record.result && completer(family.shape)(record.result),
    loadItem: () => new Reader({ family, caller }, storage, grant).get(readTarget(family, record)),
    replayed: true,
    problem: restoreProblem(record)
  })
  return { outcome, changes: [], explain: error => error, notify () {} }
}

/** An id that was used for a different command is a problem. */
async function findReplay (execution: Execution, identity: CommandId): Promise<CommandRecord | undefined> {
  const { family, command, grant, storage } = execution
  const found = await getRecord(execution, identity)
  if (found === undefined) return undefined
  // A caller without a name might send what is hidden of the command of another, to find out whether it is the same.
  if (grant.principal === undefined) refuseHidden(family, grant, command)
  const record = storage.confirm === undefined ? found : await confirmRecord(execution, identity, found)
  const { target, key } = command
  // The id of an item of another family may not be valid here.
  const isVisible = record.family !== family.name || await canSeeReplay(execution, record)
  // To the caller, an invisible item does not exist; a guessed key reveals nothing.
  if (!isVisible && target !== undefined && record.target === String(target)) throw notFound(family.singular, target)
  if (!isVisible || !isSameCommand(record, family, command, grant.principal)) {
    throw idReused(key === undefined ? identity.id : undefined)
  }
  return record
}

/** Before it is confirmed, a failover may take it back, and another attempt may make a different one. */
async function confirmRecord (
  execution: Execution, identity: CommandId, { id }: CommandRecord
): Promise<CommandRecord> {
  await execution.storage.confirm?.('commands', id, execution.caller.signal)
  const record = await getRecord(execution, identity)
  if (record === undefined) throw new ConflictError('commands', id)
  return record
}

async function getRecord (
  { storage, caller: { signal }, grant: { principal } }: Execution,
  { id, row }: CommandId
): Promise<CommandRecord | undefined> {
  if (row === id) return await storage.get('commands', row, signal) as CommandRecord | undefined
  // In old databases, the row is the id itself, for every principal.
  const [own, shared] = await Promise.all([storage.get('commands', row, signal), storage.get('commands', id, signal)])
  // Who chose the id of an erased one is unknown. It is not done again.
  const isShared = shared?.principal === principal || shared?.principal === erasedText
  return (own ?? (isShared ? shared : undefined)) as CommandRecord | undefined
}

// The conditions of a grant hold for replays too; if the item is deleted, only its principal sees the replay.
async function canSeeReplay (
  { storage, family, caller: { signal }, grant }: Execution,
  record: CommandRecord
): Promise<boolean> {
  if ((grant.where ?? []).length === 0) return true
  const item = await storage.get(family.name, readTarget(family, record), signal)
  return item === undefined ? record.principal !== undefined : canSee(grant, item)
}
