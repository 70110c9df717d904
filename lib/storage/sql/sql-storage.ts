import { errorCodes } from '../../errors.js'
import { checkChanges } from '../changes.js'
import { markHeeding } from '../patience.js'
import { mergeShapes } from '../shapes.js'
import type { Change, FamilyShape, Found, FoundText, Id, Query, Storage, Stored } from '../storage.js'
import { ReadOnlyError } from '../storage.js'
import type { Layout, TableMapping, TableMappings } from './layout.js'

/** A family's table, as a database reads and writes it. `Write` is a change in the form that it is written in. */
interface SqlTable<Write> {
  readonly layout: Layout
  readonly reader: {
    get (id: Id, signal?: AbortSignal): Stored | undefined | Promise<Stored | undefined>
    find (query: Query, signal?: AbortSignal): Promise<Found>
    findText (query: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText>
  }
  /** None where the table can only be read. */
  readonly writer: {
    /** Takes the values of a change, whatever the caller does to the item afterwards. */
    encodeChange (change: Change): Write
  } | undefined
}

/** An open database. */
export interface SqlConnection<Write, Table extends SqlTable<Write>> {
  /** Makes what is missing of a family's table, or checks the one it is mapped to. */
  prepareTable (shape: FamilyShape, mapping: TableMapping | undefined): Promise<Table>
  /** All writes or none of them. */
  commit (writes: readonly Write[]): Promise<void>
  /** Fulfilled when no commit is under way. */
  idle (): Promise<void>
  close (): Promise<void>
  metrics (): Readonly<Record<string, number>>
}

/** A storage over the tables of a database: opens it when the first family is prepared, and knows the table of each. */
export function createSqlStorage<Write, Table extends SqlTable<Write>> (
  open: () => Promise<SqlConnection<Write, Table>>,
  mappings: TableMappings
): Storage {
  const shapes = new Map<string, FamilyShape>()
  const tables = new Map<string, Table>()
  let opening: Promise<SqlConnection<Write, Table>> | undefined
  let connection: SqlConnection<Write, Table> | undefined
  let preparing: Promise<unknown> = Promise.resolve()

  return markHeeding<Storage>({
    mappedFamilies: Object.keys(mappings),

    async prepare (shape) {
      // One after the other: two at once would alter one table, or open two transactions on one connection.
      const prepared = preparing.then(() => prepare(shape))
      preparing = prepared.catch(() => {})
      await prepared
    },

    async find (family, query, signal) {
      signal?.throwIfAborted()
      return await getTable(family).reader.find(query, signal)
    },

    async findText (family, query, members, signal) {
      signal?.throwIfAborted()
      return await getTable(family).reader.findText(query, members, signal)
    },

    async get (family, id, signal) {
      signal?.throwIfAborted()
      return await getTable(family).reader.get(id, signal)
    },

    async commit (changes) {
      checkChanges(changes)
      const writes = changes.map(change => {
        const { writer } = getTable(change.family)
        if (writer === undefined) throw new ReadOnlyError(change.family)
        return writer.encodeChange(change)
      })
      if (writes.length > 0) await connection?.commit(writes)
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

  async function prepare (shape: FamilyShape): Promise<void> {
    opening ??= open()
    const opened = await opening.catch(error => {
      opening = undefined
      throw error
    })
    const mapping = Object.hasOwn(mappings, shape.name) ? mappings[shape.name] : undefined
    const merged = mergeShapes(shapes.get(shape.name), shape)
    const table = await opened.prepareTable(merged, mapping)
    checkNotShared(table.layout)
    shapes.set(shape.name, merged)
    tables.set(shape.name, table)
    connection = opened
  }

  function getTable (family: string): Table {
    const table = tables.get(family)
    if (table === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return table
  }

  function checkNotShared ({ family, tableName }: Layout): void {
    for (const { layout: other } of tables.values()) {
      if (other.family !== family && !other.mapped && other.tableName === tableName) {
        throw new errorCodes.FST_DEALBOOK_TABLE_SHARED(other.family, family, tableName)
      }
    }
  }
}
