import { BoundedCache } from '../../core/cache.js'
import { findIds, isPlain, listFieldConditions } from '../../core/storage/conditions.js'
import { raceSignal, RequestDeadline } from '../../core/storage/deadline.js'
import {
  askOneMore, collectMatches, countFitting, FirstMatches, toFoundText, writeFoundText
} from '../../core/storage/pages.js'
import { mayBeLong } from '../../core/storage/shapes.js'
import type { Condition, Found, FoundText, Id, Order, Query, Stored } from '../../core/storage/storage.js'
import { type HeavyReadQueue, Turn } from '../../core/storage/turns.js'
import { makeListWriter } from '../../core/values/json.js'
import {
  ClauseBuilder, encodeParameters, listSelected, makeStatementKey, selectLength
} from '../sql/clauses.js'
import { quoteName } from '../sql/dialect.js'
import type { DefaultFilling, PlannedQuery } from '../sql/filling.js'
import { type Column, getColumn, getColumns, type Layout, makeRowDecoder } from '../sql/layout.js'
import { parseRow, WrittenMembers } from '../sql/written.js'
import { postgresDialect as dialect, restoreNumbers, selectItem } from './dialect.js'
import type { Positions } from './positions.js'
import { KeptText, type ReadQueue } from './read-queue.js'
import type { IndexedTable } from './tables.js'
import { canHave, fitQuery } from './types.js'

type WriteQuery = (clauses: ClauseBuilder) => string

interface ReadPage {
  readonly rows: string[]
  readonly total: number | undefined
}

// It cannot occur in JSON, and numbers have another mark.
const itemSeparator = '\u001f'
const maxTexts = 300
// Skipping more rows takes as long as many other reads.
const shortSkip = 2000
// Clients can make up any number of pages.
const maxPageNames = 100
const maxSkip = 60_000
// Bytes: some thousand rows.
const smallTable = 1024 * 1024
// Milliseconds.
const sizeMaxAge = 10_000

export class PostgresTableReader {
  readonly #texts = new BoundedCache<KeptText>(maxTexts)
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: KeptText
  readonly #written: WrittenMembers
  readonly #isShort: boolean
  readonly layout: Layout
  readonly indexes: IndexedTable['indexes']
  readonly filling: DefaultFilling
  #isSmall = false
  #sizeIsOld = 0

  constructor (
    readonly queue: ReadQueue,
    { layout, indexes, filling }: IndexedTable,
    readonly heavyReads: HeavyReadQueue,
    readonly positions: Positions | undefined
  ) {
    this.layout = layout
    this.indexes = indexes
    this.filling = filling
    this.#written = new WrittenMembers(layout)
    const { columns, table, id: { equated, equatedAs } } = layout
    this.#decode = makeRowDecoder(columns, dialect)
    this.#isShort = !mayBeLong(columns.map(({ field }) => field))
    const select = `SELECT ${listSelected(columns)} FROM ${table} WHERE ${equated} =`
    this.#get = this.#keep(clauses => `${select} ${clauses.parameter(equatedAs)}`, true, true)
  }

