import type { Condition } from '../storage.js'

/** An index over these fields and, after them, the id. */
export interface Index {
  readonly name: string
  readonly fields: readonly string[]
}

export interface IndexInOrder {
  readonly name: string
  /** The conditions that the index serves, and those that are left. */
  readonly used: readonly Condition[]
  readonly left: readonly Condition[]
}

/** The longest index all of whose fields have one given value: in it the rows are in the order of the id. */
export function indexInOrder (indexes: readonly Index[], where: readonly Condition[]): IndexInOrder | undefined {
  const given = where.filter(condition => condition.op === 'eq' && condition.values.length === 1)
  let best: IndexInOrder | undefined
  for (const { name, fields } of indexes) {
    const used = fields.map(field => given.find(condition => condition.field === field))
    if (used.includes(undefined) || used.length <= (best?.used.length ?? 0)) continue
    best = { name, used: used as Condition[], left: where.filter(condition => !used.includes(condition)) }
  }
  return best
}
