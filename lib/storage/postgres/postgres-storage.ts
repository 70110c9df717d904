import { CommitQueue } from './commits.js'
import { openPool, Runner } from './driver.js'
import type { PostgresPool } from './driver.js'
import { effectsOf } from './effects.js'
import { TableReader } from './find.js'
import { prepareTable } from './tables.js'
import { union } from '../sql/layout.js'
import type { TableMappings } from '../sql/layout.js'
import { ReadOnlyError } from '../storage.js'
import type { FamilyShape, Storage } from '../storage.js'

export type { PostgresPool, PostgresClient, PostgresQuery } from './driver.js'
export type { TableMapping, TableMappings } from '../sql/layout.js'

/** How a PostgreSQL storage works, besides the connection string or the pool. */
export interface PostgresOptions {
  /** The schema for the tables, made where it is missing; without one the first of the search path. */
  readonly schema?: string
  /** Families that are kept in tables which are there already. */
  readonly tables?: TableMappings
  /** Milliseconds that one statement may take; 10,000 unless given. */
  readonly statementTimeout?: number
  /** Milliseconds to wait for a connection; 5000 unless given. Not for a pool of the host. */
  readonly connectionTimeout?: number
  /** Connections at most; 10 unless given. Not for a pool of the host. */
  readonly poolSize?: number
  /** `false` behind a proxy that pools transactions, as pgbouncer: nothing is then left to the session. */
  readonly preparedStatements?: boolean
}

/**
 * Keeps everything in PostgreSQL, which any number of processes may share.
 *
 * Takes a connection string, or a pool of `pg`, which is then not closed here. A family is a table of its name in
 * snake_case, with a column per field (`holdReason` is `hold_reason`): bigint, double precision, text, boolean, date,
 * timestamptz, json. An absent member is NULL. Fields that are added later become columns that are NULL in the rows from
 * before, whether they are optional or not.
 *
 * @example
 * const storage = postgresStorage({ connectionString: 'postgres://localhost/crm' })
 * app.register(deals, { storage, version: 'v1' })
 */
export function postgresStorage (options: PostgresOptions & ({ readonly connectionString: string } | { readonly pool: PostgresPool })): Storage {
  const { schema, tables = {}, statementTimeout = 10_000, connectionTimeout = 5000, poolSize = 10, preparedStatements = true } = options
  const shapes = new Map<string, FamilyShape>()
  const readers = new Map<string, TableReader>()
  let opened: Promise<{ pool: PostgresPool, runner: Runner, queue: CommitQueue }> | undefined
  let queue: CommitQueue | undefined
  let preparing: Promise<unknown> = Promise.resolve()
  // An idle connection that breaks is replaced by the next; unheard, the event would end the process.
  const ignore = (): void => {}

  return {
    async prepare (shape) {
      const prepared = preparing.then(() => prepare(shape))
      preparing = prepared.catch(() => {})
      await prepared
    },

    async find (family, query) {
      return await readerOf(family).find(query)
    },

    async get (family, id) {
      return await readerOf(family).get(id)
    },

    async commit (changes) {
      for (const { family } of changes) if (!readerOf(family).layout.writable) throw new ReadOnlyError(family)
      const effects = effectsOf(changes, family => readerOf(family).layout)
      if (effects.length > 0) await queue?.add(effects)
    },

    async close () {
      await preparing
      await queue?.idle()
      const closing = opened
      opened = queue = undefined
      readers.clear()
      if (closing === undefined) return
      const { pool } = await closing
      if ('connectionString' in options) await pool.end()
      else pool.off('error', ignore)
    }
  }

  async function open (): Promise<{ pool: PostgresPool, runner: Runner, queue: CommitQueue }> {
    const pool = 'pool' in options
      ? options.pool
      : await openPool({ connectionString: options.connectionString, poolSize, connectionTimeout, statementTimeout, preparedStatements })
    pool.on('error', ignore)
    // The driver's own clock is for a server that has gone silent; one that still works ends the statement itself.
    const runner = new Runner(pool, preparedStatements, statementTimeout + 1000)
    return { pool, runner, queue: new CommitQueue(runner, family => readerOf(family).layout) }
  }

  async function prepare (shape: FamilyShape): Promise<void> {
    opened ??= open()
    const { pool, runner, queue: opening } = await opened.catch(error => {
      opened = undefined
      throw error
    })
    const mapping = Object.hasOwn(tables, shape.name) ? tables[shape.name] : undefined
    const whole = union(shapes.get(shape.name), shape)
    const layout = await prepareTable(pool, runner, whole, mapping, schema)
    for (const { layout: other } of readers.values()) {
      if (other.family !== layout.family && !other.mapped && other.tableName === layout.tableName) {
        throw new Error(`The families "${other.family}" and "${layout.family}" would share the table "${layout.tableName}"`)
      }
    }
    shapes.set(shape.name, whole)
    readers.set(shape.name, new TableReader(runner, layout))
    queue = opening
  }

  function readerOf (family: string): TableReader {
    const reader = readers.get(family)
    if (reader === undefined) throw new Error(`the family "${family}" was not prepared`)
    return reader
  }
}
