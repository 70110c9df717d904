import { getColumn } from '../sql/layout.js'
import { isRangeOfId, listChoices, namesIds, planPage } from '../sql/planner.js'
import type { Index, IndexChoice, PlanLimits, Step } from '../sql/steps.js'
import type { Condition, Order, Query, Scalar } from '../storage.js'
import type { Anchors } from './anchors.js'
import type { ReadStatements, Select } from './statements.js'

/** The rows of a page, in whatever form. */
export interface Counted {
  readonly length: number
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
  readPage<Rows extends Counted> (query: Query, read: (select: Select) => Rows): Rows | undefined {
    for (const step of planPage(query, this.indexes, this.settings.limits)) {
      if (step.type === 'heavy') return undefined
      const rows = this.#runStep(step, query, read)
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
  #runStep<Rows extends Counted> (step: LightStep, query: Query, read: (select: Select) => Rows): Rows | undefined {
    const { where, order, limit, offset } = query
    switch (step.type) {
      case 'read': return this.#readAlong(query, undefined, read)
      case 'read-index': return this.#readAlong(query, step.index.name, read)
      case 'look': {
        const within = { where: [...step.range, ...step.equal], rows: step.rows }
        const looked = read({ where: step.filters, order, limit, offset, index: step.index?.name, within })
        return looked.length === limit ? looked : undefined
      }
      case 'window': return this.#readWindow(step, query, read)
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

  #readWindow<Rows extends Counted> (step: Window, query: Query, read: (select: Select) => Rows): Rows | undefined {
    const { index: { name: index }, range, rows, maxEntries } = step
    const { where, order, limit, offset } = query
    const { field, descending } = order[0] as Order
    const getValue = (at: number): Scalar | null | undefined => {
      const entry = { where: range, order: [{ field, descending }], limit: 1, offset: at, index }
      return this.statements.readRows(entry, [getColumn(this.statements.layout, field)])[0]?.[0] as Scalar | null
    }
    const edge = getValue(rows - 1)
    // Those are all that there are.
    if (edge === undefined) return read({ where, order, limit, offset, index })
    // Absent values come first, or last, and no bound holds for them.
    if (edge === null || (!descending && getValue(0) === null)) return undefined
    const upToEdge: Condition = { field, op: descending ? 'gte' : 'lte', value: edge }
    const entries = this.statements.count([...range, upToEdge], { index, limit: maxEntries + 1 })
    if (entries > maxEntries) return undefined
    const looked = read({ where: [...where, upToEdge], order, limit, offset, index })
    return looked.length === limit ? looked : undefined
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
