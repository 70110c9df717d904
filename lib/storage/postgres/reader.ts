import { isPlain } from '../../core/storage/conditions.js'
import { askOneMore, toFoundText, writePage } from '../../core/storage/pages.js'
import type { Condition, Found, FoundText, Id, Order, Query, Stored } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import { Turn } from '../../core/storage/turns.js'
import { makeListWriter } from '../../core/values/json.js'
import type { Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import type { CandidateQuery } from '../sql/pattern-search.js'
import { searchPatterns } from '../sql/pattern-search.js'
import { postgresDialect as dialect } from './dialect.js'
import type { ReadStatements } from './statements.js'
import { canWriteJson } from './statements.js'
import { canHave, fitQuery } from './types.js'

// Rows of the first part of a search with patterns, and of the largest: most pages are full after a few.
const firstPart = 250
const largestPart = 4000
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
      const part = { where: [...where, ...after], order, limit, offset: 0 }
      const rows = await this.statements.readRows(part, columns, { signal: turn.signal, isHeavy: true })
      yield rows
      if (rows.length < limit) return
      const last = rows.at(-1)?.[0]
      after = [{ field: 'id', op, value: (decode === undefined ? last : decode(last)) as Id }]
      await turn.pass()
    }
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
