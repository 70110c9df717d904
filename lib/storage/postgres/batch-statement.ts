import type { Change, Id, Kind } from '../../core/storage/storage.js'
import type { Reference } from '../sql/definitions.js'
import { quoteName, quoteText } from '../sql/dialect.js'
import { type Column, getColumn, type Layout, listWritten } from '../sql/layout.js'
import { postgresDialect as dialect, takeBeginning, writeLiteral } from './dialect.js'
import { nameReference, type Write } from './writer.js'

/** The writes of all commits in a batch to one table. */
export interface TableBatch {
  /** Of the last write: where a field was added meanwhile, earlier rows just do not have it. */
  layout: Layout
  readonly types: Set<Change['type']>
  /** The references that are checked in any of its rows, those of them and those to them. */
  readonly checked: Set<Reference>
  readonly referrers: Set<Reference>
  /**
   * The rows as JSON: `$n` is the number of the write, `$c` of its commit, `$t` its type, `$x` the expected revision,
   * `$k` the columns that stay as they are, `$r` those whose references are checked, `$u` the references to the item
   * that are checked.
   */
  json: string
}

/** Always in one order of families, so that no two processes wait for each other. */
export function makeTableBatches (commits: readonly (readonly Write[])[]): TableBatch[] {
  const batches = new Map<string, TableBatch>()
  let n = 0
  for (const [c, writes] of commits.entries()) {
    for (const { type, layout, expected = null, json, checked, referrers } of writes) {
      let batch = batches.get(layout.family)
      if (batch === undefined) {
        batch = { layout, types: new Set(), checked: new Set(), referrers: new Set(), json: '' }
        batches.set(layout.family, batch)
      }
      batch.layout = layout
      batch.types.add(type)
      for (const reference of checked) batch.checked.add(reference)
      for (const reference of referrers) batch.referrers.add(reference)
      batch.json += `${batch.json === '' ? '[' : ','}{"$n":${n++},"$c":${c},"$t":"${type}","$x":${expected},${json}}`
    }
  }
  for (const batch of batches.values()) batch.json += ']'
  return [...batches.values()].sort((a, b) => a.layout.family < b.layout.family ? -1 : 1)
}

/** All that the text of the statement depends on. */
export function describeBatch (batches: readonly TableBatch[]): string {
  return batches.map(({ layout, types, checked, referrers }) => {
    const names = [...checked, ...referrers].map(reference => `${nameReference(reference)} ${reference.to.serial}`)
    return [layout.serial, ...[...types].sort(), ...names.sort()].join(' ')
  }).join('\n')
}

/**
 * One statement for a whole batch: locks the rows that are to change, in the order of their ids, finds the commits for
 * which everything is as expected, and does those. It returns the writes that were refused, with the reference that is
 * broken, if it was for one.
 *
 * All parts of a statement see the data as it was when it began. Where another process was faster in between, an insert
 * or update touches fewer rows than it should; then the number of buckets at the end is 0, which is an error (2201G)
 * that undoes the whole, to be tried again. No rule of a table has the like of it.
 */
export function writeBatch (batches: readonly TableBatch[]): string {
  const numbers = new Map(batches.map(({ layout }, p) => [layout.family, p]))
  const parts: BatchParts = { given: [], refused: [], done: [], complete: ['true'] }
  for (const [p, batch] of batches.entries()) writeTable(parts, batch, p, numbers)
  const { given, refused, done, complete } = parts
  // What is refused is known before anything is done, but needs all that is given and locked.
  const ctes = [...given, `refused AS MATERIALIZED (${refused.join(' UNION ALL ')})`, ...done]
  return `WITH ${ctes.join(', ')} SELECT "$n", broken FROM refused ` +
    `UNION ALL SELECT -1, width_bucket(0, 0, 1, CASE WHEN ${complete.join(' AND ')} THEN 1 ELSE 0 END)::text`
}

interface BatchParts {
  readonly given: string[]
  readonly refused: string[]
  readonly done: string[]
  /** Conditions that hold where all was done that should be. */
  readonly complete: string[]
}

