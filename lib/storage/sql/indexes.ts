import { isFillable } from '../../core/storage/shapes.js'
import type { Field, Id } from '../../core/storage/storage.js'
import { refuseClash } from '../key-rules.js'
import type { Dialect } from './dialect.js'
import { indexedLength, nameIndex, quoteName, shortenName } from './dialect.js'
import type { Column, Layout } from './layout.js'
import { getColumn } from './layout.js'

/** A column in an index, or its beginning. */
interface IndexTerm {
  readonly column: Column
  readonly isBeginning: boolean
}

/** An index of a table of our own. */
export interface TableIndex {
  readonly name: string
  readonly terms: readonly IndexTerm[]
}

/** The indexes of a table. */
interface TableIndexes {
  /** For each that there is to be: how it is made, and how else it may be there already. */
  readonly wanted: readonly (readonly [made: TableIndex, other: TableIndex])[]
  /** The names of those made earlier that another stands for now. */
  readonly replaced: ReadonlySet<string>
}

export function listIndexes (layout: Layout, dialect: Pick<Dialect, 'beginning' | 'uniqueTerm'>): TableIndexes {
  const { beginning } = dialect
  // What keeps values unique finds them too, unless it has something else in their place.
  const isFound = (fields: readonly string[]): boolean => fields.every(field => {
    const { equated, kind } = getColumn(layout, field)
    return dialect.uniqueTerm(equated, kind).startsWith(equated)
  })
  const found = layout.unique.filter(isFound).map(fields => fields.join())
  const rows = layout.indexes.filter(fields => !found.includes(fields.join()))
  for (const fields of layout.unique) {
    if (!isFound(fields) && !rows.some(([first]) => first === fields[0])) rows.push(fields)
  }
  const wanted = rows.map(fields => {
    const columns = fields.map(field => getColumn(layout, field))
    const cutTexts = ({ field }: Column): boolean => beginning !== undefined && isText(field)
    return [
      makeIndex(layout, columns, column => cutTexts(column) && !isShort(column.field)),
      // A text that is short now may be long in rows from before.
      makeIndex(layout, columns, cutTexts)
    ] as const
  })
  const names = new Set(wanted.map(([{ name }]) => name))
  const uncut = rows.flatMap(fields => fields.map((_, last) =>
    makeIndex(layout, fields.slice(0, last + 1).map(field => getColumn(layout, field)), () => false).name))
  return { wanted, replaced: new Set(uncut.filter(name => !names.has(name))) }
}

function makeIndex (
  { tableName }: Layout,
  columns: readonly Column[],
  isBeginning: (column: Column) => boolean
): TableIndex {
  const terms = columns.map(column => ({ column, isBeginning: isBeginning(column) }))
  const names = terms.map(({ column: { name }, isBeginning }) =>
    isBeginning ? `${name as string}_left_${indexedLength}` : name as string)
  return { name: nameIndex(tableName, names), terms }
}

/** Whether it may be any text. Ids are short, and of an enumeration nobody makes long ones. */
function isText ({ name, kind, values }: Field): boolean {
  return kind === 'string' && values === undefined && name !== 'id'
}

function isShort ({ maxLength }: Field): boolean {
  return maxLength !== undefined && maxLength <= indexedLength
}

/** The name of the index that keeps a row of fields unique. */
export function nameUnique (layout: Layout, fields: readonly string[]): string {
  const names = fields.map(field => getColumn(layout, field).name as string)
  return shortenName(`${layout.tableName}_${names.join('_')}_key`)
}

/** The definition of that index. @param concurrently whether others may write meanwhile */
export function writeUnique (
  layout: Layout,
  fields: readonly string[],
  dialect: Pick<Dialect, 'uniqueTerm'>,
  concurrently = ''
): string {
  const terms = fields.map(field => {
    const { name, kind } = getColumn(layout, field)
    return dialect.uniqueTerm(quoteName(name as string), kind)
  })
  return `CREATE UNIQUE INDEX ${concurrently}IF NOT EXISTS ${quoteName(nameUnique(layout, fields))} ` +
    `ON ${layout.table} (${terms.join(', ')})`
}

/**
 * Finds the ids of some rows that have the same where no two may.
 *
 * @param present whether a column is there already; what is not has its default in every row
 */
export function writeClashes (
  layout: Layout,
  fields: readonly string[],
  present: (column: Column) => boolean,
  dialect: Pick<Dialect, 'uniqueTerm' | 'literal'>
): string {
  const keys = fields.map((_, index) => `k${index}`)
  const values = fields.map((field, index) => {
    const column = getColumn(layout, field)
    const { kind, field: { default: value } } = column
    const name = quoteName(column.name as string)
    const written = value === undefined || value === null ? 'NULL' : dialect.literal(value, kind)
    if (!present(column)) return `${written} AS k${index}`
    const filled = isFillable(column.field) ? `COALESCE(${name}, ${written})` : name
    return `${dialect.uniqueTerm(filled, kind)} AS k${index}`
  })
  const rows = `(SELECT ${layout.id.equated} AS id, ${values.join(', ')} FROM ${layout.table})`
  const clashing = `SELECT ${keys.join(', ')} FROM ${rows} AS one ` +
    `WHERE ${keys.map(key => `${key} IS NOT NULL`).join(' AND ')} ` +
    `GROUP BY ${keys.join(', ')} HAVING count(*) > 1 ORDER BY min(id) LIMIT 1`
  return `SELECT id FROM ${rows} AS other WHERE (${keys.join(', ')}) = (${clashing}) ORDER BY id LIMIT 6`
}

/** Throws where rows were found that clash. @param rows each with the id */
export function refuseFound ({ family, id }: Layout, fields: readonly string[], rows: readonly unknown[][]): void {
  if (rows.length === 0) return
  throw refuseClash(family, fields, rows.map(([value]) => id.kind === 'integer' ? Number(value) : value as Id))
}
