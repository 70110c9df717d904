import type { Condition, Query } from '../../core/storage/storage.js'
import { indexedLength } from '../sql/dialect.js'
import type { TableIndex } from '../sql/indexes.js'
import { listIndexes } from '../sql/indexes.js'
import type { Layout } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { Index } from '../sql/steps.js'
import { makeIndex } from '../sql/steps.js'
import { nameUnique, writeUnique } from '../sql/unique.js'
import { readIndexNames } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import type { Run } from './runner.js'

/** Where tables are made, and how. */
export interface TablePlace {
  readonly schema: string | undefined
  /** Whether indexes of a table with rows are built while others write to it. */
  readonly concurrently: boolean
}

/** The indexes of a table of our own, as they are in the database. */
export interface PresentIndexes {
  /** Those of ours that can be used. */
  readonly whole: readonly TableIndex[]
  /** All that there are by their names, and whether each is whole. */
  readonly names: ReadonlyMap<unknown, boolean>
}

export async function readIndexes (run: Run, layout: Layout): Promise<PresentIndexes> {
  const names = await readIndexNames(run, layout)
  const { wanted } = listIndexes(layout, dialect)
  return { names, whole: wanted.flatMap(forms => forms.find(({ name }) => names.get(name) === true) ?? []) }
}

/** The statements that make the indexes that are missing, and drop those that they stand for. */
export function listMissingIndexes (
  layout: Layout,
  { names }: PresentIndexes,
  { schema, concurrently: isConcurrent }: TablePlace
): string[] {
  const concurrently = isConcurrent ? 'CONCURRENTLY ' : ''
  const place = schema === undefined ? '' : `${quoteName(schema)}.`
  const drop = (name: string): string => `DROP INDEX ${concurrently}IF EXISTS ${place}${quoteName(name)}`
  const { wanted, replaced } = listIndexes(layout, dialect)
  const made = wanted.filter(forms => !forms.some(({ name }) => names.get(name) === true)).flatMap(([index]) => {
    const create = `CREATE INDEX ${concurrently}IF NOT EXISTS ${quoteName(index.name)} ` +
      `ON ${layout.table} (${writeTerms(layout, index)})`
    // What is left of a build that was broken off has the name, and is of no use.
    return names.has(index.name) ? [drop(index.name), create] : [create]
  })
  const unique = listMissingUnique(layout, names).flatMap(fields => {
    const [name, create] = [nameUnique(layout, fields), writeUnique(layout, fields, dialect, concurrently)]
    return names.has(name) ? [drop(name), create] : [create]
  })
  return [...made, ...unique, ...[...replaced].filter(name => names.has(name)).map(drop)]
}

/** The rows of fields that no index keeps unique yet. */
export function listMissingUnique (layout: Layout, names: PresentIndexes['names']): (readonly string[])[] {
  return layout.unique.filter(fields => names.get(nameUnique(layout, fields)) !== true)
}

// In the order of pages: absent first, ties by id.
function writeTerms ({ id }: Layout, { terms }: TableIndex): string {
  const others = terms.filter(({ column }) => column !== id).map(({ column: { equated }, isBeginning }) =>
    `${isBeginning ? dialect.beginning?.(equated) : equated} NULLS FIRST`)
  return [...others, id.equated].join(', ')
}

/** What the planner has to know of them. PostgreSQL takes no names of indexes: they are suggested by the order. */
export function toIndex ({ name, terms }: TableIndex): Index {
  const cut = terms.flatMap(({ column, isBeginning }) => isBeginning ? [column.field.name] : [])
  const index = makeIndex(name, terms.map(({ column }) => column.field.name), true)
  return cut.length === 0 ? index : { ...index, cut }
}

/** The layout, with the columns marked of which an index has the beginning only. */
export function markCut (layout: Layout, indexes: readonly Index[]): Layout {
  const cut = new Set(indexes.flatMap(index => index.cut ?? []))
  if (cut.size === 0) return layout
  return { ...layout, columns: layout.columns.map(column => ({ ...column, isCut: cut.has(column.field.name) })) }
}

/** Without the indexes that tell too little of a value: what begins with so many equal characters may be much. */
export function listFitting (indexes: readonly Index[], { where }: Pick<Query, 'where'>): readonly Index[] {
  const long = where.filter(hasLongValue).map(({ field }) => field)
  return long.length === 0 ? indexes : indexes.filter(({ cut }) => cut?.some(field => long.includes(field)) !== true)
}

function hasLongValue (condition: Condition): boolean {
  const values = 'values' in condition ? condition.values : 'value' in condition ? [condition.value] : []
  return values.some(value => typeof value === 'string' && value.length >= indexedLength)
}
