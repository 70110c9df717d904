import { BoundedCache } from '../../core/cache.js'
import { isPlain, listFieldConditions } from '../../core/storage/conditions.js'
import type { Condition, Id, Order, Query, Scalar, Stored } from '../../core/storage/storage.js'
import { ClauseBuilder, encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { SqlFunctions } from './functions.js'
import { selectJson } from './functions.js'
import type { Path } from './paths.js'
import { isEquality } from './paths.js'

/** The items of a page as JSON. */
export interface PageText {
  readonly text: string
  /** How many they are. */
  readonly length: number
  /** Begins, with one character that stands before it, every item but the first, and stands nowhere else. */
  readonly mark: string
  readonly total?: number
}

/** Between items, where a comma and what comes after it may also stand within one: it cannot occur in JSON. */
export const itemSeparator = '\u001e'

// Within text the quotes would be escaped, so only what is nested can have it.
const flatMark = ',{"id":'

/** A page, and what is read of its items. */
export type Section = Pick<Query, 'limit' | 'offset'> & { readonly members: readonly Column[] }

/** The rows that meet conditions. */
interface Matching {
  readonly key: string
  readonly parameters: readonly unknown[]
  write (clauses: ClauseBuilder): string
}

/** The statements that read a family's table. Each sees the table as it is at one moment. */
export class TableStatements {
  readonly #kept: KeptStatements
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: ReadStatement
  #next: ReadStatement | undefined

  constructor (readonly database: SqliteDatabase, readonly layout: Layout, readonly functions: SqlFunctions) {
    const { columns, table, id } = layout
    this.#kept = new KeptStatements(database)
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

  /** What the row at this position along a path has in a field; undefined where the path has fewer rows. */
  readAt (path: Path, field: string, offset: number): Scalar | null | undefined {
    const { selected, kind } = getColumn(this.layout, field)
    const order = path.isByFirst ? path.order.slice(0, 1) : []
    const statement = this.#kept.get(`at ${field} ${makePathKey(path)}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      return `SELECT ${selected} FROM ${this.#writeRows(path, clauses)}${clauses.orderBy(order)} LIMIT 1 OFFSET ?`
    })
    const value = statement.get([...this.#encode(path.bounds), offset])?.[0]
    return value === null || value === undefined ? value : (dialect.decode[kind]?.(value) ?? value) as Scalar
  }

  /** A page along a path that has its order, and meets all its conditions. */
  readAlong (path: Path, section: Section): PageText {
    const { members, limit, offset } = section
    const statement = this.#kept.get(`along ${makePathKey(path)} ${makeSectionKey(section)}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = `${this.#writeRows(path, clauses)}${clauses.orderBy(path.order)} LIMIT ${limit} OFFSET ?`
      return this.#writeText(members, item => `SELECT ${item} FROM ${rows}`)
    })
    return this.#toPage(members, statement.get([...this.#encode(path.bounds), offset]))
  }

  /**
   * The page, if it is among the first rows of a path: those are read, and no more. Unless the path has the order of
   * the page, they must be all.
   */
  look (path: Path, { order, count }: Query, section: Section): PageText | undefined {
    const { members, limit, offset } = section
    const { isOrdered, maxRows } = path
    const texts = `${count}\n${makeTextKey(dialect, path.rest, order)}`
    const statement = this.#kept.get(`look ${makePathKey(path)} ${makeSectionKey(section)} ${texts}`, () => {
      const clauses = new ClauseBuilder(this.layout, dialect)
      const rows = this.#writeRows(path, clauses)
      const ordered = isOrdered ? clauses.orderBy(path.order) : ''
      const found = `(SELECT ${this.#listPassedOn(path.rest, order, members)} FROM ${rows}${ordered} ` +
        `LIMIT ${maxRows})${clauses.where(path.rest)}`
      const hasMore = `EXISTS (SELECT 1 FROM ${rows} LIMIT 1 OFFSET ${maxRows})`
      // Where the order is that of the path, what comes after a full page does not matter.
      const isCut = isOrdered && !count ? `CASE WHEN count(*) < ${limit} THEN ${hasMore} END` : hasMore
      const total = count ? `, (SELECT count(*) FROM ${found})` : ''
      // Run row by row, not first gathered: it ends as soon as the page is full.
      const end = `${isOrdered ? '' : clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
      return this.#writeText(members, item => `SELECT ${item} FROM ${found}${end}`, `, ${isCut}${total}`)
    })
    const bounds = this.#encode(path.bounds)
    const rest = this.#encode(path.rest)
    const row = statement.get([...bounds, ...count ? [...bounds, ...rest] : [], ...bounds, ...rest, offset])
    return row?.[2] === 1 ? undefined : this.#toPage(members, row, count)
  }

  /** The page, however many rows there are: SQLite chooses how it is found. */
  readAll (query: Query, section: Section): PageText {
    const { order, count } = query
    const { members, limit, offset } = section
    const matching = this.#match(query)
    let row: unknown[] | undefined
    if (limit > 0) {
      const statement = this.#kept.get(`all ${makeSectionKey(section)} ${matching.key}`, () => {
        const clauses = new ClauseBuilder(this.layout, dialect)
        const rows = `${matching.write(clauses)}${clauses.orderBy(order)} LIMIT ${limit} OFFSET ?`
        if (order[0]?.field === 'id') return this.#writeText(members, item => `SELECT ${item} FROM ${rows}`)
        // Sorts ids, often with no more than an index, and then reads the rows of the page alone.
        const { table, id: { equated: id } } = this.layout
        return this.#writeText(members, item =>
          `SELECT ${item} FROM ${table} WHERE ${id} IN (SELECT ${id} FROM ${rows})${clauses.orderBy(order)}`)
      })
      row = statement.get([...matching.parameters, offset])
    }
    const page = this.#toPage(members, row)
    return count ? { ...page, total: this.#count(query, matching) } : page
  }

  #count ({ where }: Query, { key, parameters, write }: Matching): number {
    const statement = this.#kept.get(`count ${key}`, () => {
      // All rows are counted without visiting them: SQLite adds up what its pages say of themselves.
      const rows = where.length === 0 ? this.layout.table : write(new ClauseBuilder(this.layout, dialect))
      return `SELECT count(*) FROM ${rows}`
    })
    return statement.get(parameters)?.[0] as number
  }

  #match ({ where, order }: Query): Matching {
    // Going along the order, or the key, is better than an index that leaves many; those that leave few come first.
    const isUsable = (condition: Condition): boolean =>
      isEquality(condition) || (condition.field !== undefined && condition.field === order[0]?.field)
    const plain = where.filter(isPlain)
    const used = plain.filter(isUsable)
    const others = plain.filter(condition => !isUsable(condition))
    const search = this.functions.search(this.layout, where) ?? ''
    return {
      key: `${search} ${makeTextKey(dialect, used)}\n${makeTextKey(dialect, others, order)}`,
      parameters: [...this.#encode(used), ...this.#encode(others)],
      write: clauses => {
        const conditions = [clauses.where(used), clauses.where(others, true)].map(text => text.replace(' WHERE ', ''))
        const all = [this.functions.watch, ...conditions, search].filter(text => text !== '')
        return `${this.layout.table} WHERE ${all.join(' AND ')}`
      }
    }
  }

  #encode (conditions: readonly Condition[]): unknown[] {
    return encodeParameters(this.layout, dialect, conditions)
  }

  /** Items as one JSON text: a third of the cost of reading their values and writing JSON from them. */
  #writeText (members: readonly Column[], writeItems: (item: string) => string, more = ''): string {
    const separator = this.#isFlat(members) ? "','" : 'char(30)'
    const items = writeItems(selectJson(members, this.layout.mapped))
    return `SELECT group_concat(item, ${separator}), count(*)${more} FROM (${items})`
  }

  #toPage (members: readonly Column[], row: readonly unknown[] = [], hasTotal = false): PageText {
    const [text, length, , total] = row as [string | null, number, unknown, number]
    const page = { text: text ?? '', length: length ?? 0, mark: this.#isFlat(members) ? flatMark : itemSeparator }
    return hasTotal ? { ...page, total } : page
  }

  #isFlat (members: readonly Column[]): boolean {
    return members[0] === this.layout.id && !members.some(({ kind }) => kind === 'json')
  }

  /** The rows of a path, from its beginning. */
  #writeRows ({ index, bounds }: Path, clauses: ClauseBuilder): string {
    const { table } = this.layout
    return `${table}${index === undefined ? '' : ` INDEXED BY ${quoteName(index)}`}${clauses.where(bounds)}`
  }

  /** The names of the columns that something is done with; each costs time for every row. */
  #listPassedOn (where: readonly Condition[], order: readonly Order[], members: readonly Column[]): string {
    const others = [...listFieldConditions(where), ...order].map(({ field }) => getColumn(this.layout, field))
    const names = new Set([...members, ...others].flatMap(({ name }) => name === undefined ? [] : quoteName(name)))
    return [...names].join(', ')
  }
}

function makePathKey ({ index, bounds, isByFirst, order }: Path): string {
  return `${index} ${isByFirst}\n${makeTextKey(dialect, bounds, order)}\n`
}

// The limit stands in the text: SQLite plans by it, and would plan again for every value of a parameter.
function makeSectionKey ({ members, limit }: Section): string {
  return `${limit} ${makeColumnsKey(members)}\n`
}

const maxKept = 300
// One in so many takes the place of another, once all places are taken.
const replacing = 16

/**
 * Statements that read, by key, each prepared once and kept. No driver ends a statement when it is told to: it waits
 * for the garbage collector, which finds young ones soon and old ones late, since it knows nothing of the 10 KB and
 * more that each holds outside of the heap. So what comes once is not kept, and what is kept is seldom dropped, however
 * many queries clients make up.
 */
class KeptStatements {
  readonly #kept = new Map<string, ReadStatement>()
  readonly #seen = new BoundedCache<{ times: number }>(1000)
  #refused = 0

  constructor (readonly database: SqliteDatabase) {}

  get (key: string, write: () => string): ReadStatement {
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      // In the order of use as soon as something may be dropped.
      if (this.#kept.size >= maxKept && this.#kept.delete(key)) this.#kept.set(key, kept)
      return kept
    }
    const statement = prepareRead(this.database, write())
    const comesAgain = this.#seen.get(key, () => ({ times: 0 })).times++ > 0
    if (comesAgain && this.#makeRoom()) this.#kept.set(key, statement)
    return statement
  }

  #makeRoom (): boolean {
    if (this.#kept.size < maxKept) return true
    if (++this.#refused % replacing !== 0) return false
    return this.#kept.delete(this.#kept.keys().next().value as string)
  }
}
