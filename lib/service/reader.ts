import type { Family } from '../family/family.js'
import type { NounOperation } from '../family/operation.js'
import { notFound } from '../problems.js'
import { matcher } from '../storage/match.js'
import type { Condition, Found, FoundText, Id, Query, Storage, Stored } from '../storage/storage.js'
import type { Caller, Grant, Intent } from './caller.js'
import type { CommandRecord } from './command.js'
import { isInLog, selectLog } from './log.js'

/** What a caller may see of a family: its items under the conditions of the grant, and their logs. */
export class Reader {
  readonly #family: Family
  readonly #storage: Storage
  readonly #where: readonly Condition[]
  constructor (family: Family, storage: Storage, { where = [] }: Grant) {
    this.#family = family
    this.#storage = storage
    this.#where = where
  }

  /** The page as text, where the storage can. */
  get findText (): ((query: Query, members: readonly string[]) => Promise<FoundText>) | undefined {
    const { findText } = this.#storage
    const { name } = this.#family
    return findText && ((query, members) => findText.call(this.#storage, name, this.#narrow(query), members))
  }

  /** The item; undefined where it is not there for this caller. */
  async get (id: Id): Promise<Stored | undefined> {
    const item = await this.#storage.get(this.#family.name, id)
    if (item === undefined || this.#where.length === 0) return item
    return matcher(this.#where)(item) ? item : undefined
  }

  async find (query: Query): Promise<Found> {
    return await this.#storage.find(this.#family.name, this.#narrow(query))
  }

  /** Part of the log of an item that `checkLog` has let through. */
  async findLog (id: Id, query: Query, operation?: NounOperation): Promise<Found> {
    const where = [...selectLog(this.#family, id, operation), ...query.where]
    return await this.#storage.find('commands', { ...query, where })
  }

  /** A command in the log of an item that `checkLog` has let through. */
  async getFromLog (id: Id, command: string, operation?: NounOperation): Promise<CommandRecord | undefined> {
    const record = await this.#storage.get('commands', command) as CommandRecord | undefined
    return record !== undefined && isInLog(record, this.#family, id, operation) ? record : undefined
  }

  /** A command of the family by its id alone, whatever item it is about. */
  async getCommand (command: string): Promise<CommandRecord | undefined> {
    const record = await this.#storage.get('commands', command) as CommandRecord | undefined
    return record?.family === this.#family.name ? record : undefined
  }

  /** Refuses where the item is not there for this caller. A log outlives its item, but no condition can judge that. */
  async checkLog (id: Id): Promise<void> {
    if (await this.get(id) !== undefined) return
    if (this.#where.length === 0) {
      const { items } = await this.findLog(id, { where: [], order: byId, offset: 0, limit: 1, count: false })
      if (items.length > 0) return
    }
    throw notFound(this.#family.singular, id)
  }

  // Before the client's: how long a pattern of a client's takes would tell of what the grant excludes.
  #narrow (query: Query): Query {
    return this.#where.length === 0 ? query : { ...query, where: [...this.#where, ...query.where] }
  }
}

const byId = [{ field: 'id', descending: false }]

/** Asks whether the caller may, and answers what may be read then. */
export async function authorizeReader (family: Family, caller: Caller, intent: Intent): Promise<Reader> {
  const grant = await caller.authorize(intent)
  return new Reader(family, await caller.storage(), grant)
}