/** @param numbers of each family in the batch */
function writeTable (parts: BatchParts, batch: TableBatch, p: number, numbers: ReadonlyMap<string, number>): void {
  const { given, refused, done } = parts
  const { layout, layout: { table }, types, checked, referrers } = batch
  const id = quoteName(layout.id.name as string)
  const revision = quoteName(getColumn(layout, 'revision').name as string)
  const columns = listWritten(layout)
  const names = columns.map(({ name }) => quoteName(name as string)).join(', ')
  const typed = columns.map(({ name, kind, present }) =>
    `${quoteName(name as string)} ${present?.type ?? recordTypes[kind]}`)
  const record = '"$n" integer, "$c" integer, "$t" text, "$x" bigint, "$k" text[], "$r" text[], "$u" text[], ' +
    typed.join(', ')
  given.push(`given${p} AS MATERIALIZED (SELECT * FROM json_to_recordset($${p + 1}::json) AS r (${record}))`)
  done.push(`done${p} AS MATERIALIZED (SELECT * FROM given${p} WHERE "$c" NOT IN (SELECT "$c" FROM refused))`)
  for (const reference of checked) writeReference(parts, reference, p, numbers.get(reference.to.family))
  for (const reference of referrers) refused.push(writeUse(reference, p, numbers.get(reference.from.family)))

  if (types.has('replace') || types.has('delete') || types.has('require')) {
    given.push(`locked${p} AS MATERIALIZED (SELECT t.${id} AS id, t.${revision} AS revision FROM ${table} t ` +
      `WHERE t.${id} = ANY (ARRAY(SELECT ${id} FROM given${p} WHERE "$x" IS NOT NULL)) ORDER BY t.${id} ` +
      // A commit that refers to the item conflicts only with its deletion.
      `FOR ${types.has('delete') ? '' : 'NO KEY '}UPDATE)`)
    refused.push(`SELECT g."$n", g."$c", NULL::text AS broken FROM given${p} g LEFT JOIN locked${p} l ` +
      `ON l.id = g.${id} WHERE g."$x" IS NOT NULL AND l.revision IS DISTINCT FROM g."$x"`)
  }
  if (types.has('insert')) {
    refused.push(`SELECT g."$n", g."$c", NULL::text AS broken FROM given${p} g JOIN ${table} t ` +
      `ON t.${id} = g.${id} WHERE g."$x" IS NULL`)
    // The id is given even where the table would take it from a sequence: it is from that sequence.
    const overriding = layout.mapped ? 'OVERRIDING SYSTEM VALUE ' : ''
    done.push(`insert${p} AS (INSERT INTO ${table} (${names}) ${overriding}` +
      `SELECT ${names} FROM done${p} WHERE "$t" = 'insert' ORDER BY ${id} ` +
      `ON CONFLICT (${id}) DO NOTHING RETURNING 1)`)
  }
  if (types.has('replace')) {
    const assignments = columns.filter(column => column !== layout.id).map(assign)
    done.push(`replace${p} AS (UPDATE ${table} t SET ${assignments.join(', ')} ` +
      `FROM done${p} d WHERE t.${id} = d.${id} AND d."$t" = 'replace' RETURNING 1)`)
  }
  if (types.has('delete')) {
    done.push(`delete${p} AS (DELETE FROM ${table} t USING done${p} d ` +
      `WHERE t.${id} = d.${id} AND d."$t" = 'delete' RETURNING 1)`)
  }
  // What is required is locked, and so stays as it was found.
  for (const type of [...types].filter(type => type !== 'require').sort()) {
    parts.complete.push(`(SELECT count(*) FROM ${type}${p}) = (SELECT count(*) FROM done${p} WHERE "$t" = '${type}')`)
  }
}

function assign ({ name, present }: Column): string {
  const column = quoteName(name as string)
  if (present === undefined) return `${column} = d.${column}`
  return `${column} = CASE WHEN ${quoteText(name as string)} = ANY (d."$k") THEN t.${column} ELSE d.${column} END`
}

const recordTypes: Record<Kind, string> = { ...dialect.types, string: 'text' }

