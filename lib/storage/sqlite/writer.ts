import { getValue } from '../../core/storage/shapes.js'
import {
  type Change, ConflictError, ConstraintError, type ConstraintRule, DuplicateError, getId, type Id, type Stored
} from '../../core/storage/storage.js'
import { describeRule, listSetReferences, refuseDangling, refuseInUse, type Relations } from '../sql/definitions.js'
import { quoteName } from '../sql/dialect.js'
import { encodeFlag } from '../sql/flags.js'
import { type Column, getColumn, getColumns, type Layout, listWritten, mayLack } from '../sql/layout.js'
import { prepareRead, prepareWrite, type ReadStatement, type SqliteDatabase, type WriteStatement } from './driver.js'
import { LinkFinder } from './links.js'
import type { Anchors } from './paths.js'
import { encodeValue, isSpaced, linkFunction, sqliteDialect } from './tables.js'

/** A statement that must change, or find, exactly one row. */
export interface TableWrite {
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

export function runWrites (database: SqliteDatabase, writes: readonly TableWrite[], anchors: Anchors): void {
  let running: TableWrite | undefined
  try {
    for (const write of writes) {
      running = write
      const { type, layout, id, statement, parameters } = write
      if (statement(parameters) !== 1) {
        throw type === 'insert' ? new DuplicateError(layout.family, id) : new ConflictError(layout.family, id)
      }
      if (type !== 'require') anchors.noteWrite(layout, type, id)
    }
    for (const { checks } of writes) for (const check of checks) check()
  } catch (error) {
    const write = running as TableWrite
    const { layout: { references } } = write
    // The item that it refers to may be inserted later in the same commit.
    const isInserted = writes.slice(writes.indexOf(write) + 1).some(({ type, layout: { family } }) =>
      type === 'insert' && Object.values(references).includes(family))
    throw explainWriteError(database, error, isInserted ? { ...write, checks: noChecks } : write)
  }
}

type Check = TableWrite['checks'][number]

const noChecks: readonly Check[] = []

// Bounds the cache: clients may change any combination of attributes.
const maxUpdates = 50

export class SqliteTableWriter {
  readonly #database: SqliteDatabase
  readonly #columns: readonly Column[]
  readonly #asExpected: string
  readonly #insert: WriteStatement
  /** Of entries of a chained log, but for copies. */
  readonly #link: WriteStatement
  readonly #delete: WriteStatement
  readonly #require: WriteStatement
  readonly #fill: WriteStatement
  readonly #updates = new Map<string, WriteStatement>()
  readonly #checks = new Map<string, ReadStatement>()
  readonly #links: LinkFinder

  constructor (database: SqliteDatabase, readonly layout: Layout) {
    const { table, id } = layout
    this.#database = database
    this.#links = new LinkFinder(database)
    this.#columns = listWritten(layout)
    const revision = quoteName(getColumn(layout, 'revision').name as string)
    const { selected } = getColumn(layout, 'updatedAt')
    this.#asExpected = `WHERE ${id.equated} = ? AND ${revision} = ? AND ${selected} IS COALESCE(?, ${selected})`
    this.#insert = this.#prepareInsert()
    this.#link = layout.hash === undefined ? this.#insert : this.#prepareInsert(layout.hash)
    this.#delete = prepareWrite(database, `DELETE FROM ${table} ${this.#asExpected}`)
    const required = prepareRead(database, `SELECT 1 FROM ${table} ${this.#asExpected}`)
    this.#require = parameters => required.all(parameters).length
    this.#fill = this.#prepareFill()
  }

