import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { findPositionsAround, listParts, type Position, readCursor, writeCursor } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { clearInterval, setInterval, setTimeout, type Timer } from '../runtime.js'
import { matcher } from '../storage/conditions.js'
import { RequestDeadline } from '../storage/deadline.js'
import { choosePartSize, findByIds, findMembers, firstPartSize, maxPartLength } from '../storage/pages.js'
import { type Condition, type Id, type Query, type Storage, Watchers } from '../storage/storage.js'
import { type EntryKey, LogPart } from './log-part.js'
import type { Find, FoundPage, Reader } from './reader.js'
import { type CommandRecord, feedList, prunedId, showCommand } from './record.js'
import type { FollowedCommand, LoggedCommand } from './service.js'
import type { GuardedStorage } from './storage-access.js'

/** An entry of the log that has its position. */
export type FeedEntry = CommandRecord & { readonly position: number }

/** A family whose entries a caller may see, and what the caller may see of it. */
export interface FeedFamily {
  readonly family: Family
  readonly reader: Reader
}

/** Entries that a follower may see, and the position that it has passed with them. */
export interface Passed {
  readonly entries: readonly FeedEntry[]
  readonly position: number
}

// Milliseconds. While many commits are made, their entries are read together.
const pauseBetween = 20
export const pauseBetweenPolls = 1000
// Entries that a page may skip because the caller may not see their items.
const maxPassed = 5000
const batch = 100
// Never many whole entries at once: in a log, long ones follow short ones.
const chooseSize = (...last: Parameters<typeof choosePartSize>) => Math.min(firstPartSize, choosePartSize(...last))
const keyMembers = ['id', 'position', 'family', 'target']

/** The entries of some families, as one caller sees them: those of items that the caller may read. */
export class Feed<F extends FeedFamily = FeedFamily> {
  #where: readonly Condition[] = []
  #families: ReadonlyMap<string, F> = new Map()
  /** How many entries a follower reads next, and whether they are long. */
  #size = 1
  #isLong = false

  /** @param id the item whose entries are wanted; undefined for all */
  constructor (
    readonly storage: GuardedStorage,
    families: readonly F[],
    public signal: AbortSignal | undefined,
    readonly id?: Id
  ) {
    this.replace(families, signal)
  }

