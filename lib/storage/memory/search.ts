import { compareScalars } from '../../core/storage/compare.js'
import { collectMatches, FirstMatches } from '../../core/storage/page.js'
import type { Condition, Found, Id, Query, Stored } from '../../core/storage/storage.js'
import type { Turn } from '../../core/storage/turn.js'
import type { SortedItems } from './sorted-items.js'
import { countBelow } from './sorted-items.js'

/** Finds what a query asks for among the items of a family. */
export async function search (family: SortedItems, query: Query, turn: Turn): Promise<Found> {
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

  const named = findNamed(family, query.where, backwards)
  const walk = byId || named !== undefined ? undefined : family.planWalk(query)
  const matches = new FirstMatches(byId || walk?.isOrdered === true ? { ...query, order: [] } : query)
  const add = (item: Stored): boolean => matches.add(item)
  if (named !== undefined) await collectMatches(named, query.where, turn, add)
  else {
    await family.read(async items => {
      if (walk !== undefined) await collectMatches(walk.items, query.where, turn, add)
      else {
        for (const part of split(items, from, to, backwards)) if (await collectMatches(part, rest, turn, add)) return
      }
    })
  }
  return matches.toPage()
}

/** The items that a condition names by their ids, in the order of the id; undefined where none does. */
function findNamed (family: SortedItems, where: readonly Condition[], backwards: boolean): Stored[] | undefined {
  const named = where.find(({ field, op }) => field === 'id' && op === 'eq')
  if (named === undefined || !('values' in named)) return undefined
  const items = [...new Set(named.values)].flatMap(id => family.get(id as Id) ?? [])
  return items.sort((a, b) => compareScalars(a.id, b.id) * (backwards ? -1 : 1))
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

// As many as are looked at before somebody looks at the clock.
const partSize = 512

/** The items of a range, part after part: the items of an array are walked through faster than those of a generator. */
function * split (items: readonly Stored[], from: number, to: number, backwards: boolean): Generator<Stored[]> {
  for (let rest = to - from; rest > 0; rest -= partSize) {
    if (backwards) yield items.slice(Math.max(from, from + rest - partSize), from + rest).reverse()
    else yield items.slice(to - rest, Math.min(to, to - rest + partSize))
  }
}
