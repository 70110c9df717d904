import { isPlain, listFieldConditions, matcher } from '../../core/storage/conditions.js'
import type { Condition } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import { quoteText } from '../sql/names.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase } from './driver.js'

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
