import type { EntryKey } from '../service/log-reads.js'
import { prunedId, readHighest } from '../service/record.js'
import type { Change, Condition, Storage, Stored } from '../storage/storage.js'
import { keepRow } from './keep-row.js'

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
  const row = { id: prunedId, position, family: '', target: '', action: 'Prune', outcome: 'done', result }
  return keepRow('commands', hash === undefined ? row : { ...row, hash }, mark)
}

/** The last hash in a chained log up to a position, also that of the mark; undefined if there is none. */
export async function findHash (storage: Storage, position: number): Promise<string | undefined> {
  const where: Condition[] =
    [{ field: 'hash', op: 'null', is: false }, { field: 'position', op: 'lte', value: position }]
  const order = [{ field: 'position', descending: true }]
  const { items: [last] } = await storage.find('commands', { where, order, offset: 0, limit: 1, count: false })
  return last?.hash as string | undefined
}
