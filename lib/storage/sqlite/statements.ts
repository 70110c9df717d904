import { BoundedCache } from '../../core/cache.js'
import { linkEntry } from '../../core/storage/chain.js'
import { isPlain, listFieldConditions, matcher } from '../../core/storage/conditions.js'
import { countFitting } from '../../core/storage/pages.js'
import type { Condition, Id, Scalar, Stored } from '../../core/storage/storage.js'
import { readDecimal } from '../../core/values/decimals.js'
import {
  ClauseBuilder, encodeParameters, listSelected, makeStatementKey, selectJson, selectLength
} from '../sql/clauses.js'
import { quoteName } from '../sql/dialect.js'
import type { PlannedQuery } from '../sql/filling.js'
import { type Column, getColumn, getColumns, type Layout, makeRowDecoder } from '../sql/layout.js'
import { prepareRead, type ReadStatement, type SqliteDatabase } from './driver.js'
import { isEquality, type PageText, type Path, type Section } from './paths.js'
import { decimalFunction, linkFunction, sqliteDialect as dialect } from './tables.js'

/** Separates items with nested values: it cannot occur in JSON. */
export const itemSeparator = '\u001e'

// Quotes within text are escaped, so only nested values could contain it.
const flatMark = ',{"id":'

/** Each statement sees one state of the table. */
export class TableStatements {
  readonly #kept: KeptStatements
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement

  /** `database` must have the functions of `addFunctions`. */
  constructor (readonly database: SqliteDatabase, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#kept = new KeptStatements(database)
    this.#decode = makeRowDecoder(columns, dialect)
    this.#get = prepareRead(database, `SELECT ${listSelected(columns)} FROM ${table} WHERE ${id.equated} = ?`)
  }

  get (id: Id): Stored | undefined {
    const row = this.#get.get([id])
    return row === undefined ? undefined : this.#decode(row)
  }

