import type { Layout } from '../sql/layout.js'
import type { PresentColumn } from '../sql/make-layout.js'
import type { Run } from './runner.js'

/** The columns of a table by their names; none where there is no such table. */
export async function readColumns (run: Run, table: string): Promise<Map<string, PresentColumn>> {
  const rows = await run(`SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef FROM pg_attribute
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, [table])
  return new Map((rows as string[][] as [string, string, string, string][]).map(([name, type, isNotNull, hasDefault]) =>
    [name, { type, isNotNull: isNotNull === 't', hasDefault: hasDefault === 't' }]))
}

/** The names of a table's indexes, and whether each is whole: a build that was broken off leaves one that is not. */
export async function readIndexNames (run: Run, { table }: Layout): Promise<Map<unknown, boolean>> {
  const rows = await run(`SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass($1)`, [table])
  return new Map(rows.map(([name, isValid]) => [name, isValid === 't']))
}

/** Whether somebody builds an index of the table just now. */
export async function isBuilding (run: Run, { table }: Layout): Promise<boolean> {
  return (await run('SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass($1)', [table])).length > 0
}
