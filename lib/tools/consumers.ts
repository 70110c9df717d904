import { Type } from '@sinclair/typebox'
import { errorCodes } from '../core/errors.js'
import { type AnyFamily, type Family, getFamily, listShapes } from '../core/family/family.js'
import { commandsShape } from '../core/family/fields.js'
import { delay, now, performance, random, randomUUID } from '../core/runtime.js'
import { type Caller, readMakers } from '../core/service/caller.js'
import { Feed, findPosition, showFollowed, writePosition } from '../core/service/feed.js'
import { follow } from '../core/service/follow.js'
import type { FeedEntry } from '../core/service/log-part.js'
import { findEnd, findPruned, isPruned, refusePruned } from '../core/service/log-reads.js'
import { Reader } from '../core/service/reader.js'
import { prunedId } from '../core/service/record.js'
import type { Called } from '../core/service/renamed.js'
import type { FollowedCommand } from '../core/service/service.js'
import { type GuardedStorage, isStorage, makeStorageAccess } from '../core/service/storage-access.js'
import { type Condition, ConflictError, DuplicateError, type Storage } from '../core/storage/storage.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import {
  consumersShape, getPlace, Lease, type ParkedEntry, type Place, type Position, savePlace, updatePlace
} from './leases.js'
import { keepMark, keepRow, walk } from './rows.js'

/** What a handler knows besides the entry. */
export interface HandlerContext {
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborted when the consumer stops, or loses its lease to another process. */
  readonly signal: AbortSignal
}

/** Options of `consume`. */
export interface ConsumeOptions {
  /** Names the consumer: its place is kept under this name, and one process at a time works under it. */
  readonly name: string
  /** The families whose commands it gets. */
  readonly families: readonly AnyFamily[]
  /** What to do with an entry. If it throws, it is called again with growing pauses. */
  readonly handler: (entry: FollowedCommand, context: HandlerContext) => unknown
  /** Where a new consumer begins: at the first entry (default), or with what happens from now on. */
  readonly from?: 'beginning' | 'now'
  /** Instead of `from`: after this place, the `cursor` of an entry, or that of `links.follow`. */
  readonly after?: string
  /** After so many failures, an entry is set aside, and the next one is handled. Default 10. */
  readonly maxAttempts?: number
  /** Milliseconds before the second attempt; each further pause is twice as long. Default 100. */
  readonly retryDelay?: number
  /** The longest pause between two attempts, in milliseconds. Default 60,000. */
  readonly maxRetryDelay?: number
  /** Milliseconds after which another process takes over from one that has died. Default 10,000. */
  readonly leaseTime?: number
  /** Called for each failure, such as to log it. */
  readonly onError?: (error: unknown, entry: FollowedCommand) => void
  /** Stops it. */
  readonly signal?: AbortSignal
}

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

const consumers = consumersShape.name
const prepare = makeStorageAccess([commandsShape, consumersShape])

const maxParked = 1000
// How many handled entries another process may handle again after a crash.
const maxUnsaved = 10

type Consumption = Omit<ConsumeOptions, 'families'> & {
  /** Which entries are to be handled. Default: all are. */
  readonly where?: readonly Condition[]
}

const optionRules = membersOf({
  name: rules.text,
  families: Type.Array(rules.any, { minItems: 1, description: 'a list of at least one family' }),
  handler: rules.callback,
  from: Type.Union([Type.Literal('beginning'), Type.Literal('now')]),
  after: Type.Unsafe({ holds: (text: unknown) => findPosition(String(text)) !== undefined, description: 'a cursor' }),
  maxAttempts: rules.size,
  retryDelay: rules.time,
  maxRetryDelay: rules.time,
  leaseTime: rules.time,
  onError: rules.callback,
  signal: rules.any
}, ['name', 'families', 'handler'])

/**
 * Handles every command of some families at least once, in the order of each item, in one process at a time: another
 * one takes over when it dies. Ends when the signal is aborted.
 *
 * @example
 * await consume(storage, {
 *   name: 'mailer',
 *   families: [deals],
 *   signal,
 *   async handler (entry) {
 *     if (entry.action === 'CompleteDeal') await sendMail(`Deal ${entry.deal} is complete`)
 *   }
 * })
 */
export async function consume (storage: Storage, options: ConsumeOptions): Promise<void> {
  const flaw = isStorage(storage) ? findFlaw(optionRules, options, 'option') : 'the first argument must be a storage'
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(flaw)
  await runConsumer(storage, options.families.map(getFamily), options)
}

export async function runConsumer (
  storage: Storage, families: readonly Family[], options: Consumption
): Promise<void> {
  // Its own, since many consumers may share the one that is given.
  const signal = AbortSignal.any(options.signal === undefined ? [] : [options.signal])
  const shapes = new Set([commandsShape, consumersShape, ...families.flatMap(listShapes)])
  const guarded = await makeStorageAccess([...shapes])(storage)
  const holder = randomUUID()
  while (!signal.aborted) {
    const lease = await takeLease(guarded, options, holder, signal)
    if (lease !== undefined) await work(guarded, families, options, lease, signal)
  }
}

/**
 * Waits until it holds the lease; undefined where the signal is aborted first. The time is measured by the clock of the
 * process that takes over, so that the clocks of processes need not agree. After an outage, the lease may still be in
 * the name of this holder.
 */
