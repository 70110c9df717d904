import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { findPositionsAround, listParts, type Position } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { clearInterval, setInterval, setTimeout, type Timer } from '../runtime.js'
import type { Find, FoundPage } from '../service/find-page.js'
import {
  type EntryKey, type FeedEntry, findEnd, findEntries, findKeys, findPosition, findPruned, keysPerRead, numbered,
  placeAfter, refusePruned, selectByPosition, wasPruned, writePosition
} from '../service/log-reads.js'
import type { Reader } from '../service/reader.js'
import { prunedId, showEntry } from '../service/record.js'
import type { FollowedCommand, LoggedCommand } from '../service/service.js'
import type { GuardedStorage } from '../service/storage-access.js'
import { matcher } from '../storage/conditions.js'
import { RequestDeadline } from '../storage/deadline.js'
import { choosePartSize, findByIds, firstPartSize, maxPartLength } from '../storage/pages.js'
import { type Condition, type Id, type Query, Watchers } from '../storage/storage.js'
import { LogPart } from './log-part.js'

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

/** A part of a page, and the position up to which it was read. */
export interface FoundPart {
  readonly items: readonly FeedEntry[]
  readonly more: boolean
  readonly last: number | undefined
}

// Milliseconds. While many commits are made, followers read their entries together; many followers read less often.
const pauseBetween = 20
const pausePerFollower = 0.2
const longestPause = 100
export const pauseBetweenPolls = 1000
// Entries that a page may read to find those that the caller may see.
const maxPassed = 5000

/** The entries of some families, as one caller sees them: those of items that the caller may read. */
export class Feed<F extends FeedFamily = FeedFamily> {
  #where: readonly Condition[] = []
  #families: ReadonlyMap<string, F> = new Map()
  /** How many entries a follower reads next, and whether they are long. */
  #size = firstPartSize
  #isLong = false
  /** How many more entries the page may read. */
  #skippable = maxPassed

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
    this.#skippable = maxPassed
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

  /** Where a follower starts: after a cursor, or at the end. Throws if entries after the cursor are gone. */
  async findStart (cursor: string | undefined): Promise<number> {
    const position = cursor === undefined ? undefined : readPosition(cursor)
    const end = await findEnd(this.storage, this.signal)
    if (position === undefined) return end
    await refusePruned(this.storage, position, end, this.signal)
    return position
  }