  async get (id: Id, signal?: AbortSignal): Promise<Stored | undefined> {
    if (this.layout.mapped && !canHave(this.layout.id, id)) return undefined
    const [row] = await this.queue.read(this.layout.table, this.#get, [id], signal)
    return row === undefined ? undefined : this.#decode(row)
  }

  async nextId (signal?: AbortSignal): Promise<Id | undefined> {
    const { id } = this.layout
    if (id.present?.next === undefined) return undefined
    const { selected } = dialect.writeColumn(`(${id.present.next})`, id.field, id.present)
    const [row] = await this.#run(new KeptText(`SELECT ${selected}`, undefined, true), [], signal)
    return row === undefined ? undefined : makeRowDecoder([id], dialect)(row).id
  }

  /** After a crash, a server may show what its standbys do not have yet. */
  async confirm (id: Id, signal?: AbortSignal): Promise<void> {
    const { text } = this.#get
    const rows = await raceSignal(signal, this.queue.connections.confirm({ text, values: [id] }))
    if (rows.length === 0) throw new Error(`${this.layout.family} ${id} was lost in a failover`)
  }

  async find (asked: Query, signal?: AbortSignal): Promise<Found> {
    const query = this.layout.mapped ? fitQuery(this.layout, asked) : asked
    // A page says itself whether numbers are missing.
    const isPage = query.maxLength === undefined && query.limit > 0 && query.where.every(isPlain)
    if (!isPage && this.#needsNumbers(query)) await this.#catchUp(signal)
    if (!query.where.every(isPlain)) return await this.#search(query, signal)
    const limit = await this.#fit(query, signal)
    if (limit === 0 && !query.count) return { items: [], isPartial: false }
    const fitting = limit === undefined ? query : { ...query, limit }
    const { rows, total } = await this.#read(fitting, query.limit === 0 ? undefined : this.layout.columns, signal)
    const items = JSON.parse(`[${joinRows(rows.slice(0, fitting.limit))}]`) as Stored[]
    return { items, ...total !== undefined && { total }, ...limit !== undefined && { isPartial: limit < query.limit } }
  }

  /** How many rows have at most `maxLength` bytes; undefined if that is not asked for, or may take long. */
  async #fit (asked: Query, signal: AbortSignal | undefined): Promise<number | undefined> {
    const { limit, offset, maxLength } = asked
    if (maxLength === undefined || offset > 0 || this.#mayBeHeavy(asked)) return undefined
    if (limit <= 1) return limit
    const { where, order } = await this.#choose(asked, signal)
    const kept = this.#texts.get(`length ${limit}\n${makeStatementKey(dialect, [], where, order)}`, () =>
      this.#keep(clauses => `SELECT ${selectLength(this.layout, value => `octet_length(${value}::text)`)} ` +
        `FROM ${this.layout.table}${clauses.where(where)}${clauses.orderBy(order)} LIMIT ${limit}`, false, false))
    const rows = await this.#run(kept, encodeParameters(this.layout, dialect, where), signal)
    if (rows.length === 0 && !asked.count) return 0
    return countFitting(rows.map(([length]) => Number(length)), asked)
  }

  /** Reads one item more, to see whether there is a next page. */
  async findText (
    asked: Query, members: readonly string[], signal?: AbortSignal, names?: readonly string[]
  ): Promise<FoundText> {
    const query = this.layout.mapped ? fitQuery(this.layout, asked) : asked
    const { columns, fields } = this.#written.get(members, names)
    // Foreign JSON may have whitespace.
    const isForeign = this.layout.mapped && columns.some(({ kind }) => kind === 'json')
    // The first and last item must have the fields of the order.
    const hasKeys = asked.order.every(({ field }) => members.includes(field))
    if (isForeign || !hasKeys || columns.length === 0 || !query.where.every(isPlain)) {
      return writeFoundText(await this.find(askOneMore(query), signal), asked, makeListWriter(members))
    }
    const { rows, total } = await this.#read(query, columns, signal)
    const more = rows.length > query.limit
    if (more) rows.pop()
    const readKey = (row: string | undefined): Stored | undefined =>
      row === undefined ? undefined : parseRow(restoreNumbers(row), fields)
    const first = query.offset > 0 ? readKey(rows[0]) : undefined
    const page = { text: joinRows(rows), isNamed: names !== undefined, count: rows.length, more }
    return toFoundText({ ...page, first, last: readKey(rows.at(-1)), total }, asked)
  }

