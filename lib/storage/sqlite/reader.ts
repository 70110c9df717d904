import { isPlain } from '../../core/storage/conditions.js'
import { askOneMore, toFoundText, writePage } from '../../core/storage/pages.js'
import type { Condition, Found, FoundText, Id, Query, Stored } from '../../core/storage/storage.js'
import { makeListWriter } from '../../core/values/json.js'
import type { Column } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import type { Anchors } from './anchors.js'
import type { ReadBurst } from './bursts.js'
import type { HeavyReads } from './heavy-reads.js'
import type { Index, Path, PathLimits } from './paths.js'
import { isLower, listPaths } from './paths.js'
import type { PageText, TableStatements } from './statements.js'
import { itemSeparator } from './statements.js'

/** How all tables of a database are read. */
export interface ReadSettings {
  readonly limits: PathLimits
  /** What is small. */
  readonly burst: ReadBurst
  /** All else. */
  readonly heavy: HeavyReads
  readonly anchors: Anchors
}

/**
 * Reads a family's table. A statement of SQLite holds the thread that runs it, so only what visits few rows for sure,
 * whatever is in the table, is read in this one.
 */
export class TableReader {
  #indexes: readonly Index[]

  /** @param readIndexes reads which indexes the table has now */
  constructor (
    readonly statements: TableStatements, readonly readIndexes: () => readonly Index[], readonly settings: ReadSettings
  ) {
    this.#indexes = readIndexes()
  }

  get (id: Id): Stored | undefined | Promise<Stored | undefined> {
    return this.settings.burst.read(() => this.statements.get(id))
  }

  async find (query: Query, signal?: AbortSignal): Promise<Found> {
    const { text, mark, total } = await this.#read(query, this.statements.layout.columns, signal)
    const items = JSON.parse(`[${joinItems(text, mark)}]`) as Stored[]
    return total === undefined ? { items } : { items, total }
  }

  /** The page as JSON, and whether there is more after it: one item further is looked for. */
  async findText (asked: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText> {
    const query = askOneMore(asked)
    // The first and the last item must have their key.
    if (!asked.order.every(({ field }) => members.includes(field))) {
      return writePage(await this.find(query, signal), asked, makeListWriter(members))
    }
    const columns = members.map(member => getColumn(this.statements.layout, member))
    return splitItems(await this.#read(query, columns, signal), asked)
  }

  async #read (query: Query, members: readonly Column[], signal: AbortSignal | undefined): Promise<PageText> {
    const { burst, heavy } = this.settings
    const small = query.where.every(isPlain) ? await burst.read(() => this.#readSmall(query, members)) : undefined
    return small ?? await heavy.read(this.statements, query, members, signal)
  }

  /** The page; undefined where it may take long. */
  #readSmall (query: Query, members: readonly Column[]): PageText | undefined {
    const { limits } = this.settings
    if (query.where.some(({ field, op }) => field === 'id' && op === 'eq')) {
      return this.statements.readAll(query, { ...query, members })
    }
    try {
      for (const path of listPaths(query, this.#indexes, limits)) {
        const page = this.#readBy(path, query, members)
        if (page !== undefined) return page
      }
    } catch (error) {
      // It was dropped meanwhile.
      if (!(error as Error).message.includes('no such index')) throw error
      this.#indexes = this.readIndexes()
    }
    return undefined
  }

  #readBy (path: Path, query: Query, members: readonly Column[]): PageText | undefined {
    const { limits, anchors } = this.settings
    const { limit, offset, count } = query
    const section = { members, limit, offset }
    if (path.isOrdered && !count) {
      if (path.rest.length > 0) return this.statements.look(path, query, section)
      if (offset + limit <= limits.keyRows) return this.statements.readAlong(path, section)
      const isByKey = path.index === undefined && offset + limit <= limits.skipRows
      return isByKey ? anchors.readPage(this.statements, path, section) : undefined
    }
    const [first] = path.isByFirst ? path.order : []
    const edge = this.statements.readAt(path, first?.field ?? 'id', path.maxRows)
    if (edge === undefined) return this.statements.look(path, query, section)
    if (first === undefined || count || edge === null) return undefined
    // The rows before the last that may be visited, without those that equal it: some of these may come after it.
    const { field: { optional, nullable } } = getColumn(this.statements.layout, first.field)
    if (!first.descending && (optional || nullable === true)) return undefined
    const before: Condition = { field: first.field, op: first.descending ? 'gt' : 'lt', value: edge }
    const bounds = path.bounds.filter(each => each.field !== first.field || isLower(each) !== first.descending)
    const page = this.statements.look({ ...path, bounds: [...bounds, before] }, query, section)
    return page?.length === limit ? page : undefined
  }
}

const separators = new RegExp(itemSeparator, 'g')

function joinItems (text: string, mark: string): string {
  return mark === itemSeparator ? text.replace(separators, ',') : text
}

/** @param page with one item more than `limit` where there are more */
function splitItems ({ text, length, mark, total }: PageText, query: Query): FoundText {
  const more = length > query.limit
  const count = more ? query.limit : length
  const shown = more ? text.slice(0, Math.max(0, text.lastIndexOf(mark))) : text
  return toFoundText({
    text: joinItems(shown, mark),
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
