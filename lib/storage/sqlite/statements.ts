import { BoundedCache } from '../../core/cache.js'
import { isPlain, listFieldConditions, matcher } from '../../core/storage/conditions.js'
import type { Condition, Id, Order, Query, Scalar, Stored } from '../../core/storage/storage.js'
import { ClauseBuilder, encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import { quoteName, quoteText } from '../sql/dialect.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { PageText, Path, Section } from './paths.js'
import { isEquality } from './paths.js'
import { sqliteDialect as dialect } from './tables.js'

/** Between items, where a comma and what comes after it may also stand within one: it cannot occur in JSON. */
export const itemSeparator = '\u001e'

// Within text the quotes would be escaped, so only what is nested can have it.
const flatMark = ',{"id":'

/** The rows that meet conditions. */
interface Matching {
  readonly key: string
  readonly parameters: readonly unknown[]
  write (clauses: ClauseBuilder): string
}

/** The statements that read a family's table. Each sees the table as it is at one moment. */
export class TableStatements {
  readonly #kept: KeptStatements
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement
  #next: ReadStatement | undefined

  constructor (readonly database: SqliteDatabase, readonly layout: Layout, readonly functions: SqlFunctions) {
    const { columns, table, id } = layout
    this.#kept = new KeptStatements(database)
    this.#decode = makeRowDecoder(columns, dialect)
    this.#get = prepareRead(database, `SELECT ${listSelected(columns)} FROM ${table} WHERE ${id.equated} = ?`)
  }

  get (id: Id): Stored | undefined {
    const row = this.#get.get([id])
    return row === undefined ? undefined : this.#decode(row)
  }

  nextId (): Id | undefined {
    const { mapped, id: { present } } = this.layout
    if (!mapped || present?.next === undefined) return undefined
    this.#next ??= prepareRead(this.database, `SELECT (${present.next})`)
    return this.#next.get([])?.[0] as Id | undefined
  }

  /** What the row at this position along a path has in a field; undefined where the path has fewer rows. */
  readAt (path: Path, field: string, offset: number): Scalar | null | undefined {
    const { selected, kind } = getColumn(this.layout, field)
    const order = path.isByFirst ? path.order.slice(0, 1) : []
    const statement = this.#kept.get(`at ${field} ${makePathKey(path)}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      return `SELECT ${selected} FROM ${this.#writeRows(path, clauses)}${clauses.orderBy(order)} LIMIT 1 OFFSET ?`
    })
    const value = statement.get([...this.#encode(path.bounds), offset])?.[0]
    return value === null || value === undefined ? value : (dialect.decode[kind]?.(value) ?? value) as Scalar
  }

  /** A page along a path that has its order, and meets all its conditions. */
  readAlong (path: Path, section: Section): PageText {
    const { members, limit, offset } = section
    const statement = this.#kept.get(`along ${makePathKey(path)} ${makeSectionKey(section)}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = `${this.#writeRows(path, clauses)}${clauses.orderBy(path.order)} LIMIT ${limit} OFFSET ?`
      return this.#writeText(members, item => `SELECT ${item} FROM ${rows}`)
    })
    return this.#toPage(members, statement.get([...this.#encode(path.bounds), offset]))
  }

  /**
   * The page, if it is among the first rows of a path: those are read, and no more. Unless the path has the order of
   * the page, they must be all.
   */
  look (path: Path, { order, count }: Query, section: Section): PageText | undefined {
    const { members, limit, offset } = section
    const { isOrdered, maxRows } = path
    const texts = `${count}\n${makeTextKey(dialect, path.rest, order)}`
    const statement = this.#kept.get(`look ${makePathKey(path)} ${makeSectionKey(section)} ${texts}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = this.#writeRows(path, clauses)
      const ordered = isOrdered ? clauses.orderBy(path.order) : ''
      const found = `(SELECT ${this.#listPassedOn(path.rest, order, members)} FROM ${rows}${ordered} ` +
        `LIMIT ${maxRows})${clauses.where(path.rest)}`
      const hasMore = `EXISTS (SELECT 1 FROM ${rows} LIMIT 1 OFFSET ${maxRows})`
      // Where the order is that of the path, what comes after a full page does not matter.
      const isCut = isOrdered && !count ? `CASE WHEN count(*) < ${limit} THEN ${hasMore} END` : hasMore
      const total = count ? `, (SELECT count(*) FROM ${found})` : ''
      // Run row by row, not first gathered: it ends as soon as the page is full.
      const end = `${isOrdered ? '' : clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
      return this.#writeText(members, item => `SELECT ${item} FROM ${found}${end}`, `, ${isCut}${total}`)
    })
    const bounds = this.#encode(path.bounds)
    const rest = this.#encode(path.rest)
    const row = statement.get([...bounds, ...count ? [...bounds, ...rest] : [], ...bounds, ...rest, offset])
    return row?.[2] === 1 ? undefined : this.#toPage(members, row, count)
  }

  /** The page, however many rows there are: SQLite chooses how it is found. */
  readAll (query: Query, section: Section): PageText {
    const { order, count } = query
    const { members, limit, offset } = section
    const matching = this.#match(query)
    let row: unknown[] | undefined
    if (limit > 0) {
      const statement = this.#kept.get(`all ${makeSectionKey(section)} ${matching.key}`, () => {
        const clauses = new ClauseBuilder(this.layout, dialect)
        const rows = `${matching.write(clauses)}${clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
        if (order[0]?.field === 'id') return this.#writeText(members, item => `SELECT ${item} FROM ${rows}`)
        // Sorts ids, often with no more than an index, and then reads the rows of the page alone.
        const { table, id: { equated: id } } = this.layout
        return this.#writeText(members, item =>
          `SELECT ${item} FROM ${table} WHERE ${id} IN (SELECT ${id} FROM ${rows})${clauses.orderBy(order)}`)
      })
      row = statement.get([...matching.parameters, offset])
    }
    const page = this.#toPage(members, row)
    return count ? { ...page, total: this.#count(query, matching) } : page
  }

  #count ({ where }: Query, { key, parameters, write }: Matching): number {
    const statement = this.#kept.get(`count ${key}`, () => {
      // All rows are counted without visiting them: SQLite adds up what its pages say of themselves.
      const rows = where.length === 0 ? this.layout.table : write(new ClauseBuilder(this.layout, dialect))
      return `SELECT count(*) FROM ${rows}`
    })
    return statement.get(parameters)?.[0] as number
  }

  #match ({ where, order }: Query): Matching {
    // Going along the order, or the key, is better than an index that leaves many; those that leave few come first.
    const isUsable = (condition: Condition): boolean =>
      isEquality(condition) || (condition.field !== undefined && condition.field === order[0]?.field)
    const plain = where.filter(isPlain)
    const used = plain.filter(isUsable)
    const others = plain.filter(condition => !isUsable(condition))
    const search = this.functions.search(this.layout, where) ?? ''
    return {
      key: `${search} ${makeTextKey(dialect, used)}\n${makeTextKey(dialect, others, order)}`,
      parameters: [...this.#encode(used), ...this.#encode(others)],
      write: clauses => {
        const conditions = [clauses.where(used), clauses.where(others, true)].map(text => text.replace(' WHERE ', ''))
        const all = [this.functions.watch, ...conditions, search].filter(text => text !== '')
        return `${this.layout.table} WHERE ${all.join(' AND ')}`
      }
    }
  }

  #encode (conditions: readonly Condition[]): unknown[] {
    return encodeParameters(this.layout, dialect, conditions)
  }

  /** Items as one JSON text: a third of the cost of reading their values and writing JSON from them. */
  #writeText (members: readonly Column[], writeItems: (item: string) => string, more = ''): string {
    const separator = this.#isFlat(members) ? "','" : 'char(30)'
    const items = writeItems(selectJson(members, this.layout.mapped))
    return `SELECT group_concat(item, ${separator}), count(*)${more} FROM (${items})`
  }

  #toPage (members: readonly Column[], row: readonly unknown[] = [], hasTotal = false): PageText {
    const [text, length, , total] = row as [string | null, number, unknown, number]
    const page = { text: text ?? '', length: length ?? 0, mark: this.#isFlat(members) ? flatMark : itemSeparator }
    return hasTotal ? { ...page, total } : page
  }

  #isFlat (members: readonly Column[]): boolean {
    return members[0] === this.layout.id && !members.some(({ kind }) => kind === 'json')
  }

  /** The rows of a path, from its beginning. */
  #writeRows ({ index, bounds }: Path, clauses: ClauseBuilder): string {
    const { table } = this.layout
    return `${table}${index === undefined ? '' : ` INDEXED BY ${quoteName(index)}`}${clauses.where(bounds)}`
  }

  /** The names of the columns that something is done with; each costs time for every row. */
  #listPassedOn (where: readonly Condition[], order: readonly Order[], members: readonly Column[]): string {
    const others = [...listFieldConditions(where), ...order].map(({ field }) => getColumn(this.layout, field))
    const names = new Set([...members, ...others].flatMap(({ name }) => name === undefined ? [] : quoteName(name)))
    return [...names].join(', ')
  }
}

