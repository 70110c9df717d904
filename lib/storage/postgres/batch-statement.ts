import type { Change, Kind } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, listWritten } from '../sql/layout.js'
import { quoteName, quoteText } from '../sql/names.js'
import type { Reference } from '../sql/relations.js'
import { postgresDialect as dialect } from './dialect.js'
import { writeLooks } from './looks.js'
import type { Write } from './writer.js'

/** The writes of all commits in a batch to one table. */
export interface TableBatch {
  readonly layout: Layout
  readonly types: ReadonlySet<Change['type']>
  /** The references that are looked at in any of its rows, those of them and those to them. */
  readonly looked: readonly Reference[]
  readonly referrers: readonly Reference[]
  /**
   * The rows as JSON: `$n` is the number of the write, `$c` of its commit, `$t` its type, `$x` what it expects, `$k`
   * the columns that stay as they are, `$r` those whose references are looked at, `$u` the references to it that are.
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
    looked: [...new Set(rows.flatMap(({ write }) => write.looked))],
    referrers: [...new Set(rows.flatMap(({ write }) => write.referrers))],
    json: `[${records.join(',')}]`
  }
}

/**
 * One statement for a whole batch: locks the rows that are to change, in the order of their ids, finds the commits for
 * which everything is as expected, and does those. It returns the rows that were not as expected, with the revision
 * there; or, unless it waits for rows that somebody else has locked, that they are locked.
 *
 * All parts of a statement see the data as it was when it began. Where another process was faster in between, an insert
 * or update touches fewer rows than it should; then what is asked for at the end, buckets of which there are none,
 * undoes the whole, to be tried again.
 */
export function writeBatch (batches: readonly TableBatch[], waits: boolean): string {
  const numbers = new Map(batches.map(({ layout }, p) => [layout.family, p]))
  const parts = batches.map((batch, p) => writeTable(batch, p, { waits, numbers }))
  // What is refused is known before anything is done, but needs all that is given and locked.
  const ctes = [
    ...parts.flatMap(({ given }) => given),
    `refused AS MATERIALIZED (${parts.flatMap(({ refused }) => refused).join(' UNION ALL ')})`,
    ...parts.flatMap(({ done }) => done)
  ]
  const complete = ['true', ...parts.flatMap(({ complete }) => complete)].join(' AND ')
  return `WITH ${ctes.join(', ')} ` +
    'SELECT "$n", revision, locked, broken FROM refused ' +
    `UNION ALL SELECT -1, width_bucket(0, 0, 1, CASE WHEN ${complete} THEN 1 ELSE 0 END), false, NULL`
}

/** The code of the error that means: another process was faster in between. No rule of a table has the like of it. */
export const overtaken = '2201G'

/** What the parts of a statement have in common. */
interface BatchSettings {
  readonly waits: boolean
  /** The number of each family in it. */
  readonly numbers: ReadonlyMap<string, number>
}

interface TableParts {
  readonly given: string[]
  readonly refused: string[]
  readonly done: string[]
  /** Conditions that hold where all was done that should be. */
  readonly complete: string[]
}

function writeTable (batch: TableBatch, p: number, settings: BatchSettings): TableParts {
  const { layout, types } = batch
  const { waits } = settings
  const { table } = layout
  const id = quoteName(layout.id.name as string)
  const revision = quoteName(getColumn(layout, 'revision').name as string)
  const columns = listWritten(layout).map(({ name, kind, present }) =>
    ({ name: quoteName(name as string), type: present?.type ?? recordTypes[kind] }))
  const names = columns.map(({ name }) => name).join(', ')
  const record = '"$n" integer, "$c" integer, "$t" text, "$x" bigint, "$k" text[], ' +
    (batch.looked.length > 0 ? '"$r" text[], ' : '') + (batch.referrers.length > 0 ? '"$u" text[], ' : '') +
    columns.map(({ name, type }) => `${name} ${type}`).join(', ')
  const given = [`given${p} AS MATERIALIZED (SELECT * FROM json_to_recordset($${p + 1}::json) AS r (${record}))`]
  const looks = writeLooks(batch, p, settings)
  given.push(...looks.given)
  const refused = [...looks.refused]
  const done = [`done${p} AS MATERIALIZED (SELECT * FROM given${p} WHERE "$c" NOT IN (SELECT "$c" FROM refused))`]

  if (types.has('replace') || types.has('delete') || types.has('require')) {
    given.push(`locked${p} AS MATERIALIZED (SELECT t.${id} AS id, t.${revision} AS revision FROM ${table} t ` +
      `WHERE t.${id} = ANY (ARRAY(SELECT ${id} FROM given${p} WHERE "$x" IS NOT NULL)) ORDER BY t.${id} ` +
      // Whoever refers to an item minds only that it is deleted.
      `FOR ${types.has('delete') ? '' : 'NO KEY '}UPDATE${waits ? '' : ' SKIP LOCKED'})`)
    const isLocked = waits ? 'false' : `l.id IS NULL AND EXISTS (SELECT FROM ${table} t WHERE t.${id} = g.${id})`
    refused.push(`SELECT g."$n", g."$c", l.revision, ${isLocked} AS locked, NULL::text AS broken ` +
      `FROM given${p} g LEFT JOIN locked${p} l ON l.id = g.${id} ` +
      'WHERE g."$x" IS NOT NULL AND l.revision IS DISTINCT FROM g."$x"')
  }
  if (types.has('insert')) {
    refused.push(`SELECT g."$n", g."$c", t.${revision} AS revision, false AS locked, NULL::text AS broken ` +
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
