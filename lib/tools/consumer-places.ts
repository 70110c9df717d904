import { Type } from '@sinclair/typebox'
import { commandsShape } from '../core/family/fields.js'
import { findPosition, writePosition } from '../core/service/feed.js'
import { findEnd, findPruned, refusePruned } from '../core/service/log-reads.js'
import { prunedId } from '../core/service/record.js'
import { makeStorageAccess } from '../core/service/storage-access.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import { ConflictError, DuplicateError, errorCodes, type Storage } from '../index.js'
import {
  type ConsumerPosition, consumers, consumersShape, getPlace, type ParkedEntry, type Place, updatePlace
} from './leases.js'
import { keepMark, keepRow, walk } from './rows.js'

/** A consumer, as kept in the storage. */
export interface ConsumerState {
  readonly name: string
  /** The place after the last handled entry, for `after`. */
  readonly cursor: string
  /** How many entries of the storage come after it. */
  readonly lag: number
  /** The process that works under the name now; undefined where none does. */
  readonly holder: string | undefined
  readonly parked: readonly ParkedEntry[]
  readonly updatedAt: string
}

const prepare = makeStorageAccess([commandsShape, consumersShape])

/** Where a new consumer begins. */
export interface ConsumerStart {
  /** At the first entry (default), or with what happens from now on. */
  readonly from?: 'beginning' | 'now'
  /** Instead of `from`: after this place, the `cursor` of an entry, or that of `links.follow`. */
  readonly after?: string
}

export const startRules = {
  from: Type.Union([Type.Literal('beginning'), Type.Literal('now')]),
  after: Type.Unsafe({ holds: (text: unknown) => findPosition(String(text)) !== undefined, description: 'a cursor' })
}

const addedRule = membersOf({ name: rules.text, ...startRules }, ['name'])

/** The position; undefined for the first entry that there is. @param isRead whether what comes next must be there */
export async function findStart (
  storage: Storage, { from = 'beginning', after }: ConsumerStart, isRead = false
): Promise<number | undefined> {
  if (after === undefined && from === 'beginning') return undefined
  const end = await findEnd(storage)
  const given = after === undefined ? undefined : findPosition(after)
  if (given !== undefined && isRead) await refusePruned(storage, given, end)
  return given ?? end
}

/**
 * Adds a consumer before it runs, so that `prune` keeps what it is to get. If there is one of this name, it stays.
 *
 * @example
 * await addConsumer(storage, { name: 'mailer', from: 'now' })
 */
export async function addConsumer (
  storage: Storage, options: ConsumerStart & { readonly name: string }
): Promise<void> {
  const flaw = findFlaw(addedRule, options, 'option')
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(flaw)
  await prepare(storage)
  try {
    await addPlace(storage, { id: options.name }, await findStart(storage, options))
  } catch (error) {
    if (!(error instanceof DuplicateError)) throw error
  }
}

/**
 * Ends a consumer for good: its position is deleted, and `prune` keeps nothing for it. Stop it before.
 *
 * @example
 * await removeConsumer(storage, 'mailer')
 */
export async function removeConsumer (storage: Storage, name: string): Promise<void> {
  await prepare(storage)
  const place = await storage.get(consumers, name)
  if (place === undefined) return
  await storage.commit([{ type: 'delete', family: consumers, id: place.id, expected: place.revision }])
}

/**
 * What a new consumer has not handled is kept by `prune`, also by one that runs now.
 *
 * @param start default: the first entry that there is
 */
export async function addPlace (
  storage: Storage, place: Pick<ConsumerPosition, 'id' | 'holder'>, start?: number
): Promise<Place> {
  for (;;) {
    const mark = await storage.get('commands', prunedId)
    const begun = { position: start ?? 0, pruned: start ?? mark?.position as number | undefined ?? 0 }
    const change = keepRow(consumers, { parked: [], retried: [], ...place, ...begun }, undefined)
    try {
      await storage.commit([change, keepMark(mark)])
      return change.item
    } catch (error) {
      // Other consumers are added at the same time, or `prune` runs.
      const isMark = error instanceof ConflictError || error instanceof DuplicateError
      if (!isMark || error.family !== 'commands') throw error
    }
  }
}

