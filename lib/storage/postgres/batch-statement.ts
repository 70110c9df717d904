import type { Id } from '../../core/storage/storage.js'
import type { Reference } from '../sql/definitions.js'
import { nameType, quoteName, quoteText } from '../sql/dialect.js'
import { type Column, getColumn, type Layout, listWritten, mayLack } from '../sql/layout.js'
import { postgresDialect as dialect, takeBeginning, writeLiteral } from './dialect.js'
import { writeIdsAt } from './path-references.js'
import { type EncodedWrite, nameChecked, nameReference, pathEnd } from './writer.js'

export interface TableBatch {
  /** The layout of the last write: if a field was added meanwhile, earlier rows just lack it. */
  layout: Layout
  /** By their shape. */
  readonly writes: Map<string, EncodedWrite>
  /**
   * Rows as JSON. `$n`: number of the write; `$c`: its commit; `$t`: type; `$x`: expected revision; `$s`: expected
   * `updatedAt`, if known; `$k`: columns that stay as they are; `$r`: columns whose references are checked; `$p`: ids
   * to check, by the paths of references; `$u`: references to the item that are checked.
   */
  json: string
}

/** Always in the same order of families, to avoid deadlocks. */
export function makeTableBatches (commits: readonly (readonly EncodedWrite[])[]): TableBatch[] {
  const batches = new Map<string, TableBatch>()
  let n = 0
  for (const [c, writes] of commits.entries()) {
    for (const write of writes) {
      const { type, layout } = write
      let batch = batches.get(layout.family)
      if (batch === undefined) batches.set(layout.family, batch = { layout, writes: new Map(), json: '' })
      batch.layout = layout
      batch.writes.set(write.shape, write)
      const members = `"$n":${n++},"$c":${c},"$t":"${type}",${writeExpected(write)},${write.writeJson()}`
      batch.json += `${batch.json === '' ? '[' : ','}{${members}}`
    }
  }
  for (const batch of batches.values()) batch.json += ']'
  return [...batches.values()].sort((a, b) => a.layout.family < b.layout.family ? -1 : 1)
}

/** Members of a row in JSON. */
export function writeExpected ({ expected, since }: EncodedWrite): string {
  return `"$x":${expected ?? null}${since === undefined ? '' : `,"$s":${JSON.stringify(since)}`}`
}

/** SQL for what is expected of a row `t`, as `$x` and `$s` have it. */
export function readExpected (layout: Layout): { readonly revision: string, readonly since: string } {
  const { name, field, present, selected } = getColumn(layout, 'updatedAt')
  const from = name === undefined ? undefined : `t.${quoteName(name)}`
  return {
    revision: `t.${quoteName(getColumn(layout, 'revision').name as string)}`,
    since: from === undefined
      ? selected
      : typeSince(layout) === 'text' ? dialect.writeColumn(from, field, present).selected : from
  }
}

/** The type of `$s`: a time, or text where a column may hold more than is read or is of another type. */
export function typeSince (layout: Layout): string {
  const column = getColumn(layout, 'updatedAt')
  return column.name === undefined || column.present !== undefined ? 'text' : nameWritten(column)
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
  return `WITH ${ctes.join(', ')} SELECT "$n", broken FROM refused UNION ALL SELECT -1, ${failUnless(complete)}::text`
}

function isComplete (type: EncodedWrite['type'], p: number): string {
  return `(SELECT count(*) FROM ${type}${p}) = (SELECT count(*) FROM done${p} WHERE "$t" = '${type}')`
}

/** Fails with an error that no rule of a table raises, and so undoes the whole statement. */
export function failUnless (conditions: readonly string[]): string {
  return `width_bucket(0, 0, 1, CASE WHEN ${conditions.join(' AND ')} THEN 1 ELSE 0 END)`
}

/** The rows that are JSON in the n-th parameter. */
export function readGiven (layout: Layout, n: number): string {
  const typed = listWritten(layout).map(column => `${quoteName(column.name as string)} ${nameWritten(column)}`)
  const paths = Object.keys(layout.pathReferences).length === 0 ? '' : '"$p" json, '
  const record = `"$n" integer, "$c" integer, "$t" text, "$x" bigint, "$s" ${typeSince(layout)}, "$k" text[], ` +
    `"$r" text[], "$u" text[], ${paths}${typed.join(', ')}`
  return `SELECT * FROM json_to_recordset($${n}::json) AS r (${record})`
}

