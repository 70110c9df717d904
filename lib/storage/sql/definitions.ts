import { errorCodes } from '../../core/errors.js'
import { isAbsent } from '../../core/storage/conditions.js'
import { listNewIds } from '../../core/storage/missing.js'
import { getValue, isFillable } from '../../core/storage/shapes.js'
import {
  type Change, ConstraintError, type ConstraintOptions, type ConstraintRule, type Id, type Stored
} from '../../core/storage/storage.js'
import { getPathField } from '../../core/values/paths.js'
import { refuseClash } from '../key-rules.js'
import { type Dialect, indexedLength, nameType, quoteName, shortenName } from './dialect.js'
import { type Column, getColumn, getColumns, isLongText, type Layout, mayLack } from './layout.js'

const required = ['revision', 'createdAt', 'updatedAt']

export function writeCreate ({ table, columns }: Layout, dialect: Dialect): string {
  const definitions = columns.map(column => {
    const { name } = column.field
    if (name === 'id') return `${defineColumn(column, dialect)} PRIMARY KEY NOT NULL`
    return defineColumn(column, dialect) + (required.includes(name) ? ' NOT NULL' : '')
  })
  return `CREATE TABLE IF NOT EXISTS ${table} (${definitions.join(', ')})`
}

// Without NOT NULL: a different version of the family may not have the field.
export function writeAddColumn ({ table }: Layout, column: Column, dialect: Dialect): string {
  return `ALTER TABLE ${table} ADD COLUMN ${defineColumn(column, dialect)}`
}

export function writeFill ({ table }: Layout, { name, kind, field }: Column, dialect: Dialect): string {
  const column = quoteName(name as string)
  return `UPDATE ${table} SET ${column} = ${dialect.literal(field.default, kind)} WHERE ${column} IS NULL`
}

/** How to fix rows that lack a required field. */
export function describeFilling ({ table }: Layout, { name, field }: Column, dialect: Dialect): string {
  const column = quoteName(name as string)
  return `, or run ALTER TABLE ${table} ADD COLUMN ${column} ${nameType(dialect, field)} and fill it`
}

function defineColumn ({ name, kind, field }: Column, dialect: Dialect): string {
  const definition = `${quoteName(name as string)} ${nameType(dialect, field)}`
  return isAbsent(field.default) ? definition : `${definition} DEFAULT ${dialect.literal(field.default, kind)}`
}

export function listIndexes (layout: Layout) {
  return layout.indexes.map(fields => {
    const columns = getColumns(layout, fields)
    const name = (columns: readonly Column[], isPrefix: (column: Column) => boolean): string =>
      shortenName(`${layout.tableName}_${columns.map(column =>
        isPrefix(column) ? `${column.name}_left_${indexedLength}` : column.name).join('_')}_idx`)
    return {
      name: name(columns, ({ isPrefixIndexed }) => isPrefixIndexed),
      columns,
      // Its name if it holds only the beginning of each text.
      nameIfPrefix: name(columns, ({ field }) => isLongText(field)),
      // Earlier indexes, over whole texts or over its first columns.
      replaces: columns.map((_, last) => name(columns.slice(0, last + 1), () => false))
    }
  })
}

/** Columns with a default of which no index finds the rows that lack it: they get one of such rows alone. */
export function listNulls (layout: Layout): Column[] {
  const rows = [...layout.indexes, ...layout.unique]
  return layout.columns.filter(column => mayLack(column) &&
    rows.some(row => row.includes(column.field.name)) && !rows.some(([first]) => first === column.field.name))
}

export function nameNulls ({ tableName }: Layout, { name }: Column): string {
  return shortenName(`${tableName}_${name}_nulls`)
}

/** `order` of NULLs, as far as the database lets an index have one. */
export function writeNulls (layout: Layout, column: Column, order = '', concurrently = ''): string {
  const term = column.equated
  return `CREATE INDEX ${concurrently}IF NOT EXISTS ${quoteName(nameNulls(layout, column))} ` +
    `ON ${layout.table} (${term}${order}) WHERE ${term} IS NULL`
}

export function nameUnique (layout: Layout, fields: readonly string[]): string {
  const names = fields.map(field => getColumn(layout, field).name as string)
  return shortenName(`${layout.tableName}_${names.join('_')}_key`)
}

export function writeUnique (layout: Layout, fields: readonly string[], dialect: Dialect, concurrently = ''): string {
  const terms = fields.map(field => {
    const { name, kind } = getColumn(layout, field)
    return dialect.uniqueTerm(quoteName(name as string), kind)
  })
  return `CREATE UNIQUE INDEX ${concurrently}IF NOT EXISTS ${quoteName(nameUnique(layout, fields))} ` +
    `ON ${layout.table} (${terms.join(', ')})`
}

