import { indexedLength, type PresentColumn } from '../sql/dialect.js'
import { DefaultFilling } from '../sql/filling.js'
import type { Layout } from '../sql/layout.js'
import type { Run } from './connections.js'
import { postgresDialect } from './dialect.js'

/** Empty if the table does not exist. A domain has its base type. */
export async function readTableColumns (run: Run, table: string): Promise<Map<string, PresentColumn>> {
  const rows = await run(`SELECT attname,
      CASE WHEN type.typtype = 'd' THEN format_type(base.oid, type.typtypmod) ELSE format_type(base.oid, atttypmod) END,
      attnotnull OR type.typnotnull,
      atthasdef OR attidentity <> '' OR type.typdefault IS NOT NULL,
      attgenerated <> '',
      (SELECT json_agg(enumlabel ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = base.oid),
      CASE WHEN attidentity = '' THEN pg_get_expr(adbin, adrelid)
        ELSE 'nextval(' || quote_literal(pg_get_serial_sequence($1, attname)) || ')' END
    FROM pg_attribute JOIN pg_type type ON type.oid = atttypid
      JOIN pg_type base ON base.oid = CASE WHEN type.typtype = 'd' THEN type.typbasetype ELSE type.oid END
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, [table])
  return new Map((rows as (string | null)[][]).map(row => {
    const [name, type, isNotNull, hasDefault, isGenerated, labels, next] = row as [string, string, ...(string | null)[]]
    return [name, {
      type,
      isNotNull: isNotNull === 't',
      hasDefault: hasDefault === 't',
      isGenerated: isGenerated === 't',
      labels: typeof labels === 'string' ? JSON.parse(labels) as string[] : undefined,
      next: next ?? undefined
    }]
  }))
}

/**
 * `isWhole` is false for what an interrupted build leaves; `terms` are columns (`left …` for the beginning of one) and
 * expressions, and empty for a partial index.
 */
async function readTableIndexes (run: Run, table: string) {
  const rows = await run(`SELECT c.relname, i.indisvalid, CASE WHEN i.indpred IS NULL THEN (
      SELECT json_agg(coalesce(attname, regexp_replace(pg_get_indexdef(i.indexrelid, n::int, true),
        '^"left"[(]"?(.*?)"?(::text)?, ${indexedLength}[)]$', E'left \\\\1')) ORDER BY n)
      FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS key (attnum, n)
      LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = key.attnum) END
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass($1)`, [table])
  return new Map((rows as [string, string, string | null][]).map(([name, isValid, terms]) =>
    [name, { isWhole: isValid === 't', terms: JSON.parse(terms ?? '[]') as string[] }]))
}

/** Includes columns in expressions: if lower(email) is unique, so is email. */
export async function readUniqueColumns (run: Run, { table }: Layout): Promise<string[][]> {
  const rows = await run(`SELECT json_agg(DISTINCT attname) FROM pg_index
      JOIN pg_attribute ON attrelid = indrelid AND attnum > 0 AND (attnum = ANY (indkey::int2[]) OR attnum IN (
        SELECT refobjsubid FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = indexrelid
          AND refobjid = indrelid AND 0 = ANY (indkey::int2[])))
    WHERE indrelid = to_regclass($1) AND indisunique AND indisvalid AND indpred IS NULL GROUP BY indexrelid`, [table])
  return rows.map(([names]) => JSON.parse(names as string) as string[])
}

export type PresentTable = Awaited<ReturnType<typeof readTable>>

export async function readTable (run: Run, { table }: Layout) {
  return { columns: await readTableColumns(run, table), indexes: await readTableIndexes(run, table) }
}

export interface IndexedTable {
  readonly layout: Layout
  /** The fields of each index. */
  readonly indexes: readonly (readonly string[])[]
  readonly filling: DefaultFilling
}

/** With the indexes that the table really has. */
export async function readIndexed (run: Run, layout: Layout): Promise<IndexedTable> {
  const named = [...await readTableIndexes(run, layout.table)].filter(([, { isWhole }]) => isWhole)
  const present = named.map(([, index]) => index)
  const columns = layout.columns.map(column => {
    const isPrefixIndexed = !layout.mapped && present.some(({ terms }) => terms.includes(`left ${column.name}`))
    return isPrefixIndexed === column.isPrefixIndexed ? column : { ...column, isPrefixIndexed }
  })
  // Conditions on a filled column are on an expression, which no index has.
  const fields = new Map(columns.filter(({ isFilled }) => !isFilled).map(({ name, isPrefixIndexed, field }) =>
    [isPrefixIndexed ? `left ${name}` : name, field.name]))
  const indexes = present.map(({ terms }) => {
    const end = terms.findIndex(term => !fields.has(term))
    return terms.slice(0, end === -1 ? terms.length : end).map(term => fields.get(term) as string)
  })
  const indexed = { ...layout, columns }
  const names = named.map(([name]) => name)
  return { layout: indexed, indexes, filling: new DefaultFilling(indexed, { fields: indexes, names }, postgresDialect) }
}
