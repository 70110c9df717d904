import type { Id } from '../../core/storage/storage.js'
import type { Reference } from '../sql/definitions.js'
import { nameType, quoteName, quoteText } from '../sql/dialect.js'
import { type Column, getColumn, type Layout, listWritten, mayLack } from '../sql/layout.js'
import { postgresDialect as dialect, takeBeginning, writeLiteral } from './dialect.js'
import { type EncodedWrite, nameReference } from './writer.js'

export interface TableBatch {
  /** The layout of the last write: if a field was added meanwhile, earlier rows just lack it. */
  layout: Layout
  /** By their shape. */
  readonly writes: Map<string, EncodedWrite>
  /**
   * Rows as JSON. `$n`: number of the write; `$c`: its commit; `$t`: type; `$x`: expected revision; `$k`: columns that
   * stay as they are; `$r`: columns whose references are checked; `$u`: references to the item that are checked.
   */
  json: string
}

/** Always in the same order of families, to avoid deadlocks. */
export function makeTableBatches (commits: readonly (readonly EncodedWrite[])[]): TableBatch[] {
  const batches = new Map<string, TableBatch>()
  let n = 0
  for (const [c, writes] of commits.entries()) {
    for (const write of writes) {
      const { type, layout, expected = null, json } = write
      let batch = batches.get(layout.family)
      if (batch === undefined) batches.set(layout.family, batch = { layout, writes: new Map(), json: '' })
      batch.layout = layout
      batch.writes.set(write.shape, write)
      batch.json += `${batch.json === '' ? '[' : ','}{"$n":${n++},"$c":${c},"$t":"${type}","$x":${expected},${json}}`
    }
  }
  for (const batch of batches.values()) batch.json += ']'
  return [...batches.values()].sort((a, b) => a.layout.family < b.layout.family ? -1 : 1)
}

/** A cache key: everything that the text of the statement depends on. */
export function describeBatch (batches: readonly TableBatch[]): string {
  return batches.map(({ layout, writes }) => `${layout.serial} ${[...writes.keys()].sort().join(' ')}`).join('\n')
}

/**
 * One statement for a batch: locks the rows to change in the order of their ids, and makes the commits for which
 * everything is as expected. It returns the refused writes, with the broken reference if there is one. If another
 * process changed rows after the statement began, fewer rows are written than expected. Then `width_bucket` fails with
 * 2201G, which no rule of a table raises: everything is undone, and tried again.
 */
export function writeBatchText (batches: readonly TableBatch[]): string {
  const numbers = new Map(batches.map(({ layout }, p) => [layout.family, p]))
  const parts: BatchParts = { given: [], refused: [], done: [], complete: ['true'] }
  for (const [p, batch] of batches.entries()) writeTable(parts, batch, p, numbers)
  const { given, refused, done, complete } = parts
  // Refusals must be known before anything is written, but need all that is given and locked.
  const ctes = [...given, `refused AS MATERIALIZED (${refused.join(' UNION ALL ')})`, ...done]
  return `WITH ${ctes.join(', ')} SELECT "$n", broken FROM refused UNION ALL SELECT -1, ${failUnless(complete)}`
}

/** Whether `writeDirectText` can write it: nothing is to be checked, and locks have no order to keep. */
export function isDirect (writes: readonly EncodedWrite[]): boolean {
  return writes.filter(({ type }) => type !== 'insert').length <= 1 &&
    writes.every(({ type, checked, referrers }) => type !== 'require' && checked.length + referrers.length === 0)
}

/**
 * One statement for one commit that is expected to succeed, at two thirds of the cost. A commit that is to be refused
 * writes fewer rows and so undoes itself, as a batch does; the statement of a batch then says why.
 */
export function writeDirectText (batches: readonly TableBatch[]): string {
  const ctes: string[] = []
  const complete: string[] = []
  for (const [p, { layout, writes }] of batches.entries()) {
    const given = `given${p}`
    ctes.push(`${given} AS MATERIALIZED (${readGiven(layout, p)})`)
    for (const type of new Set(Array.from(writes.values(), ({ type }) => type))) {
      const expected = type === 'insert' ? '' : isExpected(layout)
      ctes.push(`${type}${p} AS (${writeRows(layout, type, given)}${expected} RETURNING 1)`)
      // As in a batch, the row that others may have locked comes first.
      if (type === 'insert') complete.push(isComplete(type, p, given))
      else complete.unshift(isComplete(type, p, given))
    }
  }
  return `WITH ${ctes.join(', ')} SELECT -1, ${failUnless(complete)}`
}

function isExpected (layout: Layout): string {
  return ` AND t.${quoteName(getColumn(layout, 'revision').name as string)} = d."$x"`
}

function isComplete (type: EncodedWrite['type'], p: number, rows: string): string {
  return `(SELECT count(*) FROM ${type}${p}) = (SELECT count(*) FROM ${rows} WHERE "$t" = '${type}')`
}

function failUnless (conditions: readonly string[]): string {
  return `width_bucket(0, 0, 1, CASE WHEN ${conditions.join(' AND ')} THEN 1 ELSE 0 END)::text`
}

function readGiven (layout: Layout, p: number): string {
  const typed = listWritten(layout).map(({ name, field, present }) =>
    `${quoteName(name as string)} ${present?.type ?? nameType(recordDialect, field)}`)
  const record = '"$n" integer, "$c" integer, "$t" text, "$x" bigint, "$k" text[], "$r" text[], "$u" text[], ' +
    typed.join(', ')
  return `SELECT * FROM json_to_recordset($${p + 1}::json) AS r (${record})`
}

