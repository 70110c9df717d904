import { Type } from '@sinclair/typebox'
import {
  DuplicateError, errorCodes, findOptionFlaw, findPosition, keepRow, type Log, openLog, optionRules, type Storage,
  writePosition
} from '../index.js'
import {
  type ConsumerPosition, consumers, consumersShape, getPlace, type ParkedEntry, type Place, updatePlace
} from './leases.js'
import { walk } from './rows.js'

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

const openPlaces = async (storage: Storage): Promise<Log> => await openLog(storage, { tables: [consumersShape] })

/** Where a new consumer begins. */
export interface ConsumerStart {
  /** At the first entry (default), or with what happens from now on. */
  readonly from?: 'beginning' | 'now'
  /** Instead of `from`: after this place, the `cursor` of an entry, or that of `links.follow`. */
  readonly after?: string
}

export const startRules = {
  from: Type.Optional(Type.Union([Type.Literal('beginning'), Type.Literal('now')])),
  after: Type.Optional(Type.Unsafe<string>({
    holds: (text: unknown) => findPosition(String(text)) !== undefined, description: 'a cursor'
  }))
}

const addRules = Type.Object({ name: optionRules.text, ...startRules })

/**
 * Adds a consumer before it runs, so that `prune` keeps what it is to get. If there is one of this name, it stays.
 *
 * @example
 * await addConsumer(storage, { name: 'mailer', from: 'now' })
 */
export async function addConsumer (
  storage: Storage, options: ConsumerStart & { readonly name: string }
): Promise<void> {
  const flaw = findOptionFlaw(addRules, options)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(flaw)
  const log = await openPlaces(storage)
  const { name, from, after } = options
  // Where there is nothing after the cursor, it will say so when it runs.
  const start = after === undefined ? await log.findStart(from === undefined ? {} : { from }) : findPosition(after)
  try {
    await addPlace(log, { id: name }, start)
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
  await openPlaces(storage)
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
  log: Log, place: Pick<ConsumerPosition, 'id' | 'holder'>, start?: number
): Promise<Place> {
  let added: Place | undefined
  await log.commitWithMark(pruned => {
    const begun = { position: start ?? 0, pruned: start ?? pruned }
    const change = keepRow(consumers, { parked: [], retried: [], ...place, ...begun }, undefined)
    added = change.item
    return [change]
  })
  return added as Place
}

/**
 * The consumers of a storage: where each is, and what it set aside.
 *
 * @example
 * for (const { name, lag, parked } of await listConsumers(storage)) console.log(name, lag, parked.length)
 */
export async function listConsumers (storage: Storage): Promise<ConsumerState[]> {
  const end = await (await openPlaces(storage)).findEnd()
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
  await openPlaces(storage)
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
    await openPlaces(storage)
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
  await openPlaces(to)
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
  const position = await (await openPlaces(storage)).findPruned()
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
