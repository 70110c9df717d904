import { now as readClock, random } from '../core/runtime.js'
import type { EntryKey } from '../core/service/log-part.js'
import { prunedId, readHighest } from '../core/service/record.js'
import { selectById } from '../core/storage/pages.js'
import { endLongTurn } from '../core/storage/turns.js'
import {
  type Change, type Condition, ConflictError, ConstraintError, DuplicateError, errorCodes, type Id, type Query,
  ReadOnlyError, type Storage, type Stored
} from '../index.js'

const maxStep = 1_000_000

/**
 * The change that inserts a row into a table that is not of a family, such as one of `tables`, or that replaces it.
 * Which revision it gets is left to chance: a process that knows a row as a failover has lost it must not take the row
 * that is there now for the same.
 *
 * @param current the row that is replaced
 * @example
 * await storage.commit([keepRow('mails', { id, sent: true }, await storage.get('mails', id))])
 */
export function keepRow<T extends { readonly id: Id }> (
  family: string, row: T, current: Stored | undefined
): Change & { readonly item: T & Stored } {
  const now = new Date(readClock()).toISOString()
  const { revision: expected = 0, createdAt = now } = current ?? {}
  const item = { ...row, revision: expected + 1 + Math.floor(random() * maxStep), createdAt, updatedAt: now }
  if (current === undefined) return { type: 'insert', family, item }
  return { type: 'replace', family, item, expected, current }
}

/**
 * The highest position and ids of what was pruned: a later entry must not get a position that followers have passed,
 * nor a new item an id that was used. The row gets a new revision even if it stays as it is: of two commits that have
 * it, such as one that prunes and one that adds a consumer, the second is refused.
 *
 * @param hash of a chained log: that of the last entry that was pruned, which the next one follows
 */
export function keepMark (mark: Stored | undefined, entries: readonly EntryKey[] = [], hash = mark?.hash): Change {
  const position = Math.max(mark?.position as number | undefined ?? 0, ...entries.map(({ position }) => position))
  const result = { ...readHighest(mark) }
  for (const { family, target } of entries) {
    if (Number.isSafeInteger(Number(target))) result[family] = Math.max(result[family] ?? 0, Number(target))
  }
  const known = { id: prunedId, position, family: '', target: '', action: 'Prune', outcome: 'done', result }
  const row = hash === undefined ? known : { ...known, hash }
  return keepRow('commands', row, mark)
}

// Errors that a retry would get again.
const lasting = [ConflictError, ConstraintError, DuplicateError, ReadOnlyError]

/** The same storage. If it fails, such as in a restart, the error says to make the call again. */
export function makeResumable (storage: Storage, call: string): Storage {
  const explain = (error: unknown): never => {
    const { code = '', message } = error as { code?: string, message: string }
    if (lasting.some(known => error instanceof known) || Object.hasOwn(errorCodes, code)) throw error
    throw new errorCodes.FST_DEALBOOK_INTERRUPTED(call, message, { cause: error })
  }
  return {
    prepare: shape => storage.prepare(shape).catch(explain),
    find: (...given) => storage.find(...given).catch(explain),
    get: (...given) => storage.get(...given).catch(explain),
    commit: changes => storage.commit(changes).catch(explain),
    ...storage.chain === true && { chain: true },
    close: () => storage.close()
  }
}

/** The last hash in a chained log, up to a position; undefined if there is none. */
export async function findHash (storage: Storage, position = Number.MAX_SAFE_INTEGER): Promise<string | undefined> {
  const where: Condition[] =
    [{ field: 'hash', op: 'null', is: false }, { field: 'position', op: 'lte', value: position }]
  const order = [{ field: 'position', descending: true }]
  const { items: [last] } = await storage.find('commands', { where, order, offset: 0, limit: 1, count: false })
  return last?.hash as string | undefined
}

// In characters of JSON, so that wide rows do not fill the memory.
const longestPart = 500_000
// The width of the rows is unknown before the first read.
const rowsAtFirst = 10
const mostRows = 1000

/** All rows, in parts. */
export async function * walk (storage: Storage, family: string, after?: Id): AsyncGenerator<readonly Stored[]> {
  for (let limit = rowsAtFirst; ;) {
    const { items } = await storage.find(family, selectAfter(after, limit))
    if (items.length > 0) yield items
    const next = await endPart(items, limit)
    if (items.length < limit) return
    after = items.at(-1)?.id
    limit = next
  }
}

/** Lets others run, and returns how many rows to read next. */
export async function endPart (items: readonly Stored[], limit: number, most = mostRows): Promise<number> {
  await endLongTurn()
  const width = JSON.stringify(items).length / items.length
  return Math.max(1, Math.min(most, 5 * limit, Math.floor(longestPart / width)))
}

export function selectAfter (id: Id | undefined, limit: number): Query {
  return selectById(id === undefined ? [] : [{ field: 'id', op: 'gt', value: id }], limit)
}
