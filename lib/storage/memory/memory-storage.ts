import { errorCodes } from '../../core/errors.js'
import { chainShape, linkEntry, sealChange } from '../../core/storage/chain.js'
import { compareScalars, findIds, isBound, isLower } from '../../core/storage/conditions.js'
import { markDeadlineAware } from '../../core/storage/deadline.js'
import { collectMatches, endByLength, FirstMatches } from '../../core/storage/pages.js'
import { completer, mergeShapes, refuseIncomplete } from '../../core/storage/shapes.js'
import {
  type Change, checkChanges, type Condition, ConflictError, DuplicateError, type FamilyShape, type Found, getId,
  type Id, isExpected, type Query, type Storage, type Stored, Watchers
} from '../../core/storage/storage.js'
import { HeavyReadQueue, Turn } from '../../core/storage/turns.js'
import { checkStorageOptions, storageRules } from '../check-options.js'
import { type KeptItems, KeyRules, listKeys } from '../key-rules.js'
import { countBelow, MemoryItems } from './memory-items.js'

/** Options of a memory storage. */
export interface MemoryOptions {
  /** Heavy reads, such as a sort, that run at once, in short turns. Default: 2. */
  readonly maxHeavyReads?: number
  /** Heavy reads that may wait; those of one request count as one. Further ones fail with `BusyError`. Default: 50. */
  readonly maxWaitingReads?: number
  /** The characters of a value, as JSON, that the log keeps of a change; longer ones are left out. Default: all. */
  readonly maxLogged?: number
  /** Whether each entry of the log has a hash over itself and the entry before it, for `verifyLog`. Default: false. */
  readonly chain?: boolean
}

/**
 * Keeps everything in memory, until the process ends: for tests, trials and small tools.
 *
 * @example
 * app.register(customers, { storage: memoryStorage() })
 */