  /** Undefined if the path has fewer rows. */
  readAt (path: Path, field: string, offset: number): Scalar | null | undefined {
    const { selected, kind } = getColumn(this.layout, field)
    const texts = makeStatementKey(dialect, [], path.bounds, path.order)
    const statement = this.#kept.get(`at ${field} ${path.index} ${path.isByFirst} ${texts}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const order = clauses.orderBy(path.isByFirst ? path.order.slice(0, 1) : [])
      return `SELECT ${selected} FROM ${this.#writeRows(path, clauses)}${order} LIMIT 1 OFFSET ?`
    })
    const value = statement.get([...this.#encode(path.bounds), offset])?.[0]
    return value === null || value === undefined ? value : (dialect.decode[kind]?.(value) ?? value) as Scalar
  }

  /** The path must have the order of the page and meet all its conditions. */
  readAlong (path: Path, section: Section, members: readonly Column[]): PageText {
    const { limit: asked, offset, maxLength, lacking } = section
    const limit = maxLength === undefined || asked <= 1 ? asked : countFitting(this.#measure(path, section), section)
    const texts = makeStatementKey(dialect, members, path.bounds, path.order)
    // The limit is part of the text: SQLite plans by it, and would plan again for every value of a parameter.
    const statement = this.#kept.get(`along ${path.index} ${limit} ${texts}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = `${this.#writeRows(path, clauses)}${clauses.orderBy(path.order)} LIMIT ${limit} OFFSET ?`
      return this.#writeText(members, item => `SELECT ${item} FROM ${rows}`, lacking)
    })
    const page = this.#toPage(members, statement.get([...this.#encode(path.bounds), offset]))
    return maxLength === undefined ? page : { ...page, isPartial: limit < asked }
  }

  /** In bytes. SQLite knows them without reading the values. */
  #measure (path: Path, { limit, offset }: Section): number[] {
    const texts = makeStatementKey(dialect, [], path.bounds, path.order)
    const statement = this.#kept.get(`measure ${path.index} ${limit} ${texts}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = `${this.#writeRows(path, clauses)}${clauses.orderBy(path.order)} LIMIT ${limit} OFFSET ?`
      return `SELECT ${selectLength(this.layout, value => `octet_length(${value})`)} FROM ${rows}`
    })
    return statement.all([...this.#encode(path.bounds), offset]).map(([length]) => Number(length))
  }

  /** Reads only the first rows of a path. Unless they are in the order of the page, they must be all its rows. */
  readFirst (path: Path, query: PlannedQuery, members: readonly Column[]): PageText | undefined {
    const { order, limit, offset, count, lacking } = query
    const { isOrdered, maxRows, rest } = path
    const texts = makeStatementKey(dialect, members, path.bounds, path.order, rest, order)
    const statement = this.#kept.get(`first ${path.index} ${path.isByFirst} ${limit} ${count} ${texts}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = this.#writeRows(path, clauses)
      // Each column costs time for every row.
      const used = [...listFieldConditions(rest), ...order].map(({ field }) => getColumn(this.layout, field))
      const names = new Set([...members, ...used].flatMap(({ name }) => name === undefined ? [] : quoteName(name)))
      const found = `(SELECT ${[...names].join(', ')} FROM ${rows}${isOrdered ? clauses.orderBy(path.order) : ''} ` +
        `LIMIT ${maxRows})${clauses.where(rest)}`
      const hasMore = `EXISTS (SELECT 1 FROM ${rows} LIMIT 1 OFFSET ${maxRows})`
      // If rows are in order, those after a full page do not matter.
      const isTruncated = isOrdered && !count ? `CASE WHEN count(*) < ${limit} THEN ${hasMore} END` : hasMore
      const total = count ? `, (SELECT count(*) FROM ${found})` : ''
      const end = `${isOrdered ? '' : clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
      return this.#writeText(members, item => `SELECT ${item} FROM ${found}${end}`, lacking, `, ${isTruncated}${total}`)
    })
    const bounds = this.#encode(path.bounds)
    const others = this.#encode(rest)
    const row = statement.get([...bounds, ...count ? [...bounds, ...others] : [], ...bounds, ...others, offset])
    return row?.[3] === 1 ? undefined : this.#toPage(members, row, count ? row?.[4] as number : undefined)
  }

  /** Visits as many rows as needed; SQLite plans it. */
  readAll (query: PlannedQuery, members: readonly Column[]): PageText {
    const { lacking, filled = query } = query
    const isLacking = lacking !== undefined && this.#kept.get(lacking, () => `SELECT ${lacking}`).get([])?.[0] === 1
    const { where, order, limit, offset, count } = isLacking ? filled : query
    const { table, id: { equated: id } } = this.layout
    // Reading along the order or the key beats an index that leaves many rows.
    const isUsable = (condition: Condition): boolean =>
      isEquality(condition) || (condition.field !== undefined && condition.field === order[0]?.field)
    const plain = where.filter(isPlain)
    const used = plain.filter(isUsable)
    const others = plain.filter(condition => !isUsable(condition))
    const search = where.length === plain.length ? '' : prepareSearch(this.layout, where)
    const key = `${search} ${makeStatementKey(dialect, members, used, others, order)}`
    const parameters = [...this.#encode(used), ...this.#encode(others)]
    const writeRows = (clauses: ClauseBuilder): string => {
      const conditions = [clauses.where(used), clauses.where(others, true)].map(text => text.replace(' WHERE ', ''))
      return `${table} WHERE ${[watchRows, ...conditions, search].filter(text => text !== '').join(' AND ')}`
    }
    let row: unknown[] | undefined
    if (limit > 0) {
      const statement = this.#kept.get(`all ${limit} ${key}`, () => {
        const clauses = new ClauseBuilder(this.layout, dialect)
        const rows = `${writeRows(clauses)}${clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
        // In other orders, sort ids, often from an index alone, and then read only the rows of the page.
        return this.#writeText(members, item => order[0]?.field === 'id'
          ? `SELECT ${item} FROM ${rows}`
          : `SELECT ${item} FROM ${table} WHERE ${id} IN (SELECT ${id} FROM ${rows})${clauses.orderBy(order)}`)
      })
      row = statement.get([...parameters, offset])
    }
    if (!count) return this.#toPage(members, row)
    const counting = this.#kept.get(`count ${key}`, () => {
      // SQLite counts all rows of a table without visiting them.
      return `SELECT count(*) FROM ${where.length === 0 ? table : writeRows(new ClauseBuilder(this.layout, dialect))}`
    })
    return this.#toPage(members, row, counting.get(parameters)?.[0] as number)
  }

  #encode (conditions: readonly Condition[]): unknown[] {
    return conditions.length === 0 ? [] : encodeParameters(this.layout, dialect, conditions)
  }

  /** One JSON text costs a third of reading the values and writing JSON in JavaScript. */
  #writeText (
    members: readonly Column[], writeItems: (item: string) => string, lacking = '0', more = ''
  ): string {
    const separator = this.#isFlat(members) ? "','" : 'char(30)'
    const { mapped } = this.layout
    const required = mapped ? ['id'] : requiredFields
    const items = writeItems(selectJson(members, column => writeValue(column, mapped), required))
    return `SELECT group_concat(item, ${separator}), count(*), ${lacking} AS lacking${more} FROM (${items})`
  }

  #toPage (members: readonly Column[], row: readonly unknown[] = [], total?: number): PageText {
    const [text, length, isLacking] = row as [string | null, number, number]
    const mark = this.#isFlat(members) ? flatMark : itemSeparator
    const page = { text: text ?? '', length: length ?? 0, mark, isLacking: isLacking === 1 }
    return total === undefined ? page : { ...page, total }
  }

  #isFlat (members: readonly Column[]): boolean {
    return members[0] === this.layout.id && !members.some(({ kind }) => kind === 'json')
  }

  #writeRows ({ index, bounds }: Path, clauses: ClauseBuilder): string {
    const { table } = this.layout
    return `${table}${index === undefined ? '' : ` INDEXED BY ${quoteName(index)}`}${clauses.where(bounds)}`
  }
}

