import { BoundedCache } from '../../core/cache.js'
import { getValue } from '../../core/storage/shapes.js'
import {
  type Change, ConflictError, ConstraintError, type ConstraintRule, DuplicateError, getId, type Id, type Stored
} from '../../core/storage/storage.js'
import { describeRule, listSetReferences, refuseDangling, refuseInUse, type Relations } from '../sql/definitions.js'
import { quoteName } from '../sql/dialect.js'
import { type Column, getColumn, getColumns, type Layout, listWritten } from '../sql/layout.js'
import {
  hasCode, prepareRead, prepareWrite, type ReadStatement, type SqliteDatabase, type WriteStatement
} from './driver.js'
import type { Anchors } from './paths.js'
import { encode as encodeValue, isSpaced } from './tables.js'

/** A statement that must change, or find, exactly one row. */
export interface Write {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  /** Undefined for `delete` and `require`. */
  readonly item: Stored | undefined
  readonly statement: WriteStatement
  readonly parameters: readonly unknown[]
  /** Run after all changes of the commit; each throws if a reference is broken. */
  readonly checks: readonly (() => void)[]
}

export function runWrites (database: SqliteDatabase, writes: readonly Write[], anchors: Anchors): void {
  for (const write of writes) {
    const { type, layout, id, statement, parameters } = write
    let changed: number
    try {
      changed = statement(parameters)
    } catch (error) {
      throw explainRefusal(database, error, write)
    }
    if (changed !== 1) {
      throw type === 'insert' ? new DuplicateError(layout.family, id) : new ConflictError(layout.family, id)
    }
    if (type !== 'require') anchors.noteWrite(layout, type, id)
  }
  for (const { checks } of writes) for (const check of checks) check()
}

export class TableWriter {
  readonly #database: SqliteDatabase
  readonly #columns: readonly Column[]
  readonly #asExpected: string
  readonly #insert: WriteStatement
  readonly #delete: WriteStatement
  readonly #require: WriteStatement
  // Bounded: clients may change any combination of attributes.
  readonly #updates = new BoundedCache<WriteStatement>(50)
  readonly #checks = new BoundedCache<ReadStatement>(50)

  constructor (database: SqliteDatabase, readonly layout: Layout) {
    const { table, id } = layout
    this.#database = database
    this.#columns = listWritten(layout)
    const revision = quoteName(getColumn(layout, 'revision').name as string)
    this.#asExpected = `WHERE ${id.equated} = ? AND ${revision} = ?`
    const names = this.#columns.map(({ name }) => quoteName(name as string))
    const values = this.#columns.map(column => column === layout.sequence
      ? `COALESCE(?, (SELECT COALESCE(max(${column.equated}), 0) + 1 FROM ${table}))`
      : '?')
    // A taken id inserts no row instead of failing: all drivers report that alike.
    this.#insert = prepareWrite(database, `INSERT INTO ${table} (${names.join(', ')}) ` +
      `VALUES (${values.join(', ')}) ON CONFLICT (${quoteName(id.name as string)}) DO NOTHING`)
    this.#delete = prepareWrite(database, `DELETE FROM ${table} ${this.#asExpected}`)
    const required = prepareRead(database, `SELECT 1 FROM ${table} ${this.#asExpected}`)
    this.#require = parameters => required.all(parameters).length
  }

  encodeChange (change: Change, relations: Relations | undefined): Write {
    const { type } = change
    const { layout } = this
    const id = getId(change)
    const checks = relations === undefined ? [] : this.#listChecks(change, relations)
    if (type === 'delete' || type === 'require') {
      const statement = type === 'delete' ? this.#delete : this.#require
      return { type, layout, id, checks, item: undefined, statement, parameters: [id, change.expected] }
    }
    const { item } = change
    if (type === 'insert') {
      return { type, layout, id, checks, item, statement: this.#insert, parameters: encode(this.#columns, item) }
    }
    const { current, expected } = change
    // Writing a column writes its index too, even if the value stays the same.
    const changed = current && this.#columns.filter(({ field: { name } }) => item[name] !== current[name])
    const columns = changed === undefined || changed.length === 0 ? this.#columns : changed
    const statement = this.#updates.get(columns.map(({ name }) => name).join(), () => {
      const assignments = columns.map(({ name }) => `${quoteName(name as string)} = ?`).join(', ')
      return prepareWrite(this.#database, `UPDATE ${layout.table} SET ${assignments} ${this.#asExpected}`)
    })
    return { type, layout, id, checks, item, statement, parameters: [...encode(columns, item), id, expected] }
  }

  /** Commits run one after the other, so nothing can change between check and commit. */
  #listChecks (change: Change, relations: Relations): Write['checks'] {
    const id = getId(change)
    if (change.type === 'delete') {
      return relations.referrers.map(reference => () => {
        const { from, column } = reference
        if (this.#hasRow(from.table, column, id)) throw refuseInUse(reference, id)
      })
    }
    return listSetReferences(change, relations).map(({ reference, id: referred }) => () => {
      const { to } = reference
      if (!this.#hasRow(to.table, to.id, referred)) throw refuseDangling(reference, id)
    })
  }

  #hasRow (table: string, { equated, kind }: Column, id: Id): boolean {
    const statement = this.#checks.get(`SELECT 1 FROM ${table} WHERE ${equated} = ? LIMIT 1`, sql =>
      prepareRead(this.#database, sql))
    return statement.get([encodeValue(id, kind)]) !== undefined
  }
}

