import { isAbsent } from '../../core/storage/conditions.js'
import type { Condition, Order, Query, Scalar } from '../../core/storage/storage.js'
import { getColumn } from '../sql/layout.js'
import { isRangeOfId, listChoices, namesIds, planPage } from '../sql/planner.js'
import type { Index, IndexChoice, PlanLimits, Step } from '../sql/steps.js'
import { tighten } from '../sql/tighten.js'
import type { Anchors } from './anchors.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatements, Select } from './statements.js'

/** The rows of a page, in whatever form. */
export interface Counted {
  readonly length: number
}

/** How rows become what is wanted of them. */
export interface RowForm<Rows extends Counted> {
  read (select: Select): Rows
  /** Two parts of a page as one. */
  join (first: Rows, second: Rows): Rows
}

type Window = Extract<Step, { readonly type: 'window' }>

/** Reads what can be read in a few milliseconds, whatever is in the table; the rest is left to others. */
export class LightReader {
  constructor (
    readonly statements: ReadStatements,
    readonly indexes: readonly Index[],
    readonly settings: { readonly limits: PlanLimits, readonly anchors: Anchors }
  ) {}

  /** The page; undefined where it takes long to find. */
  readPage<Rows extends Counted> (query: Query, form: RowForm<Rows>): Rows | undefined {
    for (const step of planPage(query, this.indexes, this.settings.limits)) {
      if (step.type === 'heavy') return undefined
      const rows = this.#runStep(step, query, form)
      if (rows !== undefined) return rows
    }
    return undefined
  }

  /** How many there are; undefined where it takes long to count them. */
  count (where: readonly Condition[]): number | undefined {
    const index = this.chooseFewest(where)
    if (index !== undefined) return this.statements.count(where, { index })
    const isFew = namesIds(where) || this.#isFew(where.filter(isRangeOfId), this.settings.limits.fewEntries)
    return isFew ? this.statements.count(where, { byKey: true }) : undefined
  }

  /** The index that has few entries for the conditions, and fewest of all. */
  chooseFewest (where: readonly Condition[]): string | undefined {
    const choices = listChoices(this.indexes, where.filter(condition => !isRangeOfId(condition)))
    return this.#chooseIndex(choices, this.settings.limits.fewEntries)
  }

  /** The page, where the step settles it. */
  #runStep<Rows extends Counted> (step: LightStep, query: Query, form: RowForm<Rows>): Rows | undefined {
    const { where, order, limit, offset } = query
    const { read } = form
    switch (step.type) {
      case 'read': return this.#readAlong(query, undefined, read)
      case 'read-index': return this.#readAlong(query, step.index.name, read)
      case 'look': {
        const within = { where: [...step.range, ...step.equal], rows: step.rows }
        const looked = read({ where: step.filters, order, limit, offset, index: step.index?.name, within })
        return looked.length === limit ? looked : undefined
      }
      case 'window': return this.#readWindow(step, query, form)
      case 'fewest': {
        const index = this.#chooseIndex(step.choices, step.maxEntries)
        return index === undefined ? undefined : read({ where, order, limit, offset, index })
      }
      case 'few': {
        const isFew = this.#isFew(step.range, step.maxEntries)
        return isFew ? read({ where, order, limit, offset, byKey: true }) : undefined
      }
    }
  }

  #readAlong<Rows> (query: Query, index: string | undefined, read: (select: Select) => Rows): Rows {
    const { where, order, limit, offset } = query
    return order[0]?.field === 'id'
      ? this.settings.anchors.readPage(this.statements, query, index, read)
      : read({ where, order, limit, offset, index })
  }

  #readWindow<Rows extends Counted> (step: Window, query: Query, form: RowForm<Rows>): Rows | undefined {
    const { index: { name: index }, range, rows, maxEntries } = step
    const { where, order, limit, offset } = query
    const { field, descending } = order[0] as Order
    const { read } = form
    const column = getColumn(this.statements.layout, field)
    const getValue = (at: number): Scalar | null | undefined => {
      const entry = { where: range, order: [{ field, descending }], limit: 1, offset: at, index }
      const value = this.statements.readRows(entry, [column])[0]?.[0] as Scalar | null | undefined
      return isAbsent(value) ? value : (dialect.decode[column.kind]?.(value) ?? value) as Scalar
    }
    const edge = getValue(rows - 1)
    // Those are all that there are.
    if (edge === undefined) return read({ where, order, limit, offset, index })
    // Absent values come first, or last, and no bound holds for them.
    if (edge === null || (!descending && getValue(0) === null)) return undefined
    const upToEdge: Condition = { field, op: descending ? 'gte' : 'lte', value: edge }
    const entries = this.statements.count([...range, upToEdge], { index, limit: maxEntries + 1 })
    if (entries > maxEntries) return this.#readAtEdge(step, query, edge, form)
    const looked = read({ where: [...where, upToEdge], order, limit, offset, index })
    return looked.length === limit ? looked : undefined
  }

  /** Where very many have one value: those that come before it, and then those that have it, in the order of the id. */
  #readAtEdge<Rows extends Counted> (
    { index: { name: index, sortedById }, range }: Window,
    { where, order, limit, offset }: Query,
    edge: Scalar,
    { read, join }: RowForm<Rows>
  ): Rows | undefined {
    const [{ field, descending }, ...rest] = order as [Order, ...Order[]]
    if (!sortedById || rest.length > 1 || range.length < where.length) return undefined
    const before = [...range, { field, op: descending ? 'gt' as const : 'lt' as const, value: edge }]
    const first = read({ where: tighten(before), order, limit, offset, index })
    if (first.length === limit) return first
    const passed = first.length > 0 || offset === 0 ? offset : this.statements.count(before, { index })
    const equal: Condition[] = [{ field, op: 'eq', values: [edge] }]
    const second = { where: equal, order: rest, limit: limit - first.length, offset: offset - passed, index }
    return first.length === 0 ? read(second) : join(first, read(second))
  }

  #isFew (range: readonly Condition[], maxEntries: number): boolean {
    const { layout: { id } } = this.statements
    const beyond = { where: range, order: [{ field: 'id', descending: false }], limit: 1, offset: maxEntries }
    return this.statements.readRows(beyond, [id]).length === 0
  }

  /** The index that has fewest entries for its conditions, if they are few. Counting ends where they no longer are. */
  #chooseIndex (choices: readonly IndexChoice[], maxEntries: number): string | undefined {
    let best: { name: string, entries: number } | undefined
    for (const { index: { name }, where } of choices) {
      const entries = this.statements.count(where, { limit: maxEntries + 1, index: name })
      if (entries <= maxEntries && entries < (best?.entries ?? Infinity)) best = { name, entries }
    }
    return best?.name
  }
}

type LightStep = Exclude<Step, { readonly type: 'heavy' }>
