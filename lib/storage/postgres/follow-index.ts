import type { Condition, Order, Scalar } from '../../core/storage/storage.js'
import type { IndexOrder } from '../sql/clauses.js'
import type { Bounds } from '../sql/steps.js'

/**
 * Conditions and order that make PostgreSQL go along an index, or along the key. The values are given as ranges from a
 * value to itself: of a field that is plainly equal it knows that it needs no order, and may go along the key after
 * all.
 */
export function followIndex (
  { equal, range }: Bounds,
  order: readonly Order[]
): { where: Condition[], order: IndexOrder[] } {
  const rest = order.filter(({ field }) => !equal.some(each => each.field === field))
  // The direction of what comes after them, in whichever the values themselves are wanted.
  const descending = rest[0]?.descending === true
  const ranges = equal.flatMap((condition): Condition[] => {
    // Of what is null PostgreSQL knows no more than that.
    if (condition.op === 'null') return [condition]
    const { field, values } = condition
    const value = values[0] as Scalar
    return [{ field, op: 'gte', value }, { field, op: 'lte', value }]
  })
  return {
    where: [...range, ...ranges],
    order: [...equal.map(({ field }) => ({ field, descending, isGiven: true })), ...rest]
  }
}