export function nameWritten ({ field, present }: Column): string {
  return present?.type ?? nameType(recordDialect, field)
}

/** Writes the rows `d` of `given` that fulfil a condition. What may follow depends on the type. */
export function writeChangedRows (
  layout: Layout, type: EncodedWrite['type'], given: string, condition: string
): string {
  const { table, mapped } = layout
  const columns = listWritten(layout)
  const id = quoteName(layout.id.name as string)
  if (type === 'delete') return `DELETE FROM ${table} t USING ${given} WHERE t.${id} = d.${id} AND ${condition}`
  if (type === 'replace') {
    const assignments = columns.filter(column => column !== layout.id).map(assign)
    return `UPDATE ${table} t SET ${assignments.join(', ')} FROM ${given} WHERE t.${id} = d.${id} AND ${condition}`
  }
  const names = columns.map(({ name }) => quoteName(name as string)).join(', ')
  // The id comes from the sequence of the table, and is written even into a GENERATED ALWAYS column.
  const overriding = mapped ? 'OVERRIDING SYSTEM VALUE ' : ''
  return `INSERT INTO ${table} (${names}) ${overriding}SELECT ${names} FROM ${given} WHERE ${condition}`
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
  const { revision, since } = readExpected(layout)
  given.push(`given${p} AS MATERIALIZED (${readGiven(layout, p + 1)})`)
  done.push(`done${p} AS MATERIALIZED (SELECT * FROM given${p} WHERE "$c" NOT IN (SELECT "$c" FROM refused))`)
  for (const reference of checked) writeReference(parts, reference, p, numbers.get(reference.to.family))
  for (const reference of referrers) refused.push(writeUse(reference, p, numbers.get(reference.from.family)))

  if (types.has('replace') || types.has('delete') || types.has('require')) {
    given.push(`locked${p} AS MATERIALIZED (` +
      `SELECT t.${id} AS id, ${revision} AS revision, ${since} AS since FROM ${table} t ` +
      `WHERE t.${id} = ANY (ARRAY(SELECT ${id} FROM given${p} WHERE "$x" IS NOT NULL)) ORDER BY t.${id} ` +
      // A commit that refers to the item conflicts only with its deletion.
      `FOR ${types.has('delete') ? '' : 'NO KEY '}UPDATE)`)
    refused.push(`SELECT g."$n", g."$c", NULL::text AS broken FROM given${p} g LEFT JOIN locked${p} l ` +
      `ON l.id = g.${id} WHERE g."$x" IS NOT NULL AND (l.revision IS DISTINCT FROM g."$x" OR l.since <> g."$s")`)
  }
  if (types.has('insert')) {
    refused.push(`SELECT g."$n", g."$c", NULL::text AS broken FROM given${p} g JOIN ${table} t ` +
      `ON t.${id} = g.${id} WHERE g."$x" IS NULL`)
  }
  // Required rows are locked, so they stay as they were found.
  for (const type of [...types].filter(type => type !== 'require').sort()) {
    const rows = writeChangedRows(layout, type, `done${p} d`, `d."$t" = '${type}'`)
    const inOrder = type === 'insert' ? ` ORDER BY ${id} ON CONFLICT (${id}) DO NOTHING` : ''
    done.push(`${type}${p} AS (${rows}${inOrder} RETURNING 1)`)
    parts.complete.push(isComplete(type, p))
  }
}

function assign ({ name, present }: Column): string {
  const column = quoteName(name as string)
  if (present === undefined) return `${column} = d.${column}`
  return `${column} = CASE WHEN ${quoteText(name as string)} = ANY (d."$k") THEN t.${column} ELSE d.${column} END`
}

const recordDialect = { types: { ...dialect.types, string: 'text' } }

