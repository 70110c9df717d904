import type { FamilyShape } from '../../core/storage/storage.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/make-layout.js'
import { quoteName } from '../sql/names.js'
import { readColumns } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Run, StatementRunner } from './runner.js'
import { checkTypes, mappableTypes } from './types.js'

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
