import { Bounded } from '../sql/bounded.js'
import type { Index } from '../sql/indexes.js'
import { rowReader } from '../sql/layout.js'
import type { Column, Layout } from '../sql/layout.js'
import { quote } from '../sql/names.js'
import { parameters, selection, shapeOf, Writer } from '../sql/select.js'
import type { Condition, Id, Order, Stored } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import { readStatement } from './driver.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { jsonOf } from './json.js'

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

  /** @param writesJson what `canWriteJson` answered */
  constructor (readonly database: SqliteDatabase, readonly layout: Layout, readonly indexes: readonly Index[], readonly writesJson: boolean) {
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

  /** The items as JSON, made by SQLite: a third of the cost of reading their values and writing JSON from them. */
  texts (reading: Reading, members: readonly Column[]): string[] {
    // The separator cannot occur in JSON.
    const sql = (): string => `SELECT group_concat(item, char(30)) FROM (${this.#select(reading, jsonOf(members, this.layout.mapped))})`
    const [[text]] = this.#run(reading, `text ${members.map(({ field }) => field.name).join()}`, sql) as [[string | null]]
    return text === null ? [] : text.split('\u001e')
  }

  rows (reading: Reading, columns: readonly Column[]): unknown[][] {
    const name = columns === this.layout.columns ? '*' : columns.map(({ field }) => field.name).join()
    return this.#run(reading, name, () => this.#select(reading, selection(columns)))
  }

  #run (reading: Reading, name: string, sql: () => string): unknown[][] {
    const { where, order, limit, offset, index, byKey, window } = reading
    // The limit stands in the text: SQLite plans by it, and would plan again for every value of a parameter.
    const key = `${name}\n${limit} ${index ?? ''} ${byKey === true}\n` +
      `${shapeOf(where, order, false)}\n${window === undefined ? '' : `${window.rows} ${shapeOf(window.where, [], false)}`}`
    const statement = this.#statements.get(key, () => readStatement(this.database, sql()))
    const values = parameters(this.layout, dialect, where)
    const inner = window === undefined ? [] : parameters(this.layout, dialect, window.where)
    return statement([...inner, ...values, offset])
  }

  #select ({ where, order, limit, index, byKey, window }: Reading, selected: string): string {
    const writer = new Writer(this.layout, dialect)
    const { table, id } = this.layout
    const from = `${table}${index === undefined ? '' : ` INDEXED BY ${quote(index)}`}`
    const end = ` LIMIT ${limit} OFFSET ?`
    if (window !== undefined) {
      // Run row by row, not first gathered: it ends as soon as the page is full.
      const inner = `SELECT * FROM ${from}${writer.where(window.where)}${writer.order(order)} LIMIT ${window.rows}`
      return `SELECT ${selected} FROM (${inner})${writer.where(where)}${writer.order(order)}${end}`
    }
    const matching = `FROM ${from}${writer.where(where, [], byKey)}${writer.order(order)}${end}`
    if (order[0]?.field === 'id') return `SELECT ${selected} ${matching}`
    // Sorts ids, often with no more than an index, and then reads the rows of the page alone.
    return `SELECT ${selected} FROM ${table} WHERE ${id.equated} IN (SELECT ${id.equated} ${matching})${writer.order(order)}`
  }

  /** How many rows match; with `atMost` counting ends there. */
  count (where: readonly Condition[], { atMost, index, byKey }: { atMost?: number, index?: string, byKey?: boolean } = {}): number {
    const key = `count ${atMost ?? ''} ${index ?? ''} ${byKey === true}\n${shapeOf(where, [], false)}`
    const statement = this.#statements.get(key, () => {
      const writer = new Writer(this.layout, dialect)
      const from = `${this.layout.table}${index === undefined ? '' : ` INDEXED BY ${quote(index)}`}`
      const matching = `FROM ${from}${writer.where(where, [], byKey)}`
      return readStatement(this.database, atMost === undefined
        ? `SELECT count(*) ${matching}`
        : `SELECT count(*) FROM (SELECT 1 ${matching} LIMIT ${atMost})`)
    })
    return (statement(parameters(this.layout, dialect, where)) as [[number]])[0][0]
  }
}