  #prepareInsert (hash?: Column): WriteStatement {
    const { table, id, sequence } = this.layout
    const names = this.#columns.map(({ name }) => quoteName(name as string))
    const next = sequence && `(SELECT COALESCE(max(${sequence.equated}), 0) + 1 FROM ${table})`
    const values = this.#columns.map(column => {
      if (column === sequence) return `COALESCE(?, ${next})`
      if (column !== hash) return '?'
      const previous = `SELECT ${column.equated} FROM ${table} WHERE ${column.equated} IS NOT NULL ` +
        `ORDER BY ${sequence?.equated} DESC LIMIT 1`
      return `${linkFunction}((${previous}), ${next}, ?)`
    })
    // A taken id inserts no row instead of failing: all drivers report that alike.
    return prepareWrite(this.#database, `INSERT INTO ${table} (${names.join(', ')}) ` +
      `VALUES (${values.join(', ')}) ON CONFLICT (${quoteName(id.name as string)}) DO NOTHING`)
  }

  encodeChange (change: Change, relations: Relations | undefined): TableWrite {
    const { type } = change
    const { layout } = this
    const id = getId(change)
    const checks = relations === undefined ? noChecks : this.#listChecks(change, relations)
    if (type === 'delete' || type === 'require') {
      const statement = type === 'delete' ? this.#delete : this.#require
      return { type, layout, id, checks, item: undefined, statement, parameters: [id, ...listExpected(change)] }
    }
    const { item } = change
    if (type === 'insert') {
      const isCopy = layout.sequence === undefined || item[layout.sequence.field.name] !== undefined
      const statement = isCopy ? this.#insert : this.#link
      return { type, layout, id, checks, item, statement, parameters: encodeItem(this.#columns, item) }
    }
    const { current } = change
    // Writing a column writes its index too, even if the value stays the same.
    const changed = current === undefined
      ? []
      : this.#columns.filter(({ field: { name } }) => item[name] !== current[name])
    const columns = changed.length > 0 && this.#updates.size < maxUpdates ? changed : this.#columns
    const parameters = encodeItem(columns, item)
    parameters.push(id, ...listExpected(change))
    return { type, layout, id, checks, item, statement: this.#prepareUpdate(columns), parameters }
  }

  #prepareUpdate (columns: readonly Column[]): WriteStatement {
    const key = columns.map(({ name }) => name).join()
    let statement = this.#updates.get(key)
    if (statement === undefined) {
      const assignments = columns.map(({ name }) => `${quoteName(name as string)} = ?`).join(', ')
      const sql = `UPDATE ${this.layout.table} SET ${assignments} ${this.#asExpected}`
      const update = prepareWrite(this.#database, sql)
      statement = columns === this.#columns
        ? update
        : parameters => update(parameters) === 1 ? this.#fill(parameters) : 0
      this.#updates.set(key, statement)
    }
    return statement
  }

  /** Writes the defaults that an item was read with, but that its row lacks; otherwise no index. */
  #prepareFill (): WriteStatement {
    const { table } = this.layout
    const fillable = this.#columns.filter(mayLack)
    if (fillable.length === 0) return () => 1
    const names = fillable.map(({ name }) => quoteName(name as string))
    const assignments = fillable.map(({ field, kind }, at) =>
      `${names[at]} = COALESCE(${names[at]}, ${sqliteDialect.literal(field.default, kind)})`)
    const fill = prepareWrite(this.#database, `UPDATE ${table} SET ${assignments.join(', ')} ` +
      `WHERE ${this.layout.id.equated} = ? AND (${names.map(name => `${name} IS NULL`).join(' OR ')})`)
    return parameters => {
      fill(parameters.slice(-3, -2))
      return 1
    }
  }

  /** Commits run one after the other, so nothing can change between check and commit. */
  #listChecks (change: Change, relations: Relations): readonly Check[] {
    const id = getId(change)
    if (change.type === 'delete') {
      return relations.referrers.map(reference => () => {
        const { from, column, path } = reference
        if (path !== undefined) {
          if (this.#links.has(reference, id)) throw refuseInUse(reference, id)
          return
        }
        const isDefault = mayLack(column) && column.field.default === id
        if (this.#hasRow(from.table, column, id, isDefault)) throw refuseInUse(reference, id)
      })
    }
    return listSetReferences(change, relations).map(({ reference, ids }) => () => {
      const { to } = reference
      const missing = ids.filter(referred => !this.#hasRow(to.table, to.id, referred))
      if (missing.length > 0) throw refuseDangling(reference, id, missing)
    })
  }

  #hasRow (table: string, { equated, kind }: Column, id: Id, orNull = false): boolean {
    const rows = `${table} WHERE (${equated} = ?${orNull ? ` OR ${equated} IS NULL` : ''})`
    let statement = this.#checks.get(rows)
    if (statement === undefined) {
      this.#checks.set(rows, statement = prepareRead(this.#database, `SELECT 1 FROM ${rows} LIMIT 1`))
    }
    return statement.get([encodeValue(id, kind)]) !== undefined
  }
}

/** For what follows the id in the condition. */
function listExpected ({ expected, current }: Exclude<Change, { type: 'insert' }>): readonly unknown[] {
  return [expected, current?.updatedAt ?? null]
}

function encodeItem (columns: readonly Column[], item: Stored): unknown[] {
  return columns.map(({ field, kind, present }) => {
    if (present?.flag !== undefined) return encodeFlag(present.flag, getValue(item, field)) ?? null
    const value = encodeValue(getValue(item, field), kind)
    return isSpaced(kind, present) && value !== null ? (value as string).replace('T', ' ').replace('Z', '') : value
  })
}

// SQLite's own text, with every driver. All other texts, such as those of triggers, are `other`.
const failure =
  /(UNIQUE|NOT NULL|CHECK|FOREIGN KEY) constraint failed(?:: (.*))?|cannot store \w+ value in \w+ column (.*)/s
const rulesByMessage: Readonly<Record<string, ConstraintRule>> = {
  UNIQUE: 'unique', 'NOT NULL': 'required', CHECK: 'value', 'FOREIGN KEY': 'reference'
}

export function isConstraint (error: unknown): boolean {
  const { errcode, code } = error as { errcode?: number, code?: string }
  return typeof errcode === 'number' ? (errcode & 0xff) === 19 : code?.startsWith('SQLITE_CONSTRAINT') === true
}

/** Returns other errors unchanged. */
export function explainWriteError (database: SqliteDatabase, error: unknown, write: TableWrite): unknown {
  if (!isConstraint(error)) return error
  const { layout, id, type } = write
  const [, name = '', named = '', stored] = failure.exec((error as Error).message) ?? []
  const fields = listRefused(database, write, name, stored ?? named)
  const isReferredTo = name === foreignKey && (type === 'delete' || (type === 'replace' && fields.length === 0))
  if (isReferredTo || name === unique) {
    // A declared rule gives a better error, and references come first on every storage.
    try { for (const check of write.checks) check() } catch (declared) { return declared }
  }
  const rule = isReferredTo ? 'in-use' : stored === undefined ? rulesByMessage[name] ?? 'other' : 'value'
  const constraint = name === '' ? (error as Error).message : named
  const described = describeRule(layout, rule, fields)
  return new ConstraintError(layout.family, id, rule, { fields, constraint, cause: error, ...described })
}

const foreignKey = 'FOREIGN KEY'
const unique = 'UNIQUE'

/** The fields that a constraint with this name is about. @param text as of `listNamed` */
function listRefused (
  database: SqliteDatabase, { layout, item }: TableWrite, name: string, text: string
): readonly string[] {
  if (name === foreignKey) return item === undefined ? [] : listDangling(database, layout, item)
  const taken = name === unique && item !== undefined ? findTaken(database, layout, item) : undefined
  return taken ?? listNamed(layout, text, name === 'CHECK')
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
    return prepareRead(database, sql).get([...encodeItem(columns, item), item.id]) !== undefined
  })
}

/** SQLite does not name the columns of a broken foreign key. */
function listDangling (database: SqliteDatabase, { tableName, columns }: Layout, item: Stored): string[] {
  const rows = prepareRead(database, `SELECT id, "table", "from",
    coalesce("to", (SELECT name FROM pragma_table_info("table") WHERE pk = seq + 1))
    FROM pragma_foreign_key_list(?) ORDER BY id, seq`).all([tableName]) as [number, string, string, string][]
  return [...new Set(rows.map(([id]) => id))].flatMap(key => {
    const parts = rows.filter(([id]) => id === key).map(([, parent, from, to]) =>
      ({ parent, to, column: columns.find(({ name }) => name === from) }))
    const values = parts.map(({ column }) => column && encodeValue(getValue(item, column.field), column.kind))
    // A reference without a value, or of a column that is not a field, cannot be checked.
    if (values.some(value => value === null || value === undefined)) return []
    const where = parts.map(({ to }) => `${quoteName(to)} = ?`).join(' AND ')
    const statement = prepareRead(database, `SELECT 1 FROM ${quoteName(parts[0]?.parent ?? '')} WHERE ${where}`)
    return statement.get(values) === undefined ? parts.map(({ column }) => (column as Column).field.name) : []
  })
}
