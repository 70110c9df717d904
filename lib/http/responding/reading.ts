import type { FastifyRequest } from 'fastify'
import type { Offer } from '../../core/book/book.js'
import { makeExpand } from '../../core/book/expand.js'
import { findTargets, mayOffer, toAction } from '../../core/book/offers.js'
import type { FieldChanges } from '../../core/family/changes.js'
import type { Family } from '../../core/family/family.js'
import type { ProblemCode } from '../../core/problems.js'
import type { Moment } from '../../core/query/moment.js'
import type { Intent } from '../../core/service/caller.js'
import { writePosition } from '../../core/service/log-reads.js'
import { findEnd } from '../../core/service/log-reads.js'
import { authorizeReader, type PastItem, type Reader } from '../../core/service/reader.js'
import { type CommandRecord, nameRecord, readTarget } from '../../core/service/record.js'
import { explainState, readState, type StateReason } from '../../core/service/refusal.js'
import type { Condition, Found, Id, Query, Stored } from '../../core/storage/storage.js'
import { isTextId } from '../../core/values/ids.js'
import type { Members } from '../../core/values/json.js'
import type { FamilyMount } from '../../representations/target.js'
import { callOf, mountOf } from '../mount.js'
import { type Count, countUpTo } from '../reads/home.js'

/** A command in the log, as its reader sees it, with what it changed. */
export interface LogRecord {
  /** As in its URL. */
  readonly id: string
  readonly family: string
  /** The id of the item. */
  readonly target: Id
  /** The item that the command was for, if it changed this one too. */
  readonly about?: { readonly family: string, readonly id: Id }
  readonly action: string
  readonly params?: Members
  readonly outcome: 'done' | 'unchanged' | 'refused'
  /** The revision of the item after it. */
  readonly revision: number
  readonly createdAt: string
  readonly principal?: string
  /** Why it was refused. */
  readonly problem?: { readonly code: ProblemCode, readonly detail: string, readonly members: Members }
  /** What it changed of an existing item: all of it if that was deleted. */
  readonly changes?: FieldChanges
}

/** Something that the caller may do with an item. */
export interface ItemOffer extends Offer {
  /** Set if only the state is the reason, so that it can be said in other words. */
  readonly wrongState?: StateReason
}

/** What to read: a list or, with an id, an item and its log. */
export interface ReadIntent extends Partial<Pick<Intent, 'id' | 'params'>> {
  readonly action: 'list' | 'read'
}

/** What a caller may see of a family: `authorize` was asked once, for all that a page shows. */
export interface Reading {
  readonly mount: FamilyMount
  /** The name of the caller. */
  readonly principal: string | undefined
  /** Whether the caller sees only some of the items. */
  readonly isNarrowed: boolean
  /** Undefined if the item does not exist for the caller. */
  get (id: Id): Promise<Stored | undefined>
  /** An item as it was; undefined if it did not exist then, or not for the caller. */
  past (id: Id, when: Moment): Promise<PastItem | undefined>
  /** @param members if only these are needed, since items may be long */
  find (query: Query, members?: readonly string[]): Promise<Found>
  /** The item with those that its fields refer to in the place of their ids, as far as the caller may see them. */
  expand (item: Stored, fields: readonly string[]): Promise<Stored>
  /** Of items that meet the conditions: no more than `most` are counted. */
  count (where: readonly Condition[], most: number): Promise<Count>
  /** Commands in the log of an item. */
  log (id: Id, query: Query): Promise<readonly LogRecord[]>
  /** Whether an item that is gone has a log that the caller may see. */
  hasLog (id: Id): Promise<boolean>
  /** The item, if it is still there. Throws the problem `not-found` if there is no log either. */
  checkLog (id: Id): Promise<Stored | undefined>
  /** A command in the log of an item, by the id that it has for the caller. */
  entry (id: Id, command: string): Promise<LogRecord | undefined>
  /** A command of the caller. */
  ownEntry (command: string): Promise<LogRecord | undefined>
  /** Commands of the caller, by the keys under which they were run. */
  findByKeys (keys: readonly string[]): Promise<ReadonlyMap<string, LogRecord>>
  /** The place to follow the log from: the end of what is stored. */
  findCursor (): Promise<string>
  /** What may be done with the item, and whether its state allows it now. @param only what it allows, nothing else */
  offers (item: Stored, only?: 'allowed'): Promise<readonly ItemOffer[]>
  /** Whether an action is offered for the family, such as `CreateDeal` or `read`. */
  mayOffer (action: string): Promise<boolean>
}