function makePathKey ({ index, bounds, isByFirst, order }: Path): string {
  return `${index} ${isByFirst}\n${makeTextKey(dialect, bounds, order)}\n`
}

// The limit stands in the text: SQLite plans by it, and would plan again for every value of a parameter.
function makeSectionKey ({ members, limit }: Section): string {
  return `${limit} ${makeColumnsKey(members)}\n`
}

const maxKept = 300
// One in so many takes the place of another, once all places are taken.
const replacing = 16

/**
 * Statements that read, by key, each prepared once and kept. No driver ends a statement when it is told to: it waits
 * for the garbage collector, which finds young ones soon and old ones late, since it knows nothing of the 10 KB and
 * more that each holds outside of the heap. So what comes once is not kept, and what is kept is seldom dropped, however
 * many queries clients make up.
 */
class KeptStatements {
  readonly #kept = new Map<string, ReadStatement>()
  readonly #seen = new BoundedCache<{ times: number }>(1000)
  #refused = 0

  constructor (readonly database: SqliteDatabase) {}

  get (key: string, write: () => string): ReadStatement {
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      // In the order of use as soon as something may be dropped.
      if (this.#kept.size >= maxKept && this.#kept.delete(key)) this.#kept.set(key, kept)
      return kept
    }
    const statement = prepareRead(this.database, write())
    const comesAgain = this.#seen.get(key, () => ({ times: 0 })).times++ > 0
    if (comesAgain && this.#makeRoom()) this.#kept.set(key, statement)
    return statement
  }

  #makeRoom (): boolean {
    if (this.#kept.size < maxKept) return true
    if (++this.#refused % replacing !== 0) return false
    return this.#kept.delete(this.#kept.keys().next().value as string)
  }
}

// SQLite writes fractions with another number of digits than JavaScript, so those are left to JavaScript.
const numberFunction = 'dealbook_number'

let made = 0

/** The SQL functions that statements of a connection call. A statement is run as a whole, so they serve one query. */
export class SqlFunctions {
  /** Called from time to time while a statement runs, which ends where this returns true. */
  isEnded: () => boolean = () => false
  #holds: (values: readonly unknown[]) => boolean = () => true
  /**
   * A condition that lets a statement end before its time. It is not asked at every row: a call takes longer than a
   * row.
   */
  readonly watch: string
  readonly #search: string

  constructor (database: SqliteDatabase) {
    // Other storages may have this connection too.
    const serial = ++made
    const watch = `dealbook_watch_${serial}`
    this.#search = `dealbook_search_${serial}`
    this.watch = `(random() & 4095 OR ${watch}())`
    const refuseEnded = (): void => {
      if (this.isEnded()) throw new Error('the read was ended')
    }
    database.function(numberFunction, { deterministic: true }, value => String(value))
    database.function(watch, { deterministic: false }, () => {
      refuseEnded()
      return 1
    })
    database.function(this.#search, { deterministic: false, varargs: true }, (...values) => {
      refuseEnded()
      return this.#holds(values) ? 1 : 0
    })
  }

  /**
   * The conditions that search texts as one in SQL; none where there are none. All others are tested in it once more:
   * SQLite may call it first, and no text is searched of an item that another condition excludes.
   */
  search (layout: Layout, where: readonly Condition[]): string | undefined {
    if (where.every(isPlain)) return undefined
    const columns = listColumns(layout, where)
    const decode = makeRowDecoder(columns, dialect)
    const holds = matcher(where)
    this.#holds = values => holds(decode(values))
    return `${this.#search}(${columns.map(({ selected }) => selected).join(', ')})`
  }
}

function listColumns (layout: Layout, where: readonly Condition[]): Column[] {
  const fields = new Set(listFieldConditions(where).map(({ field }) => field))
  return [...fields].map(field => getColumn(layout, field))
}

// In our own tables these are NOT NULL, and need no test.
const requiredFields = ['id', 'revision', 'createdAt', 'updatedAt']

/**
 * A row as the text of a JSON object with these members, exactly as `JSON.stringify` writes it; absent ones are left
 * out.
 */
export function selectJson (members: readonly Column[], mapped: boolean): string {
  const isFirst = members[0]?.field.name === 'id'
  const parts = members.map((column, index) => {
    const { name, nullable } = column.field
    const opening = index === 0 && isFirst ? '{' : ','
    const value = writeValue(column, mapped)
    const member = `${quoteText(`${opening}${JSON.stringify(name)}:`)} || ` +
      (nullable === true ? `coalesce(${value}, 'null')` : value)
    // What is joined to NULL is NULL.
    return !mapped && requiredFields.includes(name) ? member : `coalesce(${member}, '')`
  })
  const all = parts.join(' || ')
  return isFirst ? `${all} || '}' AS item` : `'{' || ltrim(${all}, ',') || '}' AS item`
}

function writeValue ({ kind, selected }: Column, mapped: boolean): string {
  const quoted = `CASE WHEN ${selected} IS NULL THEN NULL ELSE json_quote(${selected}) END`
  switch (kind) {
    case 'integer':
    case 'json': return selected
    case 'boolean':
      return `CASE WHEN ${selected} IS NULL THEN NULL WHEN ${selected} = 0 THEN 'false' ELSE 'true' END`
    case 'number': return `CASE WHEN ${selected} IS NULL THEN NULL ` +
      `WHEN abs(${selected}) < 9e15 AND ${selected} = CAST(${selected} AS INTEGER) THEN CAST(${selected} AS INTEGER) ` +
      `ELSE ${numberFunction}(${selected}) END`
    case 'string': return quoted
    // Dates that were written here have nothing in them to escape.
    default: return mapped ? quoted : `'"' || ${selected} || '"'`
  }
}
