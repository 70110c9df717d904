import { getValue } from '../../core/storage/shapes.js'
import type { Change, ConstraintRule, Id, Stored } from '../../core/storage/storage.js'
import { ConflictError, ConstraintError, DuplicateError, getId } from '../../core/storage/storage.js'
import type { Relations } from '../sql/definitions.js'
import { describeRule, listLooked, refuseDangling, refuseInUse } from '../sql/definitions.js'
import { quoteName } from '../sql/dialect.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, listWritten } from '../sql/layout.js'
import type { ReadStatement, SqliteDatabase, WriteStatement } from './driver.js'
import { prepareRead, prepareWrite } from './driver.js'
import type { Anchors } from './paths.js'
import { isSpaced, sqliteDialect as dialect } from './tables.js'

/** One change as a statement that must touch, or find, exactly one row. */
export interface Write {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  /** As it shall be; undefined where it is deleted, or only required. */
  readonly item: Stored | undefined
  readonly statement: WriteStatement
  readonly parameters: readonly unknown[]
  /** Run when all changes of the commit are made; each throws where a reference does not hold. */
  readonly checks: readonly (() => void)[]
}

function runWrite ({ type, layout, id, statement, parameters }: Write, anchors: Anchors): void {
  if (statement(parameters) === 1) {
    if (type !== 'require') anchors.noteWrite(layout, type, id)
    return
  }
  const { family } = layout
  throw type === 'insert' ? new DuplicateError(family, id) : new ConflictError(family, id)
}

/** Runs the changes of one commit, or throws why one is refused. @param begin called with each before it is run */
export function runWrites (writes: readonly Write[], anchors: Anchors, begin?: (write: Write) => void): void {
  for (const write of writes) {
    begin?.(write)
    runWrite(write, anchors)
  }
  for (const { checks } of writes) for (const check of checks) check()
}

type Check = Write['checks'][number]

const none: readonly Check[] = []

/** The statements that write a family's table. */
export class TableWriter {
  readonly #database: SqliteDatabase
  readonly #table: string
  readonly #columns: readonly Column[]
  readonly #asExpected: string
  readonly #insert: WriteStatement
  readonly #delete: WriteStatement
  readonly #require: WriteStatement
  /** By the columns that they write. */
  readonly #updates = new Map<string, WriteStatement>()
  /** By the rows among which they look for one. */
  readonly #checks = new Map<string, ReadStatement>()

  constructor (database: SqliteDatabase, readonly layout: Layout) {
    const { table, id } = layout
    this.#database = database
    this.#table = table
    this.#columns = listWritten(layout)
    const revision = quoteName(getColumn(layout, 'revision').name as string)
    this.#asExpected = `WHERE ${id.equated} = ? AND ${revision} = ?`
    const names = this.#columns.map(({ name }) => quoteName(name as string))
    const values = names.map(() => '?').join(', ')
    // A taken id is no error of SQL but a row that was not inserted, which reads alike with every driver.
    this.#insert = prepareWrite(database, `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values}) ` +
      `ON CONFLICT (${quoteName(id.name as string)}) DO NOTHING`)
    this.#delete = prepareWrite(database, `DELETE FROM ${table} ${this.#asExpected}`)
    const required = prepareRead(database, `SELECT 1 FROM ${table} ${this.#asExpected}`)
    this.#require = parameters => required.all(parameters).length
  }

  encodeChange (change: Change, relations: Relations | undefined): Write {
    const { type } = change
    const { layout } = this
    const id = getId(change)
    const checks = this.#listChecks(change, relations)
    if (type === 'delete' || type === 'require') {
      const statement = type === 'delete' ? this.#delete : this.#require
      return { type, layout, id, checks, item: undefined, statement, parameters: [id, change.expected] }
    }
    const { item } = change
    if (type === 'insert') {
      return { type, layout, id, checks, item, statement: this.#insert, parameters: encode(this.#columns, item) }
    }
    const { current, expected } = change
    // To write a column is to write its index as well, though it stays as it is.
    const changed = current === undefined
      ? this.#columns
      : this.#columns.filter(({ field: { name } }) => item[name] !== current[name])
    const { statement, columns } = this.#prepareUpdate(changed)
    return { type, layout, id, checks, item, statement, parameters: [...encode(columns, item), id, expected] }
  }

  /** The checks that a change needs. Commits are made one after the other, so that nothing can come between. */
  #listChecks (change: Change, relations: Relations | undefined): readonly Check[] {
    if (relations === undefined || change.type === 'require') return none
    const id = getId(change)
    if (change.type === 'delete') {
      return relations.referrers.map(reference => () => {
        const { from, column } = reference
        if (this.#hasRow(from.table, column, id)) throw refuseInUse(reference, id)
      })
    }
    return listLooked(change, relations).map(({ reference, id: referred }) => () => {
      const { to } = reference
      if (!this.#hasRow(to.table, to.id, referred)) throw refuseDangling(reference, id)
    })
  }

  #hasRow (table: string, { equated, kind }: Column, id: Id): boolean {
    const rows = `${table} WHERE ${equated} = ?`
    let statement = this.#checks.get(rows)
    if (statement === undefined) {
      this.#checks.set(rows, statement = prepareRead(this.#database, `SELECT 1 FROM ${rows} LIMIT 1`))
    }
    return statement.get([dialect.encode(id, kind)]) !== undefined
  }

  #prepareUpdate (changed: readonly Column[]): { statement: WriteStatement, columns: readonly Column[] } {
    // A family has few operations, but a client may change any of its attributes together.
    const columns = changed.length > 0 && this.#updates.size < maxUpdates ? changed : this.#columns
    const key = columns.map(({ name }) => name).join()
    let statement = this.#updates.get(key)
    if (statement === undefined) {
      const assignments = columns.map(({ name }) => `${quoteName(name as string)} = ?`).join(', ')
      statement = prepareWrite(this.#database, `UPDATE ${this.#table} SET ${assignments} ${this.#asExpected}`)
      this.#updates.set(key, statement)
    }
    return { statement, columns }
  }
}

const maxUpdates = 50

function encode (columns: readonly Column[], item: Stored): unknown[] {
  return columns.map(({ field, kind, present }) => {
    const value = dialect.encode(getValue(item, field), kind)
    return isSpaced(kind, present) && value !== null ? (value as string).replace('T', ' ').replace('Z', '') : value
  })
}

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
