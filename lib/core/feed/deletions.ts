import { nameAction } from '../family/declared-operations.js'
import { getBase } from '../family/family.js'
import { findPositionsAround } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import type { Find, FoundPage } from '../service/find-page.js'
import { entryMembers, readDeletion, type State } from '../service/history.js'
import type { EntryKey, FeedEntry } from '../service/log-reads.js'
import { findEnd, findKeys, findPruned, keysPerRead, numbered } from '../service/log-reads.js'
import type { Reader } from '../service/reader.js'
import type { CommandRecord } from '../service/record.js'
import { choosePartSize, findByIds, findMembers, firstPartSize, selectById } from '../storage/pages.js'
import type { Condition, FieldCondition, Id, Query } from '../storage/storage.js'
import { measureAll } from '../values/json.js'
import { findEdges, type FoundPart, selectPart } from './feed.js'

// What is deleted now. No table and no index has it: deletions are found in the log, newest first.

/** Positions that are searched at once: the log may have few deletions. */
const firstWidth = 20_000
const mostWidth = 320_000
// What a page may search, and how many deletions it may pass over to find those that it shows.
const maxSearched = 500_000
const maxPassed = 5000

/** Deletions that were found, and the position up to which everything was searched. */
interface SearchedPart {
  readonly keys: readonly EntryKey[]
  readonly passed: number
  readonly isEnd: boolean
}

/** The deletions of items that have not come back, as one caller sees them: those that it could read as they were. */
export class Deletions {
  #searched = 0
  #passed = 0
  readonly #lasts = new WeakMap<object, State>()

  constructor (readonly reader: Reader, readonly limits = { searched: maxSearched, passed: maxPassed }) {}

  /** What the item of an entry that was found was last. */
  findLast (entry: object): State | undefined {
    return this.#lasts.get(entry)
  }

  /** As many as there are, unless the page has searched too much: then it goes on from there. */
  async findPage (parsed: ParsedQuery): Promise<FoundPage> {
    const isBackwards = parsed.start?.backwards === true
    const found = await this.#find(selectPart(parsed))
    const { items } = found
    const { next, prev } = findPositionsAround(parsed, findEdges(found, isBackwards))
    return { items: isBackwards ? items.toReversed() : items, total: undefined, next, prev }
  }