  #needsNumbers ({ where }: Query): boolean {
    return this.positions !== undefined && where.some(({ field }) => field === this.layout.sequence?.field.name)
  }

  /** Numbers what was committed. */
  async #catchUp (signal: AbortSignal | undefined, isBehind?: boolean): Promise<void> {
    const positions = this.positions as Positions
    const isRequest = signal instanceof RequestDeadline
    await raceSignal(signal, isRequest ? positions.catchUpShortly(isBehind) : positions.catchUp(isBehind))
  }

  /** The items as text, and one more if there is one. Without `members`, only the total is read. */
  async #read (
    asked: Query, members: readonly Column[] | undefined, signal: AbortSignal | undefined
  ): Promise<ReadPage> {
    const query = this.filling.plan(asked)
    let found = await this.#readPlanned(query, members, signal)
    if (found === 'behind') {
      await this.#catchUp(signal, true)
      found = await this.#readPlanned(query, members, signal, false)
    }
    if (found === 'lacking') found = await this.#readPlanned(query.filled as Query, members, signal, false)
    return found as ReadPage
  }

  /** @param isChecked whether it is wanted only if no item lacks its number */
  async #readPlanned (
    query: PlannedQuery, members: readonly Column[] | undefined, signal: AbortSignal | undefined, isChecked = true
  ): Promise<ReadPage | 'behind' | 'lacking'> {
    const isHeavy = this.#mayBeHeavy(query) && await this.#isLarge(signal)
    const leave = isHeavy ? await this.heavyReads.enter(signal) : undefined
    try {
      const reading = members === undefined ? [] : this.#readPage(query, members, signal, isHeavy)
      // At once, but for those that would take two connections for long.
      const row = isHeavy || !query.count ? await reading : reading
      const counting = query.count ? this.#count(query, signal, isHeavy) : undefined
      const [page, total] = await Promise.all([row, counting])
      if (page === undefined || (query.count && total === undefined)) return 'lacking'
      const [isBehind, text] = page
      if (isBehind === 't' && isChecked) return 'behind'
      return { rows: typeof text === 'string' ? text.split(itemSeparator) : [], total }
    } finally {
      leave?.()
    }
  }

  /** Whether an item lacks its number, and the page. Undefined if a row lacks a default. */
  async #readPage (
    query: PlannedQuery, members: readonly Column[], signal: AbortSignal | undefined, isHeavy: boolean
  ): Promise<readonly unknown[] | undefined> {
    const { where, order, limit, offset } = query
    // Long pages are not merged: none could be refused before all have arrived.
    const isMerged = this.#isShort && !isHeavy && offset <= shortSkip
    // Along the key, or without filters, the plan does not depend on the values.
    const isStable = where.every(({ field, op }) => field === 'id' && op !== 'ne')
    const key = `${isMerged} ${limit} ${offset > 0} ${makeStatementKey(dialect, members, where, order)}`
    const kept = this.#texts.get(key, () =>
      this.#keep(clauses => this.#writePage(clauses, query, members), isStable, isMerged, true))
    const values = encodeParameters(this.layout, dialect, where)
    if (offset > 0) values.push(offset)
    const [[isLacking, ...row] = []] = await this.#run(kept, values, signal, isHeavy)
    return isLacking === 't' ? undefined : row
  }

  #writePage (clauses: ClauseBuilder, query: PlannedQuery, members: readonly Column[]): string {
    const { where, order, limit, offset, lacking = 'false' } = query
    const names = new Set(members.flatMap(({ name }) => name === undefined ? [] : quoteName(name)))
    const page = `SELECT ${[...names].join(', ')} FROM ${this.layout.table}${clauses.where(where)}` +
      `${clauses.orderBy(order)} LIMIT ${limit + 1}${offset > 0 ? ` OFFSET ${clauses.parameter('bigint')}` : ''}`
    const behind = this.#needsNumbers(query) ? this.positions?.isBehind : 'false'
    // Written outside: inside, dates would be formatted for skipped rows too. They come in the order of the page, and
    // are counted here: columns with their number and the keys of the last would cost an eighth more.
    return `SELECT ${lacking}, ${behind}, string_agg(${selectItem(members, this.layout.mapped)}, '${itemSeparator}') ` +
      `FROM (${page}) AS page`
  }

  /** Undefined if a row lacks a default. */
  async #count (
    { where, lacking = 'false' }: PlannedQuery, signal: AbortSignal | undefined, isHeavy: boolean
  ): Promise<number | undefined> {
    const write = (clauses: ClauseBuilder): string =>
      `SELECT ${lacking}, count(*) FROM ${this.layout.table}${clauses.where(where)}`
    const kept = this.#texts.get(`count ${lacking}\n${makeStatementKey(dialect, [], where)}`, () =>
      this.#keep(write, false, false))
    const values = encodeParameters(this.layout, dialect, where)
    const [[isLacking, count] = []] = await this.#run(kept, values, signal, isHeavy)
    return isLacking === 't' ? undefined : Number(count)
  }

  /** Matches patterns in JavaScript, so that they mean the same on every database; then reads the items found. */
  async #search (asked: Query, signal: AbortSignal | undefined): Promise<Found> {
    const matches = new FirstMatches({ ...asked, order: [] })
    const leave = await this.heavyReads.enter(signal)
    try {
      await this.#collect(await this.#choose(asked, signal), matches, signal)
    } finally {
      leave()
    }
    const { items: keys, ...total } = matches.toPage()
    if (keys.length === 0) return { items: [], ...total }
    const byId = { field: 'id', op: 'eq', values: keys.map(({ id }) => id) } as const
    const { order, limit } = asked
    const { items } = await this.find({ where: [byId], order, offset: 0, limit, count: false }, signal)
    // In the order found; items deleted meanwhile are left out.
    const found = new Map(items.map(item => [item.id, item]))
    return { items: keys.flatMap(({ id }) => found.get(id) ?? []), ...total }
  }

  async #collect (
    { where, order }: Query, matches: FirstMatches, signal: AbortSignal | undefined
  ): Promise<void> {
    const searches = where.filter(condition => !isPlain(condition))
    const plain = where.filter(isPlain)
    const columns = getColumns(this.layout, new Set(['id', ...listFieldConditions(searches).map(({ field }) => field)]))
    const decode = makeRowDecoder(columns, dialect)
    const clauses = new ClauseBuilder(this.layout, dialect)
    const text = `SELECT ${listSelected(columns)} FROM ${this.layout.table}` +
      `${clauses.where(plain)}${clauses.orderBy(order)}`
    const values = encodeParameters(this.layout, dialect, plain)
    const turn = new Turn(signal)
    // Drops the texts, which may be long.
    await this.queue.readHeavy({ text, values }, signal, rows =>
      collectMatches(decodeRows(rows, decode), searches, turn, ({ id }) => matches.add({ id } as Stored)))
  }

  async #choose (asked: Query, signal: AbortSignal | undefined): Promise<Query> {
    const query = this.filling.plan(asked)
    const { lacking, filled = query } = query
    if (lacking === undefined) return query
    const [[isLacking] = []] = await this.#run(new KeptText(`SELECT ${lacking}`, undefined, false), [], signal)
    return isLacking === 't' ? filled : query
  }

  #run (
    kept: KeptText, values: readonly unknown[], signal: AbortSignal | undefined, isHeavy = false
  ): Promise<unknown[][]> {
    if (isHeavy) return this.queue.readHeavy({ text: kept.text, values: kept.complete(values) }, signal)
    return this.queue.read(this.layout.table, kept, values, signal)
  }

  /** Where the plan depends on the values, `isPage` says that the text can be prepared nevertheless. */
  #keep (write: WriteQuery, isStable: boolean, isMerged: boolean, isPage = false): KeptText {
    const { connections } = this.queue
    const clauses = new ClauseBuilder(this.layout, dialect)
    const one = write(clauses)
    const isPlanned = isPage && !isStable
    const text = isPlanned ? one + planEachTime(clauses.parameter('boolean')) : one
    const name = isStable || isPlanned ? connections.nameStatement(text, maxPageNames) : undefined
    const shared = isMerged ? writeShared(this.layout, write) : undefined
    return new KeptText(text, name, isStable,
      shared === undefined ? undefined : { text: shared, name: connections.nameStatement(shared, maxPageNames) },
      isPlanned ? ['true'] : [])
  }

  /** A guess for large tables: no index serves the order or the filters. */
  #mayBeHeavy ({ where, order, offset, count }: Query): boolean {
    if (findIds(where) !== undefined) return false
    if (count || offset > maxSkip || !this.#isSorted(where, order)) return true
    return where.length > 0 && !where.some(condition => this.#isIndexed(condition))
  }

  #isSorted (where: readonly Condition[], order: readonly Order[]): boolean {
    if (order[0]?.field === 'id') return true
    const isFree = (field: string): boolean => field !== 'id' && !where.some(condition =>
      condition.field === field && condition.op === 'eq' && condition.values.length === 1)
    const fields = order.map(({ field }) => field).filter(isFree)
    // Its index has the order of the values by which it is kept.
    const isSorted = (field: string): boolean => getColumn(this.layout, field).present?.flag === undefined
    return fields.every(isSorted) && (fields.length === 0 || this.indexes.some(row => {
      const free = row.filter(isFree)
      return fields.every((field, at) => field === free[at])
    }))
  }

  #isIndexed (condition: Condition): boolean {
    if (condition.op === 'any') return condition.of.every(all => all.some(each => this.#isIndexed(each)))
    const { field, op } = condition
    return op !== 'ne' && (field === 'id' || this.indexes.some(([first]) => first === field))
  }

  /** Tables grow, so the size is read again. */
  async #isLarge (signal: AbortSignal | undefined): Promise<boolean> {
    const now = performance.now()
    if (now >= this.#sizeIsOld) {
      this.#sizeIsOld = now + sizeMaxAge
      const text = `SELECT relkind IN ('r', 'm') AND pg_relation_size(oid) < ${smallTable}
        FROM pg_class WHERE oid = to_regclass($1::text)`
      const [row] = await this.#run(new KeptText(text, undefined, true), [this.layout.table], signal)
      this.#isSmall = row?.[0] === 't'
    }
    return !this.#isSmall
  }
}