/** Writes those of the given rows that are of a type; further conditions and RETURNING may follow. */
function writeRows (layout: Layout, type: EncodedWrite['type'], rows: string): string {
  const { table, mapped } = layout
  const columns = listWritten(layout)
  const id = quoteName(layout.id.name as string)
  const ofType = `d."$t" = '${type}'`
  if (type === 'delete') return `DELETE FROM ${table} t USING ${rows} d WHERE t.${id} = d.${id} AND ${ofType}`
  if (type === 'replace') {
    const assignments = columns.filter(column => column !== layout.id).map(assign)
    return `UPDATE ${table} t SET ${assignments.join(', ')} FROM ${rows} d WHERE t.${id} = d.${id} AND ${ofType}`
  }
  const names = columns.map(({ name }) => quoteName(name as string)).join(', ')
  // The id comes from the sequence of the table, and is written even into a GENERATED ALWAYS column.
  const overriding = mapped ? 'OVERRIDING SYSTEM VALUE ' : ''
  return `INSERT INTO ${table} (${names}) ${overriding}SELECT ${names} FROM ${rows} d WHERE ${ofType} ORDER BY ${id} ` +
    `ON CONFLICT (${id}) DO NOTHING`
}

interface BatchParts {
  readonly given: string[]
  readonly refused: string[]
  readonly done: string[]
  readonly complete: string[]
}

function writeTable (parts: BatchParts, batch: TableBatch, p: number, numbers: ReadonlyMap<string, number>): void {
  const { given, refused, done } = parts
  const { layout, layout: { table } } = batch
  const writes = [...batch.writes.values()]
  const types = new Set(writes.map(({ type }) => type))
  const checked = new Set(writes.flatMap(({ checked }) => checked))
  const referrers = new Set(writes.flatMap(({ referrers }) => referrers))
  const id = quoteName(layout.id.name as string)
  const revision = quoteName(getColumn(layout, 'revision').name as string)
  given.push(`given${p} AS MATERIALIZED (${readGiven(layout, p)})`)
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
  }
  // Required rows are locked, so they stay as they were found.
  for (const type of [...types].filter(type => type !== 'require').sort()) {
    done.push(`${type}${p} AS (${writeRows(layout, type, `done${p}`)} RETURNING 1)`)
    parts.complete.push(isComplete(type, p, `done${p}`))
  }
}

function assign ({ name, present }: Column): string {
  const column = quoteName(name as string)
  if (present === undefined) return `${column} = d.${column}`
  return `${column} = CASE WHEN ${quoteText(name as string)} = ANY (d."$k") THEN t.${column} ELSE d.${column} END`
}

const recordDialect = { types: { ...dialect.types, string: 'text' } }

/** Locks referred rows against deletion. The same commit may insert them; `q` is their family's number in the batch. */
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

/** Finds references to a deleted item, except those that the same commit deletes or changes. */
function writeUse (reference: Reference, p: number, q: number | undefined): string {
  const { from, column, to } = reference
  const isChecked = `${quoteText(nameReference(reference))} = ANY (g."$u")`
  const id = `CASE WHEN ${isChecked} THEN ${cast('g', to.id, column)} END`
  const name = column.name as string
  const begins = column.isPrefixIndexed ? `${takeBeginning('t.value')} = ${takeBeginning(`(${id})`)} AND ` : ''
  const isChanged = `o."$t" = 'delete' OR ${cast('o', column, column)} IS DISTINCT FROM (${id}) ` +
    `AND ${quoteText(name)} <> ALL (COALESCE(o."$k", '{}'))`
  const others = q === undefined
    ? ''
    : ` AND NOT EXISTS (SELECT FROM given${q} o WHERE o."$c" = g."$c" AND ` +
      `${cast('o', from.id, from.id)} = t.id AND (${isChanged}))`
  const isDefault = mayLack(column)
    ? ` OR t.value IS NULL AND ${id} = ${dialect.literal(column.field.default, column.kind)}`
    : ''
  const rows = `(SELECT ${from.id.equated} AS id, ${column.equated} AS value FROM ${from.table}) t`
  return `SELECT g."$n", g."$c", ${quoteText(from.family)}::text AS broken FROM given${p} g WHERE ${isChecked} ` +
    `AND EXISTS (SELECT FROM ${rows} WHERE (${begins}t.value = ${id}${isDefault})${others})`
}

/** Any type can be cast to text first. */
function cast (row: string, { name, present }: Column, { equatedAs }: Column): string {
  return `${row}.${quoteName(name as string)}${present === undefined ? '' : '::text'}::${equatedAs}`
}

/** Locks rows to delete, so that the next statement sees all references to them: adding one locks the row too. */
export function lockReferred (writes: readonly EncodedWrite[]): string[] {
  const ids = new Map<Layout, Id[]>()
  for (const { layout, id, referrers } of writes) {
    if (referrers.length > 0) ids.set(layout, [...ids.get(layout) ?? [], id])
  }
  return [...ids].sort(([a], [b]) => a.family < b.family ? -1 : 1).map(([{ table, id }, values]) =>
    `SELECT 1 FROM ${table} WHERE ${id.equated} = ANY (${writeLiteral(values)}::${id.equatedAs}[]) ` +
    `ORDER BY ${id.equated} FOR UPDATE`)
}
