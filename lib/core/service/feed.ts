import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { findPositionsAround, listParts, type Position, readCursor, writeCursor } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { matcher } from '../storage/conditions.js'
import { raceSignal, RequestDeadline } from '../storage/deadline.js'
import { choosePartSize, findByIds, findMembers, firstPartSize, maxPartLength } from '../storage/pages.js'
import { type Condition, type Found, type Id, type Query, type Storage, Watchers } from '../storage/storage.js'
import { type EntryKey, LogPart } from './log-part.js'
import type { FoundPage, Reader } from './reader.js'
import { type CommandRecord, feedList, showCommand } from './record.js'
import { toOwnRecord } from './renamed.js'
import type { FollowedCommand, LoggedCommand } from './service.js'
import type { GuardedStorage } from './storage-access.js'

/** The row with the position of the last pruned entry. No client can choose this id, and no family has the row. */
export const prunedId = '$pruned'

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
// Never many whole entries at once: in a log, long ones follow short ones.
const chooseSize = (...last: Parameters<typeof choosePartSize>) => Math.min(firstPartSize, choosePartSize(...last))
const keyMembers = ['id', 'position', 'family', 'target']

/** The ids of items that a reader may see, of those that some entries are about; undefined if it must find out. */
type FindVisible = (reader: Reader) => Promise<ReadonlySet<Id>> | undefined

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
    readonly hide: (entries: readonly FeedEntry[], findVisible: FindVisible) => Promise<readonly FeedEntry[]> =
    async entries => entries
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
    query: Query,
    mostPassed = maxPassed
  ): Promise<{ readonly items: readonly FeedEntry[], readonly more: boolean, readonly last: number | undefined }> {
    const { where: asked, order, limit } = query
    const where = [...this.#where, ...asked]
    const descending = order[0]?.descending === true
    if (this.#isNarrowed) return await this.#findVisible({ ...query, where }, descending, mostPassed)
    const entries = await findEntries(this.storage, where, limit + 1, this.signal, descending)
    const part = new LogPart(this.storage, entries.slice(0, limit), this.signal)
    const items = await this.#hide(part, await this.#filter(part))
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
        return { items: await this.#hide(new LogPart(storage, entries, signal)), more: more || !isEnd, last }
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

  async #hide (part: LogPart<FeedEntry>, entries = part.entries): Promise<readonly FeedEntry[]> {
    return await this.hide(entries, reader => reader.storage === this.storage ? part.findVisible(reader) : undefined)
  }

  /** Where to read on: entries that the caller may not see are passed over by their keys. */
  async #skip (after: number): Promise<number> {
    const where: Condition[] = [{ field: 'position', op: 'gt', value: after }]
    const keys = await findKeys(this.storage, where, batch, this.signal)
    const part = new LogPart(this.storage, keys, this.signal)
    const [first] = await this.#filter(part, part.entries.filter(matcher(this.#where)))
    return first === undefined ? part.entries.at(-1)?.position ?? after : first.position - 1
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
    let size = 1
    let isLong = false
    const read = async (after: number) => {
      const next = isLong && this.#isNarrowed && this.storage.findText !== undefined ? await this.#skip(after) : after
      if (next > after) return { entries: [], position: next }
      const part = await tail.readAfter(after, size)
      if (part.count > 0) isLong = (size = chooseSize(size, part)) === 1
      const shown = await this.#filter(part, part.entries.filter(holds))
      return { entries: await this.#hide(part, shown), position: part.entries.at(-1)?.position ?? after }
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
  readonly #reads = new Map<number, Promise<LogPart<FeedEntry>>>()
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

  /** The next entries after a position, in order. @param size the maximum, unless another follower has chosen one */
  readAfter (position: number, size: number): Promise<LogPart<FeedEntry>> {
    const shared = this.#reads.get(position)
    if (shared !== undefined) return shared
    const reading = findEntries(this.storage, [{ field: 'position', op: 'gt', value: position }], size)
      .then(entries => new LogPart(this.storage, entries))
    this.#reads.set(position, reading)
    const forget = (): void => { this.#reads.delete(position) }
    // Only the end of the log is wanted by many, and long entries are not kept.
    reading.then(({ count, length }) => { if (count === firstPartSize || length > maxPartLength) forget() }, forget)
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
