import { isAbsent } from '../../core/storage/conditions.js'
import { isFillable, refuseIncomplete } from '../../core/storage/shapes.js'
import { describeFilling, writeAddColumn, writeCreate, writeFill } from '../sql/definitions.js'
import type { PresentColumn } from '../sql/dialect.js'
import { quoteName } from '../sql/dialect.js'
import type { TableIndex } from '../sql/indexes.js'
import { listIndexes, nameUnique, refuseFound, writeClashes, writeUnique } from '../sql/indexes.js'
import type { Column, Layout } from '../sql/layout.js'
import type { Run } from './connections.js'
import { postgresDialect as dialect } from './dialect.js'
import { getCode, statementTimedOut } from './driver.js'
import { checkTypes, ownTypes } from './types.js'

/** The columns of a table by their names; none where there is no such table. A domain has the type that it is of. */
export async function readColumns (run: Run, table: string): Promise<Map<string, PresentColumn>> {
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

/** An index as it is in the database. */
interface PresentIndex {
  /** Whether it can be used: a build that was broken off leaves one that cannot. */
  readonly isWhole: boolean
  /** Its columns, null for an expression; none where it has only some rows. */
  readonly columns: readonly (string | null)[]
}

/** The indexes of a table by their names. */
async function readIndexes (run: Run, { table }: Layout): Promise<Map<unknown, PresentIndex>> {
  const rows = await run(`SELECT c.relname, i.indisvalid, CASE WHEN i.indpred IS NULL THEN (
      SELECT json_agg(attname ORDER BY n) FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS key (attnum, n)
      LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = key.attnum) END
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass($1)`, [table])
  return new Map((rows as [string, string, string | null][]).map(([name, isValid, columns]) =>
    [name, { isWhole: isValid === 't', columns: JSON.parse(columns ?? '[]') as (string | null)[] }]))
}

/**
 * The sets of columns that a table keeps unique, those in expressions among them: what is unique as lower(email) is
 * unique as it is.
 */
export async function readUniqueColumns (run: Run, { table }: Layout): Promise<string[][]> {
  const rows = await run(`SELECT json_agg(DISTINCT attname) FROM pg_index
      JOIN pg_attribute ON attrelid = indrelid AND attnum > 0 AND (attnum = ANY (indkey::int2[]) OR attnum IN (
        SELECT refobjsubid FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = indexrelid
          AND refobjid = indrelid AND 0 = ANY (indkey::int2[])))
    WHERE indrelid = to_regclass($1) AND indisunique AND indisvalid AND indpred IS NULL GROUP BY indexrelid`, [table])
  return rows.map(([names]) => JSON.parse(names as string) as string[])
}

/** Whether an index of the table is being built just now. */
export async function isBuilding (run: Run, { table }: Layout): Promise<boolean> {
  return (await run('SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass($1)', [table])).length > 0
}

/** The statements that make what is missing of a table. */
export interface Missing {
  /** To be run in one transaction. */
  readonly definitions: readonly string[]
  /** To be run after them, each by itself and in no transaction. */
  readonly builds: readonly string[]
}

/** Where tables are made, and how. */
export interface TablePlace {
  readonly schema: string | undefined
  /** Whether indexes of a table with rows are built while others write to it. */
  readonly concurrently: boolean
}

/** A table as it is in the database. */
interface PresentTable {
  readonly layout: Layout
  readonly columns: ReadonlyMap<string, PresentColumn>
  readonly indexes: ReadonlyMap<unknown, PresentIndex>
}

/** What is missing of a table. What cannot be made is refused. */
export async function findMissing (run: Run, layout: Layout, place: TablePlace): Promise<Missing> {
  const { schema } = place
  const definitions: string[] = []
  if (schema !== undefined && (await run('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length === 0) {
    definitions.push(`CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)}`)
  }
  const columns = await readColumns(run, layout.table)
  const indexes = await readIndexes(run, layout)
  const present = { layout, columns, indexes }
  if (columns.size === 0) definitions.push(writeCreate(layout, dialect))
  else {
    definitions.push(...await completeColumns(run, present))
    await refuseClashes(run, present)
  }
  const builds = listMissingIndexes(layout, indexes, place)
  const isConcurrent = builds.length > 0 && place.concurrently && columns.size > 0 && await hasRows(run, layout)
  if (isConcurrent) return { definitions, builds }
  definitions.push(...listMissingIndexes(layout, indexes, { schema, concurrently: false }))
  return { definitions, builds: [] }
}

/** Refuses rows that clash in what is to be unique from now on. */
async function refuseClashes (run: Run, { layout, columns, indexes }: PresentTable): Promise<void> {
  for (const fields of listMissingUnique(layout, indexes)) {
    const clashes = writeClashes(layout, fields, ({ name }) => columns.has(name as string), dialect)
    try {
      refuseFound(layout, fields, await run(clashes))
    } catch (error) {
      // A check of what is missing waits no longer than a request: then the build finds it out.
      if (getCode(error) !== statementTimedOut) throw error
    }
  }
}

async function hasRows (run: Run, { table }: Layout): Promise<boolean> {
  return (await run(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0
}

async function completeColumns (run: Run, { layout, columns: present, indexes }: PresentTable): Promise<string[]> {
  checkTypes(layout, present, ownTypes)
  const { family, table, columns } = layout
  const added = columns.filter(({ name }) => !present.has(name as string))
  if (added.length > 0 && await hasRows(run, layout)) {
    for (const column of added) refuseIncomplete(family, column.field, describeFilling(layout, column, dialect))
  }
  const whole = listWhole(layout, indexes)
  const statements = added.map(column => writeAddColumn(layout, column, dialect))
  for (const column of columns) {
    const there = present.get(column.name as string)
    if (there === undefined) continue
    const alter = `ALTER TABLE ${table} ALTER COLUMN ${quoteName(column.name as string)}`
    if (column.kind === 'number' && there.type === 'bigint') statements.push(`${alter} TYPE ${dialect.types.number}`)
    if (isAbsent(column.field.default)) continue
    // Before the rows are filled, so that none can come after them without it.
    if (!there.hasDefault) statements.push(`${alter} SET DEFAULT ${dialect.literal(column.field.default, column.kind)}`)
    const first = whole.map(({ terms }) => terms[0]).find(term => term?.column === column)
    // Where the column has the default itself, nothing was stored without it, and to look for it may take long.
    const isSearched = isFillable(column.field) && (!there.hasDefault || first !== undefined)
    const indexed = first?.isBeginning === true ? dialect.beginning?.(column.equated) : first && column.equated
    if (isSearched && await lacksValues(run, layout, column, indexed)) {
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

/** Those of a table of our own that are there and can be used, of the ones it is to have. */
function listWhole (layout: Layout, indexes: PresentTable['indexes']): TableIndex[] {
  return listIndexes(layout, dialect).wanted.flatMap(forms =>
    forms.find(({ name }) => indexes.get(name)?.isWhole === true) ?? [])
}

/** The statements that make the indexes that are missing, and drop those that they replace. */
function listMissingIndexes (
  layout: Layout,
  indexes: PresentTable['indexes'],
  { schema, concurrently: isConcurrent }: TablePlace
): string[] {
  const concurrently = isConcurrent ? 'CONCURRENTLY ' : ''
  const place = schema === undefined ? '' : `${quoteName(schema)}.`
  const drop = (name: string): string => `DROP INDEX ${concurrently}IF EXISTS ${place}${quoteName(name)}`
  // What is left of a build that was broken off has the name, and is of no use.
  const make = (name: string, create: string): string[] => indexes.has(name) ? [drop(name), create] : [create]
  const { wanted, replaced } = listIndexes(layout, dialect)
  const missing = wanted.filter(forms => !forms.some(({ name }) => indexes.get(name)?.isWhole === true))
  const made = missing.flatMap(([index]) => make(index.name, `CREATE INDEX ${concurrently}IF NOT EXISTS ` +
    `${quoteName(index.name)} ON ${layout.table} (${writeTerms(layout, index)})`))
  const unique = listMissingUnique(layout, indexes).flatMap(fields =>
    make(nameUnique(layout, fields), writeUnique(layout, fields, dialect, concurrently)))
  return [...made, ...unique, ...[...replaced].filter(name => indexes.has(name)).map(drop)]
}

/** The rows of fields that no index keeps unique yet. */
function listMissingUnique (layout: Layout, indexes: PresentTable['indexes']): (readonly string[])[] {
  return layout.unique.filter(fields => indexes.get(nameUnique(layout, fields))?.isWhole !== true)
}

// In the order of pages: absent first, ties by id.
function writeTerms ({ id }: Layout, { terms }: TableIndex): string {
  const others = terms.filter(({ column }) => column !== id).map(({ column: { equated }, isBeginning }) =>
    `${isBeginning ? dialect.beginning?.(equated) : equated} NULLS FIRST`)
  return [...others, id.equated].join(', ')
}

/** What the indexes of a table mean for its reads. */
export interface IndexedLayout {
  /** With the columns marked of which an index has the beginning only. */
  readonly layout: Layout
  /** Rows of fields that have an index. */
  readonly indexed: readonly (readonly string[])[]
}

export async function applyIndexes (run: Run, layout: Layout): Promise<IndexedLayout> {
  const indexes = await readIndexes(run, layout)
  const whole = layout.mapped ? [] : listWhole(layout, indexes)
  const cut = new Set(whole.flatMap(({ terms }) => terms.filter(({ isBeginning }) => isBeginning))
    .map(({ column }) => column))
  const columns = layout.columns.map(column => cut.has(column) ? { ...column, isCut: true } : column)
  const fields = new Map(layout.columns.map(({ name, field }) => [name ?? '', field.name]))
  const indexed = [...indexes.values()].filter(({ isWhole }) => isWhole).map(({ columns }) => {
    const names = columns.map(column => fields.get(column ?? ''))
    const end = names.indexOf(undefined)
    return (end === -1 ? names : names.slice(0, end)) as string[]
  })
  return {
    layout: cut.size === 0 ? layout : { ...layout, columns },
    indexed: [...whole.map(({ terms }) => terms.map(({ column }) => column.field.name)), ...indexed]
  }
}
