import type { Column, Layout } from '../sql/layout.js'
import { getColumn } from '../sql/layout.js'
import { quoteName } from '../sql/names.js'
import type { Change, Id } from '../storage.js'
import { ConflictError, DuplicateError, getId } from '../storage.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { SqliteDatabase, WriteStatement } from './driver.js'
import { prepareWrite } from './driver.js'

/** One change as a statement that must touch exactly one row. */
export interface Write {
  readonly type: Change['type']
  readonly family: string
  readonly id: Id
  readonly statement: WriteStatement
  readonly parameters: readonly unknown[]
}

/** Runs a change, or throws why it is refused. */
export function runWrite ({ type, family, id, statement, parameters }: Write): void {
  if (statement(parameters) === 1) return
  throw type === 'insert' ? new DuplicateError(family, id) : new ConflictError(family, id)
}

/** The statements that write a family's table. */
export class TableWriter {
  readonly #statements: Readonly<Record<Change['type'], WriteStatement>>
  readonly #columns: readonly Column[]

  constructor (database: SqliteDatabase, layout: Layout) {
    const { table, columns, id } = layout
    this.#columns = columns.filter(({ name }) => name !== undefined)
    const names = this.#columns.map(({ name }) => quoteName(name as string))
    const revision = quoteName(getColumn(layout, 'revision').name as string)
    const asExpected = `WHERE ${id.equated} = ? AND ${revision} = ?`
    const values = names.map(() => '?').join(', ')
    const assignments = names.map(name => `${name} = ?`).join(', ')
    this.#statements = {
      // A taken id is no error of SQL but a row that was not inserted, which reads alike with every driver.
      insert: prepareWrite(database, `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values}) ` +
        `ON CONFLICT (${quoteName(id.name as string)}) DO NOTHING`),
      replace: prepareWrite(database, `UPDATE ${table} SET ${assignments} ${asExpected}`),
      delete: prepareWrite(database, `DELETE FROM ${table} ${asExpected}`)
    }
  }

  encodeChange (change: Change): Write {
    const { type, family } = change
    const id = getId(change)
    const parameters = type === 'delete'
      ? []
      : this.#columns.map(({ field, kind }) => dialect.encode(change.item[field.name], kind))
    if (type !== 'insert') parameters.push(id, change.expected)
    return { type, family, id, statement: this.#statements[type], parameters }
  }
}
