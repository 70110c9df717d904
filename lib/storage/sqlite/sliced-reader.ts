import type { Condition, Found, Id, Query, Stored } from '../../core/storage/storage.js'
import type { Turn } from '../../core/storage/turns.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import type { Pass } from '../sql/pattern-search.js'
import { sortMatches } from '../sql/pattern-search.js'
import { isRangeOfId } from '../sql/planner.js'
import { tighten } from '../sql/tighten.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatements } from './statements.js'

/** Bounds of a slice, which is one statement or two, without a pause. */
export interface SliceLimits {
  /** Rows of the first slice; the next ones have more or fewer, by the time it took. */
  readonly sliceRows: number
  readonly maxSliceRows: number
  /** About how long a slice may take. */
  readonly sliceMs: number
}

export const sliceLimits: SliceLimits = { sliceRows: 1000, maxSliceRows: 50_000, sliceMs: 5 }

const minSliceRows = 50

/** A part of the key. */
export interface Slice {
  /** What is asked for, within this part. */
  readonly where: readonly Condition[]
  /** How many rows it has; undefined of the last. */
  readonly rows: number | undefined
}

/**
 * Reads whatever is asked, however long it takes, along the key in slices: each takes a few milliseconds, and between
 * two of them others have their turn.
 */
export class SlicedReader {
  constructor (readonly statements: ReadStatements, readonly limits: SliceLimits) {}

  async find (query: Query, turn: Turn): Promise<Found> {
    const items = await this.#readPage(query, turn)
    return query.count ? { items, total: await this.#count(query.where, turn) } : { items }
  }

  async #readPage (query: Query, turn: Turn): Promise<Stored[]> {
    if (query.limit === 0) return []
    return query.order[0]?.field === 'id' ? await this.#walk(query, turn) : await this.#sort(query, turn)
  }

  /** Passes over whole slices while the offset lasts, then takes what is wanted. */
  async #walk ({ where, order, limit, offset }: Query, turn: Turn): Promise<Stored[]> {
    const page: Stored[] = []
    const isWhole = where.every(isRangeOfId)
    let toSkip = offset
    const read = (slice: Slice): Stored[] => {
      if (toSkip > 0) {
        const matching = isWhole && slice.rows !== undefined
          ? slice.rows
          : this.statements.count(slice.where, { byKey: true })
        if (matching <= toSkip) {
          toSkip -= matching
          return []
        }
      }
      const left = { where: slice.where, order, limit: limit - page.length, offset: toSkip, byKey: true }
      toSkip = 0
      return this.statements.readItems(left)
    }
    for await (const items of this.readSlices(where, order[0]?.descending === true, turn, read)) {
      page.push(...items)
      if (page.length >= limit) break
    }
    return page
  }

  /** The first of every slice, of which the first of all are kept. */
  async #sort (query: Query, turn: Turn): Promise<Stored[]> {
    const { where, order, offset, limit } = query
    const columns = [...new Set(['id', ...order.map(({ field }) => field)])]
      .map(field => getColumn(this.statements.layout, field))
    const decode = makeRowDecoder(columns, dialect)
    // In steps, so that not every page has statements of its own.
    const wanted = 2 ** Math.ceil(Math.log2(offset + limit))
    const read = (slice: Slice, { isWanted, add }: Pass): void => {
      const inSlice = { where: slice.where, offset: 0, byKey: true, isDirect: true }
      const isSmall = slice.rows === undefined || slice.rows > wanted
      const rows = this.statements.readRows({ ...inSlice, ...isSmall ? { order, limit: wanted } : all }, columns)
      for (const row of rows) {
        const item = decode(row)
        if (isWanted(item)) add(item)
      }
    }
    const { items } = await sortMatches({ ...query, count: false }, async pass => {
      const slices = this.readSlices(where, false, turn, slice => read(slice, pass))
      while ((await slices.next()).done !== true) continue
    })
    return items.flatMap(({ id }) => this.statements.get(id) ?? [])
  }

  async #count (where: readonly Condition[], turn: Turn): Promise<number> {
    // SQLite adds up what its pages say of themselves.
    if (where.length === 0) return this.statements.count(where)
    let total = 0
    const read = (slice: Slice): number => this.statements.count(slice.where, { byKey: true })
    for await (const matching of this.readSlices(where, false, turn, read)) total += matching
    return total
  }

  /** Reads slice after slice of the key, as far as the conditions on the id go. */
  async * readSlices<T> (
    where: readonly Condition[],
    descending: boolean,
    turn: Turn,
    read: (slice: Slice) => T
  ): AsyncGenerator<T> {
    const [beyond, upTo] = descending ? ['lt', 'gte'] as const : ['gt', 'lte'] as const
    const range = where.filter(isRangeOfId)
    const { sliceRows, maxSliceRows, sliceMs } = this.limits
    let rows = sliceRows
    let from: Condition[] = []
    for (;;) {
      const began = performance.now()
      // With two bounds on one side SQLite may go by the first, and pass all earlier slices again.
      const left = tighten([...range, ...from])
      const edge = { where: left, order: [{ field: 'id', descending }], limit: 1, offset: rows - 1 }
      const [last] = this.statements.readRows(edge, [this.statements.layout.id])
      if (last === undefined) return yield read({ where: tighten([...where, ...from]), rows: undefined })
      const id = last[0] as Id
      const result = read({ where: tighten([...where, ...from, { field: 'id', op: upTo, value: id }]), rows })
      const took = performance.now() - began
      yield result
      if (took > sliceMs) rows = Math.max(minSliceRows, Math.floor(rows / 2))
      else if (took < sliceMs / 3) rows = Math.min(maxSliceRows, rows * 2)
      from = [{ field: 'id', op: beyond, value: id }]
      await turn.pass()
    }
  }
}

const all = { order: [], limit: -1 }
