import { listFieldConditions } from '../../core/storage/conditions.js'
import type { Condition, Id, Query, Stored } from '../../core/storage/storage.js'
import { ClauseBuilder, encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import { selectJson } from './json.js'
import { KeptStatements } from './kept-statements.js'

/** What one SELECT reads. */
export interface Select extends Omit<Query, 'count'> {
  /** The index to go by. Without one: SQLite's choice, or the key where `byKey` is set. */
  readonly index?: string | undefined
  readonly byKey?: boolean
  /** Whether the rows are read as they are sorted, not their ids first. */
  readonly isDirect?: boolean
  /** Looks at so many rows at most, the first that meet these conditions. */
  readonly within?: { readonly where: readonly Condition[], readonly rows: number }
}

/** The items of a page as JSON. */
export interface JoinedItems {
  readonly text: string
  /** How many they are. */
  readonly length: number
  /** Begins, with one character that stands before it, every item but the first, and stands nowhere else. */
  readonly mark: string
}

/** Between items, where a comma and what comes after it may also stand within one: it cannot occur in JSON. */
export const itemSeparator = '\u001e'

// Within text the quotes would be escaped, so only what is nested can have it.
const flatMark = ',{"id":'

/** Two parts of a page as one. */
export function joinItems (first: JoinedItems, second: JoinedItems): JoinedItems {
  const { mark } = first
  const texts = [first, second].filter(({ length }) => length > 0).map(({ text }) => text)
  return { text: texts.join(mark === flatMark ? ',' : mark), length: first.length + second.length, mark }
}

/** How rows are counted: by an index or the key, and no further than `limit`. */
interface CountOptions {
  readonly index?: string | undefined
  readonly byKey?: boolean
  readonly limit?: number
}

interface PreparedSelect {
  readonly statement: ReadStatement
  readonly parameters: readonly unknown[]
}

/** The statements that read a family's table. */
export class ReadStatements {
  readonly #statements: KeptStatements
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement
  #next: ReadStatement | undefined

  /** @param watch a condition that every row is asked first, whatever else it must meet */
  constructor (readonly database: SqliteDatabase, readonly layout: Layout, readonly watch?: string) {
    const { columns, table, id } = layout
    this.#statements = new KeptStatements(database)
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

  readItems (select: Select): Stored[] {
    return this.readRows(select, this.layout.columns).map(this.#decode)
  }

  readRows (select: Select, columns: readonly Column[]): unknown[][] {
    const key = columns === this.layout.columns ? '*' : makeColumnsKey(columns)
    const { statement, parameters } = this.#prepare(select, key, () =>
      this.#write(select, columns, listSelected(columns)))
    return statement.all(parameters)
  }

  /** The items as JSON, made by SQLite: a third of the cost of reading their values and writing JSON from them. */
  readText (select: Select, members: readonly Column[]): JoinedItems {
    const isFlat = members[0] === this.layout.id && !members.some(({ kind }) => kind === 'json')
    const { statement, parameters } = this.#prepare(select, `text ${makeColumnsKey(members)}`, () => {
      const items = this.#write(select, members, selectJson(members, this.layout.mapped))
      return `SELECT group_concat(item, ${isFlat ? "','" : 'char(30)'}), count(*) FROM (${items})`
    })
    const [text, length] = statement.get(parameters) as [string | null, number]
    return { text: text ?? '', length, mark: isFlat ? flatMark : itemSeparator }
  }

  count (where: readonly Condition[], { index, byKey, limit }: CountOptions = {}): number {
    const key = `count ${limit ?? ''} ${index ?? ''} ${byKey === true}\n${makeTextKey(dialect, where)}`
    const statement = this.#statements.get(key, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      // All rows are counted without looking at them: SQLite adds up what its pages say of themselves.
      const filter = where.length === 0 ? '' : this.#writeWhere(clauses, where, byKey)
      const matching = `FROM ${this.#writeTable(index)}${filter}`
      return limit === undefined
        ? `SELECT count(*) ${matching}`
        : `SELECT count(*) FROM (SELECT 1 ${matching} LIMIT ${limit})`
    })
    return (statement.get(encodeParameters(this.layout, dialect, where)) as [number])[0]
  }

  #prepare (select: Select, selected: string, write: () => string): PreparedSelect {
    const { where, order, limit, offset, index, byKey, isDirect, within } = select
    const withinKey = within === undefined ? '' : `${within.rows} ${makeTextKey(dialect, within.where)}`
    // The limit stands in the text: SQLite plans by it, and would plan again for every value of a parameter.
    const key = `${selected}\n${limit} ${index ?? ''} ${byKey === true} ${isDirect === true}\n` +
      `${makeTextKey(dialect, where, order)}\n${withinKey}`
    const statement = this.#statements.get(key, write)
    const conditions = within === undefined ? where : [...within.where, ...where]
    const parameters = encodeParameters(this.layout, dialect, conditions)
    parameters.push(offset)
    return { statement, parameters }
  }

  #write (select: Select, columns: readonly Column[], selected: string): string {
    const { where, order, limit, index, byKey, isDirect, within } = select
    const clauses = new ClauseBuilder(this.layout, dialect)
    const { table, id } = this.layout
    const from = this.#writeTable(index)
    const end = ` LIMIT ${limit} OFFSET ?`
    if (within !== undefined) {
      // Run row by row, not first gathered: it ends as soon as the page is full.
      const passed = this.#listPassedOn(select, columns)
      const inner =
        `SELECT ${passed} FROM ${from}${clauses.where(within.where)}${clauses.orderBy(order)} LIMIT ${within.rows}`
      return `SELECT ${selected} FROM (${inner})${clauses.where(where)}${clauses.orderBy(order)}${end}`
    }
    const matching = `FROM ${from}${this.#writeWhere(clauses, where, byKey)}${clauses.orderBy(order, byKey)}${end}`
    if (isDirect === true || order[0]?.field === 'id') return `SELECT ${selected} ${matching}`
    // Sorts ids, often with no more than an index, and then reads the rows of the page alone.
    return `SELECT ${selected} FROM ${table} ` +
      `WHERE ${id.equated} IN (SELECT ${id.equated} ${matching})${clauses.orderBy(order)}`
  }

  /** The names of the columns that something is done with; each costs time for every row. */
  #listPassedOn ({ where, order }: Select, columns: readonly Column[]): string {
    const others = [...listFieldConditions(where), ...order].map(({ field }) => getColumn(this.layout, field))
    const names = new Set([...columns, ...others].flatMap(({ name }) => name === undefined ? [] : quoteName(name)))
    return [...names].join(', ')
  }

  #writeWhere (clauses: ClauseBuilder, where: readonly Condition[], byKey: boolean | undefined): string {
    const written = clauses.where(where, byKey)
    if (this.watch === undefined) return written
    return ` WHERE ${this.watch}${written.replace(' WHERE ', ' AND ')}`
  }

  #writeTable (index: string | undefined): string {
    return index === undefined ? this.layout.table : `${this.layout.table} INDEXED BY ${quoteName(index)}`
  }
}
