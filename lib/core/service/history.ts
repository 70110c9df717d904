import { type FieldChange, isUnknown, lacks } from '../family/changes.js'
import { nameAction } from '../family/declared-operations.js'
import { type Family, getBase } from '../family/family.js'
import { readDecimals } from '../family/params.js'
import { notFound, Problem } from '../problems.js'
import type { Moment } from '../query/moment.js'
import { choosePartSize, findMembers, firstPartSize, maxIds } from '../storage/pages.js'
import type { Condition, Id, Query, StorageReads, Stored } from '../storage/storage.js'
import { endLongTurn } from '../storage/turns.js'
import { measureAll, type Members } from '../values/json.js'
import { type CommandRecord, selectLog } from './record.js'

// An item as it was: its log is read backwards, from what it is now, or was when it was deleted. Nothing else rebuilds
// items.

/** Where an item and its log are; a reader is one. */
export interface HistorySource {
  readonly family: Family
  readonly storage: StorageReads
  readonly signal: AbortSignal | undefined
}

/** An item after one of its changes, under the names of the base. */
export interface State {
  /** Without what clients never read. */
  readonly item: Stored
  /** The members whose values the log does not have. They are not in the item. */
  readonly unknown: ReadonlySet<string>
}

export interface Rebuilt extends State {
  /** What it is now, with all that is stored, or was when it was deleted. */
  readonly last: State
  readonly isDeleted: boolean
  /** The revisions before and after this one; undefined if there are none. */
  readonly prev: number | undefined
  readonly next: number | undefined
}

/** What items are rebuilt from. */
export type LogEntry = Pick<CommandRecord, typeof entryMembers[number]>

/** The last deletion of an item that has not come back since. */
export interface LastDeletion {
  /** That of the deletion, one more than the item had. */
  readonly revision: number
  /** The item before it; undefined if the log does not have it. */
  readonly last: State | undefined
}

export const entryMembers = ['id', 'revision', 'createdAt', 'action', 'about', 'changes'] as const
const done: Condition = { field: 'outcome', op: 'eq', values: ['done'] }

/**
 * The item at a revision; undefined if it did not exist then. Throws the problem `pruned` if the log does not reach
 * back to it. Takes the longer, the more has changed since.
 *
 * @param known the item as it is, if it was just read
 */
export async function rebuild (
  source: HistorySource, id: Id, revision: number, known?: Stored
): Promise<Rebuilt | undefined> {
  const family = getBase(source.family)
  const present = known ?? await source.storage.get(family.name, id, source.signal)
  const top = present?.revision ?? (await findNewest(source, id))?.revision
  if (top === undefined || revision > top) return undefined
  const walk = new Walk(family, present, top)
  for await (const entry of readEntries(source, id, revision, top)) {
    if (entry.revision !== walk.revision) break
    if (entry.revision === revision) return walk.end(entry)
    if (!walk.undo(entry)) break
  }
  if (walk.revision !== revision) throw endsBefore(family, id, revision)
  return walk.end(undefined)
}

/** The revision at a moment; undefined if the item did not exist yet. One at which it was deleted is not excluded. */
export async function findRevisionAt (source: HistorySource, id: Id, moment: string): Promise<number | undefined> {
  const { storage, signal } = source
  const family = getBase(source.family)
  // Processes may have different clocks, but revisions are in order.
  const found = await findNewest(source, id, [{ field: 'createdAt', op: 'lte', value: moment }])
  if (found !== undefined) return found.revision
  const [present, oldest] = await Promise.all([
    storage.get(family.name, id, signal), findNewest(source, id, [], false)
  ])
  if (oldest?.revision === 1 || (present === undefined && oldest === undefined)) return undefined
  const { createdAt = '', updatedAt = '', revision } = present ?? {}
  if (createdAt > moment) return undefined
  // An item that was loaded has no entry of its creation.
  if (createdAt !== '' && oldest?.revision === 2) return 1
  if (oldest === undefined && updatedAt <= moment) return revision
  throw endsBefore(family, id, moment)
}

/** Undefined if the item was not deleted, or has come back, or nothing is known of it. */
export async function findLastDeletion (source: HistorySource, id: Id): Promise<LastDeletion | undefined> {
  const entry = await findNewest(source, id)
  return entry && readDeletion(source.family, entry)
}

/** Undefined if the entry is of something else. */
export function readDeletion (family: Family, entry: LogEntry): LastDeletion | undefined {
  const base = getBase(family)
  const { action, about, revision } = entry
  // The deletion of another item may have changed this one.
  if (about !== undefined || action !== nameAction('Delete', base.singular)) return undefined
  const walk = new Walk(base, undefined, revision)
  return { revision, last: walk.undo(entry) ? walk.last : undefined }
}

class Walk {
  /** Undefined while it is deleted. */
  #state: Record<string, unknown> | undefined
  #unknown = new Set<string>()
  #last: State | undefined
  #next: number | undefined
  readonly #isDeleted: boolean

  /** @param revision of what is known so far */
  constructor (readonly family: Family, present: Stored | undefined, public revision: number) {
    this.#isDeleted = present === undefined
    if (present === undefined) return
    this.#state = { ...present }
    this.#last = { item: present, unknown: this.#unknown }
    this.#unknown = new Set()
  }

  /** What it is now, or was when it was deleted; undefined while that is not known. */
  get last (): State | undefined {
    return this.#last
  }

