import { now as readClock, random } from '../runtime.js'
import type { Change, Id, Stored } from '../storage/storage.js'

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
