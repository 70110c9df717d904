import { Bounded } from '../sql/bounded.js'
import { indexInOrder } from '../sql/indexes.js'
import type { Index, IndexInOrder } from '../sql/indexes.js'
import { rowReader } from '../sql/layout.js'
import type { Column, Layout } from '../sql/layout.js'
import { isRangeOfId, search } from '../sql/search.js'
import type { Candidates } from '../sql/search.js'
import { parameters, selection, shapeOf, Writer } from '../sql/select.js'
import type { Condition, Found, Id, Order, Query, Scalar, Stored } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Runner } from './driver.js'

// Rows that a first look along the key may cost: most pages are full long before.
const firstLook = 2000
// Up to so many entries of an index, gathering and sorting them is cheaper than going along the key.
const fewEntries = 4000

/** What one statement reads. */
interface Reading extends Omit<Query, 'count'> {
  /** Looks only at so many rows: the first for which these conditions hold, in this order. */
  readonly among?: Among
}

interface Among {
  readonly where: readonly Condition[]
  readonly order: readonly Order[]
  readonly rows: number
}

/** Reads a family's table. */
export class TableReader {
  readonly #texts = new Bounded<string>(300)
  readonly #read: (row: readonly unknown[]) => Stored
  readonly #get: string
  readonly #getMany: string
  readonly #indexes: readonly Index[]

  constructor (readonly runner: Runner, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#read = rowReader(columns, dialect)
    this.#get = `SELECT ${selection(columns)} FROM ${table} WHERE ${id.equated} = ${dialect.parameter(1, id.kind)}`
    this.#getMany = `SELECT ${selection(columns)} FROM ${table} WHERE ${dialect.inList(id.equated, 1, 1, id.kind, false)}`
    // Of a mapped table nothing is known.
    this.#indexes = layout.mapped ? [] : layout.indexes.map(fields => ({ name: '', fields }))
  }

