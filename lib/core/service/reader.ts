import type { NounOperation } from '../family/definition.js'
import type { Family } from '../family/family.js'
import { toBaseQuery, toOwnItem } from '../family/rename.js'
import { invalidQuery, notFound } from '../problems.js'
import { findPositionsAround, listParts, type OrderedList, type Position, type Start } from '../query/cursor.js'
import type { ParsedQuery } from '../query/grammar.js'
import { RequestDeadline } from '../storage/deadline.js'
import { askOneMore, findByIds } from '../storage/pages.js'
import type {
  Condition, Found, FoundText, Id, Query, StorageReads, Stored
} from '../storage/storage.js'
import { type Caller, canSee, type Grant, type Intent } from './caller.js'
import {
  type CommandId, type CommandRecord, hasLog, identifyCommand, isInLog, nameOtherRow, nameRow, selectLog
} from './record.js'
import { toOwnRecord } from './renamed.js'
import type { GuardedStorage } from './storage-access.js'

/** The part of a family that a caller may see: items that meet the grant's conditions, and their logs. */
export class Reader {
  readonly #where: readonly Condition[]

  constructor (
    readonly family: Family,
    readonly storage: StorageReads,
    readonly grant: Grant,
    readonly signal?: AbortSignal | undefined
  ) {
    this.#where = grant.where ?? []
  }

  get isNarrowed (): boolean {
    return this.#where.length > 0
  }

  renewTime (): void {
    if (this.signal instanceof RequestDeadline) this.signal.renew()
  }