/**
 * Asks `authorize` what the caller may see. Throws its refusal.
 *
 * @example
 * const reading = await openReading(mount, request, { action: 'read', id })
 * const [item, entries] = [await reading.get(id), await reading.log(id, query)]
 */
export async function openReading (mount: FamilyMount, request: FastifyRequest, intent: ReadIntent): Promise<Reading> {
  const own = mountOf(mount)
  const { family } = own
  const { action, id, params = {} } = intent
  const reader = await authorizeReader(family, own.caller(request), { family: family.name, action, id, params })
  return readBy(own.as(reader.family).shown, reader)
}

/** Whether the caller may list the items, such as for a link to them. */
export async function mayList (mount: FamilyMount, request: FastifyRequest): Promise<boolean> {
  return await mayOffer(callOf(mountOf(mount), request), 'list')
}

const heldReaders = new WeakMap<Reading, Reader>()

export function readerOf (reading: Reading): Reader {
  return heldReaders.get(reading) as Reader
}

export function readBy (mount: FamilyMount, reader: Reader): Reading {
  const { family, grant, called, isNarrowed, signal } = reader
  const { principal, offers } = grant
  const show = (record: CommandRecord | undefined) => record && showRecord(family, record, principal)
  const reading: Reading = {
    mount,
    principal,
    isNarrowed,
    get: id => reader.get(id),
    past: (id, when) => reader.getPast(id, when),
    find: async (query, members) => members === undefined
      ? await reader.find(query)
      : { items: await reader.findMembers(query, members) },
    async expand (item, fields) {
      const [expanded = item] = await (await makeExpand(family, called.caller, fields, { one: item }))([item])
      return expanded
    },
    count: (where, most) => countUpTo(reader, where, most),
    async log (id, query) {
      const { items } = await reader.findLog(id, query)
      return (items as readonly CommandRecord[]).map(entry => showRecord(family, entry, principal))
    },
    hasLog: id => reader.hasLog(id),
    checkLog: id => reader.checkLog(id),
    entry: async (id, command) => isTextId(command) ? show(await reader.getFromLog(id, command)) : undefined,
    ownEntry: async command => isTextId(command) ? show(await reader.getOwnCommand(command)) : undefined,
    async findByKeys (keys) {
      const found = await reader.findByKeys(keys)
      return new Map(Array.from(found, ([key, record]) => [key, showRecord(family, record, principal)]))
    },
    findCursor: async () => writePosition(await findEnd(await called.caller.storage(), signal)),
    async offers (item, only) {
      const targets = await findTargets(called, grant, item, undefined, only)
      const state = readState(family, item)
      return targets.map((target): ItemOffer => {
        const { reason, operation: { name: operation } } = target
        const { name, action } = toAction(family, target)
        if (reason === undefined) return { name, action, allowed: true }
        const isForState = reason === explainState(operation, family, state)
        const wrongState = { operation, allowed: [], ...state !== undefined && { state } }
        return { name, action, allowed: false, reason, ...isForState && { wrongState } }
      })
    },
    async mayOffer (action) {
      // The list does not say what may be read.
      if (action === 'read' && offers !== undefined) return true
      return await mayOffer(called, action, grant)
    }
  }
  heldReaders.set(reading, reader)
  return reading
}

export function showRecord<R extends CommandRecord> (
  family: Family, record: R, reader: string | undefined
): Omit<R, 'target'> & LogRecord {
  return { ...record, id: nameRecord(record, reader), target: readTarget(family, record) }
}
