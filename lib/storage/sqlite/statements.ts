import { BoundedCache } from '../../core/cache.js'
import { isPlain, listFieldConditions, matcher } from '../../core/storage/conditions.js'
import type { Condition, Id, Query, Stored } from '../../core/storage/storage.js'
import { readDecimal } from '../../core/values/decimals.js'
import { ClauseBuilder, encodeParameters, listSelected, makeStatementKey, selectJson } from '../sql/clauses.js'
import { quoteName } from '../sql/dialect.js'
import { type Column, getColumn, getColumns, type Layout, makeRowDecoder } from '../sql/layout.js'
import { prepareRead, type ReadStatement, type SqliteDatabase } from './driver.js'
import { makeOpenPath, type PageText } from './paths.js'
import { decimalFunction, sqliteDialect as dialect } from './tables.js'

/** Separates items with nested values: it cannot occur in JSON. */
export const itemSeparator = '\u001e'

// Quotes within text are escaped, so only nested values could contain it.
const flatMark = ',{"id":'

/** Each statement sees one state of the table. */
export class TableStatements {
  readonly #kept = new BoundedCache<ReadStatement>(300)
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement

  /** `database` must have the functions of `addFunctions`. */
  constructor (readonly database: SqliteDatabase, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#decode = makeRowDecoder(columns, dialect)
    this.#get = prepareRead(database, `SELECT ${listSelected(columns)} FROM ${table} WHERE ${id.equated} = ?`)
  }

  get (id: Id): Stored | undefined {
    const row = this.#get.get([id])
    return row === undefined ? undefined : this.#decode(row)
  }

  read (query: Query, members: readonly Column[], path = makeOpenPath(query)): PageText {
    const { where, order, limit, offset, count } = query
    const { index, bounds, rest, isOrdered, maxRows, watchEvery } = path
    const { table, id: { equated: id } } = this.layout
    const search = where.every(isPlain) ? '' : prepareSearch(this.layout, where)
    // Not called for every row: a call takes longer than a row. Not needed along an order, where a limit ends it.
    const watch = isOrdered && !count ? '' : `(random() & ${watchEvery - 1} OR dealbook_watch())`
    const source = index === undefined ? table : `${table} INDEXED BY ${quoteName(index)}`
    const key = `${index} ${watch} ${search} ${makeStatementKey(dialect, members, bounds, rest, order)}`
    const encodedBounds = this.#encode(bounds)
    const parameters = [...encodedBounds, ...this.#encode(rest)]
    const isOfFirst = isOrdered && rest.length > 0 && !count
    const writeRows = (clauses: ClauseBuilder): string => {
      const conditions = [clauses.where(bounds), clauses.where(rest, index === undefined)]
      const terms = [watch, ...conditions.map(text => text.replace(' WHERE ', '')), search].filter(text => text !== '')
      return terms.length === 0 ? source : `${source} WHERE ${terms.join(' AND ')}`
    }
    let row: unknown[] | undefined
    if (limit > 0) {
      // The limit is part of the text: SQLite plans by it, and would plan again for every value of a parameter.
      const statement = this.#prepare(`${limit} ${key}`, () => {
        const clauses = new ClauseBuilder(this.layout, dialect)
        if (isOfFirst) {
          // Only the first rows. Each column costs time for every row.
          const used = [...listFieldConditions(rest), ...order].map(({ field }) => getColumn(this.layout, field))
          const names = new Set([...members, ...used].flatMap(({ name }) => name === undefined ? [] : quoteName(name)))
          const within = `${source}${clauses.where(bounds)}`
          const first = `SELECT ${[...names].join(', ')} FROM ${within}${clauses.orderBy(order)} LIMIT ${maxRows}`
          // Rows after a full page do not matter.
          const hasMore = `EXISTS (SELECT 1 FROM ${within} LIMIT 1 OFFSET ${maxRows})`
          const isCut = `CASE WHEN count(*) < ${limit} THEN ${hasMore} END`
          return this.#writeText(members, item =>
            `SELECT ${item} FROM (${first})${clauses.where(rest)} LIMIT ${limit} OFFSET ?`, `, ${isCut}`)
        }
        const rows = `${writeRows(clauses)}${clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
        // In other orders, sort ids, often from an index alone, and then read only the rows of the page.
        return this.#writeText(members, item => order[0]?.field === 'id' || isOrdered
          ? `SELECT ${item} FROM ${rows}`
          : `SELECT ${item} FROM ${table} WHERE ${id} IN (SELECT ${id} FROM ${rows})${clauses.orderBy(order)}`)
      })
      row = statement.get([...isOfFirst ? encodedBounds : [], ...parameters, offset])
    }
    if (!count) return this.#toPage(members, row)
    const counting = this.#prepare(`count ${key}`, () => {
      // SQLite counts all rows of a table without visiting them, if nothing watches it.
      const isAll = where.length === 0 && maxRows === Infinity
      return `SELECT count(*) FROM ${isAll ? table : writeRows(new ClauseBuilder(this.layout, dialect))}`
    })
    return this.#toPage(members, row, counting.get(parameters)?.[0] as number)
  }

  #prepare (key: string, write: () => string): ReadStatement {
    return this.#kept.get(key, () => prepareRead(this.database, write()))
  }

  #encode (conditions: readonly Condition[]): unknown[] {
    return conditions.length === 0 ? [] : encodeParameters(this.layout, dialect, conditions)
  }

  /** One JSON text costs a third of reading the values and writing JSON in JavaScript. */
  #writeText (members: readonly Column[], writeItems: (item: string) => string, more = ''): string {
    const separator = this.#isFlat(members) ? "','" : 'char(30)'
    const { mapped } = this.layout
    const required = mapped ? ['id'] : requiredFields
    const items = writeItems(selectJson(members, column => writeValue(column, mapped), required))
    return `SELECT group_concat(item, ${separator}), count(*)${more} FROM (${items})`
  }

  #toPage (members: readonly Column[], row: readonly unknown[] = [], total?: number): PageText {
    const [text, length, isCut] = row as [string | null, number, number | null]
    const mark = this.#isFlat(members) ? flatMark : itemSeparator
    const page = { text: text ?? '', length: length ?? 0, isCut: isCut === 1, mark }
    return total === undefined ? page : { ...page, total }
  }

  #isFlat (members: readonly Column[]): boolean {
    return members[0] === this.layout.id && !members.some(({ kind }) => kind === 'json')
  }
}

// SQLite writes fractions with different digits than JavaScript does.
const numberFunction = 'dealbook_number'
const searchFunction = 'dealbook_search'

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

function writeValue ({ kind, selected }: Column, mapped: boolean): string {
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
