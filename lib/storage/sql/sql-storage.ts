import { errorCodes } from '../../core/errors.js'
import { chainShape, sealChange } from '../../core/storage/chain.js'
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
  options: Pick<SqlOptions, 'tables' | 'migrate' | 'maxLogged' | 'chain'>,
  location = 'SQL'
): Storage {
  const tables = new SqlTables(open, options, location)
  return markDeadlineAware<Storage>({
    mappedFamilies: Object.keys(options.tables ?? {}),
    ...options.maxLogged !== undefined && { maxLogged: options.maxLogged },
    ...options.chain === true && { chain: true },

    async prepare (shape) {
      await tables.prepare(shape)
    },

    async writeMigration (families) {
      return await tables.writeMigration(families)
    },

    async find (family, query, signal) {
      return await tables.getReader(family, signal).find(query, signal)
    },

    async findText (family, query, members, signal, names) {
      return await tables.getReader(family, signal).findText(query, members, signal, names)
    },

    async get (family, id, signal) {
      const item = tables.getReader(family, signal).get(id, signal)
      return item instanceof Promise ? await item : item
    },

    async nextId (family, signal) {
      return await tables.get(family).reader.nextId(signal)
    },

    async confirm (family, id, signal) {
      await tables.getReader(family, signal).confirm?.(id, signal)
    },

    commit: changes => tables.commit(changes),

    watch (wake) {
      if (tables.connection === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED('commands')
      return tables.connection.watch(wake)
    },

    async close () {
      await tables.close()
    },

    metrics: () => tables.connection?.metrics() ?? {}
  })
}

/** The tables of the families that have been prepared, and the connection to their database. */
class SqlTables<Write> {
  connection: SqlConnection<Write> | undefined
  readonly #open: () => Promise<SqlConnection<Write>>
  readonly #mappings: NonNullable<SqlOptions['tables']>
  readonly #migrate: SqlOptions['migrate']
  readonly #chain: boolean | undefined
  readonly #location: string
  readonly #shapes = new Map<string, FamilyShape>()
  readonly #tables = new Map<string, SqlTable<Write>>()
  #relations = new Map<string, Relations>()
  #opening: Promise<SqlConnection<Write>> | undefined
  #preparing: Promise<unknown> = Promise.resolve()

  constructor (
    open: () => Promise<SqlConnection<Write>>,
    { tables = {}, migrate = 'auto', chain }: Pick<SqlOptions, 'tables' | 'migrate' | 'chain'>,
    location: string
  ) {
    this.#open = open
    this.#mappings = tables
    this.#migrate = migrate
    this.#chain = chain
    this.#location = location
  }

  get (family: string): SqlTable<Write> {
    const table = this.#tables.get(family)
    if (table === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return table
  }

  getReader (family: string, signal: AbortSignal | undefined): SqlTable<Write>['reader'] {
    const { reader } = this.get(family)
    signal?.throwIfAborted()
    this.connection?.check?.()
    return reader
  }

  async commit (changes: readonly Change[]): Promise<void> {
    checkChanges(changes)
    const writes = changes.map(change => {
      const { writer } = this.get(change.family)
      if (writer === undefined) throw new ReadOnlyError(change.family)
      const sealed = this.#chain === true ? sealChange(change) : change
      return writer.encodeChange(sealed, this.#relations.get(change.family))
    })
    if (writes.length > 0) await this.connection?.commit(writes)
  }

  async prepare (shape: FamilyShape): Promise<void> {
    await this.#inTurn(() => this.#prepare(shape))
  }

  async writeMigration (families: readonly FamilyShape[]): Promise<string> {
    return await this.#inTurn(() => this.#writeMigration(families))
  }

  async close (): Promise<void> {
    await this.#preparing
    await this.connection?.idle()
    const closing = this.#opening
    this.#opening = this.connection = undefined
    this.#tables.clear()
    await (await closing)?.close()
  }

  // One after the other: two at once would alter the same table, or open two transactions on one connection.
  async #inTurn<T> (work: () => Promise<T>): Promise<T> {
    const done = this.#preparing.then(work).catch(error => { throw addLocation(error, this.#location) })
    this.#preparing = done.catch(() => {})
    return await done
  }

  async #getConnection (): Promise<SqlConnection<Write>> {
    this.#opening ??= this.#open()
    return await this.#opening.catch(error => {
      this.#opening = undefined
      throw error
    })
  }

  async #prepare (given: FamilyShape): Promise<void> {
    const opened = await this.#getConnection()
    const shape = this.#complete(given)
    const merged = mergeShapes(this.#shapes.get(shape.name), shape)
    const layout = await this.#layOut(opened, merged)
    if (this.#chain === undefined && !this.#shapes.has(shape.name)) await refuseChained(opened, layout)
    const others = Array.from(this.#tables.values(), table => table.layout)
      .filter(({ family }) => family !== shape.name)
    for (const other of others) {
      if (!other.mapped && other.tableName === layout.tableName) {
        throw new errorCodes.FST_DEALBOOK_TABLE_SHARED(other.family, layout.family, layout.tableName)
      }
    }
    await this.#checkOrMake(opened, layout)
    const table = await opened.openTable(layout)
    this.#relations = listRelations([...others, table.layout])
    this.#shapes.set(shape.name, merged)
    this.#tables.set(shape.name, table)
    this.connection = opened
  }

  async #checkOrMake (opened: SqlConnection<Write>, layout: Layout): Promise<void> {
    if (layout.mapped) {
      const isChecked = this.#migrate !== 'off' && layout.writable && layout.unique.length > 0
      if (isChecked) checkMappedUnique(layout, await opened.listUnique(layout))
    } else if (this.#migrate === 'auto') await opened.makeMissing(layout)
    else if (this.#migrate === 'check') {
      const missing = joinStatements(await opened.listMissing(layout))
      if (missing !== '') throw new errorCodes.FST_DEALBOOK_MIGRATION_NEEDED(layout.family, missing)
    }
  }

  async #writeMigration (families: readonly FamilyShape[]): Promise<string> {
    const opened = await this.#getConnection()
    // Versions of one family share a table.
    const merged = new Map<string, FamilyShape>()
    for (const shape of families.map(shape => this.#complete(shape))) {
      merged.set(shape.name, mergeShapes(merged.get(shape.name), shape))
    }
    const missing: string[] = []
    for (const shape of merged.values()) {
      const layout = await this.#layOut(opened, shape)
      if (!layout.mapped) missing.push(...await opened.listMissing(layout))
    }
    return joinStatements(missing)
  }

  #complete (shape: FamilyShape): FamilyShape {
    return this.#chain === true ? chainShape(shape) : shape
  }

  async #layOut (opened: SqlConnection<Write>, shape: FamilyShape): Promise<Layout> {
    const mapping = Object.hasOwn(this.#mappings, shape.name) ? this.#mappings[shape.name] : undefined
    return mapping === undefined
      ? layOutOwnTable(shape, opened.dialect, opened.schema)
      : layOutMappedTable(shape, mapping, await opened.readMapped(mapping), opened.dialect)
  }
}

/** Entries without a hash would break the chain. */
async function refuseChained<Write> (
  { schema, readMapped }: SqlConnection<Write>, { family, mapped, tableName: table }: Layout
): Promise<void> {
  if (family !== 'commands' || mapped) return
  const present = await readMapped({ table, ...schema !== undefined && { schema } })
  if (present.has('seal') && present.has('hash')) throw new errorCodes.FST_DEALBOOK_CHAINED(table)
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
