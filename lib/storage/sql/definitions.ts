import { errorCodes } from '../../core/errors.js'
import { isAbsent } from '../../core/storage/conditions.js'
import { getValue } from '../../core/storage/shapes.js'
import {
  type Change, ConstraintError, type ConstraintOptions, type ConstraintRule, type Id, type Stored
} from '../../core/storage/storage.js'
import { type Dialect, nameType, quoteName } from './dialect.js'
import { type Column, getColumn, getColumns, type Layout } from './layout.js'

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

export interface Reference {
  readonly from: Layout
  readonly column: Column
  readonly to: Layout
}

export interface Relations {
  readonly references: readonly Reference[]
  readonly referrers: readonly Reference[]
}

/** By family; families without relations are left out. */
export function listRelations (layouts: readonly Layout[]): Map<string, Relations> {
  const all = layouts.flatMap(from => Object.entries(from.references).map(([field, family]): Reference => {
    const to = layouts.find(layout => layout.family === family)
    if (to === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return { from, column: getColumn(from, field), to }
  }))
  const related = new Set(all.flatMap(({ from, to }) => [from.family, to.family]))
  return new Map(Array.from(related, family => [family, {
    references: all.filter(({ from }) => from.family === family),
    referrers: all.filter(({ to }) => to.family === family)
  }]))
}

/** The references that the change sets, with the ids they refer to: these must be checked. */
export function listSetReferences (change: Change, { references }: Relations): { reference: Reference, id: Id }[] {
  if (!('item' in change)) return []
  const current: Stored | undefined = change.type === 'replace' ? change.current : undefined
  return references.flatMap(reference => {
    const { field } = reference.column
    const id = getValue(change.item, field) as Id | null | undefined
    const isKept = current !== undefined && getValue(current, field) === id
    return id === undefined || id === null || isKept ? [] : [{ reference, id }]
  })
}

export function refuseDangling ({ from, column, to }: Reference, id: Id): ConstraintError {
  const fields = [column.field.name]
  return new ConstraintError(from.family, id, 'reference', { fields, other: to.family, declared: true })
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
