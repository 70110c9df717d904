import { ConstraintError, type ConstraintRule } from '../../core/storage/storage.js'
import { describeRule, nameUnique } from '../sql/definitions.js'
import { qualifyName } from '../sql/dialect.js'
import { type Column, getColumn } from '../sql/layout.js'
import type { Run } from './connections.js'
import { getCode, ignore, isAboutData } from './driver.js'
import type { EncodedWrite } from './writer.js'

interface RefusedData {
  readonly schema?: string
  readonly table?: string
  readonly column?: string
  readonly constraint?: string
  /** Name of a domain. */
  readonly dataType?: string
}

const rulesByState = new Map<string, ConstraintRule>([
  ['23502', 'required'],
  ['23505', 'unique'],
  // Exclusion constraints: an existing row is in conflict.
  ['23P01', 'unique'],
  ['23514', 'value'],
  // Too long for an index entry.
  ['54000', 'value']
])

/** Returns other errors unchanged. */
export async function explainConstraintError (
  error: unknown, writes: readonly EncodedWrite[], run: Run
): Promise<unknown> {
  if (!isAboutData(error)) return error
  const { table, constraint } = error as RefusedData
  const changes = writes.filter(({ type }) => type !== 'require')
  const write = changes.find(({ layout }) => layout.tableName === table) ?? changes[0] as EncodedWrite
  const { layout, id, type } = write
  const { family, tableName, columns } = layout
  // A trigger or foreign key may break a rule of a different table, which has none of our fields.
  const isForeign = table !== undefined && table !== tableName
  const rule = classify(getCode(error), type, isForeign)
  const named = isForeign || rule === 'in-use' ? [] : await listColumns(error as RefusedData, write, run).catch(ignore)
  const isNamed = ({ name }: Column): boolean => name !== undefined && named?.includes(name) === true
  const fields = columns.filter(isNamed).map(({ field }) => field.name)
  const described = describeRule(layout, rule, fields)
  return new ConstraintError(family, id, rule, { fields, constraint, cause: error, ...described })
}

function classify (code: string, type: EncodedWrite['type'], isForeign: boolean): ConstraintRule {
  // foreign_key_violation, restrict_violation
  if (code === '23503' || code === '23001') {
    if (type === 'delete') return 'in-use'
    if (!isForeign) return 'reference'
    return type === 'replace' ? 'in-use' : 'other'
  }
  return isForeign ? 'other' : rulesByState.get(code) ?? (code.startsWith('22') ? 'value' : 'other')
}

/** Includes the columns in expressions of an index. */
async function listColumns (refused: RefusedData, { layout }: EncodedWrite, run: Run): Promise<readonly unknown[]> {
  const { schema, table, column, constraint, dataType } = refused
  if (column !== undefined) return [column]
  const own = layout.unique.find(fields => nameUnique(layout, fields) === constraint)
  if (own !== undefined && !layout.mapped) return own.map(field => getColumn(layout, field).name)
  if (table === undefined && dataType === undefined) return []
  const qualify = (name: string | undefined): string | null => name === undefined ? null : qualifyName(schema, name)
  const rows = await run(`SELECT attname FROM pg_attribute a
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND (atttypid = to_regtype($4) OR attnum IN (
      SELECT unnest(conkey) FROM pg_constraint WHERE conrelid = attrelid AND conname = $2
      UNION ALL SELECT unnest(indkey::int2[]) FROM pg_index
        WHERE indrelid = attrelid AND indexrelid = to_regclass($3)
      UNION ALL SELECT refobjsubid FROM pg_depend JOIN pg_index ON indexrelid = objid
        WHERE classid = 'pg_class'::regclass AND objid = to_regclass($3) AND refobjid = attrelid
        AND 0 = ANY (indkey::int2[])
    )) ORDER BY attnum`, [qualify(table) ?? layout.table, constraint, qualify(constraint), qualify(dataType)])
  // If several columns have the domain, it is not known which one it was.
  return dataType !== undefined && rows.length > 1 ? [] : rows.flat()
}
