import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import type { CandidateQuery } from '../sql/pattern-search.js'
import { searchPatterns } from '../sql/pattern-search.js'
import type { Index, IndexChoice, PlanLimits, Step } from '../sql/planner.js'
import { hasPatterns, isRangeOfId, listChoices, planPage } from '../sql/planner.js'
import type { Condition, Found, FoundText, Id, Query, Stored } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatements, Select } from './statements.js'

/** Rows between two pauses for other requests: about five milliseconds, also where each is matched with patterns. */
export interface SliceLimits {
  readonly walkRows: number
  readonly patternRows: number
}

export const sliceLimits: SliceLimits = { walkRows: 20_000, patternRows: 1000 }

/** Reads a family's table. A statement of SQLite holds the event loop, so what may take long is cut into slices. */
export class TableReader {
  readonly layout: Layout

  /** @param writesJson what `enableJson` returned */
  constructor (
    readonly statements: ReadStatements,
    readonly indexes: readonly Index[],
    readonly writesJson: boolean,
    readonly limits: PlanLimits & SliceLimits
  ) {
    this.layout = statements.layout
  }

  get (id: Id): Stored | undefined {
    return this.statements.get(id)
  }

  getMany (ids: readonly Id[]): Stored[] {
    return ids.flatMap(id => this.get(id) ?? [])
  }

  async find (query: Query): Promise<Found> {
    if (hasPatterns(query)) return await searchPatterns(this, dialect, query)
    const items = await this.#readPage(query, select => this.statements.readItems(select))
    return query.count ? { items, total: await this.#count(query.where) } : { items }
  }

  /** The page as JSON, and whether there is more after it: one item further is looked for. */
  async findText (query: Query, members: readonly string[]): Promise<FoundText> {
    const { limit } = query
    const further = { ...query, limit: limit + 1 }
    // Without the id, and where JavaScript has the items anyway, they are written from the items.
    if (!members.includes('id') || hasPatterns(query) || !this.writesJson) {
      const { items, total } = await this.find(further)
      const shown = items.slice(0, limit)
      const texts = shown.map(item => JSON.stringify(Object.fromEntries(members.map(name => [name, item[name]]))))
      return joinTexts(texts, shown.at(-1)?.id, items.length > limit, total)
    }
    const columns = members.map(member => getColumn(this.layout, member))
    const texts = await this.#readPage(further, select => this.statements.readTexts(select, columns))
    const more = texts.length > limit
    if (more) texts.length = limit
    const last = texts.at(-1)
    const id = last === undefined ? undefined : (JSON.parse(last) as Stored).id
    return joinTexts(texts, id, more, query.count ? await this.#count(query.where) : undefined)
  }

  /** The rows that patterns are then matched with. */
  async * readCandidates ({ where, order, columns }: CandidateQuery): AsyncGenerator<unknown[][]> {
    const unlimited = { order, limit: -1, offset: 0 }
    const index = this.#chooseIndex(this.#listChoices(where), this.limits.fewEntries)
    if (index !== undefined) return yield this.statements.readRows({ ...unlimited, where, index }, columns)
    for await (const slice of this.#sliceKey(where, order[0]?.descending === true, this.limits.patternRows)) {
      yield this.statements.readRows({ ...unlimited, where: [...where, ...slice], byKey: true }, columns)
    }
  }

  async #readPage<Row> (query: Query, read: (select: Select) => Row[]): Promise<Row[]> {
    if (query.limit === 0) return []
    for (const step of planPage(query, this.indexes, this.limits)) {
      if (step.type === 'walk') return await this.#walk(query, read)
      const rows = this.#runStep(step, query, read)
      if (rows !== undefined) return rows
    }
    return []
  }

  /** The page, where the step settles it. */
  #runStep<Row> (step: DirectStep, query: Query, read: (select: Select) => Row[]): Row[] | undefined {
    const { where, order, limit, offset } = query
    switch (step.type) {
      case 'read': return read({ where, order, limit, offset })
      case 'read-index': return read({ where, order, limit, offset, index: step.index.name })
      case 'look': {
        const within = { where: [...step.range, ...step.equal], rows: step.rows }
        const looked = read({ where: step.filters, order, limit, offset, index: step.index?.name, within })
        return looked.length === limit ? looked : undefined
      }
      case 'fewest': {
        const index = this.#chooseIndex(step.choices, step.maxEntries)
        return index === undefined ? undefined : read({ where, order, limit, offset, index })
      }
    }
  }

  /** Along the key, slice by slice: passes over whole slices while the offset lasts, then takes what is wanted. */
  async #walk<Row> ({ where, order, limit, offset }: Query, read: (select: Select) => Row[]): Promise<Row[]> {
    const page: Row[] = []
    let toSkip = offset
    for await (const slice of this.#sliceKey(where, order[0]?.descending === true, this.limits.walkRows)) {
      const inSlice = [...where, ...slice]
      if (toSkip > 0) {
        const matching = this.statements.count(inSlice, { byKey: true })
        if (matching <= toSkip) {
          toSkip -= matching
          continue
        }
      }
      page.push(...read({ where: inSlice, order, limit, offset: toSkip, byKey: true }))
      toSkip = 0
      if (page.length >= limit) break
    }
    return page.slice(0, limit)
  }

  /** Counts in one go where an index does it, else in slices. */
  async #count (where: readonly Condition[]): Promise<number> {
    const index = this.#chooseIndex(this.#listChoices(where), this.limits.fewEntries)
    if (index !== undefined) return this.statements.count(where, { index })
    if (new Set(where.map(({ field }) => field)).size < 2) return this.statements.count(where)
    let total = 0
    for await (const slice of this.#sliceKey(where, false, this.limits.walkRows)) {
      total += this.statements.count([...where, ...slice], { byKey: true })
    }
    return total
  }

  /** The key cut into ranges of so many rows, as conditions; between them other requests go on. */
  async * #sliceKey (where: readonly Condition[], descending: boolean, rows: number): AsyncGenerator<Condition[]> {
    const [beyond, upTo] = descending ? ['lt', 'gte'] as const : ['gt', 'lte'] as const
    const range = where.filter(isRangeOfId)
    const lastOfSlice = { order: [{ field: 'id', descending }], limit: 1, offset: rows - 1 }
    let from: Condition[] = []
    for (;;) {
      const [last] = this.statements.readRows({ ...lastOfSlice, where: [...range, ...from] }, [this.layout.id])
      if (last === undefined) return yield from
      const id = last[0] as Id
      yield [...from, { field: 'id', op: upTo, value: id }]
      from = [{ field: 'id', op: beyond, value: id }]
      await yieldToEventLoop()
    }
  }

  #listChoices (where: readonly Condition[]): IndexChoice[] {
    return listChoices(this.indexes, where.filter(condition => !isRangeOfId(condition)))
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

/** A step that is one statement or two, without a pause. */
type DirectStep = Exclude<Step, { type: 'walk' }>

function joinTexts (texts: readonly string[], last: Id | undefined, more: boolean, total?: number): FoundText {
  return {
    text: texts.join(','),
    count: texts.length,
    more,
    ...last === undefined ? {} : { last },
    ...total === undefined ? {} : { total }
  }
}
