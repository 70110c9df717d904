import { askOneMore, toFoundText, writePage } from '../../core/storage/pages.js'
import type { Condition, Found, FoundText, Id, Query, Stored } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import { Turn } from '../../core/storage/turns.js'
import { makeListWriter } from '../../core/values/json.js'
import type { IndexOrder } from '../sql/clauses.js'
import type { Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import type { CandidateQuery } from '../sql/pattern-search.js'
import { searchPatterns } from '../sql/pattern-search.js'
import { hasPatterns, isRangeOfId, namesIds, planPage } from '../sql/planner.js'
import type { Index, IndexChoice, PlanLimits, Step } from '../sql/steps.js'
import { tighten, tightenQuery } from '../sql/tighten.js'
import { postgresDialect as dialect } from './dialect.js'
import { canHave, fitQuery } from './fit.js'
import { followIndex } from './follow-index.js'
import { listFitting } from './indexes.js'
import { canWriteJson } from './json.js'
import type { JoinedText, ReadStatements, RowWindow, Select } from './statements.js'

// Rows of the first part of a search with patterns, and of the largest: most pages are full after a few.
const firstPart = 250
const largestPart = 4000
// A page with more rows to pass over takes as long as many others.
const shortSkip = 2000

interface Lengthy {
  readonly length: number
}

/** Reads what one step asks for. */
type ReadPart<T extends Lengthy> = (select: Select, isLong: boolean) => Promise<T>

/** Reads a family's table. */
export class TableReader {
  readonly layout: Layout

  constructor (
    readonly statements: ReadStatements,
    readonly indexes: readonly Index[],
    readonly limits: PlanLimits,
    readonly line: HeavyReadQueue
  ) {
    this.layout = statements.layout
  }

  async get (id: Id, signal?: AbortSignal): Promise<Stored | undefined> {
    return canHave(this.layout.id, id) ? await this.statements.get(id, signal) : undefined
  }

  /** In this order; what is gone by now is left out. */
  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    if (ids.length === 0) return []
    const items = new Map((await this.statements.getMany(ids)).map(item => [item.id, item]))
    return ids.flatMap(id => items.get(id) ?? [])
  }

  async find (asked: Query, signal?: AbortSignal): Promise<Found> {
    const query = tightenQuery(fitQuery(this.layout, asked))
    if (hasPatterns(query)) return await this.#search(query, signal)
    const read: ReadPart<Stored[]> = (select, isLong) =>
      this.statements.readItems(select, { signal, isLong })
    if (!query.count) return { items: await this.#readPage(query, read, signal) ?? [] }
    const [items = [], total] = await Promise.all([this.#readPage(query, read, signal), this.#count(query, signal)])
    return { items, total }
  }

  /** The page as JSON, and whether there is more after it: one item further is looked for. */
  async findText (asked: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText> {
    const query = tightenQuery(askOneMore(fitQuery(this.layout, asked)))
    const columns = members.map(member => getColumn(this.layout, member))
    // Where JavaScript has the items anyway, they are written from the items.
    if (hasPatterns(query) || !canWriteJson(columns, this.layout.mapped)) {
      return writePage(await this.find(query, signal), asked, makeListWriter(members))
    }
    const read: ReadPart<JoinedText> = (select, isLong) =>
      this.statements.readText(select, columns, { signal, isLong })
    const reading = this.#readPage(query, read, signal) as Promise<JoinedText>
    const [{ text, length, first, last }, total] = query.count
      ? await Promise.all([reading, this.#count(query, signal)])
      : [await reading]
    const count = Math.min(length, asked.limit)
    return toFoundText({ text, count, more: length > asked.limit, first, last, total }, asked)
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
      const rows = await this.statements.readRows(part, columns, { signal: turn.signal, isLong: true })
      yield rows
      if (rows.length < limit) return
      const last = rows.at(-1)?.[0]
      after = [{ field: 'id', op, value: (decode === undefined ? last : decode(last)) as Id }]
      await turn.pass()
    }
  }

  /** What is read by the step that settles the page; undefined where nothing is asked for. */
  async #readPage<T extends Lengthy> (
    query: Query,
    read: ReadPart<T>,
    signal: AbortSignal | undefined
  ): Promise<T | undefined> {
    if (query.limit === 0) return undefined
    for (const step of planPage(query, listFitting(this.indexes, query), this.limits)) {
      const found = await this.#runStep(step, query, read, signal)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** The page, where the step settles it. */
  async #runStep<T extends Lengthy> (
    step: Step,
    query: Query,
    read: ReadPart<T>,
    signal: AbortSignal | undefined
  ): Promise<T | undefined> {
    switch (step.type) {
      case 'read': return await read(query, query.offset > shortSkip)
      case 'heavy': return await this.#inLine(signal, () => read(query, true))
      case 'read-index': {
        const along = followIndex(step, query.order)
        return await read({ ...query, ...along }, query.offset > shortSkip || this.#isSorted(along.order))
      }
      case 'look': {
        const along = followIndex(step, query.order)
        const within = { where: along.where, order: along.order, rows: step.rows }
        const { order, limit, offset } = query
        const looked = await read({ where: step.filters, order, limit, offset, within }, this.#isSorted(within.order))
        return looked.length === limit ? looked : undefined
      }
      case 'window': {
        // PostgreSQL sorts part by part along an index, and ends when the page is full; what is filtered may be far.
        return step.range.length < query.where.length ? undefined : await read(query, true)
      }
      case 'fewest': {
        const within = await this.#chooseWindow(step.choices, step.maxEntries, signal)
        return within === undefined ? undefined : await read({ ...query, within }, true)
      }
      case 'few': {
        return await this.#isFew(step.range, step.maxEntries, signal) ? await read(query, true) : undefined
      }
    }
  }

  /** Whether what begins alike has to be sorted, of which there may be much. */
  #isSorted (order: readonly IndexOrder[]): boolean {
    return order.some(({ field, isGiven }) => isGiven !== true && getColumn(this.layout, field).isCut)
  }

  async #count ({ where }: Query, signal: AbortSignal | undefined): Promise<number> {
    const isFew = namesIds(where) || await this.#isFew(where.filter(isRangeOfId), this.limits.fewEntries, signal)
    if (isFew) return await this.statements.count(where, { signal })
    return await this.#inLine(signal, () => this.statements.count(where, { signal, isLong: true }))
  }

  async #isFew (where: readonly Condition[], maxEntries: number, signal: AbortSignal | undefined): Promise<boolean> {
    const order = [{ field: 'id', descending: false }]
    const [rows = 0] = await this.statements.countWindows([{ where, order, rows: maxEntries + 1 }], { signal })
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
      const order = [...fields, 'id'].map(field => ({ field, descending: false, isGiven: true }))
      return { where, order, rows: maxEntries + 1 }
    })
    const counts = await this.statements.countWindows(windows, { signal })
    const fewest = Math.min(...counts)
    return fewest <= maxEntries ? windows[counts.indexOf(fewest)] : undefined
  }
}
