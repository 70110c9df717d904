import { listValues } from '../../core/storage/conditions.js'
import { mayBeLong } from '../../core/storage/shapes.js'
import type { Condition, FieldCondition, Order } from '../../core/storage/storage.js'
import { type Dialect, quoteText } from './dialect.js'
import { encodeFlagOperand } from './flags.js'
import { type Column, getColumn, type Layout } from './layout.js'

/** Writes the clauses of one statement, and numbers their parameters. */
export class ClauseBuilder {
  #parameters = 0

  constructor (readonly layout: Layout, readonly dialect: Dialect) {}

  parameter (as: string): string {
    return this.dialect.parameter(++this.#parameters, as)
  }

  /** With `byKey`, only the index of the id is used. */
  where (conditions: readonly Condition[], byKey = false): string {
    return conditions.length === 0 ? '' : ` WHERE ${this.#all(conditions, byKey)}`
  }

  orderBy (order: readonly Order[]): string {
    const terms = order.flatMap(({ field, descending }) => {
      const column = getColumn(this.layout, field)
      const absent = field === 'id' ? '' : descending ? ' NULLS LAST' : ' NULLS FIRST'
      const { compared, isPrefixIndexed } = column
      const terms = isPrefixIndexed ? [this.#begin(compared), compared] : [compared]
      return terms.map(term => term + (descending ? ' DESC' : '') + absent)
    })
    return terms.length === 0 ? '' : ` ORDER BY ${terms.join(', ')}`
  }

  #all (conditions: readonly Condition[], byKey: boolean): string {
    return conditions.map(condition => this.#condition(condition, byKey)).join(' AND ') || '1 = 1'
  }

  #condition (condition: Condition, byKey: boolean): string {
    if (condition.op === 'any') {
      const alternatives = condition.of.map(all => this.#all(all, byKey)).join(' OR ')
      return alternatives === '' ? '1 = 0' : `(${alternatives})`
    }
    const column = getColumn(this.layout, condition.field)
    const prefix = byKey && condition.field !== 'id' ? this.dialect.withoutIndex : ''
    switch (condition.op) {
      case 'eq':
      case 'ne': return this.#equate(column, condition.values, prefix, condition.op === 'ne')
      case 'null': return prefix + (column.isPrefixIndexed ? this.#begin(column.equated) : column.equated) +
        ` IS ${condition.is ? '' : 'NOT '}NULL`
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte': return prefix + this.#compare(column, column.compared, column.comparedAs, comparisons[condition.op])
      case 'regex':
      case 'has': throw new Error('SQL does not search texts')
    }
  }

  #equate (column: Column, values: readonly unknown[], prefix: string, negated: boolean): string {
    if (values.length === 0) return negated ? '1 = 1' : '1 = 0'
    const listed = this.#list(column, values, prefix, negated)
    return negated ? `(${column.equated} IS NULL OR ${listed})` : listed
  }

  /** A prefix index finds rows with the same beginning; the exact comparison then excludes the others. */
  #compare ({ isPrefixIndexed }: Column, compared: string, as: string, operator: string): string {
    const value = this.parameter(as)
    const exact = `${compared} ${operator} ${value}`
    if (!isPrefixIndexed || operator === '<>') return exact
    const among = operator === '=' ? '=' : `${operator.charAt(0)}=`
    return `(${this.#begin(compared)} ${among} ${this.#begin(value)} AND ${exact})`
  }

  #begin (text: string): string {
    return this.dialect.beginning?.(text) ?? text
  }

  #list (column: Column, values: readonly unknown[], prefix: string, negated: boolean): string {
    // A single value is written as `=`, so that the planner knows that the index is ordered by its next column.
    const { equated, equatedAs: as, isPrefixIndexed } = column
    if (values.length === 1) return prefix + this.#compare(column, equated, as, negated ? '<>' : '=')
    const list = this.dialect.listsAreOneParameter
      ? this.parameter(`${as}[]`)
      : values.map(() => this.parameter(as)).join(', ')
    return this.dialect.inList(prefix + equated, list, negated, isPrefixIndexed)
  }
}

const comparisons = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

export function encodeParameters (layout: Layout, dialect: Dialect, conditions: readonly Condition[]): unknown[] {
  return conditions.flatMap((condition): readonly unknown[] => {
    if (condition.op === 'any') return condition.of.flatMap(all => encodeParameters(layout, dialect, all))
    const { kind, present: { flag } = {} } = getColumn(layout, condition.field)
    const encode = flag !== undefined
      ? (value: unknown) => encodeFlagOperand(flag, condition.op, value)
      : kind === 'integer' ? encodeInteger : dialect.encode[kind]
    const values = listValues(condition)
    const list = encode === undefined ? values : values.map(encode)
    return dialect.listsAreOneParameter && list.length > 1 ? [list] : list
  })
}

// Mapped tables may have integers that a number cannot hold: they are text.
function encodeInteger (value: unknown): unknown {
  return Number.isSafeInteger(value) ? value : BigInt(value as string)
}

/** A cache key: everything that the text of the statement depends on. */
export function makeStatementKey (
  dialect: Dialect, columns: readonly Column[], ...lists: readonly (readonly (Condition | Order)[])[]
): string {
  let key = columns.map(({ field, written }) => written === undefined ? field.name : `${field.name} ${written}`).join()
  for (const list of lists) {
    key += '\n'
    for (const part of list) {
      if ('descending' in part) key += (part.descending ? '-' : '+') + part.field
      else if (part.op === 'any') key += `any(${makeStatementKey(dialect, [], ...part.of)}),`
      else key += `${part.field} ${part.op}${nameVariant(dialect, part)},`
    }
  }
  return key
}

/** What the text of a condition depends on, besides its field and operator. */
function nameVariant ({ listsAreOneParameter }: Dialect, condition: FieldCondition): string {
  switch (condition.op) {
    case 'eq':
    case 'ne': return String(listsAreOneParameter ? Math.min(2, condition.values.length) : condition.values.length)
    case 'null': return String(condition.is)
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
    case 'regex':
    case 'has': return ''
  }
}

/** Writes a row as `JSON.stringify` would; absent members are left out. `required` are never NULL. */
export function selectJson (
  members: readonly Column[], writeValue: (column: Column) => string, required: readonly string[] = ['id']
): string {
  const isIdFirst = members[0]?.field.name === 'id'
  const parts = members.map((column, index) => {
    const { field: { name, nullable }, written = name } = column
    const value = writeValue(column)
    const member = quoteText(`${isIdFirst && index === 0 ? '{' : ','}${JSON.stringify(written)}:`) +
      ` || ${nullable === true ? `coalesce(${value}, 'null')` : value}`
    // NULL || text is NULL.
    return required.includes(name) ? member : `coalesce(${member}, '')`
  }).join(' || ')
  return `${isIdFirst ? parts : `'{' || ltrim(${parts}, ',')`} || '}' AS item`
}

export function listSelected (columns: readonly Column[]): string {
  return columns.map(({ selected }) => selected).join(', ')
}

/** The bytes of the columns that may be long. The rest of a row is short, and each character has at least one byte. */
export function selectLength ({ columns }: Layout, measure: (value: string) => string): string {
  const long = columns.filter(({ field }) => mayBeLong([field]))
  return ['0', ...long.map(({ selected }) => `coalesce(${measure(selected)}, 0)`)].join(' + ')
}