  /** A page, and the cursor to continue from later: everything before it was on this page or an earlier one. */
  async findPage (parsed: ParsedQuery): Promise<FoundPage & { readonly follow: Position }> {
    const { query, start } = parsed
    const isBackwards = start?.backwards === true
    const isForward = query.order[0]?.descending === false && !isBackwards
    // Read before the page, which then has everything up to it.
    const given = start?.position.item.position as number | undefined
    const beginning = given ?? this.#findFirst(query)
    const [end, first] = await Promise.all([findEnd(this.storage, this.signal), beginning])
    const found = await this.#find(selectPart(parsed), isBackwards ? undefined : first, end)
    const { items, more } = found
    const shown = isBackwards ? items.toReversed() : items
    const { next, prev } = findPositionsAround(parsed, findEdges(found, isBackwards))
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
      this.#skippable = Infinity
      const { items, last } = await this.#find({ ...query, where: [...numbered, ...query.where] }, from, Infinity)
      from = query.order[0]?.descending === true ? undefined : Math.max(from ?? 0, last ?? 0)
      return { items }
    }
  }

  /** @param from where to begin, if nothing after it may be missing because it was pruned */
  async #find (query: Query, from: number | undefined, end: number): Promise<FoundPart> {
    const { where: asked, order, limit } = query
    const where = [...this.#where, ...asked]
    const descending = order[0]?.descending === true
    // After the entries: what is pruned while they are read may be missing.
    const check = async (): Promise<void> => {
      if (from !== undefined) await refusePruned(this.storage, from, end, this.signal)
    }
    if (this.#isNarrowed) return await this.#findVisible({ ...query, where }, descending, check)
    const oneMore = selectByPosition(where, limit + 1, descending)
    const { items: entries } = await this.storage.find('commands', oneMore, this.signal) as { items: FeedEntry[] }
    const part = new LogPart(this.storage, entries.slice(0, limit), this.signal)
    const [items] = await Promise.all([this.#show(part), check()])
    return { items, more: entries.length > limit, last: part.entries.at(-1)?.position }
  }

  /** Finds the keys of what the caller may see, and then these entries alone. */
  async #findVisible ({ where, limit }: Query, descending: boolean, check: () => Promise<void>): Promise<FoundPart> {
    const { storage, signal } = this
    const found: EntryKey[] = []
    let size = storage.findText === undefined ? firstPartSize : keysPerRead
    for (let bound: readonly Condition[] = []; ;) {
      const { entries: keys, isEnd, most } = await findKeys(storage, [...where, ...bound], size, signal, descending)
      const part = new LogPart(storage, keys, signal)
      const [visible] = await Promise.all([this.#filter(part), check()])
      found.push(...visible)
      this.#skippable -= part.count
      const more = found.length > limit
      const last = (more ? found[limit - 1] : part.entries.at(-1))?.position
      if (more || isEnd || this.#skippable <= 0) {
        const shown = found.slice(0, limit)
        const whole = await findByIds(storage, 'commands', shown.map(({ id }) => id), signal)
        const entries = shown.flatMap(({ id }) => whole.get(id) as FeedEntry | undefined ?? [])
        if (entries.length < shown.length) await check()
        return { items: await this.#show(new LogPart(storage, entries, signal)), more: more || !isEnd, last }
      }
      size = choosePartSize(size, part, most)
      bound = [{ field: 'position', op: descending ? 'lt' : 'gt', value: last as number }]
    }
  }

  get #isNarrowed (): boolean {
    return [...this.#families.values()].some(({ reader }) => reader.isNarrowed)
  }

  /** Those about items that the caller may read, with at most one read for each family. */
  async #filter<E extends EntryKey> (part: LogPart<E>, entries = part.entries): Promise<E[]> {
    if (entries.length === 0) return []
    const { id } = this
    const named = new Set(entries.map(({ family }) => family))
    const narrowed = [...this.#families.values()].filter(({ family, reader }) =>
      reader.isNarrowed && named.has(family.name))
    const visible = new Map(await Promise.all(narrowed.map(async ({ family, reader }) => {
      const ids = await part.findVisible(reader)
      const isGone = id !== undefined && !ids.has(id) && await reader.hasLog(id)
      return [family.name, new Set(Array.from(isGone ? [id] : ids, String))] as const
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
    if (entries.length === 0) return []
    const shown = new Map<FeedEntry, FeedEntry>()
    const findVisible = (reader: Reader) => reader.storage === this.storage ? part.findVisible(reader) : undefined
    await Promise.all(Array.from(this.#families.values(), async ({ family: { name }, reader }) => {
      const own = entries.filter(({ family }) => family === name)
      for (const [index, entry] of (await reader.show(own, findVisible)).entries()) {
        shown.set(own[index] as FeedEntry, entry)
      }
    }))
    return entries.map(entry => shown.get(entry) as FeedEntry)
  }

  /** Where to read on: entries that the caller may not see are passed over by their keys. */
  async #skip (after: number): Promise<number> {
    const where: Condition[] = [{ field: 'position', op: 'gt', value: after }]
    const { entries } = await findKeys(this.storage, where, keysPerRead, this.signal)
    const part = new LogPart(this.storage, entries, this.signal)
    const [first] = await this.#filter(part, part.entries.filter(matcher(this.#where)))
    return first === undefined ? part.entries.at(-1)?.position ?? after : first.position - 1
  }

  /** Finds those of a log that are wanted, and whose families the caller may read. */
  match (where: readonly Condition[]): (entry: FeedEntry) => boolean {
    return matcher([...this.#where, ...where])
  }

  /** What comes after a position. Throws if some of it was pruned, unless that is known. */
  async readAfter (position: number, known: number, holds: (entry: FeedEntry) => boolean): Promise<Passed> {
    const check = (pruned: number): void => { if (pruned > Math.max(position, known)) throw wasPruned() }
    if (this.#isLong && this.#isNarrowed && this.storage.findText !== undefined) {
      const next = await this.#skip(position)
      check(await findPruned(this.storage))
      if (next > position) return { entries: [], position: next }
    }
    const { part, pruned, most } = await getTail(this.storage).readAfter(position, this.#size)
    check(pruned)
    this.#size = choosePartSize(this.#size, part, most)
    if (part.count > 0) this.#isLong = this.#size === 1 || part.length > maxPartLength
    const shown = await this.#filter(part, part.entries.filter(holds))
    return { entries: await this.#show(part, shown), position: part.entries.at(-1)?.position ?? position }
  }
}

export function showFollowed (family: Family, entry: FeedEntry, id = entry.id): FollowedCommand {
  const { position } = entry
  const shown = showEntry(family, entry, id) as LoggedCommand
  return { ...shown, family: family.name, position, cursor: writePosition(position) }
}

/** What a page begins with: all that is numbered, or what is after its cursor, or before it. */
export function selectPart ({ query, list, start }: ParsedQuery): Query {
  const { parts: [part = []], order } = start === undefined
    ? { parts: [numbered], order: query.order }
    : listParts(list.fields, query.order, start)
  return { ...query, where: [...query.where, ...part], order }
}

export function findEdges ({ items, more, last }: FoundPart, isBackwards: boolean) {
  const edge = last === undefined ? undefined : { position: last } as never
  return isBackwards ? { more, first: edge } : { more, first: items[0], last: edge }
}

function readPosition (cursor: string): number {
  const position = findPosition(cursor)
  if (position !== undefined) return position
  const detail = 'must be a cursor of this feed, as in links.follow or the id of an event'
  throw new Problem('bad-request', `The cursor ${detail}`, { errors: [{ parameter: 'after', detail }] })
}

interface PartAndMark {
  readonly part: LogPart<FeedEntry>
  /** The maximum to read next. */
  readonly most: number
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
    }, Math.min(longestPause, Math.max(pauseBetween, this.#followers.size * pausePerFollower))).unref()
  }

  /** The next entries after a position, in order. @param size the maximum, unless another follower has chosen one */
  readAfter (position: number, size: number): Promise<PartAndMark> {
    // The last follower has left: no commit would end what is shared.
    if (this.#stop === undefined) return this.#read(position, size)
    const shared = this.#reads.get(position)
    if (shared !== undefined) return shared
    const reading = this.#read(position, size)
    this.#reads.set(position, reading)
    const forget = (): void => { if (this.#reads.get(position) === reading) this.#reads.delete(position) }
    // Long entries are not kept. Others are wanted by followers that are woken together, and by no one later.
    reading.then(({ part }) => {
      if (part.length > maxPartLength) forget()
      else setTimeout(forget, pauseBetween).unref()
    }, forget)
    return reading
  }

  async #read (position: number, size: number): Promise<PartAndMark> {
    const { entries, isEnd, most } =
      await findEntries(this.storage, [{ field: 'position', op: 'gt', value: position }], size)
    // The mark is one of the rows, unless there are more. It is read after them, since it may rise meanwhile.
    const mark = entries.find(({ id }) => id === prunedId)?.position
    const pruned = mark ?? (isEnd ? 0 : await findPruned(this.storage))
    return { part: new LogPart(this.storage, entries), pruned, most }
  }
}

const tails = new WeakMap<GuardedStorage, Tail>()

export function getTail (storage: GuardedStorage): Tail {
  let tail = tails.get(storage)
  if (tail === undefined) tails.set(storage, tail = new Tail(storage))
  return tail
}