function joinRows (rows: readonly string[]): string {
  return restoreNumbers(rows.join())
}

/**
 * A condition that is true, at the end of a prepared statement. After a while PostgreSQL would plan it without its
 * values, often badly, if such a plan looked as cheap: with this, it never does. Planned with the value, it is gone.
 */
function planEachTime (isTrue: string): string {
  return ` WHERE ${isTrue} OR (SELECT count(*) FROM generate_series(1, 1000000000000000)) > 0`
}

// One at a time: decoding all at once would hold up other requests.
function * decodeRows (rows: Iterable<unknown[]>, decode: (row: unknown[]) => Stored): Iterable<Stored> {
  for (const row of rows) yield decode(row)
}

/** Without values, the same text for all; undefined if a value is a list. */
function writeShared (layout: Layout, write: WriteQuery): string | undefined {
  const arrays: string[] = []
  let hasLists = false
  const one = write(new ClauseBuilder(layout, {
    ...dialect,
    parameter (n, as) {
      // In a subquery, so that the length of the array does not make PostgreSQL plan again each time.
      arrays[n - 1] = `(SELECT ${dialect.parameter(n, as)}[])`
      return `"$given"."${n}"`
    },
    inList () {
      hasLists = true
      return ''
    }
  }))
  if (hasLists || arrays.length === 0) return hasLists ? undefined : one
  const names = arrays.map((_, index) => `"${index + 1}"`)
  return `SELECT one.*, "$given"."set" FROM unnest(${arrays.join(', ')}) ` +
    `WITH ORDINALITY AS "$given" (${names.join(', ')}, "set"), LATERAL (${one}) AS one`
}
