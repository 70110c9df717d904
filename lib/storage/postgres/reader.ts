import { isPlain, listFieldConditions } from '../../core/storage/conditions.js'
import { askOneMore, collectMatches, FirstMatches, toFoundText, writePage } from '../../core/storage/pages.js'
import type { Condition, Found, FoundText, Id, Order, Query, Stored } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import { Turn } from '../../core/storage/turns.js'
import { makeListWriter } from '../../core/values/json.js'
import type { Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import { postgresDialect as dialect } from './dialect.js'
import type { ReadStatements } from './statements.js'
import { canWriteJson } from './statements.js'
import { canHave, fitQuery } from './types.js'

// More rows than that take long to be passed over.
const maxSkip = 60_000
// Milliseconds for which the size of a table is taken to be as it was.
const sizeIsKept = 10_000

/** Reads a family's table, each page by one plain statement that PostgreSQL plans. */
export class TableReader {
  readonly layout: Layout
  #isSmall = false
  #sizeIsOld = 0

  /** @param indexes rows of fields */
  constructor (
    readonly statements: ReadStatements,
    readonly indexes: readonly (readonly string[])[],
    readonly line: HeavyReadQueue
  ) {
    this.layout = statements.layout
  }

  get (id: Id, signal?: AbortSignal): Promise<Stored | undefined> | undefined {
    return canHave(this.layout.id, id) ? this.statements.get(id, signal) : undefined
  }

  /** In this order; what is gone by now is left out. */
  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    if (ids.length === 0) return []
    const items = new Map((await this.statements.getMany(ids)).map(item => [item.id, item]))
    return ids.flatMap(id => items.get(id) ?? [])
  }

  async find (asked: Query, signal?: AbortSignal): Promise<Found> {
    const query = fitQuery(this.layout, asked)
    if (!query.where.every(isPlain)) return await this.#search(query, signal)
    const isHeavy = this.#mayBeHeavy(query) && await this.#isLarge(signal)
    const reading = { signal, isHeavy }
    const leave = isHeavy ? await this.line.enter(signal) : undefined
    try {
      const items = query.limit === 0 ? [] : await this.statements.readItems(query, reading)
      return query.count ? { items, total: await this.statements.count(query.where, reading) } : { items }
    } finally {
      leave?.()
    }
  }

  /** The page as JSON, and whether there is more after it: one item further is looked for. */
  async findText (asked: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText> {
    const query = askOneMore(fitQuery(this.layout, asked))
    const columns = members.map(member => getColumn(this.layout, member))
    // Where JavaScript has the items anyway, they are written from the items.
    if (!query.where.every(isPlain) || !canWriteJson(columns, this.layout.mapped)) {
      return writePage(await this.find(query, signal), asked, makeListWriter(members))
    }
    const isHeavy = this.#mayBeHeavy(query) && await this.#isLarge(signal)
    const reading = { signal, isHeavy }
    const leave = isHeavy ? await this.line.enter(signal) : undefined
    try {
      const { text, length, first, last } = await this.statements.readText(query, columns, reading)
      const total = query.count ? await this.statements.count(query.where, reading) : undefined
      const count = Math.min(length, asked.limit)
      return toFoundText({ text, count, more: length > asked.limit, first, last, total }, asked)
    } finally {
      leave?.()
    }
  }

  /**
   * Matches patterns in JavaScript, where one engine gives them one meaning on every database. The server hands over
   * what the other conditions leave, in the wanted order and only the columns that matter; then the items of the page.
   */
  async #search (query: Query, signal: AbortSignal | undefined): Promise<Found> {
    const searches = query.where.filter(condition => !isPlain(condition))
    const fields = new Set(['id', ...listFieldConditions(searches).map(({ field }) => field)])
    const columns = [...fields].map(field => getColumn(this.layout, field))
    const decode = makeRowDecoder(columns, dialect)
    const matches = new FirstMatches({ ...query, order: [] })
    const where = query.where.filter(isPlain)
    const leave = await this.line.enter(signal)
    const turn = new Turn(signal)
    try {
      await this.statements.scan({ where, order: query.order }, columns, signal, rows =>
        // The texts are not needed any more, and may be long.
        collectMatches(decodeRows(rows, decode), searches, turn, ({ id }) => matches.add({ id } as Stored)))
    } finally {
      leave()
    }
    const { items, ...total } = matches.toPage()
    return { items: await this.getMany(items.map(({ id }) => id)), ...total }
  }

  /** Whether a read of a large table takes long, as far as can be seen: no index serves its order, or its filters. */
  #mayBeHeavy ({ where, order, offset, count }: Query): boolean {
    if (where.some(({ field, op }) => field === 'id' && op === 'eq')) return false
    if (count || offset > maxSkip || !this.#isSorted(where, order)) return true
    return where.length > 0 && !where.some(condition => this.#isIndexed(condition))
  }

  #isSorted (where: readonly Condition[], order: readonly Order[]): boolean {
    if (order[0]?.field === 'id') return true
    const isFree = (field: string): boolean => field !== 'id' && !where.some(condition =>
      condition.field === field && condition.op === 'eq' && condition.values.length === 1)
    const fields = order.map(({ field }) => field).filter(isFree)
    return fields.length === 0 || this.indexes.some(row => {
      const free = row.filter(isFree)
      return fields.every((field, at) => field === free[at])
    })
  }

  #isIndexed (condition: Condition): boolean {
    if (condition.op === 'any') return condition.of.every(all => all.some(each => this.#isIndexed(each)))
    const { field, op } = condition
    return op !== 'ne' && (field === 'id' || this.indexes.some(([first]) => first === field))
  }

  /** Whether the table is large. Tables grow, so it is asked again from time to time. */
  async #isLarge (signal: AbortSignal | undefined): Promise<boolean> {
    const now = performance.now()
    if (now >= this.#sizeIsOld) {
      this.#sizeIsOld = now + sizeIsKept
      this.#isSmall = await this.statements.isSmall(signal)
    }
    return !this.#isSmall
  }
}

// One at a time: to decode all of them at once would hold up other requests.
function * decodeRows (rows: Iterable<unknown[]>, decode: (row: unknown[]) => Stored): Iterable<Stored> {
  for (const row of rows) yield decode(row)
}
