import type { Layout } from '../sql/layout.js'
import type { CandidateQuery } from '../sql/pattern-search.js'
import { searchPatterns } from '../sql/pattern-search.js'
import type { Bounds, Index, IndexChoice, PlanLimits, Step } from '../sql/planner.js'
import { hasPatterns, makeIndex, planPage } from '../sql/planner.js'
import type { Condition, Found, Id, Order, Query, Scalar, Stored } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import type { ReadStatements, RowWindow } from './statements.js'

// Rows of the first part of a search with patterns, and of the largest: most pages are full after a few.
const firstPart = 250
const largestPart = 4000

/** Reads a family's table. */
export class TableReader {
  readonly layout: Layout
  readonly #indexes: readonly Index[]

  constructor (readonly statements: ReadStatements, readonly limits: PlanLimits) {
    this.layout = statements.layout
    const { mapped, indexes } = this.layout
    // Of a mapped table nothing is known. PostgreSQL takes no names of indexes: they are suggested by the order.
    this.#indexes = mapped ? [] : indexes.map(fields => makeIndex(fields.join(), fields, true))
  }

  async get (id: Id): Promise<Stored | undefined> {
    return await this.statements.get(id)
  }

  /** In this order; what is gone by now is left out. */
  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    if (ids.length === 0) return []
    const items = new Map((await this.statements.getMany(ids)).map(item => [item.id, item]))
    return ids.flatMap(id => items.get(id) ?? [])
  }

  async find (query: Query): Promise<Found> {
    if (hasPatterns(query)) return await searchPatterns(this, dialect, query)
    if (!query.count) return { items: await this.#readPage(query) }
    const [items, total] = await Promise.all([this.#readPage(query), this.statements.count(query.where)])
    return { items, total }
  }

  /** The rows that patterns are then matched with. */
  async * readCandidates ({ where, order, columns }: CandidateQuery): AsyncGenerator<unknown[][]> {
    const op = order[0]?.descending === true ? 'lt' : 'gt'
    const decode = dialect.decode[this.layout.id.kind]
    let after: Condition[] = []
    for (let limit = firstPart; ; limit = Math.min(largestPart, limit * 2)) {
      const rows = await this.statements.readRows({ where: [...where, ...after], order, limit, offset: 0 }, columns)
      yield rows
      if (rows.length < limit) return
      const last = rows.at(-1)?.[0]
      after = [{ field: 'id', op, value: (decode === undefined ? last : decode(last)) as Id }]
    }
  }

  async #readPage (query: Query): Promise<Stored[]> {
    if (query.limit === 0) return []
    for (const step of planPage(query, this.#indexes, this.limits)) {
      const items = await this.#runStep(step, query)
      if (items !== undefined) return items
    }
    return []
  }

  /** The page, where the step settles it. */
  async #runStep (step: Step, query: Query): Promise<Stored[] | undefined> {
    switch (step.type) {
      case 'read': return await this.statements.readItems(query)
      // In one go: nobody else waits while PostgreSQL walks.
      case 'walk': return await this.statements.readItems(query)
      case 'read-index': return await this.statements.readItems({ ...query, ...followIndex(step, query.order) })
      case 'look': {
        const within = { ...followIndex(step, query.order), rows: step.rows }
        const items = await this.statements.readItems({ ...query, where: step.filters, within })
        return items.length === query.limit ? items : undefined
      }
      case 'fewest': {
        const within = await this.#chooseWindow(step.choices, step.maxEntries)
        return within === undefined ? undefined : await this.statements.readItems({ ...query, within })
      }
    }
  }

  /** The entries of the index that has fewest, if they are few. Counting ends where they no longer are. */
  async #chooseWindow (choices: readonly IndexChoice[], maxEntries: number): Promise<RowWindow | undefined> {
    const windows = choices.map(({ index: { fields: [field] }, where }): RowWindow => {
      // In the order of the index, so that it is used whatever PostgreSQL knows of the values.
      const order = [{ field: field as string, descending: false }, { field: 'id', descending: false }]
      return { where, order, rows: maxEntries + 1 }
    })
    const counts = await this.statements.countWindows(windows)
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
  const descending = order[0]?.descending === true
  const ranges = equal.flatMap(({ field, values }): Condition[] => {
    const value = values[0] as Scalar
    return [{ field, op: 'gte', value }, { field, op: 'lte', value }]
  })
  return {
    where: [...range, ...ranges],
    order: [
      ...equal.map(({ field }) => ({ field, descending })),
      ...order.filter(({ field }) => !equal.some(each => each.field === field))
    ]
  }
}
