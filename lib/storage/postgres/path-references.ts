import { getPathField } from '../../core/values/paths.js'
import { quoteName, shortenName, toSnakeCase } from '../sql/dialect.js'
import { type Column, getColumn, type Layout } from '../sql/layout.js'
import { writeLiteral } from './dialect.js'

/** The values at the path in a column, as a list. In its lax mode, a path leads through lists. */
export function writeIdsAt ({ present }: Column, value: string, path: string): string {
  const [, ...names] = path.split('.')
  const inside = ['$[*]', ...names.map(name => `${JSON.stringify(name)}[*]`)].join('.')
  const json = present?.type.endsWith('[]') === true ? `to_jsonb(${value})` : `${value}::jsonb`
  return `jsonb_path_query_array(${json}, ${writeLiteral(inside)})`
}

/** An index for each path, which finds the items that refer to one. Their names stay if an index is built again. */
export function listPathIndexes (layout: Layout): { readonly name: string, readonly term: string }[] {
  return Object.keys(layout.pathReferences).map(path => {
    const column = getColumn(layout, getPathField(path))
    const names = path.split('.').map(toSnakeCase).join('_')
    return {
      name: shortenName(`${layout.tableName}_${names}_links`),
      term: `USING gin ((${writeIdsAt(column, quoteName(column.name as string), path)}) jsonb_path_ops)`
    }
  })
}
