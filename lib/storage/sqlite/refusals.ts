import { getValue } from '../../core/storage/shapes.js'
import type { ConstraintRule, Stored } from '../../core/storage/storage.js'
import { ConstraintError } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import { describeRule } from '../sql/relations.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'
import type { Write } from './writer.js'

type Constraint = keyof typeof rules

// As better-sqlite3 names them, after SQLITE_CONSTRAINT_. Whatever else there is, as a trigger, is another rule.
const rules = {
  CHECK: 'value',
  DATATYPE: 'value',
  FOREIGNKEY: 'reference',
  NOTNULL: 'required',
  PRIMARYKEY: 'unique',
  ROWID: 'unique',
  UNIQUE: 'unique'
} as const satisfies Record<string, ConstraintRule>

// As node:sqlite has them in `errcode`.
const codes = new Map<number, Constraint>([
  [275, 'CHECK'], [787, 'FOREIGNKEY'], [1299, 'NOTNULL'], [1555, 'PRIMARYKEY'], [2067, 'UNIQUE'], [2579, 'ROWID'],
  [3091, 'DATATYPE']
])

/** Whether a rule of the database refused a statement, or the end of a transaction. */
export function isConstraint (error: unknown): boolean {
  const { errcode, code } = error as { errcode?: number, code?: string }
  return typeof errcode === 'number' ? (errcode & 0xff) === 19 : code?.startsWith('SQLITE_CONSTRAINT') === true
}

/** The error of a change that a rule of the database refuses; any other as it is. */
export function explainRefusal (database: SqliteDatabase, error: unknown, write: Write): unknown {
  if (!isConstraint(error)) return error
  const { errcode, code = '' } = error as { errcode?: number, code?: string }
  const constraint = (errcode === undefined ? code.replace('SQLITE_CONSTRAINT_', '') : codes.get(errcode)) as Constraint
  const { layout: { family }, id, type } = write
  const fields = listFields(database, constraint, (error as Error).message, write)
  const isReferredTo = constraint === 'FOREIGNKEY' && (type === 'delete' || (type === 'replace' && fields.length === 0))
  const declared = isReferredTo ? findBroken(write) : undefined
  if (declared !== undefined) return declared
  const rule = isReferredTo ? 'in-use' : rules[constraint] ?? 'other'
  return new ConstraintError(family, id, rule, { fields, cause: error, ...describeRule(write.layout, rule, fields) })
}

/** The refusal by a rule of the family itself, where it has one for the same. */
function findBroken ({ checks }: Write): unknown {
  try {
    for (const check of checks) check()
    return undefined
  } catch (error) {
    return error
  }
}

/** The fields that a rule is about, as far as they can be known. */
function listFields (
  database: SqliteDatabase,
  constraint: Constraint,
  message: string,
  { layout, item }: Write
): readonly string[] {
  const { tableName, columns } = layout
  if (constraint === 'FOREIGNKEY') return item === undefined ? [] : listDangling(database, layout, item)
  // table.column, table.column; or the text of a check, where it has no name.
  const said = message.slice(constraint === 'DATATYPE' ? message.lastIndexOf(' ') + 1 : message.indexOf(': ') + 2)
  const words = constraint === 'CHECK' ? said.match(/[\p{L}_][\p{L}\p{N}_]*/gu) ?? [] : said.split(', ')
  const isNamed = ({ name }: Column): boolean => name !== undefined &&
    words.includes(constraint === 'CHECK' ? name : `${tableName}.${name}`)
  return rules[constraint] === undefined ? [] : columns.filter(isNamed).map(({ field }) => field.name)
}

/** The fields of an item that refer to something that is not there: SQLite does not say which. */
function listDangling (database: SqliteDatabase, { tableName, columns }: Layout, item: Stored): string[] {
  const rows = prepareRead(database, `SELECT id, "table", "from",
    coalesce("to", (SELECT name FROM pragma_table_info("table") WHERE pk = seq + 1))
    FROM pragma_foreign_key_list(?) ORDER BY id, seq`).all([tableName]) as [number, string, string, string][]
  return [...new Set(rows.map(([id]) => id))].flatMap(key => {
    const parts = rows.filter(([id]) => id === key).map(([, parent, from, to]) =>
      ({ parent, to, column: columns.find(({ name }) => name === from) }))
    const values = parts.map(({ column }) => column && dialect.encode(getValue(item, column.field), column.kind))
    // What has no value, or is no field of ours, refers to nothing that could be looked for.
    if (values.some(value => value === null || value === undefined)) return []
    const where = parts.map(({ to }) => `${quoteName(to)} = ?`).join(' AND ')
    const statement = prepareRead(database, `SELECT 1 FROM ${quoteName(parts[0]?.parent ?? '')} WHERE ${where}`)
    return statement.get(values) === undefined ? parts.map(({ column }) => (column as Column).field.name) : []
  })
}
