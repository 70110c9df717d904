import type { Condition, FieldCondition } from './storage.js'

/** Whether no text has to be searched for a condition, so that it is cheap, and every database understands it. */
export function isPlain (condition: Condition): boolean {
  if (condition.op === 'any') return condition.of.every(all => all.every(isPlain))
  return condition.op !== 'regex' && condition.op !== 'has'
}

/** The conditions on fields, including those of alternatives. */
export function listFieldConditions (where: readonly Condition[]): FieldCondition[] {
  return where.flatMap(condition => condition.op === 'any' ? condition.of.flat() : condition)
}
