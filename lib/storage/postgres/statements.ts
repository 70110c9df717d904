import { BoundedCache } from '../../cache.js'
import { ClauseBuilder, encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import type { Column, Layout } from '../sql/layout.js'
import { makeRowDecoder } from '../sql/layout.js'
import type { Condition, Id, Order, Query, Stored } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import type { StatementRunner } from './driver.js'

const maxTexts = 300

/** What one SELECT reads. */
interface Select extends Omit<Query, 'count'> {
  readonly within?: RowWindow
}

/** Looks at so many rows at most: the first that meet these conditions, in this order. */
export interface RowWindow {
  readonly where: readonly Condition[]
  readonly order: readonly Order[]
  readonly rows: number
}

/** The statements that read a family's table, the text of each written once and kept. */
export class ReadStatements {
  readonly #texts = new BoundedCache<string>(maxTexts)
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: string
  readonly #getMany: string

  constructor (readonly runner: StatementRunner, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#decode = makeRowDecoder(columns, dialect)
    const select = `SELECT ${listSelected(columns)} FROM ${table} WHERE`
    this.#get = `${select} ${id.equated} = ${dialect.parameter(1, id.kind)}`
    const { equated: column, kind } = id
    this.#getMany = `${select} ${dialect.inList({ column, kind, from: 1, length: 1, negated: false })}`
  }

  async get (id: Id): Promise<Stored | undefined> {
    const [row] = await this.runner.run(this.#get, [id])
    return row === undefined ? undefined : this.#decode(row)
  }

  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    return (await this.runner.run(this.#getMany, [ids])).map(this.#decode)
  }

  async readItems (select: Select): Promise<Stored[]> {
    return (await this.readRows(select, this.layout.columns)).map(this.#decode)
  }

  async readRows (select: Select, columns: readonly Column[]): Promise<unknown[][]> {
    const { where, order, limit, offset, within } = select
    const selected = columns === this.layout.columns ? '*' : makeColumnsKey(columns)
    const withinKey = within === undefined ? '' : `${within.rows} ${makeTextKey(dialect, within.where, within.order)}`
    const key = `${selected} ${limit} ${offset > 0}\n${makeTextKey(dialect, where, order)}\n${withinKey}`
    const text = this.#texts.get(key, () => this.#write(select, columns))
    const inner = within === undefined ? [] : encodeParameters(this.layout, dialect, within.where)
    const values = [...inner, ...encodeParameters(this.layout, dialect, where)]
    if (offset > 0) values.push(offset)
    return await this.runner.run(text, values)
  }

  async count (where: readonly Condition[]): Promise<number> {
    const text = this.#texts.get(`count\n${makeTextKey(dialect, where)}`, () =>
      `SELECT count(*) FROM ${this.layout.table}${new ClauseBuilder(this.layout, dialect).where(where)}`)
    const [row] = await this.runner.run(text, encodeParameters(this.layout, dialect, where))
    return Number(row?.[0])
  }

  /** How many rows each of these windows has, in one statement. */
  async countWindows (windows: readonly RowWindow[]): Promise<number[]> {
    const key = windows.map(({ where, order, rows }) => `${rows} ${makeTextKey(dialect, where, order)}`).join('\n')
    const text = this.#texts.get(`windows\n${key}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const counts = windows.map(window => `(SELECT count(*) FROM ${this.#writeWindow(clauses, window)})`)
      return `SELECT ${counts.join(', ')}`
    })
    const values = windows.flatMap(({ where }) => encodeParameters(this.layout, dialect, where))
    const [counts = []] = await this.runner.run(text, values)
    return counts.map(Number)
  }

  // What is selected stands outside: inside, the texts of dates would be made for all the rows that are passed over.
  #write ({ where, order, limit, offset, within }: Select, columns: readonly Column[]): string {
    const clauses = new ClauseBuilder(this.layout, dialect)
    const from = within === undefined ? this.layout.table : this.#writeWindow(clauses, within)
    const matching = `SELECT * FROM ${from}${clauses.where(where)}${clauses.orderBy(order)}`
    const end = ` LIMIT ${limit}${offset > 0 ? ` OFFSET ${clauses.parameter({ kind: 'integer' })}` : ''}`
    return `SELECT ${listSelected(columns)} FROM (${matching}${end}) AS page${clauses.orderBy(order)}`
  }

  #writeWindow (clauses: ClauseBuilder, { where, order, rows }: RowWindow): string {
    const { table } = this.layout
    return `(SELECT * FROM ${table}${clauses.where(where)}${clauses.orderBy(order)} LIMIT ${rows}) AS looked`
  }
}