function encode (columns: readonly Column[], item: Stored): unknown[] {
  return columns.map(({ field, kind, present }) => {
    const value = encodeValue(getValue(item, field), kind)
    return isSpaced(kind, present) && value !== null ? (value as string).replace('T', ' ').replace('Z', '') : value
  })
}

// SQLite's own text, with every driver. All other texts, such as those of triggers, are `other`.
const failure =
  /(UNIQUE|NOT NULL|CHECK|FOREIGN KEY) constraint failed(?:: (.*))?|cannot store \w+ value in \w+ column (.*)/s
const rules: Readonly<Record<string, ConstraintRule>> = {
  UNIQUE: 'unique', 'NOT NULL': 'required', CHECK: 'value', 'FOREIGN KEY': 'reference'
}

/** Returns other errors unchanged. */
export function explainRefusal (database: SqliteDatabase, error: unknown, write: Write): unknown {
  if (!hasCode(error, 19, 'SQLITE_CONSTRAINT')) return error
  const { layout, item, id, type } = write
  const [, name = '', named = '', stored] = failure.exec((error as Error).message) ?? []
  const isForeignKey = name === 'FOREIGN KEY'
  const fields = isForeignKey
    ? item === undefined ? [] : listDangling(database, layout, item)
    : name === 'UNIQUE' && item !== undefined
      ? findTaken(database, layout, item) ?? listNamed(layout, named, false)
      : listNamed(layout, stored ?? named, name === 'CHECK')
  const isReferredTo = isForeignKey && (type === 'delete' || (type === 'replace' && fields.length === 0))
  if (isReferredTo || name === 'UNIQUE') {
    // A declared rule gives a better error, and references come first on every storage.
    try { for (const check of write.checks) check() } catch (declared) { return declared }
  }
  const rule = isReferredTo ? 'in-use' : stored === undefined ? rules[name] ?? 'other' : 'value'
  const constraint = name === '' ? (error as Error).message : named
  const described = describeRule(layout, rule, fields)
  return new ConstraintError(layout.family, id, rule, { fields, constraint, cause: error, ...described })
}

/** `text` is `table.column, table.column`, or the text of a check that has no name. */
function listNamed ({ tableName, columns }: Layout, text: string, isCheck: boolean): string[] {
  const words = isCheck ? text.match(/[\p{L}_][\p{L}\p{N}_]*/gu) ?? [] : text.split(', ')
  return columns.filter(({ name }) => name !== undefined && words.includes(isCheck ? name : `${tableName}.${name}`))
    .map(({ field }) => field.name)
}

/** The first unique rule that is broken, as declared: SQLite checks the last index first. */
function findTaken (database: SqliteDatabase, layout: Layout, item: Stored): readonly string[] | undefined {
  return layout.unique.find(fields => {
    const columns = getColumns(layout, fields)
    const where = columns.map(({ equated }) => `${equated} = ?`).join(' AND ')
    const sql = `SELECT 1 FROM ${layout.table} WHERE ${where} AND ${layout.id.equated} <> ?`
    return prepareRead(database, sql).get([...encode(columns, item), item.id]) !== undefined
  })
}

/** SQLite does not name the column of a broken foreign key. Keys of several columns are left out. */
function listDangling (database: SqliteDatabase, { tableName, columns }: Layout, item: Stored): string[] {
  const keys = prepareRead(database, `SELECT "from", "table",
    coalesce("to", (SELECT name FROM pragma_table_info("table") WHERE pk = 1))
    FROM pragma_foreign_key_list(?) GROUP BY id HAVING count(*) = 1`).all([tableName]) as [string, string, string][]
  const isDangling = ({ name, field, kind }: Column): boolean => keys.some(([from, parent, to]) => {
    const value = from === name ? encodeValue(getValue(item, field), kind) : null
    const sql = `SELECT 1 FROM ${quoteName(parent)} WHERE ${quoteName(to)} = ?`
    return value !== null && prepareRead(database, sql).get([value]) === undefined
  })
  return columns.filter(isDangling).map(({ field }) => field.name)
}