/**
 * What is referred to is locked, so that nothing deletes it meanwhile. It may be made by the same commit, and must not
 * be deleted by it.
 *
 * @param q the number of the family that is referred to, where the batch changes it too
 */
function writeReference (parts: BatchParts, { column, to }: Reference, p: number, q: number | undefined): void {
  const referred = `referred${p}_${parts.given.length}`
  const isChecked = `${quoteText(column.name as string)} = ANY (g."$r")`
  const value = `CASE WHEN ${isChecked} THEN ${cast('g', column, to.id)} END`
  const changes = (type: string): string =>
    `(SELECT FROM given${q} o WHERE o."$c" = g."$c" AND o."$t" = '${type}' AND ${cast('o', to.id, to.id)} = ${value})`
  const isMissing = q === undefined
    ? 'l.id IS NULL'
    : `(l.id IS NULL AND NOT EXISTS ${changes('insert')} OR EXISTS ${changes('delete')})`
  parts.given.push(`${referred} AS MATERIALIZED (SELECT ${to.id.equated} AS id FROM ${to.table} ` +
    `WHERE ${to.id.equated} = ANY (ARRAY(SELECT ${value} FROM given${p} g WHERE ${isChecked})) ` +
    `ORDER BY ${to.id.equated} FOR KEY SHARE)`)
  parts.refused.push(`SELECT g."$n", g."$c", ${quoteText(column.field.name)}::text AS broken ` +
    `FROM given${p} g LEFT JOIN ${referred} l ON l.id = ${value} WHERE ${isChecked} AND ${isMissing}`)
}

/** What refers to an item that is deleted, but for what the same commit deletes, or lets refer to something else. */
function writeUse (reference: Reference, p: number, q: number | undefined): string {
  const { from, column, to } = reference
  const isChecked = `${quoteText(nameReference(reference))} = ANY (g."$u")`
  const id = `CASE WHEN ${isChecked} THEN ${cast('g', to.id, column)} END`
  const name = column.name as string
  const begins = column.isPrefixIndexed ? `${takeBeginning('t.value')} = ${takeBeginning(`(${id})`)} AND ` : ''
  const isChanged = `o."$t" = 'delete' OR ${cast('o', column, column)} IS DISTINCT FROM t.value ` +
    `AND ${quoteText(name)} <> ALL (COALESCE(o."$k", '{}'))`
  const others = q === undefined
    ? ''
    : ` AND NOT EXISTS (SELECT FROM given${q} o WHERE o."$c" = g."$c" AND ` +
      `${cast('o', from.id, from.id)} = t.id AND (${isChanged}))`
  const rows = `(SELECT ${from.id.equated} AS id, ${column.equated} AS value FROM ${from.table}) t`
  return `SELECT g."$n", g."$c", ${quoteText(from.family)}::text AS broken FROM given${p} g WHERE ${isChecked} ` +
    `AND EXISTS (SELECT FROM ${rows} WHERE ${begins}t.value = ${id}${others})`
}

/** A column of a row that is given, to be compared with another; any type can be text on the way. */
function cast (row: string, { name, present }: Column, { equatedAs }: Column): string {
  return `${row}.${quoteName(name as string)}${present === undefined ? '' : '::text'}::${equatedAs}`
}

/**
 * Locks what is to be deleted and may be referred to, in one order of families. The statement after it sees all that
 * refers to it: a commit that made such a reference has held a lock on it until then.
 */
export function lockReferred (writes: readonly Write[]): string[] {
  const ids = new Map<Layout, Id[]>()
  for (const { layout, id, referrers } of writes) {
    if (referrers.length > 0) ids.set(layout, [...ids.get(layout) ?? [], id])
  }
  return [...ids].sort(([a], [b]) => a.family < b.family ? -1 : 1).map(([{ table, id }, values]) =>
    `SELECT 1 FROM ${table} WHERE ${id.equated} = ANY (${writeLiteral(values)}::${id.equatedAs}[]) ` +
    `ORDER BY ${id.equated} FOR UPDATE`)
}
