import type { Layout } from '../sql/layout.js'
import type { CandidateQuery } from '../sql/pattern-search.js'
import { searchPatterns } from '../sql/pattern-search.js'
import { hasPatterns, isRangeOfId, namesIds, planPage } from '../sql/planner.js'
import type { Bounds, Index, IndexChoice, PlanLimits, Step } from '../sql/steps.js'
import { makeIndex } from '../sql/steps.js'
import { tighten } from '../sql/tighten.js'
import type { Condition, Found, Id, Order, Query, Scalar, Stored } from '../storage.js'
import { Turn } from '../turn.js'
import type { WaitingLine } from '../waiting-line.js'
import { postgresDialect as dialect } from './dialect.js'
import type { ReadStatements, RowWindow } from './statements.js'

// Rows of the first part of a search with patterns, and of the largest: most pages are full after a few.
const firstPart = 250
const largestPart = 4000

/** Reads a family's table. */
export class TableReader {
  readonly layout: Layout
  readonly #indexes: readonly Index[]

  constructor (readonly statements: ReadStatements, readonly limits: PlanLimits, readonly line: WaitingLine) {
    this.layout = statements.layout
    const { mapped, indexes } = this.layout
    // Of a mapped table nothing is known. PostgreSQL takes no names of indexes: they are suggested by the order.
    this.#indexes = mapped ? [] : indexes.map(fields => makeIndex(fields.join(), fields, true))
  }

  async get (id: Id, signal?: AbortSignal): Promise<Stored | undefined> {
    return await this.statements.get(id, signal)
  }

  /** In this order; what is gone by now is left out. */
  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    if (ids.length === 0) return []
    const items = new Map((await this.statements.getMany(ids)).map(item => [item.id, item]))
    return ids.flatMap(id => items.get(id) ?? [])
  }

  async find (asked: Query, signal?: AbortSignal): Promise<Found> {
    const where = tighten(asked.where)
    const query = where === asked.where ? asked : { ...asked, where }
    if (hasPatterns(query)) return await this.#search(query, signal)
    if (!query.count) return { items: await this.#readPage(query, signal) }
    const [items, total] = await Promise.all([this.#readPage(query, signal), this.#count(query, signal)])
    return { items, total }
  }

  async #search (query: Query, signal: AbortSignal | undefined): Promise<Found> {
    const turn = new Turn(signal, this.line)
    try {
      return await searchPatterns(this, dialect, query, turn)
    } finally {
      turn.end()
    }
  }

  /** The rows that patterns are then matched with. */
  async * readCandidates ({ where, order, columns }: CandidateQuery, turn: Turn): AsyncGenerator<unknown[][]> {
    const op = order[0]?.descending === true ? 'lt' : 'gt'
    const decode = dialect.decode[this.layout.id.kind]
    let after: Condition[] = []
    for (let limit = firstPart; ; limit = Math.min(largestPart, limit * 2)) {
      const part = { where: tighten([...where, ...after]), order, limit, offset: 0 }
      const rows = await this.statements.readRows(part, columns, turn.signal)
      yield rows
      if (rows.length < limit) return
      const last = rows.at(-1)?.[0]
      after = [{ field: 'id', op, value: (decode === undefined ? last : decode(last)) as Id }]
      await turn.pass()
    }
  }

  async #readPage (query: Query, signal: AbortSignal | undefined): Promise<Stored[]> {
    if (query.limit === 0) return []
    for (const step of planPage(query, this.#indexes, this.limits)) {
      const items = await this.#runStep(step, query, signal)
      if (items !== undefined) return items
    }
    return []
  }

  /** The page, where the step settles it. */
  async #runStep (step: Step, query: Query, signal: AbortSignal | undefined): Promise<Stored[] | undefined> {
    switch (step.type) {
      case 'read': return await this.statements.readItems(query, signal)
      case 'heavy': return await this.#inLine(signal, () => this.statements.readItems(query, signal))
      case 'read-index': {
        return await this.statements.readItems({ ...query, ...followIndex(step, query.order) }, signal)
      }
      case 'look': {
        const within = { ...followIndex(step, query.order), rows: step.rows }
        const items = await this.statements.readItems({ ...query, where: step.filters, within }, signal)
        return items.length === query.limit ? items : undefined
      }
      case 'window': {
        // PostgreSQL sorts part by part along an index, and ends when the page is full; what is filtered may be far.
        return step.range.length < query.where.length ? undefined : await this.statements.readItems(query, signal)
      }
      case 'fewest': {
        const within = await this.#chooseWindow(step.choices, step.maxEntries, signal)
        return within === undefined ? undefined : await this.statements.readItems({ ...query, within }, signal)
      }
      case 'few': {
        const isFew = await this.#isFew(step.range, step.maxEntries, signal)
        return isFew ? await this.statements.readItems(query, signal) : undefined
      }
    }
  }

  async #count ({ where }: Query, signal: AbortSignal | undefined): Promise<number> {
    const isFew = namesIds(where) || await this.#isFew(where.filter(isRangeOfId), this.limits.fewEntries, signal)
    const count = (): Promise<number> => this.statements.count(where, signal)
    return await (isFew ? count() : this.#inLine(signal, count))
  }

  async #isFew (where: readonly Condition[], maxEntries: number, signal: AbortSignal | undefined): Promise<boolean> {
    const order = [{ field: 'id', descending: false }]
    const [rows = 0] = await this.statements.countWindows([{ where, order, rows: maxEntries + 1 }], signal)
    return rows <= maxEntries
  }

  async #inLine<T> (signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const leave = await this.line.enter(signal)
    return await work().finally(leave)
  }

  /** The entries of the index that has fewest, if they are few. Counting ends where they no longer are. */
  async #chooseWindow (
    choices: readonly IndexChoice[],
    maxEntries: number,
    signal: AbortSignal | undefined
  ): Promise<RowWindow | undefined> {
    const windows = choices.map(({ index: { fields }, where }): RowWindow => {
      // In the order of the index, so that it is used whatever PostgreSQL knows of the values.
      const order = [...fields, 'id'].map(field => ({ field, descending: false }))
      return { where, order, rows: maxEntries + 1 }
    })
    const counts = await this.statements.countWindows(windows, signal)
    const fewest = Math.min(...counts)
    return fewest <= maxEntries ? windows[counts.indexOf(fewest)] : undefined
  }
}

/**
 * Conditions and order that make PostgreSQL go along an index, or along the key. The values are given as ranges from a
 * value to itself: of a field that is plainly equal it knows that it needs no order, and may go along the key after
 * all.
 */
function followIndex ({ equal, range }: Bounds, order: readonly Order[]): { where: Condition[], order: Order[] } {
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
    order: [...equal.map(({ field }) => ({ field, descending })), ...rest]
  }
}
