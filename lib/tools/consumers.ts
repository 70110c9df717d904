import { Type } from '@sinclair/typebox'
import {
  type AnyFamily, type EntryCondition, errorCodes, findOptionFlaw, type FollowedCommand, isStorage, type Log, openLog,
  optionRules, Problem, type Storage, tablesOf
} from '../index.js'
import { addPlace, type ConsumerStart, startRules } from './consumer-places.js'
import { consumers, consumersShape, Lease, type Place, savePlace } from './leases.js'
import { toolRuntime } from './system.js'

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

const consumeRules = Type.Object({
  name: optionRules.text,
  families: Type.Array(optionRules.any, { minItems: 1, description: 'a list of at least one family' }),
  where: Type.Optional(optionRules.any),
  handler: optionRules.callback,
  ...startRules,
  maxAttempts: Type.Optional(optionRules.size),
  retryDelay: Type.Optional(optionRules.time),
  maxRetryDelay: Type.Optional(optionRules.time),
  leaseTime: Type.Optional(optionRules.time),
  onError: Type.Optional(optionRules.callback),
  signal: Type.Optional(optionRules.any)
})

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
  const flaw = isStorage(storage) ? findOptionFlaw(consumeRules, options) : 'the first argument must be a storage'
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(flaw)
  const { families, where = [] } = options
  const log = await openLog(storage, { families, where, tables: [consumersShape, ...families.flatMap(tablesOf)] })
  // Its own, since many consumers may share the one that is given.
  const signal = AbortSignal.any(options.signal === undefined ? [] : [options.signal])
  const holder = toolRuntime.randomUUID()
  while (!signal.aborted) {
    const lease = await takeLease(storage, log, options, holder, signal)
    if (lease !== undefined) await work(log, options, lease, signal)
  }
}

/**
 * Waits until it holds the lease; undefined where the signal is aborted first. The time is measured by the clock of the
 * process that takes over, so that the clocks of processes need not agree. After an outage, the lease may still be in
 * the name of this holder.
 */
async function takeLease (
  storage: Storage, log: Log, options: ConsumeOptions, holder: string, signal: AbortSignal
): Promise<Lease | undefined> {
  const { name: id, leaseTime = 10_000 } = options
  let seen: { readonly revision: number | undefined, readonly at: number } | undefined
  while (!signal.aborted) {
    try {
      const found = await storage.get(consumers, id) as Place | undefined
      const at = toolRuntime.elapsed()
      if (seen === undefined || found?.revision !== seen.revision) seen = { revision: found?.revision, at }
      if (found?.holder === undefined || found.holder === holder || at - seen.at > leaseTime) {
        const place = found === undefined
          ? await addPlace(log, { id, holder }, await log.findStart(options))
          : await savePlace(storage, { ...found, holder }, found)
        return new Lease(storage, place, leaseTime, at)
      }
    } catch (error) {
      // Otherwise another process took it, or the storage does not answer now.
      if (wasDeleted(error)) throw error
    }
    await toolRuntime.delay(leaseTime * (0.05 + toolRuntime.random() / 10), signal)
  }
  return undefined
}

/** Handles entries while it has the lease. */
async function work (log: Log, options: ConsumeOptions, lease: Lease, stopped: AbortSignal): Promise<void> {
  const { handler, onError, maxAttempts = 10, retryDelay = 100, maxRetryDelay = 60_000 } = options
  const interval = Math.ceil(lease.time / 10)
  const signal = AbortSignal.any([stopped, lease.signal])
  try {
    const { position: saved, place: { pruned } } = lease
    // They differ for one that an earlier version added, which does not say what it does not miss.
    const start = saved === 0 ? undefined : saved
    for await (const { entries, position } of log.follow({ start, pruned, interval, signal })) {
      for (const { id } of lease.place.retried) {
        const entry = await log.findEntry(id)
        if (entry !== undefined) await handle(entry)
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
    if (wasDeleted(error) && lease.isHeld) throw error
    // The storage does not answer, or the lease is lost: the caller begins again.
    await toolRuntime.delay(interval, signal)
  } finally {
    await lease.release().catch(() => {})
  }

  /** Calls the handler until it succeeds or the entry is set aside. */
  async function handle (entry: FollowedCommand): Promise<void> {
    for (let attempt = 1; lease.isHeld && !signal.aborted; attempt++) {
      try {
        await handler(entry, { attempt, signal })
        return
      } catch (error) {
        if (signal.aborted) return
        onError?.(error, entry)
        if (attempt >= maxAttempts && lease.place.parked.length < maxParked) {
          const message = String((error as Error | undefined)?.message ?? error).slice(0, 500)
          const { id, family, position } = entry
          const at = new Date(toolRuntime.now()).toISOString()
          const failed = { id, family, position, attempts: attempt, error: message, at }
          return await lease.keep(({ parked }) => ({ parked: [...parked, failed] }))
        }
      }
      const pause = Math.min(maxRetryDelay, retryDelay * 2 ** Math.min(attempt - 1, 30))
      await toolRuntime.delay(pause, signal)
    }
  }
}

/** Whether entries that are to be handled are gone. */
function wasDeleted (error: unknown): boolean {
  return error instanceof Problem && error.code === 'pruned'
}