/** Finds the ids of some rows that clash. A column that is not `present` has its default in every row. */
export function writeClashes (
  layout: Layout, fields: readonly string[], present: ReadonlyMap<string, unknown>, dialect: Dialect
): string {
  const keys = fields.map((_, index) => `k${index}`)
  const values = fields.map((field, index) => {
    const column = getColumn(layout, field)
    const { kind, field: { default: value } } = column
    const name = quoteName(column.name as string)
    const written = isAbsent(value) ? 'NULL' : dialect.literal(value, kind)
    if (!present.has(column.name as string)) return `${written} AS k${index}`
    const filled = isFillable(column.field) ? `COALESCE(${name}, ${written})` : name
    return `${dialect.uniqueTerm(filled, kind)} AS k${index}`
  })
  const rows = `(SELECT ${layout.id.equated} AS id, ${values.join(', ')} FROM ${layout.table})`
  const clashing = `SELECT ${keys.join(', ')} FROM ${rows} AS one ` +
    `WHERE ${keys.map(key => `${key} IS NOT NULL`).join(' AND ')} ` +
    `GROUP BY ${keys.join(', ')} HAVING count(*) > 1 ORDER BY min(id) LIMIT 1`
  return `SELECT id FROM ${rows} AS other WHERE (${keys.join(', ')}) = (${clashing}) ORDER BY id LIMIT 6`
}

export function refuseFound ({ family, id }: Layout, fields: readonly string[], rows: readonly unknown[][]): void {
  if (rows.length === 0) return
  throw refuseClash(family, fields, rows.map(([value]) => id.kind === 'integer' ? Number(value) : value as Id))
}

export interface Reference {
  readonly from: Layout
  /** Of a reference by a path, the column that has the ids in it. */
  readonly column: Column
  readonly path: string | undefined
  readonly to: Layout
}

export interface Relations {
  readonly references: readonly Reference[]
  readonly referrers: readonly Reference[]
}

/** By family; families without relations are left out. */
export function listRelations (layouts: readonly Layout[]): Map<string, Relations> {
  const relate = (from: Layout, family: string, field: string, path?: string): Reference => {
    const to = layouts.find(layout => layout.family === family)
    if (to === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return { from, column: getColumn(from, field), path, to }
  }
  const all = layouts.flatMap(from => [
    ...Object.entries(from.references).map(([field, family]) => relate(from, family, field)),
    ...Object.entries(from.pathReferences).map(([path, family]) => relate(from, family, getPathField(path), path))
  ])
  const related = new Set(all.flatMap(({ from, to }) => [from.family, to.family]))
  return new Map(Array.from(related, family => [family, {
    references: all.filter(({ from }) => from.family === family),
    referrers: all.filter(({ to }) => to.family === family)
  }]))
}

/** A reference that a change sets, and the ids to check. */
export interface SetReference {
  readonly reference: Reference
  /** One, except by a path. */
  readonly ids: readonly Id[]
}

export function listSetReferences (change: Change, { references }: Relations): SetReference[] {
  if (!('item' in change)) return []
  const current: Stored | undefined = change.type === 'replace' ? change.current : undefined
  return references.flatMap(reference => {
    const { path, column: { field } } = reference
    if (path !== undefined) {
      const ids = listNewIds(path, change.item, current)
      return ids.length === 0 ? [] : { reference, ids }
    }
    const id = getValue(change.item, field) as Id | null | undefined
    const isKept = current !== undefined && getValue(current, field) === id
    return id === undefined || id === null || isKept ? [] : { reference, ids: [id] }
  })
}

/** @param missing the ids that do not exist */
export function refuseDangling (
  { from, column, path, to }: Reference, id: Id, missing: readonly Id[]
): ConstraintError {
  const options = { fields: [path ?? column.field.name], other: to.family, declared: true }
  return new ConstraintError(from.family, id, 'reference', path === undefined ? options : { ...options, missing })
}

export function refuseInUse ({ from, to }: Pick<Reference, 'from' | 'to'>, id: Id): ConstraintError {
  return new ConstraintError(to.family, id, 'in-use', { other: from.family, declared: true })
}

/** Whether the family declares a rule of the database, and the family that it refers to. */
export function describeRule (
  { unique, references }: Layout,
  rule: ConstraintRule,
  fields: readonly string[]
): Pick<ConstraintOptions, 'declared' | 'other'> {
  if (rule === 'unique') return { declared: unique.some(row => haveSameFields(row, fields)) }
  const field = rule === 'reference' ? fields.find(field => Object.hasOwn(references, field)) : undefined
  return field === undefined ? {} : { declared: true, other: references[field] as string }
}

function haveSameFields (row: readonly string[], fields: readonly string[]): boolean {
  return row.length === fields.length && row.every(field => fields.includes(field))
}

export function checkMappedUnique (layout: Layout, present: readonly (readonly string[])[]): void {
  const { family, tableName } = layout
  for (const row of layout.unique) {
    const columns = getColumns(layout, row)
    const names = columns.map(({ name }) => name as string)
    const filled = columns.find(({ isFilled }) => isFilled)
    const flaw = filled !== undefined
      ? `its column "${filled.name}" may be NULL, which means the default and is not compared; make it NOT NULL`
      : present.some(each => haveSameFields(each, names))
        ? undefined
        : `add UNIQUE (${names.join(', ')})`
    if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_UNIQUE_MISSING(family, tableName, row.join(', '), flaw)
  }
}