export function memoryStorage (options: MemoryOptions = {}): Storage {
  checkStorageOptions(options, storageRules)
  const families = new Map<string, MemoryFamily>()
  const queue = new HeavyReadQueue(options)
  const rules = new KeyRules()
  const watchers = new Watchers()
  const isChained = options.chain === true
  const kept: KeptItems = {
    get: (family, id) => getFamily(family).items.get(id),
    findEqual: (family, values) => getFamily(family).items.findEqual(values)
  }

  return markDeadlineAware<Storage>({
    ...options.maxLogged !== undefined && { maxLogged: options.maxLogged },
    ...isChained && { chain: true },

    async prepare (given) {
      const shape = isChained ? chainShape(given) : given
      const before = families.get(shape.name)
      const items = before?.items ?? new MemoryItems()
      if (before !== undefined && items.items.length > 0) checkKnownFields(before.shape, shape)
      rules.add(shape, items.items)
      const merged = mergeShapes(before?.shape, shape)
      const complete = completer(merged)
      families.set(shape.name, { shape: merged, items, complete })
      completeKept(items, complete)
      for (const fields of listKeys(shape)) items.addKey(fields)
      for (const path of Object.keys(shape.pathReferences ?? {})) items.addPath(path)
      if (shape.sequence !== undefined) items.addSequence(shape.sequence)
    },

    async find (family, query, signal) {
      signal?.throwIfAborted()
      const turn = new Turn(signal, queue)
      try {
        return endByLength(await findInMemory(getFamily(family).items, query, turn), query)
      } finally {
        turn.end()
      }
    },

    async get (family, id, signal) {
      signal?.throwIfAborted()
      return getFamily(family).items.get(id)
    },

    async commit (changes) {
      checkChanges(changes)
      const edits = findEdits(isChained ? changes.map(sealChange) : changes, getFamily)
      rules.check(changes, kept)
      // Nothing fails from here on.
      for (const [items, edited] of edits) items.apply(edited)
      watchers.notify()
    },

    watch: wake => watchers.add(wake),

    async close () {}
  })

  function getFamily (family: string): MemoryFamily {
    const found = families.get(family)
    if (found === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return found
  }
}

interface MemoryFamily {
  /** With the fields of all prepared versions. */
  readonly shape: FamilyShape
  readonly items: MemoryItems
  complete (item: Stored): Stored
}

function completeKept (items: MemoryItems, complete: MemoryFamily['complete']): void {
  const edits = items.items.filter(item => complete(item) !== item)
  items.apply(new Map(edits.map(item => [item.id, copy(complete(item))])))
}

type Edits = Map<MemoryItems, Map<Id, Stored | undefined>>

/** The items after the changes; undefined for those that are deleted. */
function findEdits (changes: readonly Change[], getFamily: (name: string) => MemoryFamily): Edits {
  const edits: Edits = new Map()
  // The last that has got a number.
  const newest = new Map<MemoryItems, Stored>()
  for (const change of changes) {
    const { items, complete, shape: { sequence } } = getFamily(change.family)
    const id = getId(change)
    const current = items.get(id)
    if (change.type === 'insert') {
      if (current !== undefined) throw new DuplicateError(change.family, id)
    } else if (!isExpected(current, change)) throw new ConflictError(change.family, id)
    if (change.type === 'require') continue
    const edited = edits.get(items) ?? new Map<Id, Stored | undefined>()
    const item = change.type === 'delete' ? undefined : copy(complete(change.item))
    edits.set(items, edited)
    if (change.type !== 'insert' || sequence === undefined || item?.[sequence] !== undefined) {
      edited.set(id, item)
      continue
    }
    const last = newest.get(items)
    const number = 1 + (last === undefined ? items.last : last[sequence] as number)
    const numbered = addNumber(item as Stored, sequence, number, () => last ?? items.lastLinked)
    newest.set(items, numbered)
    edited.set(id, numbered)
  }
  return edits
}

/** And, in a chained log, a hash over that of the one before it. */
function addNumber (item: Stored, sequence: string, number: number, findLast: () => Stored | undefined): Stored {
  const { hash: digest } = item as Stored & { readonly hash?: string }
  if (digest === undefined) return Object.freeze({ ...item, [sequence]: number })
  const hash = linkEntry(findLast()?.['hash'] as string | undefined, number, digest)
  return Object.freeze({ ...item, [sequence]: number, hash })
}

/** Reads along the id, or the sequence, where it can, else scans in turns. */
async function findInMemory (family: MemoryItems, query: Query, turn: Turn): Promise<Found> {
  const { offset, limit, count, order: [first] } = query
  const field = first?.field ?? 'id'
  const sorted = family.listBy(field)
  // Those without a number come first in the order, and are not in the list.
  const isSorted = sorted !== undefined && (field === 'id' || query.where.some(each => each.field === field))
  const { from, to, rest } = isSorted
    ? filterItems(sorted, query.where, field)
    : filterItems(family.items, query.where, 'id')
  const backwards = isSorted && first?.descending === true
  if (isSorted && rest.length === 0) {
    const items = cutPage(sorted, from, to, query, backwards)
    return count ? { items, total: Math.max(0, to - from) } : { items }
  }
  const matches = new FirstMatches(isSorted ? { order: [], offset, limit, count } : query)
  const add = (item: Stored): boolean => matches.add(item)
  const named = findIds(query.where)
  if (isSorted && field !== 'id') {
    await collectMatches(walkSlice(sorted, from, to, backwards), rest, turn, add)
  } else if (named !== undefined) {
    const ids = ([...new Set(named)] as Id[]).sort(compareScalars)
    const items = (backwards ? ids.reverse() : ids).flatMap(id => family.get(id) ?? [])
    await collectMatches(items, query.where, turn, add)
  } else {
    await family.read(items => collectMatches(walkSlice(items, from, to, backwards), rest, turn, add))
  }
  return matches.toPage()
}

function cutPage (
  sorted: readonly Stored[], from: number, to: number, { offset, limit }: Query, backwards: boolean
): Stored[] {
  return backwards
    ? sorted.slice(Math.max(from, to - offset - limit), Math.max(from, to - offset)).reverse()
    : sorted.slice(from + offset, Math.min(to, from + offset + limit))
}

/** Applies the bounds on the field of the order, and returns the range that is left and the other conditions. */
function filterItems (items: readonly Stored[], where: readonly Condition[], field: string) {
  let from = 0
  let to = items.length
  const rest: Condition[] = []
  for (const condition of where) {
    if (condition.field !== field || !isBound(condition)) {
      rest.push(condition)
      continue
    }
    const { op, value } = condition
    const at = countBelow(items, value, op === 'gt' || op === 'lte', field)
    if (isLower(condition)) from = Math.max(from, at)
    else to = Math.min(to, at)
  }
  return { from, to, rest }
}

function * walkSlice (items: readonly Stored[], from: number, to: number, backwards: boolean): Generator<Stored> {
  if (backwards) for (let at = to - 1; at >= from; at--) yield items[at] as Stored
  else for (let at = from; at < to; at++) yield items[at] as Stored
}

function checkKnownFields ({ name: family, fields: before }: FamilyShape, now: FamilyShape): void {
  for (const field of now.fields) {
    const earlier = before.find(({ name }) => name === field.name)
    if (earlier === undefined) refuseIncomplete(family, field)
    else if (earlier.kind !== field.kind && !(earlier.kind === 'integer' && field.kind === 'number')) {
      throw new errorCodes.FST_DEALBOOK_FIELD_KIND(family, field.name, field.kind, earlier.kind)
    }
  }
}

// Frozen, since items are returned as they are kept. structuredClone takes four times as long for a small item.
function copy<T> (value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(member => copy(member ?? null))) as T
  const copied = { ...value } as Record<string, unknown>
  for (const name of Object.keys(copied)) {
    if (copied[name] === undefined) delete copied[name]
    else copied[name] = copy(copied[name])
  }
  return Object.freeze(copied) as T
}