async function takeLease (
  storage: GuardedStorage, options: Consumption, holder: string, signal: AbortSignal
): Promise<Lease | undefined> {
  const { name: id, leaseTime = 10_000 } = options
  let seen: { readonly revision: number | undefined, readonly at: number } | undefined
  while (!signal.aborted) {
    try {
      const found = await storage.get(consumers, id) as Place | undefined
      const at = performance.now()
      if (seen === undefined || found?.revision !== seen.revision) seen = { revision: found?.revision, at }
      if (found?.holder === undefined || found.holder === holder || at - seen.at > leaseTime) {
        const place = found === undefined
          ? await addPlace(storage, { id, holder }, await findFirst(storage, options))
          : await savePlace(storage, { ...found, holder }, found)
        return new Lease(storage, place, leaseTime, at)
      }
    } catch (error) {
      // Otherwise another process took it, or the storage does not answer now.
      if (isPruned(error)) throw error
    }
    await delay(leaseTime * (0.05 + random() / 10), undefined, { signal }).catch(() => {})
  }
  return undefined
}

/** Where a new consumer begins; undefined for the first entry that there is. */
async function findFirst (storage: Storage, { from = 'beginning', after }: Consumption): Promise<number | undefined> {
  if (after === undefined && from === 'beginning') return undefined
  const end = await findEnd(storage)
  const given = after === undefined ? undefined : findPosition(after)
  if (given !== undefined) await refusePruned(storage, given, end)
  return given ?? end
}

/**
 * What a new consumer has not handled is kept by `prune`, also by one that runs now.
 *
 * @param start default: the first entry that there is
 */
export async function addPlace (
  storage: Storage, place: Pick<Position, 'id' | 'holder'>, start?: number
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

/** Handles entries while it has the lease. */
async function work (
  storage: GuardedStorage, families: readonly Family[], options: Consumption, lease: Lease, stopped: AbortSignal
): Promise<void> {
  const { handler, onError, where = [], maxAttempts = 10, retryDelay = 100, maxRetryDelay = 60_000 } = options
  const interval = Math.ceil(lease.time / 10)
  const signal = AbortSignal.any([stopped, lease.signal])
  const sources = families.map(family =>
    ({ family, reader: new Reader(makeProgram(family, families, storage), storage, {}) }))
  const feed = new Feed(storage, sources, undefined)
  try {
    const { position: saved, place: { pruned: known } } = lease
    // They differ for one that an earlier version added, which does not say what it does not miss.
    const start = saved === 0 ? undefined : saved
    for await (const { entries, position } of follow(feed, start, { signal, interval, where, known })) {
      for (const { id } of lease.place.retried) {
        const entry = await storage.get('commands', id) as FeedEntry | undefined
        if (entry !== undefined) for (const shown of await feed.filter([entry])) await handle(shown)
        if (signal.aborted) return
        await lease.keep(({ retried }) => ({ retried: retried.filter(each => each.id !== id) }))
      }
      for (const [index, entry] of entries.entries()) {
        if (index > 0 && index % maxUnsaved === 0) await lease.keep()
        await handle(entry)
        if (signal.aborted) return
        lease.position = entry.position
      }
      lease.position = position
      // Of entries that are not for it, the position is saved when the lease is renewed, in one commit for many.
      if (entries.length > 0) await lease.keep()
    }
  } catch (error) {
    // The next holder of a lease may have handled what was pruned.
    if (isPruned(error) && lease.isHeld) throw error
    // The storage does not answer, or the lease is lost: the caller begins again.
    await delay(interval, undefined, { signal }).catch(() => {})
  } finally {
    await lease.release().catch(() => {})
  }

  /** Calls the handler until it succeeds or the entry is set aside. */
  async function handle (entry: FeedEntry): Promise<void> {
    const shown = showFollowed(feed.get(entry).family, entry)
    for (let attempt = 1; lease.isHeld && !signal.aborted; attempt++) {
      try {
        await handler(shown, { attempt, signal })
        return
      } catch (error) {
        if (signal.aborted) return
        onError?.(error, shown)
        if (attempt >= maxAttempts && lease.place.parked.length < maxParked) {
          const message = String((error as Error | undefined)?.message ?? error).slice(0, 500)
          const { id, family, position } = entry
          const failed = { id, family, position, attempts: attempt, error: message, at: new Date(now()).toISOString() }
          return await lease.keep(({ parked }) => ({ parked: [...parked, failed] }))
        }
      }
      const pause = Math.min(maxRetryDelay, retryDelay * 2 ** Math.min(attempt - 1, 30))
      await delay(pause, undefined, { signal }).catch(() => {})
    }
  }
}

/** A program that sees everything of these families. */
function makeProgram (family: Family, families: readonly Family[], storage: GuardedStorage): Called {
  const caller: Caller = {
    authorize: () => ({}),
    other (other) {
      const found = families.find(({ name }) => name === (typeof other === 'string' ? other : other.name))
      return found && { family: found, caller }
    },
    storage: () => storage,
    makers: readMakers(family, {}),
    isGuarded: false,
    isProgram: true
  }
  return { family, caller }
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

/** Moves a consumer past what it has missed, so that it continues with what there is. */
export async function skipPruned (storage: Storage, name: string): Promise<void> {
  const position = await findPruned(storage)
  // One whose place was lost in a failover begins again.
  const place = await getPlace(storage, name)
  await updatePlace(storage, place, place => ({ position: Math.max(place.position, position) }))
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
