import { BoundedCache } from '../../core/cache.js'
import { mayBeLong } from '../../core/storage/shapes.js'
import type { Condition, Id, Query, Stored } from '../../core/storage/storage.js'
import { ClauseBuilder, encodeParameters, listSelected, makeColumnsKey, makeTextKey } from '../sql/clauses.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, makeRowDecoder } from '../sql/layout.js'
import type { TakePart } from './connections.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Reading, ReadQueue } from './read-queue.js'
import { KeptText } from './read-queue.js'

/** What one SELECT reads. */
export type Select = Omit<Query, 'count'>

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

const maxTexts = 300
// A page with more rows to pass over takes as long as many others.
const shortSkip = 2000
// Clients make up as many texts of pages as they like.
const maxPageNames = 100

/**
 * The statements that read a family's table, the text of each written once and kept. Those with filters are not
 * prepared: PostgreSQL plans a prepared statement without its values after a while, and may be wrong by far.
 */
export class ReadStatements {
  readonly #texts = new BoundedCache<KeptText>(maxTexts)
  readonly #decode: (row: readonly unknown[]) => Stored
  readonly #get: KeptText
  readonly #getMany: KeptText
  readonly #isShort: boolean

  constructor (readonly queue: ReadQueue, readonly layout: Layout) {
    const { columns, table, id: { equated, equatedAs: as } } = layout
    this.#decode = makeRowDecoder(columns, dialect)
    this.#isShort = !mayBeLong(columns.map(({ field }) => field))
    const select = `SELECT ${listSelected(columns)} FROM ${table} WHERE`
    this.#get = this.#keep(clauses => `${select} ${equated} = ${clauses.parameter(as)}`, true, true)
    const hasId = dialect.inList({ column: equated, as, from: 1, length: 1, negated: false, isCut: false })
    this.#getMany = this.#keep(() => `${select} ${hasId}`, true, false)
  }

  async get (id: Id, signal?: AbortSignal): Promise<Stored | undefined> {
    const [row] = await this.#run(this.#get, [id], { signal })
    return row === undefined ? undefined : this.#decode(row)
  }

  async nextId (signal?: AbortSignal): Promise<Id | undefined> {
    const { id } = this.layout
    if (id.present?.next === undefined) return undefined
    const { selected } = dialect.writeColumn(`(${id.present.next})`, id.kind, id.present)
    const [row] = await this.#run(new KeptText(`SELECT ${selected}`, undefined, true), [], { signal })
    return row === undefined ? undefined : makeRowDecoder([id], dialect)(row).id
  }

  async getMany (ids: readonly Id[]): Promise<Stored[]> {
    return (await this.#run(this.#getMany, [ids], {})).map(this.#decode)
  }

  async readItems (select: Select, reading: Reading): Promise<Stored[]> {
    const kept = this.#texts.get(makeKey(select, ''), () =>
      // What is selected stands outside: inside, the texts of dates would be made for all rows that are passed over.
      this.#keep(clauses => `SELECT ${listSelected(this.layout.columns)} FROM ${this.#writePage(clauses, select)}` +
        clauses.orderBy(select.order), isStable(select), false))
    return (await this.#run(kept, this.#encode(select), reading)).map(this.#decode)
  }

  /** Reads all rows, part by part, until `take` has enough. */
  async scan (
    { where, order }: Pick<Select, 'where' | 'order'>,
    columns: readonly Column[],
    signal: AbortSignal | undefined,
    take: TakePart
  ): Promise<void> {
    const clauses = new ClauseBuilder(this.layout, dialect)
    const matching = `${this.layout.table}${clauses.where(where)}${clauses.orderBy(order)}`
    const kept = new KeptText(`SELECT ${listSelected(columns)} FROM ${matching}`, undefined, false)
    await this.#run(kept, encodeParameters(this.layout, dialect, where), { signal, isHeavy: true, take })
  }

  /** The rows as JSON made by the server, but for the last that the limit allows: that one tells that there is more. */
  async readText (select: Select, members: readonly Column[], reading: Reading): Promise<JoinedText> {
    // Long pages are taken one by one: of many in one answer, none could be refused before all are there.
    const isMerged = this.#isShort && reading.isHeavy !== true && select.offset <= shortSkip
    const kept = this.#texts.get(makeKey(select, `text ${isMerged} ${makeColumnsKey(members)}`), () =>
      this.#keep(clauses => this.#writeText(clauses, select, members), isStable(select), isMerged))
    const [row] = await this.#run(kept, this.#encode(select), reading)
    const [text = null, length = 0, ...values] = row as [string | null, string, ...unknown[]] | undefined ?? []
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
    const kept = this.#texts.get(`count\n${makeTextKey(dialect, where)}`, () =>
      this.#keep(clauses => `SELECT count(*) FROM ${this.layout.table}${clauses.where(where)}`, false, false))
    const [row] = await this.#run(kept, encodeParameters(this.layout, dialect, where), reading)
    return Number(row?.[0])
  }

  /** Whether the table is so small that nothing about it takes long. */
  async isSmall (signal?: AbortSignal): Promise<boolean> {
    const text = `SELECT relkind IN ('r', 'm') AND pg_relation_size(oid) < ${smallTable}
      FROM pg_class WHERE oid = to_regclass($1::text)`
    const [row] = await this.#run(new KeptText(text, undefined, true), [this.layout.table], { signal })
    return row?.[0] === 't'
  }

