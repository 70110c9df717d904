import { Type } from '@sinclair/typebox'
import { getFamily, listShapes } from '../core/family/family.js'
import { commandsShape } from '../core/family/fields.js'
import { delay, now, performance, random, randomUUID } from '../core/runtime.js'
import type { Feed } from '../core/service/feed.js'
import { follow } from '../core/service/follow.js'
import type { FeedEntry } from '../core/service/log-part.js'
import { isPruned } from '../core/service/log-reads.js'
import { type GuardedStorage, isStorage, makeStorageAccess } from '../core/service/storage-access.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import { type AnyFamily, errorCodes, type FollowedCommand, type Storage } from '../index.js'
import { addPlace, type ConsumerStart, findStart, startRules } from './consumer-places.js'
import { type EntryCondition, findFlawInWhere, makeFeed, showEntry } from './entries.js'
import { consumers, consumersShape, Lease, type Place, savePlace } from './leases.js'

/** What a handler knows besides the entry. */
export interface HandlerContext {
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborted when the consumer stops, or loses its lease to another process. */
  readonly signal: AbortSignal
}

/** Options of `consume`. */
export interface ConsumeOptions extends ConsumerStart {
  /** Names the consumer: its place is kept under this name, and one process at a time works under it. */
  readonly name: string
  /** The families whose commands it gets. */
  readonly families: readonly AnyFamily[]
  /** Conditions that must all hold, such as on the action. Default: it gets all commands of the families. */
  readonly where?: readonly EntryCondition[]
  /** What to do with an entry. If it throws, it is called again with growing pauses. */
  readonly handler: (entry: FollowedCommand, context: HandlerContext) => unknown
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

const maxParked = 1000
// How many handled entries another process may handle again after a crash.
const maxUnsaved = 10

const optionRules = membersOf({
  name: rules.text,
  families: Type.Array(rules.any, { minItems: 1, description: 'a list of at least one family' }),
  where: rules.any,
  handler: rules.callback,
  ...startRules,
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
  const flawOfWhere = findFlawInWhere(options?.where ?? [])
  const wrong = flaw ?? (flawOfWhere && `the option "where" ${flawOfWhere}`)
  if (wrong !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(wrong)
  const families = options.families.map(getFamily)
  // Its own, since many consumers may share the one that is given.
  const signal = AbortSignal.any(options.signal === undefined ? [] : [options.signal])
  const shapes = new Set([commandsShape, consumersShape, ...families.flatMap(listShapes)])
  const guarded = await makeStorageAccess([...shapes])(storage)
  const holder = randomUUID()
  while (!signal.aborted) {
    const lease = await takeLease(guarded, options, holder, signal)
    if (lease !== undefined) await work(makeFeed(guarded, families), options, lease, signal)
  }
}

/**
 * Waits until it holds the lease; undefined where the signal is aborted first. The time is measured by the clock of the
 * process that takes over, so that the clocks of processes need not agree. After an outage, the lease may still be in
 * the name of this holder.
 */
async function takeLease (
  storage: GuardedStorage, options: ConsumeOptions, holder: string, signal: AbortSignal
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
          ? await addPlace(storage, { id, holder }, await findStart(storage, options, true))
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

/** Handles entries while it has the lease. */
async function work (feed: Feed, options: ConsumeOptions, lease: Lease, stopped: AbortSignal): Promise<void> {
  const { handler, onError, where = [], maxAttempts = 10, retryDelay = 100, maxRetryDelay = 60_000 } = options
  const interval = Math.ceil(lease.time / 10)
  const signal = AbortSignal.any([stopped, lease.signal])
  try {
    const { position: saved, place: { pruned: known } } = lease
    // They differ for one that an earlier version added, which does not say what it does not miss.
    const start = saved === 0 ? undefined : saved
    for await (const { entries, position } of follow(feed, start, { signal, interval, where, known })) {
      for (const { id } of lease.place.retried) {
        const entry = await feed.storage.get('commands', id) as FeedEntry | undefined
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
    const shown = showEntry(feed, entry)
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
