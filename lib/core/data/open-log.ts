import { errorCodes } from '../errors.js'
import { type AnyFamily, type Family, getFamily } from '../family/family.js'
import { commandsShape } from '../family/fields.js'
import { Feed, showFollowed } from '../feed/feed.js'
import { followFeed } from '../feed/follow.js'
import { findFlawInConditions } from '../query/filters.js'
import { type Caller, readMakers } from '../service/caller.js'
import type { FeedEntry } from '../service/log-reads.js'
import { findEnd, findKeys, findPruned, numbered } from '../service/log-reads.js'
import { Reader } from '../service/reader.js'
import { prunedId, selectLog } from '../service/record.js'
import type { Called } from '../service/renamed.js'
import type { FollowedCommand, FollowOptions } from '../service/service.js'
import { type GuardedStorage, isConflict, makeStorageAccess } from '../service/storage-access.js'
import type { Change, Condition, FamilyShape, FieldCondition, Id, Storage } from '../storage/storage.js'
import { keepMark } from './mark.js'

/** A condition on commands in the log; `target` is the id of the item, as text. */
export type EntryCondition = Condition<'family' | 'target' | 'action' | 'outcome' | 'principal' | 'createdAt'>

/** Options of `openLog`. */
export interface LogOptions {
  /** The families whose commands are read. Default: none, such as for positions only. */
  readonly families?: readonly AnyFamily[]
  /** Conditions that must all hold, such as on the action. Default: all commands of the families are read. */
  readonly where?: readonly EntryCondition[]
  /** Tables that the program needs beside the log, such as for its place; see `tablesOf`. */
  readonly tables?: readonly FamilyShape[]
}

/** Where `follow` of a log begins, and how it continues. */
export interface LogFollowOptions {
  /** The position after which it begins. Default: with the first entry that there is. */
  readonly start?: number | undefined
  /** The position up to which pruned entries are not missed. Default: `start`. */
  readonly pruned?: number | undefined
  /** Milliseconds after which it also yields without entries, even while the storage does not answer. */
  readonly interval?: number
  readonly signal?: AbortSignal
}

/** The next entries of a log. */
export interface LogBatch {
  /** Those of the families that meet the conditions; none, if only time has passed. */
  readonly entries: readonly FollowedCommand[]
  /** What was passed with them, also of other entries: the next batch comes after it. */
  readonly position: number
}

/**
 * The log of a storage, for programs: consumers, relays and other jobs. They see everything. A position is the number
 * of an entry: higher than that of every entry before it.
 */
export interface Log {
  /** The position of the last entry; 0 if there is none. Everything that was committed before has its position then. */
  findEnd (): Promise<number>
  /** The position of the last entry that was pruned; 0 if none was. */
  findPruned (): Promise<number>
  /**
   * The position where a new reader starts: undefined to begin with the first entry that there is. Throws the problem
   * `pruned` if entries after the cursor were deleted.
   */
  findStart (options: Pick<FollowOptions, 'after' | 'from'>): Promise<number | undefined>
  /** The position of the creation of an item; without it, the one after which everything about the item comes. */
  findCreation (family: AnyFamily, id: Id): Promise<number>
  /** Undefined if it was pruned, or is of another family. */
  findEntry (id: string): Promise<FollowedCommand | undefined>
  /** The entries after a position as they are committed, until the signal is aborted, also after an outage. */
  follow (options?: LogFollowOptions): AsyncGenerator<LogBatch>
  /**
   * Commits changes that depend on what was pruned, such as the place of a new reader: a prune that runs now sees them
   * before it deletes anything.
   *
   * @param make gets the position of the last pruned entry; called again if that has changed meanwhile
   */
  commitWithMark (make: (pruned: number) => readonly Change[]): Promise<void>
}

const conditionNames: readonly string[] =
  ['family', 'target', 'action', 'outcome', 'principal', 'createdAt'] satisfies EntryCondition['field'][]
const conditionFields = commandsShape.fields.filter(({ name }) => conditionNames.includes(name))

/** Completes a sentence that begins with the name of the option. */
export function findFlawInWhere (where: unknown): string | undefined {
  if (!Array.isArray(where)) return 'must be a list of conditions'
  const flaw = findFlawInConditions(conditionFields, where)
  return flaw === undefined ? undefined : `has ${flaw}`
}

