import { getValue } from '../../core/storage/shapes.js'
import type { Change, Id, Stored } from '../../core/storage/storage.js'
import { ConflictError, DuplicateError, getId } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, listWritten } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { Relations } from '../sql/relations.js'
import { listLooked, refuseDangling, refuseInUse } from '../sql/relations.js'
import type { Anchors } from './anchors.js'
import { isSpaced, sqliteDialect as dialect } from './dialect.js'
import type { ReadStatement, SqliteDatabase, WriteStatement } from './driver.js'
import { prepareRead, prepareWrite } from './driver.js'

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
