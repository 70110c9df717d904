import type { Change } from '../../core/storage/storage.js'
import { getId } from '../../core/storage/storage.js'
import type { Reference, Relations } from '../sql/relations.js'
import { listLooked, refuseDangling, refuseInUse } from '../sql/relations.js'
import { sqliteDialect as dialect } from './dialect.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'

/** Looks, when all changes of a commit are made, whether a reference holds; throws where it does not. */
export type Look = () => void

const none: readonly Look[] = []

/** The looks that changes need. Commits are made one after the other, so that nobody can come between. */
export class Looks {
  readonly #referred = new WeakMap<Reference, ReadStatement>()
  readonly #referring = new WeakMap<Reference, ReadStatement>()

  constructor (readonly database: SqliteDatabase) {}

  list (change: Change, relations: Relations | undefined): readonly Look[] {
    if (relations === undefined || change.type === 'require') return none
    const id = getId(change)
    if (change.type !== 'delete') {
      return listLooked(change, relations).map(({ reference, id: referred }) => () => {
        const { to } = reference
        const statement = this.#prepare(this.#referred, reference, `${to.table} WHERE ${to.id.equated} = ?`)
        if (statement.get([dialect.encode(referred, to.id.kind)]) === undefined) throw refuseDangling(reference, id)
      })
    }
    return relations.referrers.map(reference => () => {
      const { from, column } = reference
      const statement = this.#prepare(this.#referring, reference, `${from.table} WHERE ${column.equated} = ? LIMIT 1`)
      if (statement.get([dialect.encode(id, column.kind)]) !== undefined) throw refuseInUse(reference, id)
    })
  }

  #prepare (statements: WeakMap<Reference, ReadStatement>, reference: Reference, rows: string): ReadStatement {
    let statement = statements.get(reference)
    if (statement === undefined) {
      statement = prepareRead(this.database, `SELECT 1 FROM ${rows}`)
      statements.set(reference, statement)
    }
    return statement
  }
}
