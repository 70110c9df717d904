import { isDeepStrictEqual } from 'node:util'
import { getId } from '../changes.js'
import { ConstraintError } from '../constraint-error.js'
import { getValue } from '../shapes.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, listWritten } from '../sql/layout.js'
import { quoteName, quoteText } from '../sql/names.js'
import type { Change, Id, Kind } from '../storage.js'
import { ConflictError, DuplicateError } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import { findFlaw } from './values.js'

/** One change as a row of a batch. */
export interface Write {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  /** Tells this item from all others. */
  readonly key: string
  /** The revision that must be there; undefined where nothing may be there. */
  readonly expected: number | undefined
  /** The revision that it leaves; undefined where it leaves nothing. */
  readonly revision: number | undefined
  /** The columns as members of a JSON object, without the braces. */
  readonly json: string
}

/** Encodes the changes of a family. */
export class TableWriter {
  constructor (readonly layout: Layout) {}

  encodeChange (change: Change): Write {
    const { layout } = this
    const id = getId(change)
    const item = 'item' in change ? change.item : undefined
    const record: Record<string, unknown> = {}
    const kept: string[] = []
    for (const column of listWritten(layout)) {
      const { present, field } = column
      const name = column.name as string
      if (isKept(change, column)) {
        kept.push(name)
        continue
      }
      const value = record[name] = field.name === 'id' ? id : item && getValue(item, field)
      if (present === undefined) continue
      const allowed = findFlaw(present, value)
      const fields = [field.name]
      if (allowed !== undefined) throw new ConstraintError(layout.family, id, 'value', { fields, allowed })
    }
    if (kept.length > 0) record['$k'] = kept
    return {
      type: change.type,
      layout,
      id,
      key: `${layout.family}\n${id}`,
      expected: change.type === 'insert' ? undefined : change.expected,
      revision: change.type === 'require' ? change.expected : item?.revision,
      json: JSON.stringify(record).slice(1, -1)
    }
  }
}

/** Whether a column of somebody else's stays as it is: it may hold more than we read of it, as microseconds. */
function isKept (change: Change, { present, field: { name } }: Column): boolean {
  return present !== undefined && name !== 'id' && change.type === 'replace' && change.current !== undefined &&
    isDeepStrictEqual(change.item[name], change.current[name])
}

/** Why a write is refused. */
export function makeRefusal ({ expected, layout: { family }, id }: Write): Error {
  return expected === undefined ? new DuplicateError(family, id) : new ConflictError(family, id)
}

/** The writes of all commits in a batch to one table. */
interface TableBatch {
  readonly layout: Layout
  readonly types: ReadonlySet<Change['type']>
  /**
   * The rows as JSON: `$n` is the number of the write, `$c` of its commit, `$t` its type, `$x` what it expects, `$k`
   * the columns that stay as they are.
   */
  readonly json: string
}

/** A write in a batch: the n-th of all, in the c-th commit. */
export interface BatchRow {
  readonly n: number
  readonly c: number
  readonly write: Write
}

export function makeTableBatch (rows: readonly BatchRow[]): TableBatch {
  const records = rows.map(({ n, c, write: { type, expected, json } }) =>
    `{"$n":${n},"$c":${c},"$t":"${type}","$x":${expected ?? null},${json}}`)
  return {
    // Of the last: where a field was added meanwhile, earlier rows just do not have it.
    layout: (rows.at(-1) as BatchRow).write.layout,
    types: new Set(rows.map(({ write }) => write.type)),
    json: `[${records.join(',')}]`
  }
}

/**
 * One statement for a whole batch: locks the rows that are to change, or to stay, in the order of their ids, finds the
 * commits for which everything is as expected, and does those. It returns the rows that were not as expected, with the
 * revision there; or, unless it waits for rows that somebody else has locked, that they are locked.
 *
 * All parts of a statement see the data as it was when it began. Where another process was faster in between, an insert
 * or update touches fewer rows than it should; then what is asked for at the end, buckets of which there are none,
 * undoes the whole, to be tried again.
 */
export function writeBatch (batches: readonly TableBatch[], waits: boolean): string {
  const parts = batches.map((batch, p) => writeTable(batch, p, waits))
  // What is refused is known before anything is done, but needs all that is given and locked.
  const ctes = [
    ...parts.flatMap(({ given }) => given),
    `refused AS MATERIALIZED (${parts.flatMap(({ refused }) => refused).join(' UNION ALL ')})`,
    ...parts.flatMap(({ done }) => done)
  ]
  const complete = ['true', ...parts.flatMap(({ complete }) => complete)].join(' AND ')
  return `WITH ${ctes.join(', ')} ` +
    'SELECT "$n", revision, locked FROM refused ' +
    `UNION ALL SELECT -1, width_bucket(0, 0, 1, CASE WHEN ${complete} THEN 1 ELSE 0 END), false`
}

