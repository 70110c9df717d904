import { rowReader } from '../sql/layout.js'
import type { Column, Layout } from '../sql/layout.js'
import { isRangeOfId, search } from '../sql/search.js'
import type { Candidates } from '../sql/search.js'
import { parameters, selection, shapeOf, Writer } from '../sql/select.js'
import { Bounded } from '../sql/bounded.js'
import type { Condition, Found, Id, Query, Stored } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Runner } from './driver.js'

// Rows that a first look along the key may cost: most pages are full long before.
const firstLook = 2000
// Up to so many matches, gathering and sorting them is cheaper than going along the key.
const fewMatches = 5000

type Way = 'direct' | 'window' | 'few'
type Asked = Omit<Query, 'count'>

/** Reads a family's table. */
export class TableReader {
  readonly #texts = new Bounded<string>(300)
  readonly #read: (row: readonly unknown[]) => Stored
  readonly #get: string
  readonly #getMany: string

  constructor (readonly runner: Runner, readonly layout: Layout) {
    const { columns, table, id } = layout
    this.#read = rowReader(columns, dialect)
    this.#get = `SELECT ${selection(columns)} FROM ${table} WHERE ${id.equated} = ${dialect.parameter(1, id.kind)}`
    this.#getMany = `SELECT ${selection(columns)} FROM ${table} WHERE ${dialect.inList(id.equated, 1, 1, id.kind, false)}`
  }

  async get (id: Id): Promise<Stored | undefined> {
    const [row] = await this.runner.rows(this.#get, [id])
    return row === undefined ? undefined : this.#read(row)
  }

  async find (query: Query): Promise<Found> {
    if (query.where.some(({ op }) => op === 'regex')) {
      return await search(this.layout, dialect, query, asked => this.#candidates(asked), ids => this.#fetch(ids))
    }
    if (!query.count) return { items: await this.#page(query) }
    const [items, total] = await Promise.all([this.#page(query), this.#count(query.where)])
    return { items, total }
  }

  /**
   * The planner takes values to be spread evenly over the ids, and walks the whole key where they are not; and a plan that is
   * kept knows no values at all. So for pages in the order of the id: a bounded look along the key first; if that does not
   * fill the page, all matches if they are few; else along the key, since they are many.
   */
  async #page (query: Query): Promise<Stored[]> {
    const { order, limit, offset, where } = query
    if (limit === 0) return []
    if (order[0]?.field !== 'id' || where.every(isRangeOfId) || where.some(({ field, op }) => field === 'id' && op === 'eq')) {
      return (await this.#run('direct', query, this.layout.columns)).map(this.#read)
    }
    if (offset === 0) {
      const looked = await this.#run('window', query, this.layout.columns)
      if (looked.length === limit) return looked.map(this.#read)
    }
    const rows = await this.#run('few', query, this.layout.columns)
    const complete = rows.length === 0 ? offset === 0 : Number(rows[0]?.at(-1)) <= fewMatches
    return (complete ? rows : await this.#run('direct', query, this.layout.columns)).map(this.#read)
  }

  async #count (where: readonly Condition[]): Promise<number> {
    const text = this.#texts.get(`count\n${shapeOf(where, [], true)}`, () =>
      `SELECT count(*) FROM ${this.layout.table}${new Writer(this.layout, dialect).where(where)}`)
    const [row] = await this.runner.rows(text, parameters(this.layout, dialect, where))
    return Number(row?.[0])
  }

  async #run (way: Way, asked: Asked, columns: readonly Column[]): Promise<unknown[][]> {
    const where = way === 'window' ? inner(asked.where) : asked.where
    const key = `${way} ${asked.limit} ${asked.offset > 0} ${columns === this.layout.columns ? '*' : columns.map(({ field }) => field.name).join()}\n` +
      shapeOf(where, asked.order, true)
    const text = this.#texts.get(key, () => this.#text(way, asked, columns))
    const values = parameters(this.layout, dialect, where)
    if (asked.offset > 0) values.push(asked.offset)
    return await this.runner.rows(text, values)
  }

  #text (way: Way, { where, order, limit, offset }: Asked, columns: readonly Column[]): string {
    const writer = new Writer(this.layout, dialect)
    const { table } = this.layout
    let from: string
    let more = ''
    if (way === 'window') {
      from = `(SELECT * FROM ${table}${writer.where(where.filter(isRangeOfId))}${writer.order(order)} LIMIT ${firstLook}) AS looked` +
        writer.where(where.filter(condition => !isRangeOfId(condition)))
    } else if (way === 'few') {
      more = ', (SELECT count(*) FROM few)'
      from = 'few'
    } else from = table + writer.where(where)
    const few = way === 'few' ? `WITH few AS MATERIALIZED (SELECT * FROM ${table}${writer.where(where)} LIMIT ${fewMatches + 1}) ` : ''
    const end = `${writer.order(order)} LIMIT ${limit}${offset > 0 ? ` OFFSET ${writer.next(integer)}` : ''}`
    return `${few}SELECT ${selection(columns)}${more} FROM ${from}${end}`
  }

  async * #candidates ({ where, order, columns }: Candidates): AsyncGenerator<unknown[][]> {
    const op = order[0]?.descending === true ? 'lt' : 'gt'
    let after: Condition[] = []
    for (let limit = 250; ; limit = Math.min(4000, limit * 2)) {
      const rows = await this.#run('direct', { where: [...where, ...after], order, limit, offset: 0 }, columns)
      yield rows
      if (rows.length < limit) return
      // The id is the first of the columns.
      const decode = dialect.decode[this.layout.id.kind]
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

const integer = { kind: 'integer' } as Column

// The conditions in the order in which the window's text has them.
function inner (where: readonly Condition[]): Condition[] {
  return [...where.filter(isRangeOfId), ...where.filter(condition => !isRangeOfId(condition))]
}
