import { raceSignal } from '../../core/storage/deadline.js'
import { askOneMore, toFoundText, writePage } from '../../core/storage/pages.js'
import type { Found, FoundText, Id, Query, Stored } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import { Turn } from '../../core/storage/turns.js'
import { makeListWriter } from '../../core/values/json.js'
import type { Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import type { CandidateQuery } from '../sql/pattern-search.js'
import { searchPatterns } from '../sql/pattern-search.js'
import { hasPatterns, namesIds } from '../sql/planner.js'
import type { Index, PlanLimits } from '../sql/steps.js'
import { tightenQuery } from '../sql/tighten.js'
import type { Anchors } from './anchors.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { HeavyWorkers } from './heavy-workers.js'
import type { Counted, RowForm } from './light-reader.js'
import { LightReader } from './light-reader.js'
import type { Round } from './round.js'
import type { Slice, SliceLimits } from './sliced-reader.js'
import { SlicedReader } from './sliced-reader.js'
import type { JoinedItems, ReadStatements } from './statements.js'
import { itemSeparator, joinItems } from './statements.js'

/** How all tables of a database are read. */
export interface ReadSettings {
  /** What `enableJson` returned. */
  readonly writesJson: boolean
  readonly limits: PlanLimits & SliceLimits
  /** Where those wait whose reads take long. */
  readonly line: HeavyReadQueue
  /** Who does them; without any, they are done here in slices. */
  readonly workers: HeavyWorkers | undefined
  /** When small reads are done. */
  readonly round: Round
  readonly anchors: Anchors
}

/**
 * Reads a family's table. A statement of SQLite holds the event loop, so only what is bounded is read here at once;
 * what may take long is read elsewhere, or in slices.
 */
export class TableReader {
  readonly layout: Layout
  readonly light: LightReader
  readonly sliced: SlicedReader

  constructor (readonly statements: ReadStatements, indexes: readonly Index[], readonly settings: ReadSettings) {
    this.layout = statements.layout
    this.light = new LightReader(statements, indexes, settings)
    this.sliced = new SlicedReader(statements, settings.limits)
  }

  get (id: Id): Promise<Stored | undefined> {
    return this.settings.round.read(() => this.statements.get(id))
  }

  getMany (ids: readonly Id[]): Stored[] {
    return ids.flatMap(id => this.statements.get(id) ?? [])
  }

  async find (asked: Query, signal?: AbortSignal): Promise<Found> {
    const query = tightenQuery(asked)
    if (hasPatterns(query)) return await this.#search(query, signal)
    const items = query.limit === 0
      ? []
      : await this.#readLight(query, {
        read: select => this.statements.readItems(select),
        join: (first, second) => [...first, ...second]
      })
    if (items === undefined) return await this.#readHeavy(query, signal)
    return query.count ? { items, total: await this.#count(query, signal) } : { items }
  }

  /** The page as JSON, and whether there is more after it: one item further is looked for. */
  async findText (asked: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText> {
    const query = tightenQuery(askOneMore(asked))
    const isKeyed = asked.order.every(({ field }) => members.includes(field))
    // Without their key, and where JavaScript has the items anyway, they are written from the items.
    if (!isKeyed || hasPatterns(query) || !this.settings.writesJson) {
      return writePage(await this.find(query, signal), asked, makeListWriter(members))
    }
    const columns = members.map(member => getColumn(this.layout, member))
    const items = await this.#readLight(query, {
      read: select => this.statements.readText(select, columns),
      join: joinItems
    })
    if (items === undefined) return writePage(await this.#readHeavy(query, signal), asked, makeListWriter(members))
    return splitItems(items, asked, query.count ? await this.#count(query, signal) : undefined)
  }

  #readLight<Rows extends Counted> (query: Query, form: RowForm<Rows>): Promise<Rows | undefined> {
    return this.settings.round.read(() => this.light.readPage(query, form))
  }

  async #search (query: Query, signal: AbortSignal | undefined): Promise<Found> {
    const turn = new Turn(signal, this.settings.line)
    try {
      return await searchPatterns(this, dialect, query, turn)
    } finally {
      turn.end()
    }
  }

  /** The rows that patterns are then matched with. */
  async * readCandidates ({ where, order, columns }: CandidateQuery, turn: Turn): AsyncGenerator<unknown[][]> {
    const unlimited = { order, limit: -1, offset: 0 }
    if (namesIds(where)) return yield this.statements.readRows({ ...unlimited, where, byKey: true }, columns)
    const index = this.light.chooseFewest(where)
    if (index !== undefined) return yield this.statements.readRows({ ...unlimited, where, index }, columns)
    const read = (slice: Slice): unknown[][] =>
      this.statements.readRows({ ...unlimited, where: slice.where, byKey: true }, columns)
    yield * this.sliced.readSlices(where, order[0]?.descending === true, turn, read)
  }

  async #count ({ where, order }: Query, signal: AbortSignal | undefined): Promise<number> {
    const few = this.light.count(where)
    if (few !== undefined) return few
    const { total } = await this.#readHeavy({ where, order, offset: 0, limit: 0, count: true }, signal)
    return total as number
  }

  async #readHeavy (query: Query, signal: AbortSignal | undefined): Promise<Found> {
    const { line, workers } = this.settings
    const release = await line.enter(signal)
    // Nobody waits longer than he wants to; the place is free when the work has ended.
    return await raceSignal(signal, this.#work(query, workers, signal).finally(release))
  }

  async #work (query: Query, workers: HeavyWorkers | undefined, signal: AbortSignal | undefined): Promise<Found> {
    if (workers !== undefined) return await workers.find({ layout: this.layout, query }, signal)
    return await this.sliced.find(query, new Turn(signal))
  }
}

const separators = new RegExp(itemSeparator, 'g')

/** @param items one more than `limit` where there are more */
function splitItems ({ text, length, mark }: JoinedItems, query: Query, total: number | undefined): FoundText {
  const more = length > query.limit
  const count = more ? query.limit : length
  const shown = more ? text.slice(0, Math.max(0, text.lastIndexOf(mark))) : text
  return toFoundText({
    text: mark === itemSeparator ? shown.replace(separators, ',') : shown,
    count,
    more,
    first: count === 0 || query.offset === 0 ? undefined : parseFirst(shown, mark),
    last: count === 0 ? undefined : JSON.parse(shown.slice(shown.lastIndexOf(mark) + 1)) as Stored,
    total
  }, query)
}

function parseFirst (shown: string, mark: string): Stored {
  const end = shown.indexOf(mark)
  return JSON.parse(end === -1 ? shown : shown.slice(0, end)) as Stored
}
