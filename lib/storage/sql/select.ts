import type { Condition, Order } from '../storage.js'
import type { Dialect } from './dialect.js'
import { columnOf } from './layout.js'
import type { Column, Layout } from './layout.js'

/** Writes SQL from conditions and order, and counts the parameters it has used. */
export class Writer {
  #parameters = 0

  constructor (readonly layout: Layout, readonly dialect: Dialect) {}

  next (column: Pick<Column, 'kind'>): string {
    return this.dialect.parameter(++this.#parameters, column.kind)
  }

  /** `WHERE …` with a blank before it, or nothing. With `unindexed` no index but that of the id is used. */
  where (conditions: readonly Condition[], more: readonly string[] = [], unindexed = false): string {
    const all = [...more, ...conditions.map(condition => this.condition(condition, unindexed))]
    return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`
  }

  condition (condition: Condition, unindexed = false): string {
    const column = columnOf(this.layout, condition.field)
    const prefix = unindexed && condition.field !== 'id' ? '+' : ''
    switch (condition.op) {
      case 'eq': return condition.values.length === 0 ? '1 = 0' : this.#list(column, condition.values, prefix, false)
      case 'ne': return condition.values.length === 0
        ? '1 = 1'
        : `(${column.equated} IS NULL OR ${this.#list(column, condition.values, prefix, true)})`
      case 'gt': return `${prefix}${column.compared} > ${this.next(column)}`
      case 'gte': return `${prefix}${column.compared} >= ${this.next(column)}`
      case 'lt': return `${prefix}${column.compared} < ${this.next(column)}`
      case 'lte': return `${prefix}${column.compared} <= ${this.next(column)}`
      case 'regex': throw new Error('patterns are not matched in SQL')
    }
  }

  #list (column: Column, values: readonly unknown[], prefix: string, negated: boolean): string {
    // One value is written as one: with it given, an index is known to be in the order of what comes after it.
    if (values.length === 1) return `${prefix}${column.equated} ${negated ? '<>' : '='} ${this.next(column)}`
    const from = this.#parameters + 1
    this.#parameters += this.dialect.listsAreOneParameter ? 1 : values.length
    return this.dialect.inList(prefix + column.equated, from, values.length, column.kind, negated)
  }

  order (order: readonly Order[]): string {
    const terms = order.map(({ field, descending }) => {
      const { compared } = columnOf(this.layout, field)
      const absent = field === 'id' ? '' : descending ? this.dialect.absentLast : this.dialect.absentFirst
      return compared + (descending ? ' DESC' : '') + absent
    })
    return terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`
  }
}

/** The parameters of conditions, in the order in which a writer writes them. */
export function parameters (layout: Layout, dialect: Dialect, conditions: readonly Condition[]): unknown[] {
  const values: unknown[] = []
  for (const condition of conditions) {
    const { kind } = columnOf(layout, condition.field)
    if (condition.op === 'eq' || condition.op === 'ne') {
      if (condition.values.length === 0) continue
      const list = condition.values.map(value => dialect.encode(value, kind))
      if (dialect.listsAreOneParameter && list.length > 1) values.push(list)
      else values.push(...list)
    } else if ('value' in condition) values.push(dialect.encode(condition.value, kind))
  }
  return values
}

/** What makes the text of one query's SQL differ from another's; `one` where lists are one parameter. */
export function shapeOf (conditions: readonly Condition[], order: readonly Order[], one: boolean): string {
  let shape = ''
  for (const condition of conditions) {
    shape += `${condition.field} ${condition.op}`
    if ('values' in condition) shape += one ? Math.min(2, condition.values.length) : condition.values.length
    shape += '\n'
  }
  for (const { field, descending } of order) shape += (descending ? '-' : '+') + field
  return shape
}

export function selection (columns: readonly Column[]): string {
  return columns.map(({ selected }) => selected).join(', ')
}
