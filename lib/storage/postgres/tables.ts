import { errorCodes } from '../../errors.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { layOutMappedTable, layOutOwnTable, nameIndexes } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { FamilyShape, Kind } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Run, StatementRunner } from './runner.js'

// Types that hold every value of a kind, and whose values a kind can show; further ones may be mapped.
const ownTypes: Record<Kind, RegExp> = {
  integer: /^bigint$/,
  number: /^double precision$/,
  string: /^text$|^character varying$/,
  boolean: /^boolean$/,
  date: /^date$/,
  'date-time': /^timestamp(\([3-6]\))? with time zone$/,
  json: /^jsonb?$/
}
const mappableTypes: Record<Kind, RegExp> = {
  ...ownTypes,
  integer: /^(bigint|integer|smallint)$/,
  number: /^(double precision|real|numeric.*|bigint|integer|smallint)$/,
  string: /^(text|character varying.*)$/,
  'date-time': /^timestamp(\(\d\))? with time zone$/
}

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
    const present = await readColumns((text, values = []) => runner.read(table, text, values), table)
    const layout = layOutMappedTable(shape, mapping, present, dialect)
    checkTypes(layout, present, mappableTypes)
    return layout
  }

  const layout = layOutOwnTable(shape, dialect, schema)
  const run: Run = (text, values = []) => runner.read(layout.table, text, values)
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

/** The statements that make what is missing. */
async function listMissing (run: Run, layout: Layout, schema: string | undefined): Promise<string[]> {
  const statements: string[] = []
  if (schema !== undefined && (await run('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length === 0) {
    statements.push(`CREATE SCHEMA ${quoteName(schema)}`)
  }
  const present = await readColumns(run, layout.table)
  statements.push(...present.size === 0 ? [writeCreate(layout)] : listMissingColumns(layout, present))
  const there = await readIndexNames(run, layout)
  const { made, replaced } = nameIndexes(layout)
  const place = schema === undefined ? '' : `${quoteName(schema)}.`
  for (const name of replaced) if (there.has(name)) statements.push(`DROP INDEX ${place}${quoteName(name)}`)
  for (const [name, columns] of made) {
    if (there.has(name)) continue
    // In the order of pages: absent first, ties by id.
    const id = layout.id.name as string
    const others = columns.filter(column => column !== id).map(column => `${quoteName(column)} NULLS FIRST`)
    const terms = [...others, quoteName(id)]
    statements.push(`CREATE INDEX ${quoteName(name)} ON ${layout.table} (${terms.join(', ')})`)
  }
  return statements
}

function listMissingColumns (layout: Layout, present: ReadonlyMap<string, string>): string[] {
  checkTypes(layout, present, ownTypes)
  // Without NOT NULL: rows from before the field have no value for it, and are left as they are.
  return layout.columns.filter(({ name }) => !present.has(name as string)).map(({ name, kind }) =>
    `ALTER TABLE ${layout.table} ADD COLUMN ${quoteName(name as string)} ${dialect.types[kind]}`)
}

function writeCreate ({ table, columns }: Layout): string {
  const required = ['revision', 'createdAt', 'updatedAt']
  const definitions = columns.map(({ name, kind, field }) => {
    const definition = `${quoteName(name as string)} ${dialect.types[kind]}`
    if (field.name === 'id') return `${definition} PRIMARY KEY`
    return required.includes(field.name) ? `${definition} NOT NULL` : definition
  })
  return `CREATE TABLE ${table} (${definitions.join(', ')})`
}

/** The types of the columns by their names; none where there is no such table. */
async function readColumns (run: Run, table: string): Promise<Map<string, string>> {
  const rows = await run(`SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, [table])
  return new Map(rows as [string, string][])
}

async function readIndexNames (run: Run, { table }: Layout): Promise<Set<unknown>> {
  const rows = await run(`SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass($1)`, [table])
  return new Set(rows.flat())
}

function checkTypes (
  { family, tableName, columns }: Layout,
  present: ReadonlyMap<string, string>,
  types: Record<Kind, RegExp>
): void {
  for (const { name, kind, field } of columns) {
    const type = name === undefined ? undefined : present.get(name)
    if (type === undefined || types[kind].test(type)) continue
    const expected = dialect.types[kind]
    throw new errorCodes.FST_DEALBOOK_COLUMN_TYPE(family, name, tableName, type, field.name, kind, expected)
  }
}