  get findText (): ((query: Query, members: readonly string[]) => Promise<FoundText>) | undefined {
    const { findText } = this.storage
    const { name, renaming } = this.family
    // Texts have the names of the storage.
    if (renaming !== undefined) return undefined
    return findText && ((query, members) =>
      findText.call(this.storage, name, this.#narrow(query), members, this.signal))
  }

  /** Undefined if the item does not exist for this caller. */
  get (id: Id): Promise<Stored | undefined> {
    const { name, renaming } = this.family
    const getting = this.storage.get(name, id, this.signal)
    if (renaming === undefined && this.#where.length === 0) return getting
    return getting.then(item => {
      const own = toOwnItem(this.family, item)
      return canSee(this.grant, own) ? own : undefined
    })
  }

  async find (query: Query): Promise<Found> {
    const { name, renaming } = this.family
    if (renaming === undefined) return await this.storage.find(name, this.#narrow(query), this.signal)
    const found = await this.storage.find(name, toBaseQuery(renaming, this.#narrow(query)), this.signal)
    return { ...found, items: found.items.map(item => toOwnItem(this.family, item)) }
  }

  async findLog (id: Id, query: Query, operation?: NounOperation): Promise<Found> {
    const asked = query.where.map(condition => this.#addRows(condition, id))
    const where = [...selectLog(this.family, id, operation), ...asked]
    const found = await this.storage.find('commands', { ...query, where }, this.signal)
    if (this.family.renaming === undefined) return found
    return { ...found, items: found.items.map(record => toOwnRecord(this.family, record as CommandRecord)) }
  }

  async getFromLog (id: Id, command: string, operation?: NounOperation): Promise<CommandRecord | undefined> {
    return await this.#getRecord(this.#listRows(command, id), record => isInLog(record, this.family, id, operation))
  }

  async getCommand (command: string): Promise<CommandRecord | undefined> {
    return await this.#getRecord(this.#listRows(command), ({ family }) => family === this.family.name)
  }

  /** @param target the item in whose log it is, which may differ from that of the command */
  #listRows (command: string, target?: Id): string[] {
    const rows = [...new Set([nameRow(command, this.grant.principal), command])]
    if (target === undefined) return rows
    return [...rows, ...rows.map(row => nameOtherRow(row, this.family.name, String(target)))]
  }

  /** A command of the reader, even if its item is deleted. A narrowed reader without a principal has none. */
  async getOwnCommand (command: string): Promise<CommandRecord | undefined> {
    if (this.grant.principal === undefined && this.#where.length > 0) return undefined
    const record = await this.getCommand(command)
    return record?.principal === this.grant.principal ? record : undefined
  }

  /** Commands of the reader by their keys. */
  async findByKeys (keys: readonly string[]): Promise<ReadonlyMap<string, CommandRecord>> {
    const { principal } = this.grant
    const rows = new Map(keys.map(key => [(identifyCommand({ key }, principal) as CommandId).row, key]))
    const found = await findByIds(this.storage, 'commands', rows.keys(), this.signal)
    return new Map([...found.values() as Iterable<CommandRecord>].filter(({ family }) => family === this.family.name)
      .map(record => [rows.get(record.id) as string, toOwnRecord(this.family, record)]))
  }

  async #getRecord (
    rows: readonly string[],
    holds: (record: CommandRecord) => boolean
  ): Promise<CommandRecord | undefined> {
    for (const row of rows) {
      const record = await this.storage.get('commands', row, this.signal) as CommandRecord | undefined
      if (record !== undefined && holds(record)) return toOwnRecord(this.family, record)
    }
    return undefined
  }

  #addRows<C extends Condition> (condition: C, target: Id): C {
    if (condition.op === 'any') {
      return { ...condition, of: condition.of.map(all => all.map(each => this.#addRows(each, target))) }
    }
    if (condition.field !== 'id' || !(condition.op === 'eq' || condition.op === 'ne')) return condition
    return { ...condition, values: condition.values.flatMap(id => this.#listRows(String(id), target)) }
  }

  /** A log outlives its item, but not for a caller with conditions, which can no longer be tested. */
  async checkLog (id: Id): Promise<Stored | undefined> {
    const item = await this.get(id)
    if (item !== undefined || await this.hasLog(id)) return item
    throw notFound(this.family.singular, id)
  }

  async hasLog (id: Id): Promise<boolean> {
    return this.#where.length === 0 && await hasLog(this.storage, this.family, id, this.signal)
  }

  // Before the client's conditions: the duration of a client's pattern would reveal what the grant excludes.
  #narrow (query: Query): Query {
    return this.#where.length === 0 ? query : { ...query, where: [...this.#where, ...query.where] }
  }
}

/** Not a promise unless it has to wait, so that a single request takes as few turns as possible. */
export function authorizeReader (family: Family, caller: Caller, intent: Intent): Reader | Promise<Reader> {
  const grant = caller.authorize(intent)
  if (grant instanceof Promise) return grant.then(grant => openReader(family, caller, grant))
  return openReader(family, caller, grant)
}

/** Undefined if `authorize` refuses it. */
export async function tryReader (family: Family, caller: Caller, intent: Intent): Promise<Reader | undefined> {
  let grant: Grant
  try {
    grant = await caller.authorize(intent)
  } catch (error) {
    // As errors of the host are answered.
    const { status, statusCode = status } = (error ?? {}) as { status?: unknown, statusCode?: unknown }
    if (Number.isInteger(statusCode) && Number(statusCode) >= 400 && Number(statusCode) < 500) return undefined
    throw error
  }
  return await openReader(family, caller, grant)
}

export function openReader (family: Family, caller: Caller, grant: Grant): Reader | Promise<Reader> {
  const storage = caller.storage()
  const open = (storage: GuardedStorage): Reader =>
    new Reader(family, chooseSource(storage, caller), grant, caller.signal)
  return storage instanceof Promise ? storage.then(open) : open(storage)
}

function chooseSource (storage: GuardedStorage, { shows }: Caller): StorageReads {
  const request = storage.replica === undefined ? undefined : shows?.()
  return request === undefined ? storage : storage.replica?.(request.seen) ?? storage
}

export type Find = (query: Query) => Promise<Found>

export interface FoundPage {
  readonly items: readonly Stored[]
  readonly total: number | undefined
  readonly next: Position | undefined
  readonly prev: Position | undefined
}

export async function findPage (find: Find, { query, list, start, page }: ParsedQuery): Promise<FoundPage> {
  const asked = askOneMore(query)
  const found = start === undefined ? await find(asked) : await findFrom(find, list, asked, start)
  const more = found.items.length > query.limit
  const shown = more ? found.items.slice(0, query.limit) : found.items
  const items = start?.backwards === true ? shown.toReversed() : shown
  const { next, prev } = findPositionsAround({ start, page }, { more, first: items[0], last: items.at(-1) })
  return { items, total: found.total, next, prev }
}

export async function findFrom (find: Find, list: OrderedList, query: Query, start: Start): Promise<Found> {
  const position = await complete(find, list, start)
  const { parts, order } = listParts(list.fields, query.order, { ...start, position })
  const items: Stored[] = []
  for (const part of parts) {
    const wanted = query.limit - items.length
    if (wanted === 0) break
    const where: Condition[] = [...query.where, ...part]
    // The same limit for every part, so that a storage can reuse its statements.
    const found = await find({ where, order, offset: 0, limit: query.limit, count: false })
    items.push(...found.items.slice(0, wanted))
  }
  return query.count ? { ...await find({ ...query, offset: 0, limit: 0 }), items } : { items }
}

/** If the values were too long for a URL, they are read from the item. */
async function complete (find: Find, { order }: OrderedList, { position, backwards }: Start): Promise<Position> {
  const { id } = position.item
  if (order.length === 1 || Object.keys(position.item).length > 1) return position
  const where: Condition[] = [{ field: 'id', op: 'eq', values: [id] }]
  const byId = [{ field: 'id', descending: false }]
  const { items: [item] } = await find({ where, order: byId, offset: 0, limit: 1, count: false })
  if (item !== undefined) return { ...position, item }
  const parameter = backwards ? 'before' : 'after'
  const detail = `${parameter} refers to a deleted item; start at the first page`
  throw invalidQuery([{ parameter, detail }])
}
