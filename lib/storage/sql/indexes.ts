import { isAbsent } from '../../core/storage/conditions.js'
import { isFillable } from '../../core/storage/shapes.js'
import type { Id } from '../../core/storage/storage.js'
import { refuseClash } from '../key-rules.js'
import { type Dialect, indexedLength, quoteName, shortenName } from './dialect.js'
import { type Column, getColumn, getColumns, isText, type Layout } from './layout.js'

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
      nameIfPrefix: name(columns, ({ field }) => isText(field)),
      // Earlier indexes, over whole texts or over its first columns.
      replaces: columns.map((_, last) => name(columns.slice(0, last + 1), () => false))
    }
  })
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
