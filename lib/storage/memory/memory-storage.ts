import { EventEmitter } from 'node:events'
import { errorCodes } from '../../core/errors.js'
import { markDeadlineAware } from '../../core/storage/deadline.js'
import { collectMatches, FirstMatches } from '../../core/storage/pages.js'
import { completer, mergeShapes, refuseIncomplete } from '../../core/storage/shapes.js'
import {
  checkChanges, type Condition, ConflictError, DuplicateError, type FamilyShape, type Found, getId,
  type Id, type Query, type Storage, type Stored
} from '../../core/storage/storage.js'
import { KeyRules } from '../key-rules.js'
import { countBelow, MemoryItems } from './memory-items.js'

/**
 * Keeps everything in memory, until the process ends: for tests, trials and small tools.
 *
 * @example
 * app.register(customers, { storage: memoryStorage() })
 */
export function memoryStorage (): Storage {
  const families = new Map<string, MemoryFamily>()
  const rules = new KeyRules()
  const commits = new EventEmitter().setMaxListeners(0)

  return markDeadlineAware<Storage>({
    async prepare (shape) {
      const before = families.get(shape.name)
      const items = before?.items ?? new MemoryItems()
      const present = items.listBy('id')
      if (before !== undefined && present.length > 0) checkFields(before.shape, shape)
      rules.add(shape, present)
      const merged = mergeShapes(before?.shape, shape)
      const complete = completer(merged)
      families.set(shape.name, { shape: merged, items, complete })
      const edits = present.filter(item => complete(item) !== item)
      items.apply(new Map(edits.map(item => [item.id, copy(complete(item))])))
    },

    async find (family, query, signal) {
      signal?.throwIfAborted()
      return await findPage(getFamily(family), query, signal)
    },

    async get (family, id, signal) {
      signal?.throwIfAborted()
      return getFamily(family).items.get(id)
    },

    async commit (changes) {
      checkChanges(changes)
      const edits = new Map<MemoryItems, Map<Id, Stored | undefined>>()
      for (const change of changes) {
        const { items, complete, shape: { sequence } } = getFamily(change.family)
        const id = getId(change)
        const current = items.get(id)
        if (change.type === 'insert') {
          if (current !== undefined) throw new DuplicateError(change.family, id)
        } else if (current?.revision !== change.expected) throw new ConflictError(change.family, id)
        if (change.type === 'require') continue
        const edited = edits.get(items) ?? new Map<Id, Stored | undefined>()
        const item = change.type === 'delete' ? undefined : copy(complete(change.item))
        const isNumbered = change.type === 'insert' && sequence !== undefined && item?.[sequence] === undefined
        edits.set(items, edited.set(id, isNumbered
          ? Object.freeze({ ...item as Stored, [sequence]: getLast(items, sequence) + 1 + edited.size })
          : item))
      }
      rules.check(changes, {
        get: (family, id) => getFamily(family).items.get(id),
        findEqual: (family, values) => getFamily(family).items.findEqual(values)
      })
      // Nothing fails from here on.
      for (const [items, edited] of edits) items.apply(edited)
      commits.emit('commit')
    },

    watch (wake) {
      commits.on('commit', wake)
      return () => { commits.off('commit', wake) }
    },

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

/** The number of the last item in the sequence. */
function getLast (items: MemoryItems, sequence: string): number {
  return items.listBy(sequence).at(-1)?.[sequence] as number | undefined ?? 0
}

/** Reads along the id, or the sequence, where it can, else scans in turns. */
async function findPage ({ items, shape }: MemoryFamily, query: Query, signal?: AbortSignal): Promise<Found> {
  const { where, order: [first], offset, limit, count } = query
  // Items without a number come first in the order of the sequence, and are not in the list.
  const isNumbered = where.some(condition => condition.field === shape.sequence && 'value' in condition)
  const field = isNumbered && first?.field === shape.sequence ? first?.field as string : 'id'
  const list = items.listBy(field)
  const { from, to, rest } = narrow(list, field, where)
  const isSorted = first?.field === field
  const backwards = isSorted && first?.descending === true
  if (isSorted && rest.length === 0) {
    const found = backwards
      ? list.slice(Math.max(from, to - offset - limit), Math.max(from, to - offset)).reverse()
      : list.slice(from + offset, Math.min(to, from + offset + limit))
    return count ? { items: found, total: Math.max(0, to - from) } : { items: found }
  }
  const ids = rest.find(condition => condition.field === 'id' && condition.op === 'eq')
  const named = ids !== undefined && 'values' in ids
    ? Array.from(new Set(ids.values), id => items.get(id as Id)).filter(item => item !== undefined)
    : undefined
  const matches = new FirstMatches(isSorted && named === undefined ? { order: [], offset, limit, count } : query)
  const candidates = named ?? walk(list, from, to, backwards)
  await items.read(() => collectMatches(candidates, named === undefined ? rest : where, signal, item =>
    matches.add(item)))
  return matches.toPage()
}

/** Applies the bounds on the field of the list, and returns the range that is left and the other conditions. */
function narrow (list: readonly Stored[], field: string, where: readonly Condition[]) {
  let from = 0
  let to = list.length
  const rest: Condition[] = []
  for (const condition of where) {
    if (condition.field !== field || !('value' in condition)) {
      rest.push(condition)
      continue
    }
    const { op, value } = condition
    const at = countBelow(list, field, value, op === 'gt' || op === 'lte')
    if (op === 'gt' || op === 'gte') from = Math.max(from, at)
    else to = Math.min(to, at)
  }
  return { from, to, rest }
}

function * walk (items: readonly Stored[], from: number, to: number, backwards: boolean): Generator<Stored> {
  if (backwards) for (let at = to - 1; at >= from; at--) yield items[at] as Stored
  else for (let at = from; at < to; at++) yield items[at] as Stored
}

function checkFields ({ name: family, fields: before }: FamilyShape, now: FamilyShape): void {
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