  #encode ({ where, offset }: Select): unknown[] {
    const values = encodeParameters(this.layout, dialect, where)
    if (offset > 0) values.push(offset)
    return values
  }

  #run (kept: KeptText, values: readonly unknown[], reading: Reading): Promise<unknown[][]> {
    return this.queue.read(this.layout.table, kept, values, reading)
  }

  /** @param isMerged whether several are read in one statement: each returns one row at most */
  #keep (write: (clauses: ClauseBuilder) => string, isStable: boolean, isMerged: boolean): KeptText {
    const { names } = this.queue.connections
    const text = write(new ClauseBuilder(this.layout, dialect))
    const shared = isMerged ? writeShared(this.layout, write) : undefined
    return new KeptText(text, isStable ? names.make(text, maxPageNames) : undefined, isStable, shared === undefined
      ? undefined
      : { text: shared, name: names.make(shared, maxPageNames) })
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

  #writePage (clauses: ClauseBuilder, { where, order, limit, offset }: Select): string {
    const matching = `SELECT * FROM ${this.layout.table}${clauses.where(where)}${clauses.orderBy(order)}`
    return `(${matching} LIMIT ${limit}${offset > 0 ? ` OFFSET ${clauses.parameter('bigint')}` : ''}) AS page`
  }
}

/** Whether a page is read by the same plan whatever the values are: along the key, or without any. */
function isStable ({ where }: Select): boolean {
  return where.every(({ field, op }) => field === 'id' && op !== 'ne')
}

/** The text for several sets of values; without values the same for all, and none where a value is a list. */
function writeShared (layout: Layout, write: (clauses: ClauseBuilder) => string): string | undefined {
  const arrays: string[] = []
  let hasLists = false
  const one = write(new ClauseBuilder(layout, {
    ...dialect,
    parameter (n, as) {
      // Hidden in a query, so that the length of an array is no reason to plan the statement anew each time.
      arrays[n - 1] = `(SELECT ${dialect.parameter(n, as)}[])`
      return `"$given"."${n}"`
    },
    inList (test) {
      hasLists = true
      return dialect.inList(test)
    }
  }))
  if (hasLists || arrays.length === 0) return hasLists ? undefined : one
  const names = arrays.map((_, index) => `"${index + 1}"`)
  return `SELECT one.*, "$given"."set" FROM unnest(${arrays.join(', ')}) ` +
    `WITH ORDINALITY AS "$given" (${names.join(', ')}, "set"), LATERAL (${one}) AS one`
}

// Bytes; some thousand rows.
const smallTable = 1024 * 1024

function makeKey ({ where, order, limit, offset }: Select, selected: string): string {
  return `${selected} ${limit} ${offset > 0}\n${makeTextKey(dialect, where, order)}`
}

/** The columns that tell where a row stands in the order. */
function listKeys (layout: Layout, { order }: Select): Column[] {
  return order.map(({ field }) => getColumn(layout, field))
}

// In our own tables these are NOT NULL.
const requiredFields = ['id', 'revision', 'createdAt', 'updatedAt']

// Stands before and after a number that JavaScript must write; within JSON it could only be escaped.
const mark = '\u001e'

/** Whether rows can be written as JSON by the server. What others have put into a column of JSON may be laid out. */
export function canWriteJson (members: readonly Column[], mapped: boolean): boolean {
  return members.length > 0 && !(mapped && members.some(({ kind }) => kind === 'json'))
}

/**
 * A row as the text of a JSON object with these members, as `JSON.stringify` writes it once `restoreNumbers` has seen
 * it; absent ones are left out.
 */
function selectJson (members: readonly Column[], mapped: boolean): string {
  const isRequired = ({ field }: Column): boolean => !mapped && requiredFields.includes(field.name)
  const parts = members.map((column, index) => {
    const { name, nullable } = column.field
    const value = writeValue(column, mapped)
    const member = `',${JSON.stringify(name)}:' || ${nullable === true ? `coalesce(${value}, 'null')` : value}`
    if (!isRequired(column)) return `coalesce(${member}, '')`
    return index === 0 ? member.replace(',', '{') : member
  })
  if (isRequired(members[0] as Column)) return `${parts.join(' || ')} || '}'`
  return `'{' || ltrim(${parts.join(' || ')}, ',') || '}'`
}

function writeValue ({ kind, selected }: Column, mapped: boolean): string {
  const marked = `${quotedMark} || ${selected} || ${quotedMark}`
  switch (kind) {
    // Beyond these, not every integer is a number of JavaScript.
    case 'integer': return mapped
      ? `CASE WHEN ${selected} BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} ` +
        `THEN ${selected}::text ELSE ${marked} END`
      : `${selected}::text`
    case 'number': return mapped ? marked : writeNumber(selected, marked)
    case 'boolean': return `${selected}::text`
    case 'string': return `to_json(${selected})::text`
    case 'json': return `${selected}::text`
    default: return `'"' || ${selected} || '"'`
  }
}

// Of fractions PostgreSQL and JavaScript write the same digits, the fewest that tell a number from others, and between
// these bounds neither writes an exponent. Of integers above PostgreSQL writes more digits than needed now and then.
function writeNumber (column: string, marked: string): string {
  return `CASE WHEN ${column} = trunc(${column}) AND abs(${column}) <= ${Number.MAX_SAFE_INTEGER} ` +
    `THEN ${column}::bigint::text ` +
    `WHEN abs(${column}) BETWEEN 1e-4 AND 1e15 THEN ${column}::text ` +
    `ELSE ${marked} END`
}

const quotedMark = 'chr(30)'

/** Writes the numbers that are marked as JavaScript does. */
function restoreNumbers (text: string): string {
  return text.includes(mark) ? text.replace(marked, (_, number: string) => JSON.stringify(Number(number))) : text
}

const marked = new RegExp(`${mark}([^${mark}]*)${mark}`, 'g')
