import { Problem } from '../problems.js'
import { type Position, readCursor, writeCursor } from '../query/cursor.js'
import { findMembers, firstPartSize, maxPageLength } from '../storage/pages.js'
import type { Condition, Query, Storage, Stored } from '../storage/storage.js'
import { type CommandRecord, feedList, prunedId } from './record.js'

/** An entry of the log that has its position. */
export type FeedEntry = CommandRecord & { readonly position: number }

/** An entry, at least with what decides whether it is shown; the rest of it may be long. */
export type EntryKey = Stored & Pick<CommandRecord, 'family' | 'target' | 'about'> & { readonly position: number }

/** The maximum of short entries to read at once. */
export const keysPerRead = 100
const keyMembers = ['id', 'revision', 'position', 'family', 'target']

// Entries without a number come first in the order; they have none yet because they were just committed.
export const numbered: readonly Condition[] & readonly [Condition] = [{ field: 'position', op: 'gte', value: 1 }]

interface FoundEntries<E> {
  readonly entries: readonly E[]
  /** Whether none follows. */
  readonly isEnd: boolean
  /** The maximum to read next: few, if the storage does not measure them, since long ones may follow short ones. */
  readonly most: number
}

type Reads = Pick<Storage, 'find' | 'findText'>

/** As many as are not too long to be read at once, if the storage can measure them. */
export async function findEntries (
  storage: Reads, where: readonly Condition[], limit: number, signal?: AbortSignal, descending = false
): Promise<FoundEntries<FeedEntry>> {
  const query = { ...selectByPosition(where, limit, descending), maxLength: maxPageLength }
  const { items, isPartial } = await storage.find('commands', query, signal)
  const isEnd = isPartial !== true && items.length < limit
  return { entries: items as readonly FeedEntry[], isEnd, most: isPartial === undefined ? firstPartSize : keysPerRead }
}

/** Whole entries, if the storage cannot leave out what may be long. */
export async function findKeys (
  storage: Reads, where: readonly Condition[], limit: number, signal?: AbortSignal, descending = false
): Promise<FoundEntries<EntryKey>> {
  if (storage.findText === undefined) return await findEntries(storage, where, limit, signal, descending)
  const query = selectByPosition(where, limit, descending)
  const entries = await findMembers(storage, 'commands', query, keyMembers, signal) as readonly EntryKey[]
  return { entries, isEnd: entries.length < limit, most: keysPerRead }
}

export function selectByPosition (where: readonly Condition[], limit: number, descending: boolean): Query {
  return { where, order: [{ field: 'position', descending }], offset: 0, limit, count: false }
}

/** The position of the last entry; 0 where there is none. */
export async function findEnd (storage: Reads, signal?: AbortSignal): Promise<number> {
  return (await findKeys(storage, numbered, 1, signal, true)).entries[0]?.position ?? 0
}

/** The position of the last entry that was pruned; 0 where none was. */
export async function findPruned (storage: Pick<Storage, 'get'>, signal?: AbortSignal): Promise<number> {
  return (await storage.get('commands', prunedId, signal))?.position as number | undefined ?? 0
}

/** Throws where entries after a position are gone: pruned, or those of another storage, which has come further. */
export async function refusePruned (
  storage: Pick<Storage, 'get'>, position: number, end: number, signal?: AbortSignal
): Promise<void> {
  if (position > end || position < await findPruned(storage, signal)) throw wasPruned()
}

export function isPruned (error: unknown): boolean {
  return error instanceof Problem && error.code === 'pruned'
}

export function wasPruned (): Problem {
  return new Problem('pruned', 'Commands after this cursor were deleted; start again at the first page')
}

/** Of the feed. */
export function placeAfter (position: number): Position {
  return { isAfter: true, item: { position } as never }
}

/**
 * The cursor of a position in the log, as clients know it: of what comes after it.
 *
 * @example
 * const after = writePosition(entry.position)   // is entry.cursor
 */
export function writePosition (position: number): string {
  return writeCursor(feedList, placeAfter(position))
}

/**
 * The position of a cursor, such as that of a client, or of `links.follow`; undefined if it is none of the feed.
 *
 * @example
 * const position = findPosition(entry.cursor)   // is entry.position
 */
export function findPosition (cursor: string): number | undefined {
  return readCursor(feedList, cursor)?.item.position as number | undefined
}