/** The code of the error that means: another process was faster in between. No rule of a table has the like of it. */
export const overtaken = '2201G'

interface TableParts {
  readonly given: string[]
  readonly refused: string[]
  readonly done: string[]
  /** Conditions that hold where all was done that should be. */
  readonly complete: string[]
}

function writeTable ({ layout, types }: TableBatch, p: number, waits: boolean): TableParts {
  const { table } = layout
  const id = quoteName(layout.id.name as string)
  const revision = quoteName(getColumn(layout, 'revision').name as string)
  const columns = listWritten(layout).map(({ name, kind, present }) =>
    ({ name: quoteName(name as string), type: present?.type ?? recordTypes[kind] }))
  const names = columns.map(({ name }) => name).join(', ')
  const record = '"$n" integer, "$c" integer, "$t" text, "$x" bigint, "$k" text[], ' +
    columns.map(({ name, type }) => `${name} ${type}`).join(', ')
  const given = [`given${p} AS MATERIALIZED (SELECT * FROM json_to_recordset($${p + 1}::json) AS r (${record}))`]
  const refused: string[] = []
  const done = [`done${p} AS MATERIALIZED (SELECT * FROM given${p} WHERE "$c" NOT IN (SELECT "$c" FROM refused))`]

  if (types.has('replace') || types.has('delete') || types.has('require')) {
    given.push(`locked${p} AS MATERIALIZED (SELECT t.${id} AS id, t.${revision} AS revision FROM ${table} t ` +
      `WHERE t.${id} = ANY (ARRAY(SELECT ${id} FROM given${p} WHERE "$x" IS NOT NULL)) ORDER BY t.${id} ` +
      `FOR UPDATE${waits ? '' : ' SKIP LOCKED'})`)
    const isLocked = waits ? 'false' : `l.id IS NULL AND EXISTS (SELECT FROM ${table} t WHERE t.${id} = g.${id})`
    refused.push(`SELECT g."$n", g."$c", l.revision, ${isLocked} AS locked ` +
      `FROM given${p} g LEFT JOIN locked${p} l ON l.id = g.${id} ` +
      'WHERE g."$x" IS NOT NULL AND l.revision IS DISTINCT FROM g."$x"')
  }
  if (types.has('insert')) {
    refused.push(`SELECT g."$n", g."$c", t.${revision} AS revision, false AS locked ` +
      `FROM given${p} g JOIN ${table} t ON t.${id} = g.${id} WHERE g."$x" IS NULL`)
    // The id is said even where a sequence makes it for others: it is of that sequence.
    const overriding = layout.mapped ? 'OVERRIDING SYSTEM VALUE ' : ''
    done.push(`insert${p} AS (INSERT INTO ${table} (${names}) ${overriding}` +
      `SELECT ${names} FROM done${p} WHERE "$t" = 'insert' ORDER BY ${id} ` +
      `ON CONFLICT (${id}) DO NOTHING RETURNING 1)`)
  }
  if (types.has('replace')) {
    const assignments = listWritten(layout).filter(({ field }) => field.name !== 'id').map(column => assign(column))
    done.push(`replace${p} AS (UPDATE ${table} t SET ${assignments.join(', ')} ` +
      `FROM done${p} d WHERE t.${id} = d.${id} AND d."$t" = 'replace' RETURNING 1)`)
  }
  if (types.has('delete')) {
    done.push(`delete${p} AS (DELETE FROM ${table} t USING done${p} d ` +
      `WHERE t.${id} = d.${id} AND d."$t" = 'delete' RETURNING 1)`)
  }
  // What is required is locked, and so stays as it was found.
  const complete = [...types].filter(type => type !== 'require').sort().map(type =>
    `(SELECT count(*) FROM ${type}${p}) = (SELECT count(*) FROM done${p} WHERE "$t" = '${type}')`)
  return { given, refused, done, complete }
}

function assign ({ name, present }: Column): string {
  const column = quoteName(name as string)
  if (present === undefined) return `${column} = d.${column}`
  return `${column} = CASE WHEN ${quoteText(name as string)} = ANY (d."$k") THEN t.${column} ELSE d.${column} END`
}

const recordTypes: Record<Kind, string> = { ...dialect.types, string: 'text' }
