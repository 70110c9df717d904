import { union } from '../sql/layout.js'
import type { TableMappings } from '../sql/layout.js'
import { CommitQueue, TableWriter, writerOf } from './commits.js'
import { openDatabase } from './driver.js'
import type { SqliteDatabase } from './driver.js'
import { find, findText } from './find.js'
import { canWriteJson } from './json.js'
import { TableReader } from './reader.js'
import { prepareTable } from './tables.js'
import type { FamilyShape, Storage } from '../storage.js'

export type { SqliteDatabase, SqliteStatement } from './driver.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'

interface Opened {
  readonly database: SqliteDatabase
  readonly queue: CommitQueue
  readonly writesJson: boolean
}

/** How an SQLite storage works, besides the file or the open database. */
export interface SqliteOptions {
  /** Families that are kept in tables which are there already. */
  readonly tables?: TableMappings
  /** Milliseconds to wait for another process that is writing; 5000 unless given. */
  readonly busyTimeout?: number
}

/**
 * Keeps everything in an SQLite file, which several processes may share. A commit is on disk when it is answered.
 *
 * Takes the name of a file (made where it is missing), or an open database: a `DatabaseSync` of node:sqlite or
 * `@photostructure/sqlite`, or one of better-sqlite3. An open database keeps the settings it has and is not closed here.
 *
 * A family is a table of its name in snake_case, with a column per field (`holdReason` is `hold_reason`): INTEGER, REAL,
 * TEXT (also dates, as `2026-01-31` and `2026-01-31T12:00:00.000Z`, and JSON), BOOLEAN (0 and 1). An absent member is NULL.
 * Fields that are added later become columns that are NULL in the rows from before, whether they are optional or not.
 *
 * @example
 * const storage = sqliteStorage({ file: 'dealbook.db' })
 * app.register(deals, { storage, version: 'v1' })
 */
export function sqliteStorage (options: SqliteOptions & ({ readonly file: string } | { readonly database: SqliteDatabase })): Storage {
  const { tables = {}, busyTimeout = 5000 } = options
  const shapes = new Map<string, FamilyShape>()
  const readers = new Map<string, TableReader>()
  const writers = new Map<string, TableWriter>()
  let opened: Promise<Opened> | undefined
  let queue: CommitQueue | undefined
  let preparing: Promise<unknown> = Promise.resolve()

  return {
    async prepare (shape) {
      // One after the other: two at once would open two transactions on one connection.
      const prepared = preparing.then(() => prepare(shape))
      preparing = prepared.catch(() => {})
      await prepared
    },

    async find (family, query) {
      return await find(readerOf(family), query)
    },

    async findText (family, query, members) {
      return await findText(readerOf(family), query, members)
    },

    async get (family, id) {
      return readerOf(family).get(id)
    },

    async commit (changes) {
      // Values are taken now, whatever the caller does to the items afterwards.
      const steps = changes.map(change => {
        readerOf(change.family)
        return writerOf(writers, change.family).step(change)
      })
      if (steps.length > 0) await queue?.add(steps)
    },

    async close () {
      await preparing
      await queue?.idle()
      const closing = opened
      opened = queue = undefined
      readers.clear()
      writers.clear()
      if (closing !== undefined && 'file' in options) (await closing).database.close()
    }
  }

  async function open (): Promise<Opened> {
    const database = 'file' in options ? await openDatabase(options.file) : options.database
    return { database, queue: new CommitQueue(database, busyTimeout), writesJson: canWriteJson(database) }
  }

  async function prepare (shape: FamilyShape): Promise<void> {
    opened ??= open()
    const { database, queue: opening, writesJson } = await opened.catch(error => {
      opened = undefined
      throw error
    })
    await opening.idle()
    const mapping = Object.hasOwn(tables, shape.name) ? tables[shape.name] : undefined
    const whole = union(shapes.get(shape.name), shape)
    const { layout, indexes } = await prepareTable(database, whole, mapping, busyTimeout)
    for (const { layout: other } of readers.values()) {
      if (other.family !== layout.family && !other.mapped && other.tableName === layout.tableName) {
        throw new Error(`The families "${other.family}" and "${layout.family}" would share the table "${layout.tableName}"`)
      }
    }
    shapes.set(shape.name, whole)
    readers.set(shape.name, new TableReader(database, layout, indexes, writesJson))
    if (layout.writable) writers.set(shape.name, new TableWriter(database, layout))
    queue = opening
  }

  function readerOf (family: string): TableReader {
    const reader = readers.get(family)
    if (reader === undefined) throw new Error(`the family "${family}" was not prepared`)
    return reader
  }
}
