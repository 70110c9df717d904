import { errorCodes } from '../errors.js'
import { now as readClock, uuidv7, yieldToEventLoop } from '../runtime.js'
import { type FeedEntry, findEnd, selectByPosition } from '../service/log-reads.js'
import type { CommandRecord } from '../service/record.js'
import { type GuardedStorage, isConflict } from '../service/storage-access.js'
import { sealErasure } from '../storage/chain.js'
import type { Change, Condition, Storage } from '../storage/storage.js'

/** What `erase` has touched. */
export interface ErasureReport {
  /** How many items, by the names of their families. */
  readonly items: Readonly<Record<string, number>>
  /** How many entries of logs, by the names of their families. */
  readonly entries: Readonly<Record<string, number>>
  /** How many errors of entries that consumers have set aside. */
  readonly parked: number
}

/**
 * What programs know and keep of entries, such as consumers of those that they have set aside. The storage is the one
 * that was given; its errors say to make the call again.
 */
export interface EntryCopies {
  /** The names of the programs that have not handled all entries up to a position: then nothing is erased. */
  listWaiting (storage: Storage, position: number): Promise<readonly string[]>
  /** Replaces the errors of entries by a text. Returns how many there were. */
  eraseErrors (storage: Storage, isErased: (entry: FailedEntry) => boolean, text: string): Promise<number>
}

/** An entry that a program could not handle, and why. */
export interface FailedEntry {
  readonly id: string
  readonly error: string
}

interface ErasedLogSettings {
  readonly storage: Storage
  /** Those of this process wait for each other. */
  readonly writers: GuardedStorage['writers']
  /** Entries of the log per commit. */
  readonly batch: number
  readonly ignoreConsumers: boolean
  readonly copies: EntryCopies
  readonly by: string | undefined
  readonly signal: AbortSignal | undefined
}

/** How many are in the first commit, unless a batch has fewer. */
export const entriesAtFirst = 10
// In characters of JSON.
const pageLength = 500_000
// Each failed attempt means that another process has changed something.
const maxFailures = 150

type Handle = (entries: readonly FeedEntry[]) => readonly Change[] | Promise<readonly Change[]>

/** Reads and replaces entries of a log, in small commits, and counts what was touched. */
export class ErasedLog {
  readonly #items: Record<string, number> = {}
  readonly #entries: Record<string, number> = {}
  parked = 0

  constructor (readonly settings: ErasedLogSettings) {}

  get report (): ErasureReport {
    return { items: this.#items, entries: this.#entries, parked: this.parked }
  }

  /**
   * Calls `handle` with the entries that there are, in order, and commits the changes that it returns.
   *
   * @param start the position that they come after
   * @returns the end of the log before it: what is added meanwhile is left
   */
  async each (where: readonly Condition[], handle: Handle, start = 0): Promise<number> {
    const { storage, batch, signal } = this.settings
    const end = await findEnd(storage, signal)
    let failures = 0
    for (let after = start, limit = Math.min(entriesAtFirst, batch); after < end;) {
      signal?.throwIfAborted()
      const bounds: Condition[] =
        [...where, { field: 'position', op: 'gt', value: after }, { field: 'position', op: 'lte', value: end }]
      const found = await storage.find('commands', selectByPosition(bounds, limit, false))
      const entries = found.items as readonly FeedEntry[]
      const last = entries.at(-1)
      if (last === undefined) break
      try {
        await this.commit(await handle(entries))
        after = last.position
      } catch (error) {
        // Another process erases or prunes too: the next find returns what there is now.
        if (!isConflict(error) || ++failures > maxFailures) throw error
        continue
      }
      await yieldToEventLoop()
      if (entries.length < limit) break
      const width = JSON.stringify(entries).length / entries.length
      limit = Math.max(1, Math.min(batch, 5 * limit, Math.floor(pageLength / width)))
    }
    return end
  }

  async commit (changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return
    const { storage } = this.settings
    const isChained = storage.chain === true
    await storage.commit(isChained ? sealErasure(changes, uuidv7(), new Date(readClock()).toISOString()) : changes)
    for (const change of changes) {
      if (change.type !== 'replace') continue
      const { family, item } = change
      const isEntry = family === 'commands'
      const counts = isEntry ? this.#entries : this.#items
      const name = isEntry ? (item as CommandRecord).family : family
      counts[name] = (counts[name] ?? 0) + 1
    }
  }

  /** Throws if a program has not handled all entries up to a position. */
  async refuseHeld (position: number): Promise<void> {
    const { storage, copies, ignoreConsumers } = this.settings
    if (ignoreConsumers || position === 0) return
    const waiting = await copies.listWaiting(storage, position)
    if (waiting.length === 0) return
    throw new errorCodes.FST_DEALBOOK_ERASURE_HELD(waiting.map(name => `"${name}"`).join(', '))
  }
}

/** An entry is at the revision of its item: only the moment shows that another process has replaced it. */
export function replaceEntry (entry: FeedEntry, erased: FeedEntry): Change[] {
  if (erased === entry) return []
  const item = { ...erased, updatedAt: findMoment(entry.updatedAt) }
  return [{ type: 'replace', family: 'commands', item, expected: entry.revision, current: entry }]
}

/** Now, or a moment later than one that is known. */
export function findMoment (known: string): string {
  return new Date(Math.max(readClock(), Date.parse(known) + 1)).toISOString()
}
