import { columnOf, mappedLayout, ownLayout } from '../sql/layout.js'
import type { Layout, TableMapping } from '../sql/layout.js'
import { quote, shorten } from '../sql/names.js'
import type { FamilyShape, Kind } from '../storage.js'
import { postgresDialect as dialect } from './dialect.js'
import { transaction } from './driver.js'
import type { PostgresPool, Runner } from './driver.js'

type Rows = (text: string, values: unknown[]) => Promise<unknown[][]>

// Types that hold every value of a kind, and whose values a kind can show; further ones may be mapped.
const fitting: Record<Kind, RegExp> = {
  integer: /^bigint$/,
  number: /^double precision$/,
  string: /^text$|^character varying$/,
  boolean: /^boolean$/,
  date: /^date$/,
  'date-time': /^timestamp(\([3-6]\))? with time zone$/,
  json: /^jsonb?$/
}
const mappable: Record<Kind, RegExp> = {
  ...fitting,
  integer: /^(bigint|integer|smallint)$/,
  number: /^(double precision|real|numeric.*|bigint|integer|smallint)$/,
  string: /^(text|character varying.*)$/,
  'date-time': /^timestamp(\(\d\))? with time zone$/
}

/** Makes what is missing of the family's table, and answers how the family is kept. */
export async function prepareTable (pool: PostgresPool, runner: Runner, shape: FamilyShape, mapping: TableMapping | undefined, schema: string | undefined): Promise<Layout> {
  const rows: Rows = (text, values) => runner.rows(text, values)
  if (mapping !== undefined) {
    const table = mapping.schema === undefined ? quote(mapping.table) : `${quote(mapping.schema)}.${quote(mapping.table)}`
    const present = await columnsOf(rows, table)
    if (present.size === 0) throw new Error(`${shape.name}: there is no table "${mapping.table}" to map it to`)
    const layout = mappedLayout(shape, mapping, new Set(present.keys()), dialect)
    check(layout, present, mappable)
    return layout
  }

  const layout = ownLayout(shape, dialect, schema)
  if ((await missing(rows, layout, schema)).length > 0) {
    await transaction(pool, async rows => {
      // Whoever comes second waits here, and then finds everything made.
      await rows('SELECT pg_advisory_xact_lock(hashtext($1))', [`fastify-dealbook ${schema ?? ''}`])
      const statements = await missing(rows, layout, schema)
      if (statements.length > 0) await rows(statements.join('; '))
    })
  }
  return layout
}

async function missing (rows: Rows, layout: Layout, schema: string | undefined): Promise<string[]> {
  const statements: string[] = []
  if (schema !== undefined && (await rows('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length === 0) {
    statements.push(`CREATE SCHEMA ${quote(schema)}`)
  }
  const present = await columnsOf(rows, layout.table)
  if (present.size === 0) statements.push(creation(layout))
  else {
    check(layout, present, fitting)
    for (const { name, kind } of layout.columns) {
      // Without NOT NULL: rows from before the field have no value for it, and are left as they are.
      if (!present.has(name as string)) statements.push(`ALTER TABLE ${layout.table} ADD COLUMN ${quote(name as string)} ${dialect.types[kind]}`)
    }
  }
  const there = new Set((await rows('SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass($1)', [layout.table])).flat())
  for (const fields of layout.indexes) {
    const columns = fields.map(field => columnOf(layout, field).name as string)
    const name = shorten(`${layout.tableName}_${columns.join('_')}_idx`)
    if (there.has(name)) continue
    // In the order of pages: absent first, ties by id.
    const terms = [...columns.map(column => `${quote(column)} NULLS FIRST`), quote(layout.id.name as string)]
    statements.push(`CREATE INDEX ${quote(name)} ON ${layout.table} (${terms.join(', ')})`)
    there.add(name)
  }
  return statements
}

function creation (layout: Layout): string {
  const always = ['revision', 'createdAt', 'updatedAt']
  const columns = layout.columns.map(({ name, kind, field }) => {
    const type = `${quote(name as string)} ${dialect.types[kind]}`
    if (field.name === 'id') return `${type} PRIMARY KEY`
    return always.includes(field.name) ? `${type} NOT NULL` : type
  })
  return `CREATE TABLE ${layout.table} (${columns.join(', ')})`
}

async function columnsOf (rows: Rows, table: string): Promise<Map<string, string>> {
  const found = await rows(`SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, [table])
  return new Map(found as [string, string][])
}

function check ({ family, tableName, columns }: Layout, present: ReadonlyMap<string, string>, fits: Record<Kind, RegExp>): void {
  for (const { name, kind, field } of columns) {
    const type = name === undefined ? undefined : present.get(name)
    if (type === undefined || fits[kind].test(type)) continue
    throw new Error(`${family}: the column "${name}" of the table "${tableName}" has the type ${type}, ` +
      `which does not fit the field "${field.name}" (${kind}, ${dialect.types[kind]})`)
  }
}
