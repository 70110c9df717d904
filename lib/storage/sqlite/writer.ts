import { getValue } from '../../core/storage/shapes.js'
import type { Change, Id, Stored } from '../../core/storage/storage.js'
import { ConflictError, DuplicateError, getId } from '../../core/storage/storage.js'
import type { Column, Layout } from '../sql/layout.js'
import { getColumn, listWritten } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { Relations } from '../sql/relations.js'
import type { Anchors } from './anchors.js'
import { isSpaced, sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase, WriteStatement } from './driver.js'
import { prepareRead, prepareWrite } from './driver.js'
import type { Look } from './looks.js'
import { Looks } from './looks.js'

/** One change as a statement that must touch, or find, exactly one row. */
export interface Write {
  readonly type: Change['type']
  readonly layout: Layout
  readonly id: Id
  /** As it shall be; undefined where it is deleted, or only required. */
  readonly item: Stored | undefined
  readonly statement: WriteStatement
  readonly parameters: readonly unknown[]
  readonly looks: readonly Look[]
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
  for (const { looks } of writes) for (const look of looks) look()
}

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
  readonly #looks: Looks

  constructor (database: SqliteDatabase, readonly layout: Layout) {
    const { table, id } = layout
    this.#database = database
    this.#looks = new Looks(database)
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
    const looks = this.#looks.list(change, relations)
    if (type === 'delete' || type === 'require') {
      const statement = type === 'delete' ? this.#delete : this.#require
      return { type, layout, id, looks, item: undefined, statement, parameters: [id, change.expected] }
    }
    const { item } = change
    if (type === 'insert') {
      return { type, layout, id, looks, item, statement: this.#insert, parameters: encode(this.#columns, item) }
    }
    const { current, expected } = change
    // To write a column is to write its index as well, though it stays as it is.
    const changed = current === undefined
      ? this.#columns
      : this.#columns.filter(({ field: { name } }) => item[name] !== current[name])
    const { statement, columns } = this.#prepareUpdate(changed)
    return { type, layout, id, looks, item, statement, parameters: [...encode(columns, item), id, expected] }
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
