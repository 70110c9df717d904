import { Problem } from '../problems.js'
import { clearTimeout, performance, setTimeout, type Timer } from '../runtime.js'
import type { FeedEntry } from '../service/log-reads.js'
import { findPruned } from '../service/log-reads.js'
import type { Condition } from '../storage/storage.js'
import { type Feed, getTail, type Passed, pauseBetweenPolls } from './feed.js'

/** The next entries of a follower. */
export interface Batch extends Passed {
  /** A consumer that stops earlier sets it to what it has taken: the rest is read again. */
  position: number
  /** When `renew` is due again, by `performance.now()`. */
  readonly dueAt: number
}

interface FollowSettings {
  /** The position of the last pruned entry that it does not miss. Default: where it starts. */
  readonly known?: number | undefined
  readonly where?: readonly Condition[]
  readonly signal?: AbortSignal | undefined
  /** Milliseconds after which it also yields without entries, even while the storage does not answer. */
  readonly interval?: number
  /** Milliseconds after a batch in which it yields none without entries. */
  readonly quietTime?: number
  /** Asks again what the caller may see, where the last time is `interval` ago, before more entries are yielded. */
  readonly renew?: () => Promise<void>
  /** Whether `renew` is also called before the first entries. */
  readonly isDue?: boolean
  /** Whether it continues after an error; `failures` came directly before. Default: after an outage of the storage. */
  readonly survives?: (error: unknown, failures: number) => boolean
}

const longest = 2 ** 31 - 1
// Pauses after failures grow by one poll each.
const maxPolls = 5

/**
 * Yields the entries after a position as they are committed, until the signal is aborted, also after an outage of the
 * storage. After each batch, and at intervals, it yields what was passed, even if the caller sees none of it. Throws
 * the problem `pruned` where entries after the position were deleted.
 *
 * @param start undefined to begin with the first entry that there is
 */
export async function * followFeed (
  feed: Feed, start: number | undefined, settings: FollowSettings
): AsyncGenerator<Batch> {
  const { signal, interval = longest, quietTime = 0 } = settings
  const isEnded = (): boolean => signal?.aborted === true
  const follower = new Follower(feed, start, settings)
  const onAbort = (): void => { follower.ring() }
  const leave = getTail(feed.storage).follow(() => { follower.wake() })
  signal?.addEventListener('abort', onAbort)
  try {
    let yieldedAt = performance.now()
    while (!isEnded()) {
      const batch = await follower.next(yieldedAt + interval)
      if (isEnded()) return
      if (batch.entries.length > 0 || performance.now() - yieldedAt >= quietTime) {
        yield batch
        yieldedAt = performance.now()
      }
      follower.position = batch.position
    }
  } finally {
    leave()
    signal?.removeEventListener('abort', onAbort)
  }
}

type PassedOrError = { readonly passed: Passed } | { readonly error: unknown }

class Follower {
  position: number
  readonly #feed: Feed
  readonly #settings: FollowSettings
  /** The last pruned entry that it does not miss. */
  #known: number | undefined
  #dueAt: number
  #holds: (entry: FeedEntry) => boolean
  #reading: Promise<PassedOrError> | undefined
  #failures = 0
  #isWoken = false

  constructor (feed: Feed, start: number | undefined, settings: FollowSettings) {
    this.position = start ?? 0
    this.#known = settings.known ?? start
    this.#feed = feed
    this.#settings = settings
    this.#holds = feed.match(settings.where ?? [])
    this.#dueAt = settings.isDue === true ? 0 : this.#findNextDue()
  }

  /** Ends a pause. */
  ring = (): void => {}

  /** There may be new entries. After a failure, the next attempt has its own time. */
  wake (): void {
    this.#isWoken = true
    if (this.#failures === 0) this.ring()
  }

  /** The next entries; none of them if the time has come. */
  async next (until: number): Promise<Batch> {
    const { signal, survives = isOutage } = this.#settings
    while (signal?.aborted !== true && performance.now() < until) {
      this.#reading ??= this.#begin()
      const read = await this.#wait(until, this.#reading)
      // It hangs, or the follower is woken.
      if (read === undefined) continue
      if ('error' in read) {
        if (!survives(read.error, this.#failures)) throw read.error
        this.#failures++
        this.#dueAt = 0
        await this.#wait(Math.min(until, performance.now() + Math.min(this.#failures, maxPolls) * pauseBetweenPolls))
        continue
      }
      this.#failures = 0
      if (read.passed.position === this.position) {
        if (!this.#isWoken) await this.#wait(Math.min(until, this.#dueAt))
      } else if (!this.#isDue) {
        return { ...read.passed, dueAt: this.#dueAt }
      }
    }
    return { entries: [], position: this.position, dueAt: this.#dueAt }
  }

  #begin (): Promise<PassedOrError> {
    this.#isWoken = false
    const reading = this.#read().then(passed => ({ passed }), (error: unknown) => ({ error }))
    return reading.finally(() => { this.#reading = undefined })
  }

  async #read (): Promise<Passed> {
    if (this.#isDue) {
      await this.#settings.renew?.()
      this.#holds = this.#feed.match(this.#settings.where ?? [])
      this.#dueAt = this.#findNextDue()
    }
    this.#known ??= await findPruned(this.#feed.storage)
    this.#feed.renewTime()
    return await this.#feed.readAfter(this.position, this.#known, this.#holds)
  }

  // What was read may have waited for the storage, or for a slow client.
  get #isDue (): boolean {
    return performance.now() >= this.#dueAt
  }

  #findNextDue (): number {
    const { renew, interval = longest } = this.#settings
    return renew === undefined ? Infinity : performance.now() + interval
  }

  /** Resolves at the time, when it is woken, or with the work. */
  async #wait<T> (until: number, work?: Promise<T>): Promise<T | undefined> {
    let timer: Timer | undefined
    const pause = new Promise<undefined>(resolve => {
      this.ring = () => { resolve(undefined) }
      // Keeps the process of a script alive, too.
      timer = setTimeout(this.ring, Math.min(longest, until - performance.now()))
    })
    const done = await (work === undefined ? pause : Promise.race([work, pause]))
    clearTimeout(timer)
    return done
  }
}

function isOutage (error: unknown): boolean {
  return error instanceof Problem && ['storage-unavailable', 'busy', 'timeout'].includes(error.code)
}