  async get (id: Id): Promise<Stored | undefined> {
    const [row] = await this.runner.rows(this.#get, [id])
    return row === undefined ? undefined : this.#read(row)
  }

  async find (query: Query): Promise<Found> {
    if (query.where.some(({ op }) => op === 'regex')) {
      return await search(this.layout, dialect, query, asked => this.#candidates(asked), ids => this.#fetch(ids))
    }
    if (!query.count) return { items: (await this.#page(query)).map(this.#read) }
    const [rows, total] = await Promise.all([this.#page(query), this.#count(query.where)])
    return { items: rows.map(this.#read), total }
  }

  /**
   * The planner takes values to be spread evenly over the ids, and walks the whole key where they are not; and a plan that is
   * kept knows no values at all. So for pages in the order of the id the way is chosen here: a bounded look along the key
   * first; if that does not fill the page, the index with few entries if there is one; else along the key.
   */
  async #page (query: Query): Promise<unknown[][]> {
    const { order, limit, offset } = query
    if (limit === 0) return []
    const range = query.where.filter(isRangeOfId)
    const rest = query.where.filter(condition => !isRangeOfId(condition))
    if (order[0]?.field !== 'id' || rest.length === 0 || rest.some(({ field, op }) => field === 'id' && op === 'eq')) return await this.#rows(query)

    const inOrder = indexInOrder(this.#indexes, rest)
    const way = inOrder === undefined ? { where: range, order } : { where: [...range, ...inOrder.used.flatMap(asRange)], order: inOrderOf(inOrder, order) }
    if (inOrder?.left.length === 0) return await this.#rows({ ...query, ...way })
    if (offset === 0) {
      const looked = await this.#rows({ where: inOrder?.left ?? rest, order, limit, offset, among: { ...way, rows: firstLook } })
      if (looked.length === limit) return looked
    }
    const among = await this.#selective(rest)
    return await this.#rows(among === undefined ? query : { ...query, among })
  }

  /** The entries of the index that has fewest for these conditions, if they are few. Counting ends where they are no longer. */
  async #selective (where: readonly Condition[]): Promise<Among | undefined> {
    const choices = [...new Set(this.#indexes.map(({ fields }) => fields[0] as string))].flatMap((field): Among[] => {
      const usable = where.filter(condition => condition.field === field && condition.op !== 'ne')
      // In the order of the index, so that it is used whatever the planner knows of the values.
      const order = [{ field, descending: false }, { field: 'id', descending: false }]
      return usable.length === 0 ? [] : [{ where: usable, order, rows: fewEntries + 1 }]
    })
    if (choices.length === 0) return undefined
    const text = this.#texts.get(`few\n${choices.map(({ where }) => shapeOf(where, [], true)).join('\n')}`, () => {
      const writer = new Writer(this.layout, dialect)
      return `SELECT ${choices.map(among => `(SELECT count(*) FROM ${this.#among(writer, among)})`).join(', ')}`
    })
    const [counts = []] = await this.runner.rows(text, choices.flatMap(among => parameters(this.layout, dialect, among.where)))
    const fewest = Math.min(...counts.map(Number))
    return fewest <= fewEntries ? choices[counts.findIndex(count => Number(count) === fewest)] : undefined
  }

  async #count (where: readonly Condition[]): Promise<number> {
    const text = this.#texts.get(`count\n${shapeOf(where, [], true)}`, () =>
      `SELECT count(*) FROM ${this.layout.table}${new Writer(this.layout, dialect).where(where)}`)
    const [row] = await this.runner.rows(text, parameters(this.layout, dialect, where))
    return Number(row?.[0])
  }

  async #rows (reading: Reading, columns = this.layout.columns): Promise<unknown[][]> {
    const { where, order, limit, offset, among } = reading
    const name = columns === this.layout.columns ? '*' : columns.map(({ field }) => field.name).join()
    const key = `${name} ${limit} ${offset > 0}\n${shapeOf(where, order, true)}\n${among === undefined ? '' : `${among.rows} ${shapeOf(among.where, among.order, true)}`}`
    const text = this.#texts.get(key, () => this.#text(reading, columns))
    const values = [...among === undefined ? [] : parameters(this.layout, dialect, among.where), ...parameters(this.layout, dialect, where)]
    if (offset > 0) values.push(offset)
    return await this.runner.rows(text, values)
  }

  // What is selected stands outside: inside, the texts of dates would be made for all the rows that are passed over.
  #text ({ where, order, limit, offset, among }: Reading, columns: readonly Column[]): string {
    const writer = new Writer(this.layout, dialect)
    const from = among === undefined ? this.layout.table : this.#among(writer, among)
    const inner = `SELECT * FROM ${from}${writer.where(where)}${writer.order(order)} LIMIT ${limit}${offset > 0 ? ` OFFSET ${writer.next({ kind: 'integer' })}` : ''}`
    return `SELECT ${selection(columns)} FROM (${inner}) AS found${writer.order(order)}`
  }

  #among (writer: Writer, { where, order, rows }: Among): string {
    return `(SELECT * FROM ${this.layout.table}${writer.where(where)}${writer.order(order)} LIMIT ${rows}) AS looked`
  }

  async * #candidates ({ where, order, columns }: Candidates): AsyncGenerator<unknown[][]> {
    const op = order[0]?.descending === true ? 'lt' : 'gt'
    const decode = dialect.decode[this.layout.id.kind]
    let after: Condition[] = []
    for (let limit = 250; ; limit = Math.min(4000, limit * 2)) {
      const rows = await this.#rows({ where: [...where, ...after], order, limit, offset: 0 }, columns)
      yield rows
      if (rows.length < limit) return
      // The id is the first of the columns.
      const last = rows.at(-1)?.[0]
      after = [{ field: 'id', op, value: (decode === undefined ? last : decode(last)) as Id }]
    }
  }

  async #fetch (ids: readonly Id[]): Promise<Stored[]> {
    if (ids.length === 0) return []
    const found = new Map((await this.runner.rows(this.#getMany, [ids])).map(row => {
      const item = this.#read(row)
      return [item.id, item]
    }))
    // What is gone since it was matched is no longer part of the page.
    return ids.flatMap(id => found.get(id) ?? [])
  }
}

// As a range from a value to itself: of a field that is plainly equal the planner knows that it needs no order, and may go
// along the key after all.
function asRange (condition: Condition): Condition[] {
  const { field } = condition
  const [value] = (condition as { values: readonly Scalar[] }).values as [Scalar]
  return [{ field, op: 'gte', value }, { field, op: 'lte', value }]
}

function inOrderOf ({ used }: IndexInOrder, order: readonly Order[]): Order[] {
  const descending = order[0]?.descending === true
  return [...used.map(({ field }) => ({ field, descending })), { field: 'id', descending }]
}
