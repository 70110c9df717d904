import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { findPositionsAround, listParts, type Position, readCursor, writeCursor } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { matcher } from '../storage/conditions.js'
import { raceSignal, RequestDeadline } from '../storage/deadline.js'
import { selectById } from '../storage/pages.js'
import { type Condition, type Found, type Id, type Query, type Storage, Watchers } from '../storage/storage.js'
import type { FoundPage, Reader } from './reader.js'
import { type CommandRecord, feedList, prunedId, showCommand } from './record.js'
import { toOwnRecord } from './renamed.js'
import type { FollowedCommand, LoggedCommand } from './service.js'
import type { GuardedStorage } from './storage-access.js'

/** An entry of the log that has its position. */
export type FeedEntry = CommandRecord & { readonly position: number }

/** A family whose entries a caller may see, and what the caller may see of it. */
export interface FeedFamily {
  readonly family: Family
  readonly reader: Reader
}

// Milliseconds. While many commits are made, their entries are read together.
const pauseBetween = 20
const pauseBetweenPolls = 1000
const longest = 2 ** 31 - 1
// Entries that a page may skip because the caller may not see their items.
const maxPassed = 5000
const batch = 100

/** The entries of some families, as one caller sees them: those of items that the caller may read. */
export class Feed<F extends FeedFamily = FeedFamily> {
  readonly #where: readonly Condition[]
  #families: ReadonlyMap<string, F>

