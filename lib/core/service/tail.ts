import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Condition, Storage } from '../storage/storage.js'
import type { CommandRecord } from './command.js'
import type { GuardedStorage } from './storage-access.js'

/** The row with the position of the last pruned entry. No client can choose this id, and no family has the row. */
export const prunedId = '$pruned'

/** An entry of the log that has its position. */
export type FeedEntry = CommandRecord & { readonly position: number }

// Entries that are kept for followers, and read at once.
const kept = 1000
const batch = 500
// Milliseconds. While many commits are made, their entries are read together.
const pauseBetween = 20
const pauseAfterFailure = 1000

/** The end of the log of a storage. All followers of this process share it, so that each entry is read once. */
export class Tail {
  /** The last entries, without a gap. */
  #entries: FeedEntry[] = []
  #end: number | undefined
  readonly #followers = new EventEmitter().setMaxListeners(0)
  #stop: (() => void) | undefined
  #isStale = false
  #isReading = false

  constructor (readonly storage: GuardedStorage) {}

  /** Calls `wake` when there are new entries. Returns a function that ends it. */
  follow (wake: () => void): () => void {
    this.#followers.on('entries', wake)
    if (this.#stop === undefined) this.#start()
    return () => {
      this.#followers.off('entries', wake)
      if (this.#followers.listenerCount('entries') > 0) return
      this.#stop?.()
      this.#stop = this.#end = undefined
      this.#entries = []
    }
  }

  /** The entries after a position, in order. */
  async readAfter (position: number, limit: number, signal?: AbortSignal): Promise<readonly FeedEntry[]> {
    const first = this.#entries[0]?.position
    if (first !== undefined && position >= first - 1) {
      const from = this.#entries.findIndex(entry => entry.position > position)
      return from === -1 ? [] : this.#entries.slice(from, from + limit)
    }
    return await findEntries(this.storage, [{ field: 'position', op: 'gt', value: position }], limit, signal)
  }

  #start (): void {
    const wake = (): void => {
      this.#isStale = true
      if (!this.#isReading) this.#read()
    }
    if (this.storage.watch === undefined) {
      const timer = setInterval(wake, pauseAfterFailure).unref()
      this.#stop = () => { clearInterval(timer) }
    } else this.#stop = this.storage.watch(wake)
    wake()
  }

  async #read (): Promise<void> {
    this.#isReading = true
    while (this.#isStale && this.#stop !== undefined) {
      this.#isStale = false
      try {
        if (await this.#readNew()) this.#followers.emit('entries')
        await delay(pauseBetween, undefined, { ref: false })
      } catch {
        // Followers find out by their own reads.
        this.#followers.emit('entries')
        this.#isStale = true
        await delay(pauseAfterFailure, undefined, { ref: false })
      }
    }
    this.#isReading = false
  }

  async #readNew (): Promise<boolean> {
    let isFound = this.#end === undefined
    this.#end ??= await findEnd(this.storage)
    for (;;) {
      const where: Condition[] = [{ field: 'position', op: 'gt', value: this.#end }]
      const entries = await findEntries(this.storage, where, batch)
      isFound ||= entries.length > 0
      this.#end = entries.at(-1)?.position ?? this.#end
      this.#entries = [...this.#entries, ...entries].slice(-kept)
      if (entries.length < batch) return isFound
    }
  }
}

const tails = new WeakMap<GuardedStorage, Tail>()

export function getTail (storage: GuardedStorage): Tail {
  let tail = tails.get(storage)
  if (tail === undefined) tails.set(storage, tail = new Tail(storage))
  return tail
}

export async function findEntries (
  storage: Pick<Storage, 'find'>,
  where: readonly Condition[],
  limit: number,
  signal?: AbortSignal,
  descending = false
): Promise<readonly FeedEntry[]> {
  const order = [{ field: 'position', descending }]
  const { items } = await storage.find('commands', { where, order, offset: 0, limit, count: false }, signal)
  return items as readonly FeedEntry[]
}

const numbered: Condition = { field: 'position', op: 'gte', value: 1 }

/** The position of the last entry; 0 where there is none. */
export async function findEnd (storage: Pick<Storage, 'find'>, signal?: AbortSignal): Promise<number> {
  return (await findEntries(storage, [numbered], 1, signal, true))[0]?.position ?? 0
}

/** The position of the last entry that was pruned; 0 where none was. */
export async function findPruned (storage: Pick<Storage, 'get'>, signal?: AbortSignal): Promise<number> {
  return (await storage.get('commands', prunedId, signal))?.position as number | undefined ?? 0
}