const maxStatements = 300
// When full, only one in so many new statements replaces an old one.
const replacing = 16

/**
 * Keeps a statement once it is used again, and seldom drops it. The garbage collector frees old statements late, since
 * it does not see the 10 KB and more that each holds outside of the heap.
 */
class KeptStatements {
  readonly #kept = new Map<string, ReadStatement>()
  readonly #seen = new BoundedCache<{ times: number }>(1000)
  #refused = 0

  constructor (readonly database: SqliteDatabase) {}

  get (key: string, write: () => string): ReadStatement {
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      // Keeps the order of use once something may be dropped.
      if (this.#kept.size >= maxStatements && this.#kept.delete(key)) this.#kept.set(key, kept)
      return kept
    }
    const statement = prepareRead(this.database, write())
    const comesAgain = this.#seen.get(key, () => ({ times: 0 })).times++ > 0
    if (comesAgain && this.#makeRoom()) this.#kept.set(key, statement)
    return statement
  }

  #makeRoom (): boolean {
    if (this.#kept.size < maxStatements) return true
    if (++this.#refused % replacing !== 0) return false
    return this.#kept.delete(this.#kept.keys().next().value as string)
  }
}

// SQLite writes fractions with different digits than JavaScript does.
const numberFunction = 'dealbook_number'
const searchFunction = 'dealbook_search'

// Ends a statement early. Not called for every row: a call takes longer than a row.
const watchRows = '(random() & 4095 OR dealbook_watch())'

/** State for the functions: a thread runs one statement at a time. */
export const running = {
  isEnded: (): boolean => false,
  holds: (_values: readonly unknown[]): boolean => true
}

export function addFunctions (database: SqliteDatabase): void {
  const refuseEnded = (): void => {
    if (running.isEnded()) throw new Error('the read was aborted')
  }
  database.function(numberFunction, { deterministic: true }, value => String(value))
  database.function(decimalFunction, { deterministic: true }, (value: unknown, scale: number) =>
    readDecimal(value, scale) ?? (value === null ? null : String(value)))
  database.function(linkFunction, { deterministic: true },
    (previous: string | null, position: number | bigint, digest: string) =>
      linkEntry(previous ?? undefined, Number(position), digest))
  database.function('dealbook_watch', { deterministic: false }, () => {
    refuseEnded()
    return 1
  })
  database.function(searchFunction, { deterministic: false, varargs: true }, (...values) => {
    refuseEnded()
    return running.holds(values) ? 1 : 0
  })
}

/** One call tests all conditions: SQLite may call it first, and must not search texts that others exclude. */
function prepareSearch (layout: Layout, where: readonly Condition[]): string {
  const fields = new Set(listFieldConditions(where).map(({ field }) => field))
  const columns = getColumns(layout, fields)
  const decode = makeRowDecoder(columns, dialect)
  const holds = matcher(where)
  running.holds = values => holds(decode(values))
  return `${searchFunction}(${listSelected(columns)})`
}

// NOT NULL in our tables.
const requiredFields = ['id', 'revision', 'createdAt', 'updatedAt']

function writeValue ({ kind, selected, present }: Column, mapped: boolean): string {
  // It is JSON.
  if (present?.flag !== undefined) return selected
  const quoted = `CASE WHEN ${selected} IS NULL THEN NULL ELSE json_quote(${selected}) END`
  switch (kind) {
    case 'integer': return mapped ? quoted : selected
    case 'json': return selected
    case 'boolean':
      return `CASE WHEN ${selected} IS NULL THEN NULL WHEN ${selected} = 0 THEN 'false' ELSE 'true' END`
    case 'number': return `CASE WHEN ${selected} IS NULL THEN NULL ` +
      `WHEN abs(${selected}) < 9e15 AND ${selected} = CAST(${selected} AS INTEGER) THEN CAST(${selected} AS INTEGER) ` +
      `ELSE ${numberFunction}(${selected}) END`
    case 'string': return quoted
    // Our dates need no escaping.
    default: return mapped ? quoted : `'"' || ${selected} || '"'`
  }
}