/**
 * Opens the log of a storage: what consumers, `follow` and webhooks are made of.
 *
 * @example
 * const log = await openLog(storage, { families: [deals] })
 * for await (const { entries, position } of log.follow({ start: await loadPosition(), signal })) {
 *   for (const entry of entries) await publish(entry)
 *   await savePosition(position)
 * }
 */
export async function openLog (storage: Storage, options: LogOptions = {}): Promise<Log> {
  const { families = [], where = [], tables = [] } = options
  const flaw = findFlawInWhere(where)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(`the option "where" ${flaw}`)
  const compiled = families.map(getFamily)
  return new StorageLog(storage, await prepareOnce(storage, new Set([commandsShape, ...tables])), compiled, where)
}

const prepared = new WeakMap<Storage, Set<FamilyShape>>()

async function prepareOnce (storage: Storage, shapes: ReadonlySet<FamilyShape>): Promise<GuardedStorage> {
  const known = prepared.get(storage) ?? new Set()
  prepared.set(storage, known)
  const missing = [...shapes].filter(shape => !known.has(shape))
  const guarded = await makeStorageAccess(missing)(storage)
  for (const shape of missing) known.add(shape)
  return guarded
}

class StorageLog implements Log {
  constructor (
    readonly storage: Storage,
    readonly guarded: GuardedStorage,
    readonly families: readonly Family[],
    readonly where: readonly Condition[]
  ) {}

  async findEnd (): Promise<number> {
    return await findEnd(this.storage)
  }

  async findPruned (): Promise<number> {
    return await findPruned(this.storage)
  }

  async findStart ({ from = 'beginning', after }: Pick<FollowOptions, 'after' | 'from'>): Promise<number | undefined> {
    return after === undefined && from === 'beginning' ? undefined : await this.#makeFeed().findStart(after)
  }

  async findCreation (family: AnyFamily, id: Id): Promise<number> {
    const { storage } = this
    const { entries: [created] } = await findKeys(storage, selectCreation(getFamily(family), id), 1)
    if (created !== undefined) return created.position
    return await findPruned(storage) > 0 ? 0 : await findEnd(storage)
  }

  async findEntry (id: string): Promise<FollowedCommand | undefined> {
    const feed = this.#makeFeed()
    const entry = await feed.storage.get('commands', id) as FeedEntry | undefined
    const [shown] = entry?.position === undefined ? [] : await feed.filter([entry])
    return shown && showForProgram(feed, shown)
  }

  async * follow ({ start, pruned, interval, signal }: LogFollowOptions = {}): AsyncGenerator<LogBatch> {
    const feed = this.#makeFeed()
    const settings = { where: this.where, known: pruned, signal, ...interval !== undefined && { interval } }
    for await (const { entries, position } of followFeed(feed, start, settings)) {
      yield { entries: entries.map(entry => showForProgram(feed, entry)), position }
    }
  }

  async commitWithMark (make: (pruned: number) => readonly Change[]): Promise<void> {
    for (;;) {
      const mark = await this.storage.get('commands', prunedId)
      try {
        return await this.storage.commit([...make(mark?.position as number | undefined ?? 0), keepMark(mark)])
      } catch (error) {
        // Other readers are added at the same time, or `prune` runs.
        if (!isConflict(error) || (error as { readonly family?: string }).family !== 'commands') throw error
      }
    }
  }

  /** The entries of these families, for a program that sees all of them. */
  #makeFeed (): Feed {
    const { families, guarded } = this
    const sources = families.map(family =>
      ({ family, reader: new Reader(makeProgram(family, families, guarded), guarded, {}) }))
    return new Feed(guarded, sources, undefined)
  }
}

function selectCreation (family: Family, id: Id): FieldCondition[] {
  const isCreation = [{ field: 'revision', op: 'eq', values: [1] }, { field: 'outcome', op: 'eq', values: ['done'] }]
  return [...selectLog(family, id), ...isCreation as FieldCondition[], ...numbered as readonly FieldCondition[]]
}

function showForProgram (feed: Feed, entry: FeedEntry): FollowedCommand {
  return showFollowed(feed.get(entry).family, entry)
}

/** A program that sees everything of these families. */
function makeProgram (family: Family, families: readonly Family[], storage: GuardedStorage): Called {
  const caller: Caller = {
    authorize: () => ({}),
    other (other) {
      const found = families.find(({ name }) => name === (typeof other === 'string' ? other : other.name))
      return found && { family: found, caller }
    },
    storage: () => storage,
    makers: readMakers(family, {}),
    isGuarded: false,
    isProgram: true
  }
  return { family, caller }
}
