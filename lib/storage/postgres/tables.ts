import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/make-layout.js'
import { quoteName } from '../sql/names.js'
import type { FamilyShape } from '../storage.js'
import { readColumns } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import { getCode } from './driver.js'
import { listMissing } from './missing.js'
import type { Run, StatementRunner } from './runner.js'
import { checkTypes, mappableTypes } from './types.js'

export interface TableSettings {
  readonly schema: string | undefined
  /** Milliseconds that a statement may take which makes a table, a column or an index. */
  readonly migrationTimeout: number
}

/** Runs statements that read about a table. */
export function readWith (runner: StatementRunner, table: string): Run {
  return (text, values = []) => runner.read(table, { text, values })
}

/** How the family is kept. */
export async function layOutTable (
  runner: StatementRunner,
  shape: FamilyShape,
  mapping: TableMapping | undefined,
  schema: string | undefined
): Promise<Layout> {
  if (mapping === undefined) return layOutOwnTable(shape, dialect, schema)
  const schemaPart = mapping.schema === undefined ? '' : `${quoteName(mapping.schema)}.`
  const table = schemaPart + quoteName(mapping.table)
  const present = await readColumns(readWith(runner, table), table)
  const layout = layOutMappedTable(shape, mapping, present, dialect)
  checkTypes(layout, present, mappableTypes)
  return layout
}

/** Makes what is missing of a table. */
export async function makeMissing (
  runner: StatementRunner,
  layout: Layout,
  { schema, migrationTimeout }: TableSettings
): Promise<void> {
  if (await isComplete(readWith(runner, layout.table), layout, schema)) return
  await runner.transact(layout.table, async run => {
    // To make an index takes longer than any request may. Only for a table it waits no longer than others: until it
    // has its lock, nobody else gets one.
    const [[patience] = []] = await run('SHOW lock_timeout', [])
    await run(`SET LOCAL statement_timeout = ${migrationTimeout}; SET LOCAL lock_timeout = ${migrationTimeout}`)
    // Whoever comes second waits here, and then finds everything made.
    await run('SELECT pg_advisory_xact_lock(hashtext($1))', [`fastify-dealbook ${schema ?? ''}`])
    await run(`SET LOCAL lock_timeout = '${String(patience)}'`)
    const statements = await listMissing(run, layout, schema)
    if (statements.length > 0) await run(statements.join('; '))
  })
}

async function isComplete (run: Run, layout: Layout, schema: string | undefined): Promise<boolean> {
  try {
    return (await listMissing(run, layout, schema)).length === 0
  } catch (error) {
    // Whoever makes it just now keeps it locked, for longer than a request may wait.
    if (getCode(error) === statementTimedOut) return false
    throw error
  }
}

const statementTimedOut = '57014'
