import type { Layout } from './layout.js'
import { getColumn } from './layout.js'
import { nameIndex } from './names.js'

/** The columns of each index, and the names of those made earlier that are the beginning of one of them. */
export function nameIndexes (layout: Layout): { made: ReadonlyMap<string, readonly string[]>, replaced: Set<string> } {
  const made = new Map<string, readonly string[]>()
  for (const fields of layout.indexes) {
    const columns = fields.map(field => getColumn(layout, field).name as string)
    made.set(nameIndex(layout.tableName, columns), columns)
  }
  const beginnings = [...made.values()].flatMap(columns => columns.slice(0, -1).map((_, end) =>
    nameIndex(layout.tableName, columns.slice(0, end + 1))))
  return { made, replaced: new Set(beginnings.filter(name => !made.has(name))) }
}
