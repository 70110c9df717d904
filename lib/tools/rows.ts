import type { Change, Id, Stored } from '../core/storage/storage.js'

/** A new row in a table of the service itself, or the next revision of one. */
export function keepRow<T extends { readonly id: Id }> (
  family: string, row: T, current: Stored | undefined
): Change & { readonly item: T & Stored } {
  const now = new Date().toISOString()
  const { revision: expected = 0, createdAt = now } = current ?? {}
  const item = { ...row, revision: expected + 1, createdAt, updatedAt: now }
  if (current === undefined) return { type: 'insert', family, item }
  return { type: 'replace', family, item, expected, current }
}