  get families (): readonly F[] {
    return [...this.#families.values()]
  }

  /** What the caller may see now. */
  replace (families: readonly F[], signal: AbortSignal | undefined): void {
    const { id } = this
    this.signal = signal
    this.#families = new Map(families.map(each => [each.family.name, each]))
    this.#where = [
      { field: 'family', op: 'eq', values: [...this.#families.keys()] },
      ...id === undefined ? [] : [{ field: 'target', op: 'eq', values: [String(id)] } as const]
    ]
  }

  get (entry: FeedEntry): F {
    return this.#families.get(entry.family) as F
  }

  renewTime (): void {
    if (this.signal instanceof RequestDeadline) this.signal.renew()
    for (const { reader } of this.#families.values()) reader.renewTime()
  }

  /** Where a follower starts: after a cursor, or at the end. Throws where entries after the cursor are gone. */
  async findStart (cursor: string | undefined): Promise<number> {
    const position = cursor === undefined ? undefined : readPosition(cursor)
    const end = await findEnd(this.storage, this.signal)
    if (position === undefined) return end
    await refusePruned(this.storage, position, end, this.signal)
    return position
  }

  /** A page, and the cursor to continue from later: everything before it was on this page or an earlier one. */
  async findPage (parsed: ParsedQuery): Promise<FoundPage & { readonly follow: Position }> {
    const { query, list, start } = parsed
    // Read before the page, which then has everything up to it.
    const end = await findEnd(this.storage, this.signal)
    const given = start?.position.item.position as number | undefined
    const from = start?.backwards === true ? undefined : given ?? await this.#findFirst(query)
    const { parts: [part = []], order } = start === undefined
      ? { parts: [numbered], order: query.order }
      : listParts(list.fields, query.order, start)
    const { items, more, last } = await this.#find({ ...query, where: [...query.where, ...part], order })
    // After the page: what is pruned while it is read may be missing on it.
    if (from !== undefined) await refusePruned(this.storage, from, end, this.signal)
    const shown = start?.backwards === true ? items.toReversed() : items
    const edge = last === undefined ? undefined : { position: last } as never
    const { next, prev } = findPositionsAround(parsed, start?.backwards === true
      ? { more, first: edge, last: shown.at(-1) }
      : { more, first: shown[0], last: edge })
    const isForward = query.order[0]?.descending === false && start?.backwards !== true
    const reached = Math.max(end, given ?? 0, isForward ? items.at(-1)?.position ?? 0 : 0)
    const follow = isForward && more ? next : undefined
    return { items: shown, total: undefined, next, prev, follow: follow ?? placeAfter(reached) }
  }

  /** Where the log begins, for a reader from there that reads in several parts: later parts may be pruned meanwhile. */
  async #findFirst ({ order, limit }: Query): Promise<number | undefined> {
    const isInParts = limit === Infinity || this.#isNarrowed
    return isInParts && order[0]?.descending === false ? await findPruned(this.storage, this.signal) : undefined
  }

  /** For exports, whose parts are read one after the other: all that match, however many must be passed over. */
  makeFind ({ start }: ParsedQuery): Find {
    let from = start?.position.item.position as number | undefined
    return async query => {
      from ??= await this.#findFirst({ ...query, limit: Infinity })
      const { items, last } = await this.#find({ ...query, where: [...numbered, ...query.where] }, Infinity)
      if (from !== undefined) await refusePruned(this.storage, from, Infinity, this.signal)
      from = query.order[0]?.descending === true ? undefined : Math.max(from ?? 0, last ?? 0)
      return { items }
    }
  }

  async #find (
    query: Query,
    mostPassed = maxPassed
  ): Promise<{ readonly items: readonly FeedEntry[], readonly more: boolean, readonly last: number | undefined }> {
    const { where: asked, order, limit } = query
    const where = [...this.#where, ...asked]
    const descending = order[0]?.descending === true
    if (this.#isNarrowed) return await this.#findVisible({ ...query, where }, descending, mostPassed)
    const entries = await findEntries(this.storage, where, limit + 1, this.signal, descending)
    const part = new LogPart(this.storage, entries.slice(0, limit), this.signal)
    const items = await this.#show(part, await this.#filter(part))
    return { items, more: entries.length > limit, last: part.entries.at(-1)?.position }
  }

  /** Finds the keys of what the caller may see, and then these entries alone. */
  async #findVisible ({ where, limit }: Query, descending: boolean, mostPassed: number) {
    const { storage, signal } = this
    const canLeaveOut = storage.findText !== undefined
    const found: EntryKey[] = []
    let size = canLeaveOut ? batch : firstPartSize
    let passed = 0
    for (let bound: readonly Condition[] = []; ;) {
      const keys = await findKeys(storage, [...where, ...bound], size, signal, descending)
      const part = new LogPart(storage, keys, signal)
      found.push(...await this.#filter(part))
      passed += part.count
      const isEnd = part.count < size
      const more = found.length > limit
      const last = (more ? found[limit - 1] : part.entries.at(-1))?.position
      if (more || isEnd || passed >= mostPassed) {
        const shown = found.slice(0, limit)
        const whole = await findByIds(storage, 'commands', shown.map(({ id }) => id), signal)
        const entries = shown.flatMap(({ id }) => whole.get(id) as FeedEntry | undefined ?? [])
        return { items: await this.#show(new LogPart(storage, entries, signal)), more: more || !isEnd, last }
      }
      if (!canLeaveOut) size = chooseSize(size, part)
      bound = [{ field: 'position', op: descending ? 'lt' : 'gt', value: last as number }]
    }
  }

  get #isNarrowed (): boolean {
    return [...this.#families.values()].some(({ reader }) => reader.isNarrowed)
  }

  /** Of items that the caller may read: at most one read for each family. */
  async #filter<E extends EntryKey> (part: LogPart<E>, entries = part.entries): Promise<E[]> {
    const named = new Set(entries.map(({ family }) => family))
    const narrowed = [...this.#families.values()].filter(({ family, reader }) =>
      reader.isNarrowed && named.has(family.name))
    const visible = new Map(await Promise.all(narrowed.map(async ({ family, reader }) => {
      const ids = await part.findVisible(reader)
      return [family.name, new Set(Array.from(ids, String))] as const
    })))
    return entries.filter(({ family, target }) =>
      this.#families.has(family) && (visible.get(family)?.has(target) ?? true))
  }

  /** Those of items that the caller may read, as the caller sees them. */
  async filter (entries: readonly FeedEntry[]): Promise<readonly FeedEntry[]> {
    const part = new LogPart(this.storage, entries, this.signal)
    return await this.#show(part, await this.#filter(part))
  }

  async #show (part: LogPart<FeedEntry>, entries = part.entries): Promise<readonly FeedEntry[]> {
    const shown = new Map<string, FeedEntry>()
    const findVisible = (reader: Reader) => reader.storage === this.storage ? part.findVisible(reader) : undefined
    await Promise.all(Array.from(this.#families.values(), async ({ family: { name }, reader }) => {
      for (const entry of await reader.show(entries.filter(({ family }) => family === name), findVisible)) {
        shown.set(entry.id, entry)
      }
    }))
    return entries.map(({ id }) => shown.get(id) as FeedEntry)
  }

  /** Where to read on: entries that the caller may not see are passed over by their keys. */
  async #skip (after: number): Promise<number> {
    const where: Condition[] = [{ field: 'position', op: 'gt', value: after }]
    const keys = await findKeys(this.storage, where, batch, this.signal)
    const part = new LogPart(this.storage, keys, this.signal)
    const [first] = await this.#filter(part, part.entries.filter(matcher(this.#where)))
    return first === undefined ? part.entries.at(-1)?.position ?? after : first.position - 1
  }

  /** Finds those of a log that are wanted, and whose families the caller may read. */
  match (where: readonly Condition[]): (entry: FeedEntry) => boolean {
    return matcher([...this.#where, ...where])
  }

  /** What comes after a position. Throws where some of it was pruned, unless that is known. */
  async readAfter (position: number, known: number, holds: (entry: FeedEntry) => boolean): Promise<Passed> {
    const check = (pruned: number): void => { if (pruned > Math.max(position, known)) throw wasPruned() }
    if (this.#isLong && this.#isNarrowed && this.storage.findText !== undefined) {
      const next = await this.#skip(position)
      check(await findPruned(this.storage))
      if (next > position) return { entries: [], position: next }
    }
    const { part, pruned } = await getTail(this.storage).readAfter(position, this.#size)
    check(pruned)
    if (part.count > 0) this.#isLong = (this.#size = chooseSize(this.#size, part)) === 1
    const shown = await this.#filter(part, part.entries.filter(holds))
    return { entries: await this.#show(part, shown), position: part.entries.at(-1)?.position ?? position }
  }
}

// Entries without a number come first in the order; they have none yet because they were just committed.
export const numbered: readonly Condition[] & readonly [Condition] = [{ field: 'position', op: 'gte', value: 1 }]

export function placeAfter (position: number): Position {
  return { isAfter: true, item: { position } as never }
}

export function writePosition (position: number): string {
  return writeCursor(feedList, placeAfter(position))
}

/** Undefined where it is not a cursor of the feed. */
export function findPosition (cursor: string): number | undefined {
  return readCursor(feedList, cursor)?.item.position as number | undefined
}

export function showFollowed (family: Family, entry: FeedEntry, id = entry.id): FollowedCommand {
  const shown = showCommand(family, entry, id)
  return { ...shown as LoggedCommand, family: family.name, cursor: writePosition(entry.position) }
}

function readPosition (cursor: string): number {
  const position = findPosition(cursor)
  if (position !== undefined) return position
  const detail = 'must be a cursor of this feed, as in links.follow or the id of an event'
  throw new Problem('bad-request', `The cursor ${detail}`, { errors: [{ parameter: 'after', detail }] })
}

interface PartAndMark {
  readonly part: LogPart<FeedEntry>
  /** The position of the last entry that was pruned, if that is after the part's start. */
  readonly pruned: number
}

/** The followers of a storage in this process. Those at the same position share a read. */
class Tail {
  readonly #reads = new Map<number, Promise<PartAndMark>>()
  readonly #followers = new Watchers()
  #stop: (() => void) | undefined
  #pause: Timer | undefined
  #isStale = false

  constructor (readonly storage: GuardedStorage) {}

  /** Calls `wake` when there may be new entries. Returns a function that ends it. */
  follow (wake: () => void): () => void {
    const leave = this.#followers.add(wake)
    this.#stop ??= this.#watch(() => { this.#wake() })
    return () => {
      leave()
      if (!this.#followers.isEmpty) return
      this.#stop?.()
      this.#stop = undefined
      this.#reads.clear()
    }
  }

  #watch (wake: () => void): () => void {
    if (this.storage.watch !== undefined) return this.storage.watch(wake)
    const timer = setInterval(wake, pauseBetweenPolls).unref()
    return () => { clearInterval(timer) }
  }

  #wake (): void {
    this.#isStale = this.#pause !== undefined
    if (this.#isStale) return
    this.#reads.clear()
    this.#followers.notify()
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      if (this.#isStale) this.#wake()
    }, pauseBetween).unref()
  }

  /** The next entries after a position, in order. @param size the maximum, unless another follower has chosen one */
  readAfter (position: number, size: number): Promise<PartAndMark> {
    const shared = this.#reads.get(position)
    if (shared !== undefined) return shared
    const reading = this.#read(position, size)
    this.#reads.set(position, reading)
    const forget = (): void => { this.#reads.delete(position) }
    // Only the end of the log is wanted by many, and long entries are not kept.
    reading.then(({ part: { count, length } }) => {
      if (count === size || length > maxPartLength) forget()
    }, forget)
    return reading
  }

  async #read (position: number, size: number): Promise<PartAndMark> {
    const entries = await findEntries(this.storage, [{ field: 'position', op: 'gt', value: position }], size)
    // The mark is one of the rows, unless there are more. It is read after them, since it may rise meanwhile.
    const mark = entries.find(({ id }) => id === prunedId)?.position
    const pruned = mark ?? (entries.length < size ? 0 : await findPruned(this.storage))
    return { part: new LogPart(this.storage, entries), pruned }
  }
}

const tails = new WeakMap<GuardedStorage, Tail>()

export function getTail (storage: GuardedStorage): Tail {
  let tail = tails.get(storage)
  if (tail === undefined) tails.set(storage, tail = new Tail(storage))
  return tail
}

export async function findEntries (
  storage: Pick<Storage, 'find'>,
  where: readonly Condition[],
  limit: number,
  signal?: AbortSignal,
  descending = false
): Promise<readonly FeedEntry[]> {
  const order = [{ field: 'position', descending }]
  const { items } = await storage.find('commands', { where, order, offset: 0, limit, count: false }, signal)
  return items as readonly FeedEntry[]
}

async function findKeys (
  storage: Pick<Storage, 'find' | 'findText'>,
  where: readonly Condition[],
  limit: number,
  signal?: AbortSignal,
  descending = false
): Promise<readonly EntryKey[]> {
  const query = { where, order: [{ field: 'position', descending }], offset: 0, limit, count: false }
  return await findMembers(storage, 'commands', query, keyMembers, signal) as readonly EntryKey[]
}

/** The position of the last entry; 0 where there is none. */
export async function findEnd (storage: Pick<Storage, 'find' | 'findText'>, signal?: AbortSignal): Promise<number> {
  return (await findKeys(storage, numbered, 1, signal, true))[0]?.position ?? 0
}

/** The position of the last entry that was pruned; 0 where none was. */
export async function findPruned (storage: Pick<Storage, 'get'>, signal?: AbortSignal): Promise<number> {
  return (await storage.get('commands', prunedId, signal))?.position as number | undefined ?? 0
}

/** Throws where entries after a position are gone: pruned, or those of another storage, which has come further. */
export async function refusePruned (
  storage: Pick<Storage, 'get'>, position: number, end: number, signal?: AbortSignal
): Promise<void> {
  if (position > end || position < await findPruned(storage, signal)) throw wasPruned()
}

export function isPruned (error: unknown): boolean {
  return error instanceof Problem && error.code === 'pruned'
}

function wasPruned (): Problem {
  return new Problem('pruned', 'Commands after this cursor were deleted; start again at the first page')
}
