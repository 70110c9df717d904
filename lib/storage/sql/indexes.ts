import type { Field } from '../../core/storage/storage.js'
import type { Dialect } from './dialect.js'
import { indexedLength } from './dialect.js'
import type { Column, Layout } from './layout.js'
import { getColumn } from './layout.js'
import { nameIndex } from './names.js'

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
