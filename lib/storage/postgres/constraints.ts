import type { ConstraintRule } from '../../core/storage/storage.js'
import { ConstraintError } from '../../core/storage/storage.js'
import type { Column } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import { describeRule } from '../sql/relations.js'
import { nameUnique } from '../sql/unique.js'
import { readConstraintColumns, readDomainColumns } from './catalog.js'
import { getCode, ignore, isAboutData } from './driver.js'
import type { Run } from './runner.js'
import type { Write } from './writer.js'

/** What the server says of what broke a rule. */
interface RefusedData {
  readonly schema?: string
  readonly table?: string
  readonly column?: string
  readonly constraint?: string
  /** The name of a domain. */
  readonly dataType?: string
}

const rules = new Map<string, ConstraintRule>([
  ['23502', 'required'],
  ['23505', 'unique'],
  // Exclusion constraints: what is there already is in the way.
  ['23P01', 'unique'],
  ['23514', 'value'],
  // An entry is too long for an index.
  ['54000', 'value']
])

/**
 * The error of a commit whose data a rule of the database refuses; any other as it is.
 *
 * @param run reads from the catalog which columns the rule is about
 */
export async function explainRefusal (error: unknown, writes: readonly Write[], run: Run): Promise<unknown> {
  if (!isAboutData(error)) return error
  const { table } = error as RefusedData
  const changes = writes.filter(({ type }) => type !== 'require')
  const write = changes.find(({ layout }) => layout.tableName === table) ?? changes[0] as Write
  const { layout, id, type } = write
  const { family, tableName, columns } = layout
  // A rule of another table, which a trigger or a foreign key brings in, is about no field of ours.
  const isForeign = table !== undefined && table !== tableName
  const rule = isReference(error) ? judgeReference(type, isForeign) : isForeign ? 'other' : judge(error)
  const named = isForeign || rule === 'in-use' ? [] : await listColumns(error as RefusedData, write, run).catch(ignore)
  const isNamed = ({ name }: Column): boolean => name !== undefined && named?.includes(name) === true
  const fields = columns.filter(isNamed).map(({ field }) => field.name)
  return new ConstraintError(family, id, rule, { fields, cause: error, ...describeRule(layout, rule, fields) })
}

// foreign_key_violation, restrict_violation
function isReference (error: unknown): boolean {
  return ['23503', '23001'].includes(getCode(error))
}

function judgeReference (type: Write['type'], isForeign: boolean): ConstraintRule {
  if (type === 'delete') return 'in-use'
  if (!isForeign) return 'reference'
  return type === 'replace' ? 'in-use' : 'other'
}

function judge (error: unknown): ConstraintRule {
  const code = getCode(error)
  return rules.get(code) ?? (code.startsWith('22') ? 'value' : 'other')
}

/** The columns that a rule is about, as far as they can be known. */
async function listColumns (refused: RefusedData, { layout }: Write, run: Run): Promise<readonly unknown[]> {
  const { schema, table, column, constraint, dataType } = refused
  if (column !== undefined) return [column]
  const own = layout.unique.find(fields => nameUnique(layout, fields) === constraint)
  if (own !== undefined && !layout.mapped) return own.map(field => getColumn(layout, field).name)
  if (table !== undefined && constraint !== undefined) {
    return await readConstraintColumns(run, schema, table, constraint)
  }
  if (dataType === undefined) return []
  const columns = await readDomainColumns(run, layout.table, schema, dataType)
  // Of several with one domain, nobody knows which it was.
  return columns.length === 1 ? columns : []
}
