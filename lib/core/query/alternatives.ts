import { compareScalars } from '../storage/compare.js'
import type { Field, FieldCondition, Scalar } from '../storage/storage.js'
import type { Day } from '../values/dates.js'
import type { Filter } from './names.js'
import type { Operand } from './values.js'

/** What a filter with these operands means: all conditions of one of the lists must hold. */
export function toAlternatives ({ field, op }: Filter, operands: readonly Operand[]): FieldCondition[][] {
  const { name } = field
  switch (op) {
    case 'eq': return listEqual(name, operands)
    case 'ne': return listUnequal(field, operands)
    case 'regex': return [[{ field: name, op, patterns: operands as string[] }]]
    case 'has': return [[{ field: name, op, texts: operands as string[] }]]
    case 'null': {
      const [is, ...others] = operands as [boolean, ...boolean[]]
      // Absent or not: that holds for all.
      return [[others.every(other => other === is) ? { field: name, op, is } : { field: name, op: 'ne', values: [] }]]
    }
    default: return [[operands.map(operand => toBound(name, op, operand)).reduce(chooseWider)]]
  }
}

/** One of the values, or within one of the days. Of one operand it is one list. */
export function listEqual (field: string, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = sortOut(operands)
  const within = days.map(({ from, before }): FieldCondition[] =>
    [{ field, op: 'gte', value: from }, { field, op: 'lt', value: before }])
  return values.length === 0 ? within : [[{ field, op: 'eq', values }], ...within]
}

/** What is left between days, before and after them. */
function listUnequal ({ name: field, optional, nullable }: Field, operands: readonly Operand[]): FieldCondition[][] {
  const { values, days } = sortOut(operands)
  const others: FieldCondition[] = values.length === 0 ? [] : [{ field, op: 'ne', values }]
  if (days.length === 0) return [others]
  const gaps: FieldCondition[][] = optional || nullable === true ? [[{ field, op: 'null', is: true }]] : []
  let lower: FieldCondition[] = []
  for (const { from, before } of days.sort((a, b) => compareScalars(a.from, b.from))) {
    gaps.push([...lower, { field, op: 'lt', value: from }, ...others])
    lower = [{ field, op: 'gte', value: before }]
  }
  return [...gaps, [...lower, ...others]]
}

function sortOut (operands: readonly Operand[]): { values: Scalar[], days: Day[] } {
  const days = new Map(operands.filter(isDay).map(day => [day.from, day]))
  return { values: operands.filter((operand): operand is Scalar => !isDay(operand)), days: [...days.values()] }
}

function isDay (operand: Operand): operand is Day {
  return typeof operand === 'object'
}

type Bound = Extract<FieldCondition, { readonly value: unknown }>

function toBound (field: string, op: Bound['op'], operand: Operand): Bound {
  if (!isDay(operand)) return { field, op, value: operand }
  const { from, before } = operand
  // After a day is from the next on; up to a day, before the next.
  if (op === 'gt') return { field, op: 'gte', value: before }
  return op === 'lte' ? { field, op: 'lt', value: before } : { field, op, value: from }
}

// Above any of the values is above the least of them; below any, below the greatest.
function chooseWider (a: Bound, b: Bound): Bound {
  const sign = a.op === 'gt' || a.op === 'gte' ? 1 : -1
  const order = compareScalars(a.value, b.value) * sign
  if (order === 0) return a.op.endsWith('e') ? a : b
  return order < 0 ? a : b
}
