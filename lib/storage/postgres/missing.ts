import { isAbsent } from '../compare.js'
import { isFillable, refuseIncomplete } from '../shapes.js'
import { describeFilling, writeAddColumn, writeCreate, writeFill } from '../sql/definitions.js'
import { nameIndexes } from '../sql/indexes.js'
import type { Column, Layout } from '../sql/layout.js'
import type { PresentColumn } from '../sql/make-layout.js'
import { quoteName } from '../sql/names.js'
import { readColumns, readIndexNames } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Run } from './runner.js'
import { checkTypes, ownTypes } from './types.js'

/** The statements that make what is missing of a table. What cannot be made is refused. */
export async function listMissing (run: Run, layout: Layout, schema: string | undefined): Promise<string[]> {
  const statements: string[] = []
  if (schema !== undefined && (await run('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length === 0) {
    statements.push(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
  }
  const present = await readColumns(run, layout.table)
  const there = await readIndexNames(run, layout)
  const { made, replaced } = nameIndexes(layout)
  if (present.size === 0) statements.push(writeCreate(layout, dialect))
  else {
    const indexed = new Set([...made].flatMap(([name, [first]]) => there.has(name) ? [first] : []))
    statements.push(...await mendColumns(run, layout, present, indexed))
  }
  const place = schema === undefined ? '' : `${quoteName(schema)}.`
  for (const name of replaced) if (there.has(name)) statements.push(`DROP INDEX IF EXISTS ${place}${quoteName(name)}`)
  for (const [name, columns] of made) {
    if (there.has(name)) continue
    // In the order of pages: absent first, ties by id.
    const id = layout.id.name as string
    const others = columns.filter(column => column !== id).map(column => `${quoteName(column)} NULLS FIRST`)
    const terms = [...others, quoteName(id)]
    statements.push(`CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${layout.table} (${terms.join(', ')})`)
  }
  return statements
}

/** @param indexed the columns that an index begins with */
async function mendColumns (
  run: Run,
  layout: Layout,
  present: ReadonlyMap<string, PresentColumn>,
  indexed: ReadonlySet<unknown>
): Promise<string[]> {
  checkTypes(layout, present, ownTypes)
  const { family, table, columns } = layout
  const added = columns.filter(({ name }) => !present.has(name as string))
  if (added.length > 0 && (await run(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0) {
    for (const column of added) refuseIncomplete(family, column.field, describeFilling(layout, column, dialect))
  }
  const kept = columns.filter(({ name }) => present.has(name as string))
  const statements = added.map(column => writeAddColumn(layout, column, dialect))
  for (const column of kept) {
    const there = present.get(column.name as string) as PresentColumn
    const isIndexed = indexed.has(column.name)
    const alter = `ALTER TABLE ${table} ALTER COLUMN ${quoteName(column.name as string)}`
    if (column.kind === 'number' && there.type === 'bigint') statements.push(`${alter} TYPE ${dialect.types.number}`)
    if (isAbsent(column.field.default)) continue
    // Before the rows are filled, so that none can come after them without it.
    if (!there.hasDefault) statements.push(`${alter} SET DEFAULT ${dialect.literal(column.field.default, column.kind)}`)
    // Where the column has the default itself, nothing was stored without it, and to look for it may take long.
    const isLookedFor = isFillable(column.field) && (!there.hasDefault || isIndexed)
    if (isLookedFor && await lacksValues(run, layout, column, isIndexed)) {
      statements.push(writeFill(layout, column, dialect))
    }
  }
  return statements
}

/** Whether there are rows without a value. In the order of an index PostgreSQL goes by it, whatever it knows. */
async function lacksValues (
  run: Run,
  { table, id }: Layout,
  { equated }: Column,
  isIndexed: boolean
): Promise<boolean> {
  const rows = await run(isIndexed
    ? `SELECT 1 FROM (SELECT ${equated} AS value FROM ${table} ` +
      `ORDER BY ${equated} NULLS FIRST, ${id.equated} LIMIT 1) AS first WHERE value IS NULL`
    : `SELECT 1 FROM ${table} WHERE ${equated} IS NULL LIMIT 1`)
  return rows.length > 0
}
