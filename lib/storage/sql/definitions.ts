import { isAbsent } from '../../core/storage/conditions.js'
import type { Dialect } from './dialect.js'
import type { Column, Layout } from './layout.js'
import { quoteName } from './names.js'

const required = ['revision', 'createdAt', 'updatedAt']

/** What is needed to define columns. */
type Definer = Pick<Dialect, 'types' | 'literal'>

export function writeCreate ({ table, columns }: Layout, dialect: Definer): string {
  const definitions = columns.map(column => {
    const { name } = column.field
    if (name === 'id') return `${defineColumn(column, dialect)} PRIMARY KEY NOT NULL`
    return defineColumn(column, dialect) + (required.includes(name) ? ' NOT NULL' : '')
  })
  return `CREATE TABLE IF NOT EXISTS ${table} (${definitions.join(', ')})`
}

// Without NOT NULL: another version of the family may know nothing of the field.
export function writeAddColumn ({ table }: Layout, column: Column, dialect: Definer): string {
  return `ALTER TABLE ${table} ADD COLUMN ${defineColumn(column, dialect)}`
}

/** Gives the rows from before the default that the field has now. */
export function writeFill ({ table }: Layout, { name, kind, field }: Column, dialect: Definer): string {
  const column = quoteName(name as string)
  return `UPDATE ${table} SET ${column} = ${dialect.literal(field.default, kind)} WHERE ${column} IS NULL`
}

/** What a host can do by hand about rows from before a field that is required. */
export function describeFilling ({ table }: Layout, { name, kind }: Column, dialect: Definer): string {
  const column = quoteName(name as string)
  return `, or run ALTER TABLE ${table} ADD COLUMN ${column} ${dialect.types[kind]} and fill it`
}

function defineColumn ({ name, kind, field }: Column, dialect: Definer): string {
  const definition = `${quoteName(name as string)} ${dialect.types[kind]}`
  return isAbsent(field.default) ? definition : `${definition} DEFAULT ${dialect.literal(field.default, kind)}`
}
