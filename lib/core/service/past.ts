import { type FieldChanges, isUnknown, lacks } from '../family/changes.js'
import { type Family, findPast } from '../family/family.js'
import { invalidBody, Problem } from '../problems.js'
import { completer } from '../storage/shapes.js'
import type { FieldCondition, Id, Stored } from '../storage/storage.js'
import { type CommandRecord, readTarget, selectLog } from './record.js'
import type { GuardedStorage } from './storage-access.js'

// Items as they were, by their log.

type Reads = Pick<GuardedStorage, 'find' | 'secretsOf'>
type Signal = AbortSignal | undefined

/**
 * A deleted item as it was, with the revision of its deletion. Undefined if it was never there, or its log is gone.
 * Throws if the log does not have all of it.
 */
export async function findDeleted (
  storage: Reads, family: Family, id: Id, signal: Signal
): Promise<Stored | undefined> {
  const [last] = await findChanges(storage, selectLog(family, id), 1, signal)
  return last !== undefined && isDeletion(family, last) ? readDeleted(storage, family, last) : undefined
}

function isDeletion ({ lifecycle }: Family, { action }: CommandRecord): boolean {
  return action === lifecycle?.deletion?.operation.action
}

/** @param entry of a deletion */
function readDeleted (storage: Reads, family: Family, entry: CommandRecord): Stored {
  const { changes = {}, revision } = entry
  const id = readTarget(family, entry)
  const secrets = storage.secretsOf(family.name)
  const members = Object.entries(changes).filter(([name, change]) => 'from' in change || !secrets.has(name))
  // Entries of earlier versions have no values.
  if (members.length === 0 || members.some(([, change]) => !('from' in change))) {
    throw new Problem('pruned', `The log does not have all values of the ${family.singular} "${id}"`)
  }
  const values = Object.fromEntries(members.map(([name, { from }]) => [name, from]))
  return completer(family.shape)({ ...values, id, revision } as Stored)
}

// In few reads, and not all of a long log at once.
const entriesPerRead = 100

/** An item as it was at an earlier revision; it keeps what no client reads. Throws if the log does not reach it. */
export async function findEarlier (
  storage: Reads, family: Family, current: Stored, to: number, signal: Signal
): Promise<Stored> {
  const { id, revision } = current
  const refuse = (): Problem => new Problem('pruned', `The log of the ${family.singular} does not reach revision ${to}`)
  if (to > revision) throw refuseRevision(`must be a revision before the present one, ${revision}`)
  const was: Record<string, unknown> = { ...current, revision: to }
  const secrets = storage.secretsOf(family.name)
  for (let reached = revision; reached > to;) {
    const where: FieldCondition[] = [
      ...selectLog(family, id),
      { field: 'revision', op: 'gt', value: to },
      { field: 'revision', op: 'lte', value: reached }
    ]
    const entries = await findChanges(storage, where, entriesPerRead, signal)
    if (entries.length === 0) throw refuse()
    for (const entry of entries) {
      if (entry.revision !== reached) throw refuse()
      const isRestored = findPast(family, entry.action) === 'restore'
      if (isRestored && reached === to + 1) throw refuseRevision(`must not be ${to}: it was deleted then`)
      // It was restored as it had been.
      if (!isRestored && !isDeletion(family, entry) && !undo(secrets, was, entry.changes)) throw refuse()
      reached--
    }
  }
  return was as Stored
}

function refuseRevision (detail: string): Problem {
  return invalidBody([{ pointer: '/to', detail }])
}

/** Returns whether the log has the values. */
function undo (
  secrets: ReadonlySet<string>, item: Record<string, unknown>, changes: FieldChanges | undefined
): boolean {
  for (const [name, change] of Object.entries(changes ?? {})) {
    if (secrets.has(name)) continue
    if (isUnknown(change) || lacks(change, 'from')) return false
    if (change.from === undefined) delete item[name]
    else item[name] = change.from
  }
  return changes !== undefined
}

/** The changes of an item, last first. */
async function findChanges (
  storage: Reads, where: readonly FieldCondition[], limit: number, signal: Signal
): Promise<readonly CommandRecord[]> {
  const order = ['revision', 'id'].map(field => ({ field, descending: true }))
  const done: FieldCondition = { field: 'outcome', op: 'eq', values: ['done'] }
  const query = { where: [...where, done], order, offset: 0, limit, count: false }
  const { items } = await storage.find('commands', query, signal)
  return items as readonly Stored[] as readonly CommandRecord[]
}
