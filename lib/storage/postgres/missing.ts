import { isAbsent } from '../../core/storage/conditions.js'
import { isFillable, refuseIncomplete } from '../../core/storage/shapes.js'
import { describeFilling, writeAddColumn, writeCreate, writeFill } from '../sql/definitions.js'
import type { Column, Layout } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { PresentColumn } from '../sql/present-column.js'
import { refuseFound, writeClashes } from '../sql/unique.js'
import { readColumns } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import { getCode, statementTimedOut } from './driver.js'
import type { PresentIndexes, TablePlace } from './indexes.js'
import { listMissingIndexes, listMissingUnique, readIndexes } from './indexes.js'
import type { Run } from './runner.js'
import { checkTypes, ownTypes } from './types.js'

/** The statements that make what is missing of a table. */
export interface Missing {
  /** To be run in one transaction. */
  readonly definitions: readonly string[]
  /** To be run after them, each by itself and in no transaction. */
  readonly builds: readonly string[]
}

/** What is missing of a table. What cannot be made is refused. */
export async function findMissing (run: Run, layout: Layout, place: TablePlace): Promise<Missing> {
  const { schema } = place
  const definitions: string[] = []
  if (schema !== undefined && (await run('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length === 0) {
    definitions.push(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
  }
  const present = await readColumns(run, layout.table)
  const indexes = await readIndexes(run, layout)
  if (present.size === 0) definitions.push(writeCreate(layout, dialect))
  else definitions.push(...await mendColumns(run, { layout, present, indexes }))
  if (present.size > 0) await refuseClashes(run, { layout, present, indexes })
  const builds = listMissingIndexes(layout, indexes, place)
  const isConcurrent = builds.length > 0 && place.concurrently && present.size > 0 && await hasRows(run, layout)
  if (isConcurrent) return { definitions, builds }
  definitions.push(...listMissingIndexes(layout, indexes, { ...place, concurrently: false }))
  return { definitions, builds: [] }
}

/** Refuses rows that clash in what is to be unique from now on. */
async function refuseClashes (run: Run, { layout, present, indexes: { names } }: PresentTable): Promise<void> {
  for (const fields of listMissingUnique(layout, names)) {
    const clashes = writeClashes(layout, fields, ({ name }) => present.has(name as string), dialect)
    try {
      refuseFound(layout, fields, await run(clashes))
    } catch (error) {
      // Who only asks what is missing waits no longer than a request: then it is for the build to find out.
      if (getCode(error) !== statementTimedOut) throw error
    }
  }
}

async function hasRows (run: Run, { table }: Layout): Promise<boolean> {
  return (await run(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0
}

/** A table as it is in the database. */
interface PresentTable {
  readonly layout: Layout
  readonly present: ReadonlyMap<string, PresentColumn>
  readonly indexes: PresentIndexes
}

async function mendColumns (run: Run, { layout, present, indexes }: PresentTable): Promise<string[]> {
  checkTypes(layout, present, ownTypes)
  const { family, table, columns } = layout
  const added = columns.filter(({ name }) => !present.has(name as string))
  if (added.length > 0 && await hasRows(run, layout)) {
    for (const column of added) refuseIncomplete(family, column.field, describeFilling(layout, column, dialect))
  }
  const kept = columns.filter(({ name }) => present.has(name as string))
  const statements = added.map(column => writeAddColumn(layout, column, dialect))
  for (const column of kept) {
    const there = present.get(column.name as string) as PresentColumn
    const alter = `ALTER TABLE ${table} ALTER COLUMN ${quoteName(column.name as string)}`
    if (column.kind === 'number' && there.type === 'bigint') statements.push(`${alter} TYPE ${dialect.types.number}`)
    if (isAbsent(column.field.default)) continue
    // Before the rows are filled, so that none can come after them without it.
    if (!there.hasDefault) statements.push(`${alter} SET DEFAULT ${dialect.literal(column.field.default, column.kind)}`)
    const first = indexes.whole.map(({ terms }) => terms[0]).find(term => term?.column === column)
    // Where the column has the default itself, nothing was stored without it, and to look for it may take long.
    const isLookedFor = isFillable(column.field) && (!there.hasDefault || first !== undefined)
    const indexed = first?.isBeginning === true ? dialect.beginning?.(column.equated) : first && column.equated
    if (isLookedFor && await lacksValues(run, layout, column, indexed)) {
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
  indexed: string | undefined
): Promise<boolean> {
  const rows = await run(indexed === undefined
    ? `SELECT 1 FROM ${table} WHERE ${equated} IS NULL LIMIT 1`
    : `SELECT 1 FROM (SELECT ${indexed} AS value FROM ${table} ` +
      `ORDER BY ${indexed} NULLS FIRST, ${id.equated} LIMIT 1) AS first WHERE value IS NULL`)
  return rows.length > 0
}
