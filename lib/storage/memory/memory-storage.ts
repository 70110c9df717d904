import { errorCodes } from '../../errors.js'
import { collectMatches, FirstMatches } from '../page.js'
import type { Change, Condition, Found, Id, Query, Storage, Stored } from '../storage.js'
import { checkChanges, ConflictError, DuplicateError, getId } from '../storage.js'
import { countBelow, SortedItems } from './sorted-items.js'

/**
 * Keeps everything in this process, and loses it with the process: for tests, trials and small tools.
 *
 * @example
 * app.register(customers, { storage: memoryStorage() })
 */
export function memoryStorage (): Storage {
  const families = new Map<string, SortedItems>()

  return {
    async prepare ({ name }) {
      if (!families.has(name)) families.set(name, new SortedItems())
    },

    async find (family, query) {
      return await search(getFamily(family), query)
    },

    async get (family, id) {
      return getFamily(family).get(id)
    },

    async commit (changes) {
      checkChanges(changes)
      const edits = new Map<SortedItems, Map<Id, Stored | undefined>>()
      for (const change of changes) {
        const items = getFamily(change.family)
        const id = getId(change)
        checkRevision(change, items.get(id))
        const edited = edits.get(items) ?? new Map<Id, Stored | undefined>()
        edits.set(items, edited.set(id, change.type === 'delete' ? undefined : freeze(structuredClone(change.item))))
      }
      // Nothing is refused from here on.
      for (const [items, edited] of edits) items.apply(edited)
    },

    async close () {}
  }

  function getFamily (family: string): SortedItems {
    const items = families.get(family)
    if (items === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return items
  }
}

function checkRevision (change: Change, current: Stored | undefined): void {
  if (change.type === 'insert') {
    if (current !== undefined) throw new DuplicateError(change.family, current.id)
  } else if (current?.revision !== change.expected) {
    throw new ConflictError(change.family, getId(change))
  }
}

async function search (family: SortedItems, query: Query): Promise<Found> {
  const { from, to, rest } = narrowById(family.items, query.where)
  const [first] = query.order
  const byId = first === undefined || first.field === 'id'
  const backwards = byId && first?.descending === true

  if (byId && rest.length === 0) {
    const items = backwards
      ? family.items.slice(Math.max(from, to - query.offset - query.limit), Math.max(from, to - query.offset)).reverse()
      : family.items.slice(from + query.offset, Math.min(to, from + query.offset + query.limit))
    return query.count ? { items, total: Math.max(0, to - from) } : { items }
  }

  const matches = new FirstMatches(byId ? { ...query, order: [] } : query)
  await family.read(async items => {
    await collectMatches(iterate(items, from, to, backwards), rest, item => matches.add(item))
  })
  return matches.toPage()
}

/** The part of the items that the conditions on the id leave, and the conditions that are left to check. */
function narrowById (
  items: readonly Stored[],
  where: readonly Condition[]
): { from: number, to: number, rest: Condition[] } {
  let from = 0
  let to = items.length
  const rest: Condition[] = []
  for (const condition of where) {
    if (condition.field !== 'id') rest.push(condition)
    else if (condition.op === 'gt') from = Math.max(from, countBelow(items, condition.value as Id, true))
    else if (condition.op === 'gte') from = Math.max(from, countBelow(items, condition.value as Id))
    else if (condition.op === 'lt') to = Math.min(to, countBelow(items, condition.value as Id))
    else if (condition.op === 'lte') to = Math.min(to, countBelow(items, condition.value as Id, true))
    else rest.push(condition)
  }
  return { from, to, rest }
}

function * iterate (items: readonly Stored[], from: number, to: number, backwards: boolean): Generator<Stored> {
  if (backwards) for (let at = to - 1; at >= from; at--) yield items[at] as Stored
  else for (let at = from; at < to; at++) yield items[at] as Stored
}

// Items are handed out as they are kept, so nobody may change them, nor what is nested in them.
function freeze<T> (value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}