/**
 * The consumers of a storage: where each is, and what it set aside.
 *
 * @example
 * for (const { name, lag, parked } of await listConsumers(storage)) console.log(name, lag, parked.length)
 */
export async function listConsumers (storage: Storage): Promise<ConsumerState[]> {
  await prepare(storage)
  const end = await findEnd(storage)
  return (await findPlaces(storage)).map(({ id, position, holder, parked, retried, updatedAt }) => ({
    name: id,
    cursor: writePosition(position),
    lag: Math.max(0, end - position),
    holder,
    parked: [...parked, ...retried],
    updatedAt
  }))
}

/**
 * Makes a consumer handle the entries that it set aside once more.
 *
 * @example
 * await retryParked(storage, 'mailer')
 * @returns how many there are
 */
export async function retryParked (storage: Storage, name: string): Promise<number> {
  await prepare(storage)
  const place = await getPlace(storage, name)
  let count = place.parked.length
  if (count === 0) return 0
  await updatePlace(storage, place, ({ parked, retried }) => {
    count = parked.length
    return { parked: [], retried: [...retried, ...parked] }
  })
  return count
}

// In an error of SQLite, of PostgreSQL, or in the SQL that `migrate: 'check'` asks for.
const noTable = /no such table|relation .* does not exist|CREATE TABLE .*command_consumers/

/** Without a table, there are none. A table that lacks a column may have some, so that is an error. */
async function findPlaces (storage: Storage): Promise<readonly Place[]> {
  const places: Place[] = []
  try {
    await prepare(storage)
    for await (const part of walk(storage, consumers)) places.push(...part as Place[])
  } catch (error) {
    if (!noTable.test((error as Error).message)) throw error
  }
  return places
}

/** Those that the target has are left as they are. */
export async function copyPlaces (from: Storage, to: Storage): Promise<void> {
  const places = await findPlaces(from)
  if (places.length === 0) return
  await prepare(to)
  for (const { holder, ...place } of places) {
    if (await to.get(consumers, place.id) !== undefined) continue
    await to.commit([{ type: 'insert', family: consumers, item: place }])
  }
}

/**
 * Moves a consumer past what `prune` has deleted before it was handled, so that it continues with what is left.
 *
 * @example
 * await skipPruned(storage, 'mailer')   // consume has thrown the problem pruned
 */
export async function skipPruned (storage: Storage, name: string): Promise<void> {
  await prepare(storage)
  const position = await findPruned(storage)
  // One whose place was lost in a failover begins again.
  const place = await getPlace(storage, name)
  await updatePlace(storage, place, place => ({ position: Math.max(place.position, position) }))
}

/** Removes the errors of entries that were set aside: they are texts of the host. Returns how many there were. */
export async function eraseErrors (
  storage: Storage, isErased: (entry: ParkedEntry) => boolean, text: string
): Promise<number> {
  let count = 0
  const isLeft = (entry: ParkedEntry): boolean => entry.error !== text && isErased(entry)
  const erase = (entries: readonly ParkedEntry[]): ParkedEntry[] =>
    entries.map(entry => isLeft(entry) ? { ...entry, error: text } : entry)
  for (const place of await findPlaces(storage)) {
    if (![...place.parked, ...place.retried].some(isLeft)) continue
    await updatePlace(storage, place, ({ parked, retried }) => {
      count += [...parked, ...retried].filter(isLeft).length
      return { parked: erase(parked), retried: erase(retried) }
    })
  }
  return count
}

/** The position up to which all consumers have handled everything, also after a failover. */
export async function findHandled (storage: Storage): Promise<number> {
  const places = await findPlaces(storage)
  const [first] = places
  if (first === undefined || storage.confirm === undefined) return getHandled(places)
  await storage.confirm(consumers, first.id).catch(async (error: unknown) => {
    // It may have been deleted meanwhile.
    if (await storage.get(consumers, first.id) !== undefined) throw error
  })
  // A failover may have set them back.
  return Math.min(getHandled(places), getHandled(await findPlaces(storage)))
}

function getHandled (places: readonly Place[]): number {
  let handled = Number.MAX_SAFE_INTEGER
  for (const { position, parked, retried } of places) {
    handled = Math.min(handled, position)
    for (const waiting of [...parked, ...retried]) handled = Math.min(handled, waiting.position - 1)
  }
  return handled
}
