import type { Family } from '../family/family.js'
import type { NounOperation } from '../family/operation.js'
import { notFound } from '../problems.js'
import { matcher } from '../storage/match.js'
import { Patience } from '../storage/patience.js'
import type { Condition, FieldCondition, Found, FoundText, Id, Query, Storage, Stored } from '../storage/storage.js'
import type { Caller, Grant, Intent } from './caller.js'
import type { CommandRecord } from './command.js'
import { nameOtherRow, nameRow } from './command-id.js'
import { hasLog, isInLog, selectLog } from './log.js'

type Source = Pick<Storage, 'get' | 'find' | 'findText'>

/** What a caller may see of a family: its items under the conditions of the grant, and their logs. */
export class Reader {
  readonly #family: Family
  readonly #storage: Source
  readonly #where: readonly Condition[]
  readonly #signal: AbortSignal | undefined
  /** Who reads, and finds his own commands by the ids that he chose. */
  readonly principal: string | undefined
  /** The actions that are offered to the reader; undefined where each is to be asked for. */
  readonly offers: readonly string[] | undefined

  /** @param signal ends what is read, and the waiting for it */
  constructor (family: Family, storage: Source, { where = [], principal, offers }: Grant, signal?: AbortSignal) {
    this.#family = family
    this.#storage = storage
    this.#where = where
    this.principal = principal
    this.offers = offers
    this.#signal = signal
  }

  /** Whether there are conditions on what is seen. */
  get isNarrowed (): boolean {
    return this.#where.length > 0
  }

  /** Begins the time anew that a read may take, for reads of many parts. */
  renewTime (): void {
    if (this.#signal instanceof Patience) this.#signal.renew()
  }

  /** The page as text, where the storage can. */
  get findText (): ((query: Query, members: readonly string[]) => Promise<FoundText>) | undefined {
    const { findText } = this.#storage
    const { name } = this.#family
    return findText && ((query, members) =>
      findText.call(this.#storage, name, this.#narrow(query), members, this.#signal))
  }

  /** The item; undefined where it is not there for this caller. */
  async get (id: Id): Promise<Stored | undefined> {
    const item = await this.#storage.get(this.#family.name, id, this.#signal)
    if (item === undefined || this.#where.length === 0) return item
    return matcher(this.#where)(item) ? item : undefined
  }

  async find (query: Query): Promise<Found> {
    return await this.#storage.find(this.#family.name, this.#narrow(query), this.#signal)
  }

  /** Part of the log of an item that `checkLog` has let through. */
  async findLog (id: Id, query: Query, operation?: NounOperation): Promise<Found> {
    const asked = query.where.map(condition => this.#addRows(condition, id))
    const where = [...selectLog(this.#family, id, operation), ...asked]
    return await this.#storage.find('commands', { ...query, where }, this.#signal)
  }

  /** A command in the log of an item that `checkLog` has let through. */
  async getFromLog (id: Id, command: string, operation?: NounOperation): Promise<CommandRecord | undefined> {
    return await this.#getRecord(this.#listRows(command, id), record => isInLog(record, this.#family, id, operation))
  }

  /** A command of the family by its id alone, whatever item it is about. */
  async getCommand (command: string): Promise<CommandRecord | undefined> {
    return await this.#getRecord(this.#listRows(command), ({ family }) => family === this.#family.name)
  }

  /**
   * The rows that a command may have: of the reader's own, or by the row itself.
   *
   * @param target in the log of which it is looked for, where it may stand though it was for another item
   */
  #listRows (command: string, target?: Id): string[] {
    const rows = [...new Set([nameRow(command, this.principal), command])]
    if (target === undefined) return rows
    return [...rows, ...rows.map(row => nameOtherRow(row, this.#family.name, String(target)))]
  }

  /** A command that the reader gave himself, whatever became of its item. Without a name, nobody is known again. */
  async getOwnCommand (command: string): Promise<CommandRecord | undefined> {
    if (this.principal === undefined && this.#where.length > 0) return undefined
    const record = await this.getCommand(command)
    return record?.principal === this.principal ? record : undefined
  }

  async #getRecord (
    rows: readonly string[],
    holds: (record: CommandRecord) => boolean
  ): Promise<CommandRecord | undefined> {
    for (const row of rows) {
      const record = await this.#storage.get('commands', row, this.#signal) as CommandRecord | undefined
      if (record !== undefined && holds(record)) return record
    }
    return undefined
  }

  /** A condition on ids as they are shown to the reader. */
  #addRows (condition: Condition, target: Id): Condition {
    if (condition.op !== 'any') return this.#addRow(condition, target)
    return { op: 'any', of: condition.of.map(all => all.map(each => this.#addRow(each, target))) }
  }

  #addRow (condition: FieldCondition, target: Id): FieldCondition {
    if (condition.field !== 'id' || !(condition.op === 'eq' || condition.op === 'ne')) return condition
    const ids = condition.values as readonly string[]
    return { ...condition, values: ids.flatMap(id => this.#listRows(id, target)) }
  }

  /**
   * The item, undefined where it was deleted; refuses where it is not there for this caller. A log outlives its item,
   * but no condition can judge that.
   */
  async checkLog (id: Id): Promise<Stored | undefined> {
    const item = await this.get(id)
    if (item !== undefined || await this.hasLog(id)) return item
    throw notFound(this.#family.singular, id)
  }

  /** Whether there is a log of what need not be there any more. */
  async hasLog (id: Id): Promise<boolean> {
    return this.#where.length === 0 && await hasLog(this.#storage, this.#family, id)
  }

  // Before the client's: how long a pattern of a client's takes would tell of what the grant excludes.
  #narrow (query: Query): Query {
    return this.#where.length === 0 ? query : { ...query, where: [...this.#where, ...query.where] }
  }
}

/** Asks whether the caller may, and answers what may be read then. */
export async function authorizeReader (family: Family, caller: Caller, intent: Intent): Promise<Reader> {
  const grant = await caller.authorize(intent)
  return new Reader(family, await caller.storage(), grant, caller.signal)
}