/** Locks referred rows against deletion. The same commit may insert them; `q` is their family's number in the batch. */
function writeReference (parts: BatchParts, reference: Reference, p: number, q: number | undefined): void {
  const { column, path, to } = reference
  const referred = `referred${p}_${parts.given.length}`
  const name = quoteText(nameChecked(reference))
  const isChecked = `${name} = ANY (g."$r")`
  const value = path === undefined
    ? `CASE WHEN ${isChecked} THEN ${cast('g', column, to.id)} END`
    : `i::${to.id.equatedAs}`
  // A row for each id: by a path, an item may refer to many.
  const all = path === undefined ? '' : ` CROSS JOIN json_array_elements_text(g."$p" -> ${name}) i`
  const rows = `given${p} g${all}`
  const changes = (type: string): string =>
    `(SELECT FROM given${q} o WHERE o."$c" = g."$c" AND o."$t" = '${type}' AND ${cast('o', to.id, to.id)} = ${value})`
  const isMissing = q === undefined
    ? 'l.id IS NULL'
    : `(l.id IS NULL AND NOT EXISTS ${changes('insert')} OR EXISTS ${changes('delete')})`
  parts.given.push(`${referred} AS MATERIALIZED (SELECT ${to.id.equated} AS id FROM ${to.table} ` +
    `WHERE ${to.id.equated} = ANY (ARRAY(SELECT ${value} FROM ${rows} WHERE ${isChecked})) ` +
    `ORDER BY ${to.id.equated} FOR KEY SHARE)`)
  const broken = path === undefined ? quoteText(column.field.name) : `${quoteText(path + pathEnd)} || i`
  parts.refused.push(`SELECT g."$n", g."$c", (${broken})::text AS broken ` +
    `FROM ${rows} LEFT JOIN ${referred} l ON l.id = ${value} WHERE ${isChecked} AND ${isMissing}`)
}

/** Finds references to a deleted item, except those that the same commit deletes or changes. */
function writeUse (reference: Reference, p: number, q: number | undefined): string {
  const { from, column, to, path } = reference
  if (path !== undefined) return writePathUse(reference, path, p, q)
  const isChecked = `${quoteText(nameReference(reference))} = ANY (g."$u")`
  const id = `CASE WHEN ${isChecked} THEN ${cast('g', to.id, column)} END`
  const name = column.name as string
  const begins = column.isPrefixIndexed ? `${takeBeginning('t.value')} = ${takeBeginning(`(${id})`)} AND ` : ''
  // A row that is only required has no values here.
  const isChanged = 'o."$t" = \'delete\' OR o."$t" = \'replace\' ' +
    `AND ${cast('o', column, column)} IS DISTINCT FROM (${id}) AND ${quoteText(name)} <> ALL (COALESCE(o."$k", '{}'))`
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

/** The same by a path. */
function writePathUse (reference: Reference, path: string, p: number, q: number | undefined): string {
  const { from, column, to } = reference
  const isChecked = `${quoteText(nameReference(reference))} = ANY (g."$u")`
  const name = quoteName(column.name as string)
  const type = to.id.kind === 'integer' ? 'bigint' : 'text'
  const id = `CASE WHEN ${isChecked} THEN g.${quoteName(to.id.name as string)}::${type} END`
  const has = (value: string): string => `${writeIdsAt(column, value, path)} @> jsonb_build_array(${id})`
  const isChanged = `o."$t" = 'delete' OR o."$t" = 'replace' AND (${has(`o.${name}`)}) IS NOT TRUE ` +
    `AND ${quoteText(column.name as string)} <> ALL (COALESCE(o."$k", '{}'))`
  const others = q === undefined
    ? ''
    : ` AND NOT EXISTS (SELECT FROM given${q} o WHERE o."$c" = g."$c" AND ` +
      `${cast('o', from.id, from.id)} = t.id AND (${isChanged}))`
  const rows = `(SELECT ${from.id.equated} AS id, ${name} AS value FROM ${from.table}) t`
  return `SELECT g."$n", g."$c", ${quoteText(from.family)}::text AS broken FROM given${p} g WHERE ${isChecked} ` +
    `AND EXISTS (SELECT FROM ${rows} WHERE ${has('t.value')}${others})`
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
