import { BoundedCache } from '../../core/cache.js'
import { mayBeLong } from '../../core/storage/shapes.js'
import type { Condition, Id, Order, Query, Stored } from '../../core/storage/storage.js'
import type { ClauseBuilder } from '../sql/clauses.js'
import { encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import { postgresDialect as dialect } from './dialect.js'
import { restoreNumbers, selectJson } from './json.js'
import type { Reading, StatementRunner } from './runner.js'
import type { KeptText } from './shared-text.js'
import { writeKept } from './shared-text.js'

const maxTexts = 300

/** What one SELECT reads. */
export interface Select extends Omit<Query, 'count'> {
  readonly within?: RowWindow
}

/** Looks at so many rows at most: the first that meet these conditions, in this order. */
export interface RowWindow {
  readonly where: readonly Condition[]
  readonly order: readonly Order[]
  readonly rows: number
}

/** Items as text, joined by commas. */
export interface JoinedText {
  readonly text: string
  /** How many rows were found: those in the text, and the last where the limit was reached. */
  readonly length: number
  /** What the first item in the text has in the fields of the order; undefined where there is none before it. */
  readonly first: Stored | undefined
  /** The same of the last. */
  readonly last: Stored | undefined
}

/** The statements that read a family's table, the text of each written once and kept. */
export class ReadStatements {
  readonly #texts = new BoundedCache<KeptText>(maxTexts)
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #decodeId: (row: readonly unknown[]) => Id
  readonly #get: KeptText
  readonly #getMany: KeptText
  readonly #isShort: boolean

  constructor (readonly runner: StatementRunner, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#decode = makeRowDecoder(columns, dialect)
    this.#isShort = !mayBeLong(columns.map(({ field }) => field))
    this.#decodeId = row => makeRowDecoder([id], dialect)(row).id
    const select = `SELECT ${listSelected(columns)} FROM ${table} WHERE`
    this.#get = writeKept(layout, clauses => `${select} ${id.equated} = ${clauses.parameter(id.equatedAs)}`, true)
    const { equated: column, equatedAs: as } = id
    const hasId = dialect.inList({ column, as, from: 1, length: 1, negated: false, isCut: false })
    this.#getMany = writeKept(layout, () => `${select} ${hasId}`, false)
  }

  async get (id: Id, signal?: AbortSignal): Promise<Stored | undefined> {
    const [row] = await this.#run(this.#get, [id], { signal })
    return row === undefined ? undefined : this.#decode(row)
  }

  async nextId (signal?: AbortSignal): Promise<Id | undefined> {
    const { present, kind } = this.layout.id
    if (present?.next === undefined) return undefined
    const { selected } = dialect.writeColumn(`(${present.next})`, kind, present)
    const [row] = await this.#run({ text: `SELECT ${selected}`, shared: undefined }, [], { signal })
    return row === undefined ? undefined : this.#decodeId(row)
  }

  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    return (await this.#run(this.#getMany, [ids], {})).map(this.#decode)
  }

  async readItems (select: Select, reading: Reading): Promise<Stored[]> {
    return (await this.readRows(select, this.layout.columns, reading)).map(this.#decode)
  }

  async readRows (select: Select, columns: readonly Column[], reading: Reading): Promise<unknown[][]> {
    const key = columns === this.layout.columns ? '*' : makeColumnsKey(columns)
    const kept = this.#keep(select, key, () =>
      writeKept(this.layout, clauses => this.#write(clauses, select, columns), false))
    return await this.#run(kept, this.#encode(select), reading)
  }

  /** The rows as JSON made by the server, but for the last that the limit allows: that one tells that there is more. */
  async readText (select: Select, members: readonly Column[], reading: Reading): Promise<JoinedText> {
    // Long pages are taken one by one: of many in one answer, none could be refused before all are there.
    const kept = this.#keep(select, `text ${makeColumnsKey(members)}`, () =>
      writeKept(this.layout, clauses => this.#writeText(clauses, select, members), this.#isShort))
    const [row] = await this.#run(kept, this.#encode(select), reading)
    const [text, length, ...values] = row as [string | null, string, ...unknown[]]
    if (text === null) return { text: '', length: Number(length), first: undefined, last: undefined }
    const keys = listKeys(this.layout, select)
    const decode = makeRowDecoder(keys, dialect)
    return {
      text: restoreNumbers(text),
      length: Number(length),
      first: select.offset > 0 ? decode(values.slice(keys.length)) : undefined,
      last: decode(values.slice(0, keys.length))
    }
  }

  async count (where: readonly Condition[], reading: Reading): Promise<number> {
    const kept = this.#texts.get(`count\n${makeTextKey(dialect, where)}`, () => writeKept(this.layout, clauses =>
      `SELECT count(*) FROM ${this.layout.table}${clauses.where(where)}`, true))
    const [row] = await this.#run(kept, encodeParameters(this.layout, dialect, where), reading)
    return Number(row?.[0])
  }

  /** How many rows each of these windows has, in one statement. */
  async countWindows (windows: readonly RowWindow[], reading: Reading): Promise<number[]> {
    const key = windows.map(({ where, order, rows }) => `${rows} ${makeTextKey(dialect, where, order)}`).join('\n')
    const kept = this.#texts.get(`windows\n${key}`, () => writeKept(this.layout, clauses => {
      const counts = windows.map(window => `(SELECT count(*) FROM ${this.#writeWindow(clauses, window)})`)
      return `SELECT ${counts.join(', ')}`
    }, true))
    const values = windows.flatMap(({ where }) => encodeParameters(this.layout, dialect, where))
    const [counts = []] = await this.#run(kept, values, reading)
    return windows.map((_, index) => Number(counts[index]))
  }

  #keep ({ where, order, limit, offset, within }: Select, selected: string, write: () => KeptText): KeptText {
    const withinKey = within === undefined ? '' : `${within.rows} ${makeTextKey(dialect, within.where, within.order)}`
    return this.#texts.get(
      `${selected} ${limit} ${offset > 0}\n${makeTextKey(dialect, where, order)}\n${withinKey}`,
      write
    )
  }

  #encode ({ where, offset, within }: Select): unknown[] {
    const values = within === undefined ? [] : encodeParameters(this.layout, dialect, within.where)
    values.push(...encodeParameters(this.layout, dialect, where))
    if (offset > 0) values.push(offset)
    return values
  }

  #run ({ text, shared }: KeptText, values: unknown[], reading: Reading): Promise<unknown[][]> {
    return this.runner.read(this.layout.table, { text, values, shared }, reading)
  }

  #write (clauses: ClauseBuilder, select: Select, columns: readonly Column[]): string {
    return `SELECT ${listSelected(columns)} FROM ${this.#writePage(clauses, select)}${clauses.orderBy(select.order)}`
  }

  #writeText (clauses: ClauseBuilder, select: Select, members: readonly Column[]): string {
    const shown = select.limit - 1
    const keys = listKeys(this.layout, select).map(({ selected }, index) => ({ selected, name: `key${index}` }))
    const numbered = `SELECT ${selectJson(members, this.layout.mapped)} AS item, ` +
      `${keys.map(({ selected, name }) => `${selected} AS ${name}`).join(', ')}, ` +
      `row_number() OVER (${clauses.orderBy(select.order).trim()}) AS n FROM ${this.#writePage(clauses, select)}`
    const takeKeys = (at: string) => keys.map(({ name }) => `, (array_agg(${name}))[${at}]`).join('')
    return `SELECT string_agg(item, ',') FILTER (WHERE n <= ${shown}), count(*)` +
      `${takeKeys(`least(count(*), ${shown})::int`)}${select.offset > 0 ? takeKeys('1') : ''} ` +
      `FROM (${numbered}) AS numbered`
  }

  // What is selected stands outside: inside, the texts of dates would be made for all the rows that are passed over.
  #writePage (clauses: ClauseBuilder, { where, order, limit, offset, within }: Select): string {
    const from = within === undefined ? this.layout.table : this.#writeWindow(clauses, within)
    const matching = `SELECT * FROM ${from}${clauses.where(where)}${clauses.orderBy(order)}`
    const end = ` LIMIT ${limit}${offset > 0 ? ` OFFSET ${clauses.parameter('bigint')}` : ''}`
    return `(${matching}${end}) AS page`
  }

  #writeWindow (clauses: ClauseBuilder, { where, order, rows }: RowWindow): string {
    const { table } = this.layout
    return `(SELECT * FROM ${table}${clauses.where(where)}${clauses.orderBy(order)} LIMIT ${rows}) AS looked`
  }
}

/** The columns that tell where a row stands in the order. */
function listKeys (layout: Layout, { order }: Select): Column[] {
  return order.map(({ field }) => getColumn(layout, field))
}
