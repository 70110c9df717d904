import { Bounded } from '../sql/bounded.js'
import { rowReader } from '../sql/layout.js'
import type { Column, Layout } from '../sql/layout.js'
import { parameters, selection, shapeOf, Writer } from '../sql/select.js'
import type { Condition, Id, Order, Stored } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import { readStatement } from './driver.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import type { Index } from './tables.js'

const keptStatements = 300

/** What one statement reads. */
export interface Reading {
  readonly where: readonly Condition[]
  readonly order: readonly Order[]
  readonly limit: number
  readonly offset: number
  /** The index to go by. Without one: SQLite's choice, or the key where `byKey` is set. */
  readonly index?: string | undefined
  readonly byKey?: boolean
  /** Looks at so many rows at most, those for which these conditions hold. */
  readonly window?: { readonly where: readonly Condition[], readonly rows: number }
}

/** A family's table and the statements that read it, each prepared once and kept. */
export class TableReader {
  readonly #statements = new Bounded<ReadStatement>(keptStatements)
  readonly #read: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement

  constructor (readonly database: SqliteDatabase, readonly layout: Layout, readonly indexes: readonly Index[]) {
    this.#read = rowReader(layout.columns, dialect)
    this.#get = readStatement(database, `SELECT ${selection(layout.columns)} FROM ${layout.table} WHERE ${layout.id.equated} = ?`)
  }

  get (id: Id): Stored | undefined {
    const [row] = this.#get([id])
    return row === undefined ? undefined : this.#read(row)
  }

  items (reading: Reading): Stored[] {
    return this.rows(reading, this.layout.columns).map(this.#read)
  }

  rows (reading: Reading, columns: readonly Column[]): unknown[][] {
    const { where, order, limit, offset, index, byKey, window } = reading
    // The limit stands in the text: SQLite plans by it, and would plan again for every value of a parameter.
    const key = `${columns === this.layout.columns ? '*' : columns.map(({ field }) => field.name).join()}\n${limit} ${index ?? ''} ${byKey === true}\n` +
      `${shapeOf(where, order, false)}\n${window === undefined ? '' : `${window.rows} ${shapeOf(window.where, [], false)}`}`
    const statement = this.#statements.get(key, () => readStatement(this.database, this.#select(reading, columns)))
    const values = parameters(this.layout, dialect, where)
    const inner = window === undefined ? [] : parameters(this.layout, dialect, window.where)
    return statement([...inner, ...values, offset])
  }

  #select ({ where, order, limit, index, byKey, window }: Reading, columns: readonly Column[]): string {
    const writer = new Writer(this.layout, dialect)
    const from = `${this.layout.table}${index === undefined ? '' : ` INDEXED BY "${index.replaceAll('"', '""')}"`}`
    const end = ` LIMIT ${limit} OFFSET ?`
    if (window === undefined) return `SELECT ${selection(columns)} FROM ${from}${writer.where(where, [], byKey)}${writer.order(order)}${end}`
    // Run row by row, not first gathered: it ends as soon as the page is full.
    const inner = `SELECT * FROM ${from}${writer.where(window.where)}${writer.order(order)} LIMIT ${window.rows}`
    return `SELECT ${selection(columns)} FROM (${inner})${writer.where(where)}${writer.order(order)}${end}`
  }

  /** How many rows match; with `atMost` counting ends there. */
  count (where: readonly Condition[], { atMost, index, byKey }: { atMost?: number, index?: string, byKey?: boolean } = {}): number {
    const key = `count ${atMost ?? ''} ${index ?? ''} ${byKey === true}\n${shapeOf(where, [], false)}`
    const statement = this.#statements.get(key, () => {
      const writer = new Writer(this.layout, dialect)
      const from = `${this.layout.table}${index === undefined ? '' : ` INDEXED BY "${index.replaceAll('"', '""')}"`}`
      const matching = `FROM ${from}${writer.where(where, [], byKey)}`
      return readStatement(this.database, atMost === undefined
        ? `SELECT count(*) ${matching}`
        : `SELECT count(*) FROM (SELECT 1 ${matching} LIMIT ${atMost})`)
    })
    return (statement(parameters(this.layout, dialect, where)) as [[number]])[0][0]
  }
}