  /**
   * @param id the item whose entries are wanted; undefined for all
   * @param hide leaves out what the entries say of items that the caller may not see
   */
  constructor (
    readonly storage: GuardedStorage,
    families: readonly F[],
    readonly signal: AbortSignal | undefined,
    id?: Id,
    readonly hide = async (entries: readonly FeedEntry[]): Promise<readonly FeedEntry[]> => entries
  ) {
    this.#families = new Map(families.map(each => [each.family.name, each]))
    this.#where = [
      { field: 'family', op: 'eq', values: [...this.#families.keys()] },
      ...id === undefined ? [] : [{ field: 'target', op: 'eq', values: [String(id)] } as const]
    ]
  }

  get families (): readonly F[] {
    return [...this.#families.values()]
  }

  /** What the caller may see now. */
  replace (families: readonly F[]): void {
    this.#families = new Map(families.map(each => [each.family.name, each]))
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
    const end = await findEnd(this.storage, this.signal)
    return cursor === undefined ? end : await this.#check(readPosition(cursor), end)
  }

  async #check (position: number, end: number): Promise<number> {
    const pruned = await findPruned(this.storage, this.signal)
    if (position <= end && position >= pruned) return position
    throw new Problem('pruned', 'Commands after this cursor were deleted; start again at the first page')
  }

  /** A page, and the cursor to continue from later: everything before it was on this page or an earlier one. */
  async findPage (parsed: ParsedQuery): Promise<FoundPage & { readonly follow: Position }> {
    const { query, list, start } = parsed
    // Read before the page, which then has everything up to it.
    const end = await findEnd(this.storage, this.signal)
    const given = start?.position.item.position as number | undefined
    if (given !== undefined && start?.backwards === false) await this.#check(given, end)
    const { parts: [part = []], order } = start === undefined
      ? { parts: [numbered], order: query.order }
      : listParts(list.fields, query.order, start)
    const { items, more, last } = await this.#find({ ...query, where: [...query.where, ...part], order })
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

  /** For exports: all that match, however many must be passed over. */
  async find (query: Query): Promise<Found> {
    return await this.#find({ ...query, where: [...numbered, ...query.where] }, Infinity)
  }

  async #find (
    { where: asked, order, limit }: Query,
    mostPassed = maxPassed
  ): Promise<{ readonly items: readonly FeedEntry[], readonly more: boolean, readonly last: number | undefined }> {
    const items: FeedEntry[] = []
    const descending = order[0]?.descending === true
    const where = [...this.#where, ...asked]
    let passed = 0
    for (let bound: readonly Condition[] = []; ;) {
      const wanted = Math.max(limit + 1 - items.length, this.#isNarrowed ? batch : 0)
      const entries = await findEntries(this.storage, [...where, ...bound], wanted, this.signal, descending)
      items.push(...await this.filter(entries))
      passed += entries.length
      const more = items.length > limit
      const last = more ? items[limit - 1]?.position : entries.at(-1)?.position
      if (more || entries.length < wanted) return { items: items.slice(0, limit), more, last }
      if (passed >= mostPassed) return { items, more: true, last }
      bound = [{ field: 'position', op: descending ? 'lt' : 'gt', value: last as number }]
    }
  }

  get #isNarrowed (): boolean {
    return [...this.#families.values()].some(({ reader }) => reader.isNarrowed)
  }

  /** Of items that the caller may read: one read for each family. */
  async filter (entries: readonly FeedEntry[]): Promise<readonly FeedEntry[]> {
    const narrowed = [...this.#families.values()].filter(({ reader }) => reader.isNarrowed)
    const visible = new Map(await Promise.all(narrowed.map(async ({ family, reader }) => {
      const own = entries.filter(entry => entry.family === family.name)
      const ids = [...new Set(own.map(({ target }) => family.readId(target)))].filter(id => id !== undefined)
      const found = ids.length === 0
        ? []
        : (await reader.find(selectById([{ field: 'id', op: 'eq', values: ids }], ids.length))).items
      return [family.name, new Set(found.map(({ id }) => String(id)))] as const
    })))
    return await this.hide(entries.filter(({ family, target }) =>
      this.#families.has(family) && (visible.get(family)?.has(target) ?? true)))
  }

  /**
   * Yields the entries after a position as they are committed, until the signal is aborted, also after an outage of the
   * storage. After each batch, and at intervals, it yields what was passed, even if the caller sees none of it.
   */
  async * follow (
    start: number,
    { where = [], signal, interval = longest, renew }: {
      readonly where?: readonly Condition[]
      readonly signal?: AbortSignal | undefined
      /** Milliseconds after which it also yields without entries. */
      readonly interval?: number
      /** Called at these intervals; what it throws ends the following. */
      readonly renew?: () => Promise<void>
    }
  ): AsyncGenerator<{ readonly entries: readonly FeedEntry[], readonly position: number }> {
    const tail = getTail(this.storage)
    const holds = matcher([...this.#where, ...where])
    const isEnded = (): boolean => signal?.aborted === true
    const read = async (after: number) => {
      const read = await tail.readAfter(after)
      return { entries: await this.filter(read.filter(holds)), position: read.at(-1)?.position ?? after }
    }
    let position = start
    let isWoken = false
    let retryAfter = longest
    let dueAt = performance.now() + interval
    let wake = (): void => {}
    const onWake = (): void => { isWoken = true; wake() }
    const leave = tail.follow(onWake)
    signal?.addEventListener('abort', onWake)
    try {
      while (!isEnded()) {
        isWoken = false
        for (;;) {
          this.renewTime()
          const found = await raceSignal(this.signal, read(position)).catch(error => {
            if (!(error instanceof Problem && ['storage-unavailable', 'busy'].includes(error.code))) throw error
          })
          retryAfter = found === undefined ? pauseBetweenPolls : longest
          if (found === undefined || found.position === position) break
          position = found.position
          yield found
          if (isEnded()) return
        }
        if (performance.now() >= dueAt) {
          dueAt = performance.now() + interval
          await renew?.()
          yield { entries: [], position }
        } else if (!isWoken) {
          // Keeps the process of a script alive, too.
          const timer = setTimeout(() => { wake() }, Math.min(dueAt - performance.now(), retryAfter))
          await new Promise<void>(resolve => { wake = resolve })
          clearTimeout(timer)
        }
      }
    } finally {
      leave()
      signal?.removeEventListener('abort', onWake)
    }
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
  const shown = showCommand(family, toOwnRecord(family, entry), id)
  return { ...shown as LoggedCommand, family: family.name, cursor: writePosition(entry.position) }
}

function readPosition (cursor: string): number {
  const position = findPosition(cursor)
  if (position !== undefined) return position
  const detail = 'must be a cursor of this feed, as in links.follow or the id of an event'
  throw new Problem('bad-request', `The cursor ${detail}`, { errors: [{ parameter: 'after', detail }] })
}

/** The followers of a storage in this process. Those at the same position share a read. */
class Tail {
  readonly #reads = new Map<number, Promise<readonly FeedEntry[]>>()
  readonly #followers = new Watchers()
  #stop: (() => void) | undefined
  #pause: NodeJS.Timeout | undefined
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

  /** The next entries after a position, in order. */
  readAfter (position: number): Promise<readonly FeedEntry[]> {
    const shared = this.#reads.get(position)
    if (shared !== undefined) return shared
    const reading = findEntries(this.storage, [{ field: 'position', op: 'gt', value: position }], batch)
    this.#reads.set(position, reading)
    const forget = (): void => { this.#reads.delete(position) }
    // Only the end of the log is wanted by many.
    reading.then(({ length }) => { if (length === batch) forget() }, forget)
    return reading
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

/** The position of the last entry; 0 where there is none. */
export async function findEnd (storage: Pick<Storage, 'find'>, signal?: AbortSignal): Promise<number> {
  return (await findEntries(storage, numbered, 1, signal, true))[0]?.position ?? 0
}

/** The position of the last entry that was pruned; 0 where none was. */
export async function findPruned (storage: Pick<Storage, 'get'>, signal?: AbortSignal): Promise<number> {
  return (await storage.get('commands', prunedId, signal))?.position as number | undefined ?? 0
}
