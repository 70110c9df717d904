import { setImmediate as turn } from 'node:timers/promises'
import { Blocks } from './sorted-items.js'
import { matcher } from '../match.js'
import { Matches } from '../matches.js'
import { ConflictError, DuplicateError } from '../storage.js'
import type { Change, Condition, Found, Id, Query, Storage, Stored } from '../storage.js'

// How long a search may hold the event loop before other requests get their turn.
const sliceMs = 5

/**
 * Keeps everything in this process, and loses it with the process: for tests, trials and small tools.
 *
 * @example
 * app.register(customers, { storage: memoryStorage() })
 */
export function memoryStorage (): Storage {
  const families = new Map<string, Blocks>()

  return {
    async prepare ({ name }) {
      if (!families.has(name)) families.set(name, Blocks.empty)
    },

    async find (family, query) {
      return await search(of(family), query)
    },

    async get (family, id) {
      return of(family).get(id)
    },

    async commit (changes) {
      const edits = new Map<string, Map<Id, Stored | undefined>>()
      for (const change of changes) {
        const items = of(change.family)
        let edited = edits.get(change.family)
        if (edited === undefined) edits.set(change.family, edited = new Map())
        check(change, idOf(change), edited, items)
        edited.set(idOf(change), change.type === 'delete' ? undefined : freeze(structuredClone(change.item)))
      }
      for (const [family, edited] of edits) families.set(family, of(family).with(edited))
    },

    async close () {}
  }

  function of (family: string): Blocks {
    const items = families.get(family)
    if (items === undefined) throw new Error(`the family "${family}" was not prepared`)
    return items
  }
}

function idOf (change: Change): Id {
  return change.type === 'delete' ? change.id : change.item.id
}

function check (change: Change, id: Id, edited: ReadonlyMap<Id, Stored | undefined>, items: Blocks): void {
  const current = edited.has(id) ? edited.get(id) : items.get(id)
  if (change.type === 'insert') {
    if (current !== undefined) throw new DuplicateError(change.family, id)
  } else if (current?.revision !== change.expected) {
    throw new ConflictError(change.family, id)
  }
}

async function search (items: Blocks, query: Query): Promise<Found> {
  const { from, to, rest } = narrow(items, query.where)
  const [first] = query.order
  const byId = first === undefined || first.field === 'id'
  const backwards = byId && first?.descending === true

  if (byId && rest.length === 0) {
    const total = Math.max(0, to - from)
    const start = backwards ? from : Math.min(to, from + query.offset)
    const end = backwards ? Math.max(from, to - query.offset) : to
    const found = take(items.between(start, end, backwards), query.limit)
    return query.count ? { items: found, total } : { items: found }
  }

  const wanted = query.offset + query.limit
  const matched = new Matches(byId ? [] : query.order, wanted)
  const holds = matcher(rest)
  const slow = rest.some(condition => condition.op === 'regex')
  let looked = 0
  let began = performance.now()
  for (const item of items.between(from, to, backwards)) {
    if (holds(item) && matched.add(item) && !query.count) break
    if ((slow || ++looked % 512 === 0) && performance.now() - began > sliceMs) {
      await turn()
      began = performance.now()
    }
  }
  const found = matched.first().slice(query.offset)
  return query.count ? { items: found, total: matched.total } : { items: found }
}

/** The part of the items that the conditions on id leave, and the conditions that are left to check. */
function narrow (items: Blocks, where: readonly Condition[]): { from: number, to: number, rest: Condition[] } {
  let from = 0
  let to = items.size
  const rest: Condition[] = []
  for (const condition of where) {
    if (condition.field !== 'id') rest.push(condition)
    else if (condition.op === 'gt') from = Math.max(from, items.position(condition.value as Id, true))
    else if (condition.op === 'gte') from = Math.max(from, items.position(condition.value as Id, false))
    else if (condition.op === 'lt') to = Math.min(to, items.position(condition.value as Id, false))
    else if (condition.op === 'lte') to = Math.min(to, items.position(condition.value as Id, true))
    else rest.push(condition)
  }
  return { from, to, rest }
}

// Items are handed out as they are kept, so nobody may change them, nor what is nested in them.
function freeze<T> (value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}

function take (items: Iterable<Stored>, limit: number): Stored[] {
  const taken: Stored[] = []
  if (limit === 0) return taken
  for (const item of items) if (taken.push(item) >= limit) break
  return taken
}
