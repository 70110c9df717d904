import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable } from '../sql/make-layout.js'
import { quoteName } from '../sql/names.js'
import type { FamilyShape } from '../storage.js'
import { readColumns } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import { listMissing } from './missing.js'
import type { Run, StatementRunner } from './runner.js'
import { checkTypes, mappableTypes } from './types.js'

/** Makes what is missing of the family's table, and returns how the family is kept. */
export async function prepareTable (
  runner: StatementRunner,
  shape: FamilyShape,
  mapping: TableMapping | undefined,
  schema: string | undefined
): Promise<Layout> {
  if (mapping !== undefined) {
    const schemaPart = mapping.schema === undefined ? '' : `${quoteName(mapping.schema)}.`
    const table = schemaPart + quoteName(mapping.table)
    const present = await readColumns((text, values = []) => runner.read(table, { text, values }), table)
    const layout = layOutMappedTable(shape, mapping, present, dialect)
    checkTypes(layout, present, mappableTypes)
    return layout
  }

  const layout = layOutOwnTable(shape, dialect, schema)
  const run: Run = (text, values = []) => runner.read(layout.table, { text, values })
  if ((await listMissing(run, layout, schema)).length > 0) {
    await runner.transact(layout.table, async run => {
      // Whoever comes second waits here, and then finds everything made.
      await run('SELECT pg_advisory_xact_lock(hashtext($1))', [`fastify-dealbook ${schema ?? ''}`])
      const statements = await listMissing(run, layout, schema)
      if (statements.length > 0) await run(statements.join('; '))
    })
  }
  return layout
}
