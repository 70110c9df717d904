import { errorCodes } from '../../core/errors.js'
import { markDeadlineAware } from '../../core/storage/deadline.js'
import { mergeShapes } from '../../core/storage/shapes.js'
import {
  BusyError, type Change, checkChanges, type FamilyShape, type Found, type FoundText, type Id, type Query,
  ReadOnlyError, type Storage, type Stored
} from '../../core/storage/storage.js'
import { checkMappedUnique, listRelations, type Relations } from './definitions.js'
import type { Dialect, PresentColumn } from './dialect.js'
import { type Layout, layOutMappedTable, layOutOwnTable, type TableMapping } from './layout.js'
import { joinStatements, type SqlOptions } from './options.js'

interface SqlTable<Write> {
  readonly layout: Layout
  readonly reader: {
    get (id: Id, signal?: AbortSignal): Stored | undefined | Promise<Stored | undefined>
    find (query: Query, signal?: AbortSignal): Promise<Found>
    findText (
      query: Query, members: readonly string[], signal?: AbortSignal, names?: readonly string[]
    ): Promise<FoundText>
    /** Undefined if the database does not assign ids. */
    nextId (signal?: AbortSignal): Id | undefined | Promise<Id | undefined>
    /** As of a storage. */
    confirm? (id: Id, signal?: AbortSignal): Promise<void>
  }
  /** Undefined if the table is read-only. */
  readonly writer: {
    /** Copies the values, so that the caller may change the item afterwards. Checks `relations`, if given. */
    encodeChange (change: Change, relations: Relations | undefined): Write
  } | undefined
}

export interface SqlConnection<Write> {
  readonly dialect: Dialect
  /** The schema of our tables. */
  readonly schema?: string | undefined
  readMapped (mapping: TableMapping): Promise<ReadonlyMap<string, PresentColumn>>
  /** Throws if something cannot be created. */
  listMissing (layout: Layout): Promise<readonly string[]>
  makeMissing (layout: Layout): Promise<void>
  listUnique (layout: Layout): Promise<readonly (readonly string[])[]>
  openTable (layout: Layout): Promise<SqlTable<Write>>
  /** Called before a read; throws if the database is known to be gone. It must be cheap. */
  check? (): void
  /** Atomic. */
  commit (writes: readonly Write[]): Promise<void> | undefined
  watch (wake: () => void): () => void
  idle (): Promise<void>
  close (): Promise<void>
  metrics (): Readonly<Record<string, number>>
}