  /** False if the log does not say what was before. */
  undo ({ changes }: LogEntry): boolean {
    if (changes === undefined) return false
    if (this.#state !== undefined) this.#next = this.revision
    const { id } = changes
    this.revision--
    if (id === undefined) {
      if (this.#state === undefined) return false
      // Only the entry of a change has its moment.
      this.#undoOne(this.#state, 'updatedAt', {})
      for (const [name, change] of Object.entries(changes)) this.#undoOne(this.#state, name, change)
      return true
    }
    if (id.from === undefined) {
      // It was created, or came back.
      this.#state = undefined
      return true
    }
    this.#unknown.clear()
    const state = this.#state = {}
    for (const [name, change] of Object.entries(changes)) this.#undoOne(state, name, change)
    this.#last ??= { item: this.#complete(state), unknown: this.#listUnknown() }
    return true
  }

  #undoOne (state: Record<string, unknown>, name: string, change: FieldChange): void {
    delete state[name]
    const isLost = isUnknown(change) || lacks(change, 'from')
    if (isLost) this.#unknown.add(name)
    else this.#unknown.delete(name)
    if (change.from !== undefined) state[name] = change.from
  }

  /** @param own the entry of this revision; undefined if the log does not have it */
  end (own: LogEntry | undefined): Rebuilt | undefined {
    const last = this.#last
    const state = this.#state
    if (state === undefined || last === undefined) return undefined
    const { revision } = this
    const moment = own?.createdAt ?? (revision === 1 ? state.createdAt as string : undefined)
    if (moment !== undefined && this.#unknown.delete('updatedAt')) state.updatedAt = moment
    const cameBack = own?.changes?.id !== undefined
    const prev = own === undefined || revision === 1 ? undefined : revision - (cameBack ? 2 : 1)
    const around = { last, isDeleted: this.#isDeleted, prev, next: this.#next }
    return { item: this.#complete(state), unknown: this.#listUnknown(), ...around }
  }

  /** With the defaults of fields that were added later. */
  #complete (state: Members): Stored {
    const { ownFields } = this.family
    const item: Record<string, unknown> = { ...state, revision: this.revision }
    for (const { name, writeOnly, default: value } of ownFields) {
      if (writeOnly === true) delete item[name]
      else if (item[name] === undefined && value !== undefined && !this.#unknown.has(name)) item[name] = value
    }
    return readDecimals(ownFields, item) as Stored
  }

  #listUnknown (): ReadonlySet<string> {
    const secrets = this.family.ownFields.flatMap(({ name, writeOnly }) => writeOnly === true ? name : [])
    return new Set([...this.#unknown, ...secrets])
  }
}

/** The entries of changes from one revision down to another, in parts: each may be long. */
async function * readEntries (
  { family, storage, signal }: HistorySource, id: Id, least: number, top: number
): AsyncGenerator<LogEntry> {
  const where = selectChanges(family, id)
  for (let size = firstPartSize, from = top; from >= least;) {
    const limit = Math.min(size, from - least + 1)
    // By the revisions themselves, so that commands which changed nothing are not visited.
    const values = Array.from({ length: limit }, (_, index) => from - index)
    const query = select([...where, { field: 'revision', op: 'eq', values }], limit, true)
    const entries = await findChanges(storage, query, signal)
    yield * entries
    if (entries.length < limit) return
    from -= limit
    size = choosePartSize(size, { length: measureAll(entries), count: entries.length }, maxIds)
    signal?.throwIfAborted()
    const pause = endLongTurn()
    if (pause !== undefined) await pause
  }
}

/** The entry of an erasure after the deletion is at the same revision as that, and changes nothing. */
function selectChanges (family: Family, id: Id): Condition[] {
  const { singular } = getBase(family)
  return [...selectLog(family, id), done, {
    op: 'any',
    of: [
      [{ field: 'action', op: 'ne', values: [nameAction('Erase', singular)] }],
      [{ field: 'changes', op: 'null', is: false }]
    ]
  }]
}

/** The newest entry of a change or, with `isNewest` false, the oldest. */
async function findNewest (
  { family, storage, signal }: HistorySource, id: Id, conditions: readonly Condition[] = [], isNewest = true
): Promise<LogEntry | undefined> {
  const query = select([...selectChanges(family, id), ...conditions], 1, isNewest)
  return (await findChanges(storage, query, signal))[0]
}

async function findChanges (
  storage: StorageReads, query: Query, signal: AbortSignal | undefined
): Promise<readonly LogEntry[]> {
  const found: readonly Stored[] = await findMembers(storage, 'commands', query, entryMembers, signal)
  return found as readonly CommandRecord[]
}

function select (where: readonly Condition[], limit: number, descending: boolean) {
  const order = ['revision', 'createdAt', 'id'].map(field => ({ field, descending }))
  return { where, order, offset: 0, limit, count: false }
}

function endsBefore ({ singular }: Family, id: Id, when: number | string): Problem {
  const what = typeof when === 'number' ? `revision ${when}` : when
  return new Problem('pruned', `The log of the ${singular} "${id}" does not reach back to ${what}`)
}

/** The problem of an item that did not exist then, or not for the caller. */
export function notThen ({ singular }: Family, id: Id, { revision, at }: Moment): Problem {
  const when = revision === undefined ? `at ${at}` : `at revision ${revision}`
  return new Problem('not-found', `${notFound(singular, id).message} ${when}`)
}

/** The problem of an item some of whose values the log does not have. */
export function lacksValues (members: readonly string[]): Problem {
  const detail = `The log does not have the value of ${members.join(', ')} at that time`
  return new Problem('pruned', detail, { members: { missing: members } })
}
