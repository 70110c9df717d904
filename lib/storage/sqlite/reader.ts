import { findIds, isLower, isPlain } from '../../core/storage/conditions.js'
import { askOneMore, toFoundText, writeFoundText } from '../../core/storage/pages.js'
import type { Condition, Found, FoundText, Id, Query, Stored } from '../../core/storage/storage.js'
import { makeListWriter } from '../../core/values/json.js'
import type { DefaultFilling, PlannedQuery } from '../sql/filling.js'
import { type Column, getColumn } from '../sql/layout.js'
import { parseRow, WrittenMembers } from '../sql/written.js'
import type { ReadBurst } from './bursts.js'
import { prepareRead } from './driver.js'
import type { HeavyReads } from './heavy-reads.js'
import { type Anchors, type Index, listAccessPaths, type PageText, type Path, type PathLimits } from './paths.js'
import { itemSeparator, type TableStatements } from './statements.js'

interface ReadSettings {
  readonly limits: PathLimits
  readonly burst: ReadBurst
  readonly heavy: HeavyReads
  readonly anchors: Anchors
}

interface UsableIndexes {
  readonly indexes: readonly Index[]
  readonly filling: DefaultFilling
}

// Rows that are read at once by their ids.
const maxIdsAtOnce = 100

/** Runs only statements that visit few rows: a statement of SQLite holds the thread it runs in. */
export class SqliteTableReader {
  #present: UsableIndexes
  readonly #written: WrittenMembers

  constructor (
    readonly statements: TableStatements, readonly readIndexes: () => UsableIndexes, readonly settings: ReadSettings
  ) {
    this.#present = readIndexes()
    this.#written = new WrittenMembers(statements.layout)
  }

  get (id: Id): Stored | undefined | Promise<Stored | undefined> {
    return this.settings.burst.read(() => this.statements.get(id))
  }

  nextId (): Id | undefined {
    const { database, layout: { id: { present } } } = this.statements
    if (present?.next === undefined) return undefined
    return prepareRead(database, `SELECT (${present.next})`).get([])?.[0] as Id | undefined
  }

  async find (query: Query, signal?: AbortSignal): Promise<Found> {
    const { text, mark, total, isPartial } = await this.#read(query, this.statements.layout.columns, signal)
    const items = JSON.parse(`[${joinItems(text, mark)}]`) as Stored[]
    return { items, ...total !== undefined && { total }, ...isPartial !== undefined && { isPartial } }
  }

  /** Reads one item more, to see whether there is a next page. */
  async findText (
    asked: Query, members: readonly string[], signal?: AbortSignal, names?: readonly string[]
  ): Promise<FoundText> {
    const query = askOneMore(asked)
    // The first and last item must have the fields of the order.
    if (!asked.order.every(({ field }) => members.includes(field))) {
      return writeFoundText(await this.find(query, signal), asked, makeListWriter(members))
    }
    const { columns, fields } = this.#written.get(members, names)
    const { text, length, mark, total } = await this.#read(query, columns, signal)
    const more = length > asked.limit
    const shown = more ? text.slice(0, Math.max(0, text.lastIndexOf(mark))) : text
    const count = Math.min(length, asked.limit)
    const end = shown.indexOf(mark)
    const hasFirst = count > 0 && asked.offset !== 0
    const first = hasFirst ? parseRow(shown.slice(0, end === -1 ? undefined : end), fields) : undefined
    const last = count === 0 ? undefined : parseRow(shown.slice(shown.lastIndexOf(mark) + 1), fields)
    const isNamed = names !== undefined
    return toFoundText({ text: joinItems(shown, mark), isNamed, count, more, first, last, total }, asked)
  }

  async #read (asked: Query, members: readonly Column[], signal: AbortSignal | undefined): Promise<PageText> {
    const { statements, settings: { burst, heavy } } = this
    const query = this.#present.filling.plan(asked)
    const small = query.where.every(isPlain)
      ? await burst.read(() => {
        const page = this.#readSmall(query, members)
        return page?.isLacking === true ? this.#readSmall(query.filled as Query, members) : page
      })
      : undefined
    return small ?? await heavy.read(statements, query, members, signal)
  }

  /** Undefined if it may take long. */
  #readSmall (query: PlannedQuery, members: readonly Column[]): PageText | undefined {
    const ids = findIds(query.where)
    if (ids !== undefined) {
      return ids.length > maxIdsAtOnce ? undefined : this.statements.readAll(query, members)
    }
    try {
      for (const path of listAccessPaths(query, this.#present.indexes, this.settings.limits)) {
        const page = this.#readBy(path, query, members)
        if (page !== undefined) return page
      }
    } catch (error) {
      // The index was dropped meanwhile.
      if (!(error as Error).message.includes('no such index')) throw error
      this.#present = this.readIndexes()
    }
    return undefined
  }

  #readBy (path: Path, query: PlannedQuery, members: readonly Column[]): PageText | undefined {
    return path.isOrdered && !query.count
      ? this.#readOrdered(path, query, members)
      : this.#readUpTo(path, query, members)
  }

  #readOrdered (path: Path, query: PlannedQuery, members: readonly Column[]): PageText | undefined {
    const { statements, settings: { limits, anchors } } = this
    const last = query.offset + query.limit
    if (path.rest.length > 0) return statements.readFirst(path, query, members)
    if (last <= limits.keyRows) return statements.readAlong(path, query, members)
    const isByKey = path.index === undefined && last <= limits.skipRows
    return isByKey ? anchors.readPage(statements, path, query, members) : undefined
  }

  /** Of all rows, if they are few; otherwise of those before the value at which they are too many. */
  #readUpTo (path: Path, query: PlannedQuery, members: readonly Column[]): PageText | undefined {
    const { statements } = this
    const [first] = path.isByFirst ? path.order : []
    const edge = statements.readAt(path, first?.field ?? 'id', path.maxRows)
    if (edge === undefined) return statements.readFirst(path, query, members)
    if (first === undefined || query.count || edge === null) return undefined
    // Stops before the rows that equal the edge: some of them may come after it.
    const { field: { optional, nullable } } = getColumn(statements.layout, first.field)
    if (!first.descending && (optional || nullable === true)) return undefined
    const before: Condition = { field: first.field, op: first.descending ? 'gt' : 'lt', value: edge }
    const bounds = path.bounds.filter(each => each.field !== first.field || isLower(each) !== first.descending)
    const page = statements.readFirst({ ...path, bounds: [...bounds, before] }, query, members)
    return page?.length === query.limit ? page : undefined
  }
}

const separators = new RegExp(itemSeparator, 'g')

function joinItems (text: string, mark: string): string {
  return mark === itemSeparator ? text.replace(separators, ',') : text
}