  /** For exports: all of them, however long the log is. */
  makeFind (): Find {
    return async query => {
      this.#searched = this.#passed = -Infinity
      return { items: (await this.#find(query)).items }
    }
  }

  async #find ({ where, order, limit }: Query): Promise<FoundPart> {
    const { storage, signal } = this.reader
    const found: EntryKey[] = []
    let last: number | undefined
    let more = false
    for await (const part of this.#search(where, order[0]?.descending === true)) {
      found.push(...await this.#keepVisible(await this.#keepHolding(part.keys)))
      this.#passed += part.keys.length
      last = part.passed
      more = found.length > limit || !part.isEnd
      if (found.length > limit) last = found[limit - 1]?.position
      const isEnough = this.#searched >= this.limits.searched || this.#passed >= this.limits.passed
      if (found.length > limit || isEnough) break
    }
    const shown = found.slice(0, limit)
    const whole = await findByIds(storage, 'commands', shown.map(({ id }) => id), signal)
    const entries = shown.flatMap(({ id }) => whole.get(id) as FeedEntry | undefined ?? [])
    return { items: await this.#show(entries), more, last }
  }

  /** Along the log, in ever wider parts. */
  async * #search (asked: readonly Condition[], descending: boolean): AsyncGenerator<SearchedPart> {
    const { storage, signal, family } = this.reader
    const [end, pruned] = await Promise.all([findEnd(storage, signal), findPruned(storage, signal)])
    let { low, high } = findBounds(asked, { low: pruned, high: end + 1 })
    const [lowest, highest] = [low, high]
    const where = [...selectDeletions(getBase(family).name, getBase(family).singular), ...numbered, ...asked]
    const size = storage.findText === undefined ? firstPartSize : keysPerRead
    for (let width = firstWidth; high - low > 1; width = Math.min(4 * width, mostWidth)) {
      signal?.throwIfAborted()
      const from = descending ? Math.max(lowest, high - 1 - width) : low
      const to = descending ? high : Math.min(highest, low + 1 + width)
      const bounds: Condition[] =
        [{ field: 'position', op: 'gt', value: from }, { field: 'position', op: 'lt', value: to }]
      const { entries: keys } = await findKeys(storage, [...where, ...bounds], size, signal, descending)
      const isWhole = keys.length < size
      const passed = isWhole ? (descending ? from + 1 : to - 1) : keys.at(-1)?.position as number
      if (descending) high = passed
      else low = passed
      this.#searched += Math.abs(passed - (descending ? to : from))
      yield { keys, passed, isEnd: high - low <= 1 }
    }
  }

  /** Those of items that have not come back since. */
  async #keepHolding (keys: readonly EntryKey[]): Promise<readonly EntryKey[]> {
    if (keys.length === 0) return keys
    const { storage, signal, family } = this.reader
    const { name, singular, readId } = getBase(family)
    const targets = [...new Set(keys.map(({ target }) => target))]
    const ids = targets.map(target => readId(target)).filter(id => id !== undefined)
    const next = [...new Set(keys.map(({ revision }) => revision + 1))]
    const restored: Condition[] = [
      ...selectDone(name, nameAction('Restore', singular)),
      { field: 'target', op: 'eq', values: targets },
      { field: 'revision', op: 'eq', values: next }
    ]
    const [present, back] = await Promise.all([
      findMembers(storage, name, selectById(isOneOf(ids), ids.length), ['id'], signal),
      findMembers(storage, 'commands', selectById(restored, targets.length * next.length), restoredMembers, signal)
    ])
    const there = new Set(present.map(({ id }) => String(id)))
    const undone = new Set((back as readonly EntryKey[]).map(({ target, revision }) => `${revision} ${target}`))
    return keys.filter(({ target, revision }) => !there.has(target) && !undone.has(`${revision + 1} ${target}`))
  }

  /** Judged by the items as they were: only this needs what may be long. */
  async #keepVisible (keys: readonly EntryKey[]): Promise<readonly EntryKey[]> {
    const { reader, reader: { storage, signal, isNarrowed, family } } = this
    if (!isNarrowed) return keys
    const visible = new Set<Id>()
    for (let start = 0, size = firstPartSize; start < keys.length;) {
      const ids = keys.slice(start, start + size).map(({ id }) => id)
      const entries = await findMembers(storage, 'commands', selectById(isOneOf(ids), ids.length), entryMembers, signal)
      for (const entry of entries as readonly CommandRecord[]) {
        const last = readDeletion(family, entry)?.last
        if (last !== undefined && reader.seesState(last)) visible.add(entry.id)
      }
      start += size
      size = choosePartSize(size, { length: measureAll(entries), count: entries.length })
    }
    return keys.filter(({ id }) => visible.has(id))
  }

  async #show (entries: readonly FeedEntry[]): Promise<readonly FeedEntry[]> {
    const shown = await this.reader.show(entries)
    for (const [index, entry] of entries.entries()) {
      const last = readDeletion(this.reader.family, entry)?.last
      if (last !== undefined) this.#lasts.set(shown[index] as object, last)
    }
    return shown
  }
}

const restoredMembers = ['id', 'target', 'revision']

function selectDone (family: string, action: string): FieldCondition[] {
  return [
    { field: 'family', op: 'eq', values: [family] },
    { field: 'action', op: 'eq', values: [action] },
    { field: 'outcome', op: 'eq', values: ['done'] }
  ]
}

/** Not those of other items that have changed this one. */
function selectDeletions (family: string, singular: string): FieldCondition[] {
  return [...selectDone(family, nameAction('Delete', singular)), { field: 'about', op: 'null', is: true }]
}

function isOneOf (values: readonly Id[]): FieldCondition[] {
  return [{ field: 'id', op: 'eq', values }]
}

interface Bounds { readonly low: number, readonly high: number }

/** Both excluded: of the log, or where the page starts. */
function findBounds (where: readonly Condition[], { low, high }: Bounds): { low: number, high: number } {
  const own = { low, high }
  for (const condition of where) {
    if (condition.field !== 'position' || !('value' in condition)) continue
    const { op } = condition
    const value = Number(condition.value)
    if (op === 'lt' || op === 'lte') own.high = Math.min(own.high, op === 'lt' ? value : value + 1)
    else own.low = Math.max(own.low, op === 'gt' ? value : value - 1)
  }
  return own
}
