import { BoundedCache } from '../../cache.js'
import { ClauseBuilder, encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import type { Column, Layout } from '../sql/layout.js'
import { makeRowDecoder } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { Condition, Id, Query, Stored } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import { selectJson } from './json.js'

const maxStatements = 300

/** What one SELECT reads. */
export interface Select extends Omit<Query, 'count'> {
  /** The index to go by. Without one: SQLite's choice, or the key where `byKey` is set. */
  readonly index?: string | undefined
  readonly byKey?: boolean
  /** Looks at so many rows at most, the first that meet these conditions. */
  readonly within?: { readonly where: readonly Condition[], readonly rows: number }
}

/** How rows are counted: by an index or the key, and no further than `limit`. */
interface CountOptions {
  readonly index?: string | undefined
  readonly byKey?: boolean
  readonly limit?: number
}

/** The statements that read a family's table, each prepared once and kept. */
export class ReadStatements {
  readonly #statements = new BoundedCache<ReadStatement>(maxStatements)
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement

  constructor (readonly database: SqliteDatabase, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#decode = makeRowDecoder(columns, dialect)
    this.#get = prepareRead(database, `SELECT ${listSelected(columns)} FROM ${table} WHERE ${id.equated} = ?`)
  }

  get (id: Id): Stored | undefined {
    const [row] = this.#get([id])
    return row === undefined ? undefined : this.#decode(row)
  }

  readItems (select: Select): Stored[] {
    return this.readRows(select, this.layout.columns).map(this.#decode)
  }

  readRows (select: Select, columns: readonly Column[]): unknown[][] {
    const key = columns === this.layout.columns ? '*' : makeColumnsKey(columns)
    return this.#run(select, key, () => this.#write(select, listSelected(columns)))
  }

  /** The items as JSON, made by SQLite: a third of the cost of reading their values and writing JSON from them. */
  readTexts (select: Select, members: readonly Column[]): string[] {
    // The separator cannot occur in JSON.
    const [[text]] = this.#run(select, `text ${makeColumnsKey(members)}`, () =>
      `SELECT group_concat(item, char(30)) FROM (${this.#write(select, selectJson(members, this.layout.mapped))})`
    ) as [[string | null]]
    return text === null ? [] : text.split('\u001e')
  }

  count (where: readonly Condition[], { index, byKey, limit }: CountOptions = {}): number {
    const key = `count ${limit ?? ''} ${index ?? ''} ${byKey === true}\n${makeTextKey(dialect, where)}`
    const statement = this.#statements.get(key, () => {
      const matching = `FROM ${this.#writeTable(index)}${new ClauseBuilder(this.layout, dialect).where(where, byKey)}`
      return prepareRead(this.database, limit === undefined
        ? `SELECT count(*) ${matching}`
        : `SELECT count(*) FROM (SELECT 1 ${matching} LIMIT ${limit})`)
    })
    return (statement(encodeParameters(this.layout, dialect, where)) as [[number]])[0][0]
  }

  #run (select: Select, selected: string, write: () => string): unknown[][] {
    const { where, order, limit, offset, index, byKey, within } = select
    const withinKey = within === undefined ? '' : `${within.rows} ${makeTextKey(dialect, within.where)}`
    // The limit stands in the text: SQLite plans by it, and would plan again for every value of a parameter.
    const key = `${selected}\n${limit} ${index ?? ''} ${byKey === true}\n` +
      `${makeTextKey(dialect, where, order)}\n${withinKey}`
    const statement = this.#statements.get(key, () => prepareRead(this.database, write()))
    const values = encodeParameters(this.layout, dialect, where)
    const inner = within === undefined ? [] : encodeParameters(this.layout, dialect, within.where)
    return statement([...inner, ...values, offset])
  }

  #write ({ where, order, limit, index, byKey, within }: Select, selected: string): string {
    const clauses = new ClauseBuilder(this.layout, dialect)
    const { table, id } = this.layout
    const from = this.#writeTable(index)
    const end = ` LIMIT ${limit} OFFSET ?`
    if (within !== undefined) {
      // Run row by row, not first gathered: it ends as soon as the page is full.
      const inner = `SELECT * FROM ${from}${clauses.where(within.where)}${clauses.orderBy(order)} LIMIT ${within.rows}`
      return `SELECT ${selected} FROM (${inner})${clauses.where(where)}${clauses.orderBy(order)}${end}`
    }
    const matching = `FROM ${from}${clauses.where(where, byKey)}${clauses.orderBy(order)}${end}`
    if (order[0]?.field === 'id') return `SELECT ${selected} ${matching}`
    // Sorts ids, often with no more than an index, and then reads the rows of the page alone.
    return `SELECT ${selected} FROM ${table} ` +
      `WHERE ${id.equated} IN (SELECT ${id.equated} ${matching})${clauses.orderBy(order)}`
  }

  #writeTable (index: string | undefined): string {
    return index === undefined ? this.layout.table : `${this.layout.table} INDEXED BY ${quoteName(index)}`
  }
}