/** Opens the database when the first family is prepared. `location` is for errors at boot, without a password. */
export function createSqlStorage<Write> (
  open: () => Promise<SqlConnection<Write>>,
  { tables: mappings = {}, migrate = 'auto' }: Pick<SqlOptions, 'tables' | 'migrate'>,
  location = 'SQL'
): Storage {
  const shapes = new Map<string, FamilyShape>()
  const tables = new Map<string, SqlTable<Write>>()
  let relations = new Map<string, Relations>()
  let opening: Promise<SqlConnection<Write>> | undefined
  let connection: SqlConnection<Write> | undefined
  let preparing: Promise<unknown> = Promise.resolve()

  return markDeadlineAware<Storage>({
    mappedFamilies: Object.keys(mappings),

    async prepare (shape) {
      await inTurn(() => prepare(shape))
    },

    async writeMigration (families) {
      return await inTurn(() => writeMigration(families))
    },

    async find (family, query, signal) {
      return await getReader(family, signal).find(query, signal)
    },

    async findText (family, query, members, signal, names) {
      return await getReader(family, signal).findText(query, members, signal, names)
    },

    async get (family, id, signal) {
      const item = getReader(family, signal).get(id, signal)
      return item instanceof Promise ? await item : item
    },

    async nextId (family, signal) {
      return await getTable(family).reader.nextId(signal)
    },

    async confirm (family, id, signal) {
      await getReader(family, signal).confirm?.(id, signal)
    },

    async commit (changes) {
      checkChanges(changes)
      const writes = changes.map(change => {
        const { writer } = getTable(change.family)
        if (writer === undefined) throw new ReadOnlyError(change.family)
        return writer.encodeChange(change, relations.get(change.family))
      })
      if (writes.length > 0) await connection?.commit(writes)
    },

    watch (wake) {
      if (connection === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED('commands')
      return connection.watch(wake)
    },

    async close () {
      await preparing
      await connection?.idle()
      const closing = opening
      opening = connection = undefined
      tables.clear()
      await (await closing)?.close()
    },

    metrics: () => connection?.metrics() ?? {}
  })

  // One after the other: two at once would alter the same table, or open two transactions on one connection.
  async function inTurn<T> (work: () => Promise<T>): Promise<T> {
    const done = preparing.then(work).catch(error => { throw addLocation(error, location) })
    preparing = done.catch(() => {})
    return await done
  }

  async function getConnection (): Promise<SqlConnection<Write>> {
    opening ??= open()
    return await opening.catch(error => {
      opening = undefined
      throw error
    })
  }

  async function prepare (shape: FamilyShape): Promise<void> {
    const opened = await getConnection()
    const merged = mergeShapes(shapes.get(shape.name), shape)
    const layout = await layOut(opened, merged)
    for (const { layout: other } of tables.values()) {
      if (other.family !== layout.family && !other.mapped && other.tableName === layout.tableName) {
        throw new errorCodes.FST_DEALBOOK_TABLE_SHARED(other.family, layout.family, layout.tableName)
      }
    }
    if (layout.mapped) {
      const isChecked = migrate !== 'off' && layout.writable && layout.unique.length > 0
      if (isChecked) checkMappedUnique(layout, await opened.listUnique(layout))
    } else if (migrate === 'auto') await opened.makeMissing(layout)
    else if (migrate === 'check') {
      const missing = joinStatements(await opened.listMissing(layout))
      if (missing !== '') throw new errorCodes.FST_DEALBOOK_MIGRATION_NEEDED(layout.family, missing)
    }
    const table = await opened.openTable(layout)
    const others = [...tables.values()].map(({ layout }) => layout).filter(({ family }) => family !== shape.name)
    relations = listRelations([...others, table.layout])
    shapes.set(shape.name, merged)
    tables.set(shape.name, table)
    connection = opened
  }

  async function writeMigration (families: readonly FamilyShape[]): Promise<string> {
    const opened = await getConnection()
    // Versions of one family share a table.
    const merged = new Map<string, FamilyShape>()
    for (const shape of families) merged.set(shape.name, mergeShapes(merged.get(shape.name), shape))
    const missing: string[] = []
    for (const shape of merged.values()) {
      const layout = await layOut(opened, shape)
      if (!layout.mapped) missing.push(...await opened.listMissing(layout))
    }
    return joinStatements(missing)
  }

  async function layOut (opened: SqlConnection<Write>, shape: FamilyShape): Promise<Layout> {
    const mapping = Object.hasOwn(mappings, shape.name) ? mappings[shape.name] : undefined
    return mapping === undefined
      ? layOutOwnTable(shape, opened.dialect, opened.schema)
      : layOutMappedTable(shape, mapping, await opened.readMapped(mapping), opened.dialect)
  }

  function getTable (family: string): SqlTable<Write> {
    const table = tables.get(family)
    if (table === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return table
  }

  function getReader (family: string, signal: AbortSignal | undefined): SqlTable<Write>['reader'] {
    const { reader } = getTable(family)
    signal?.throwIfAborted()
    connection?.check?.()
    return reader
  }
}

/** Adds the location to an error of the database at boot: drivers do not. */
function addLocation (error: unknown, location: string): unknown {
  const { code } = error as { code?: string }
  // Our errors already have it.
  if (error instanceof BusyError || (code !== undefined && Object.hasOwn(errorCodes, code))) return error
  const named = new Error(`${location}: ${describeError(error)}`, { cause: error })
  return code === undefined ? named : Object.assign(named, { code })
}

// A host name with several addresses has one error for each, and no message for the whole.
export function describeError (error: unknown): string {
  const { message, errors = [], code } = error as Partial<AggregateError> & { code?: string }
  return message || errors.map(describeError).join(', ') || String(code ?? error)
}
