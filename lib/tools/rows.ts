import type { Id, Query, Storage, Stored } from '../index.js'
import { toolRuntime } from './system.js'

// In characters of JSON, so that wide rows do not fill the memory.
const longestPart = 500_000
// The width of the rows is unknown before the first read.
export const rowsAtFirst = 10
const mostRows = 1000

/** All rows, in parts. */
export async function * walk (storage: Storage, family: string, after?: Id): AsyncGenerator<readonly Stored[]> {
  for (let limit = rowsAtFirst; ;) {
    const { items } = await storage.find(family, selectAfter(after, limit))
    if (items.length > 0) yield items
    if (items.length < limit) return
    after = items.at(-1)?.id
    limit = await endPart(items, limit)
  }
}

/** Lets others run, and returns how many rows to read next. */
export async function endPart (items: readonly Stored[], limit: number, most = mostRows): Promise<number> {
  await toolRuntime.pause()
  const width = JSON.stringify(items).length / items.length
  return Math.max(1, Math.min(most, 5 * limit, Math.floor(longestPart / width)))
}

export function selectAfter (id: Id | undefined, limit: number): Query {
  const where = id === undefined ? [] : [{ field: 'id', op: 'gt', value: id } as const]
  return { where, order: [{ field: 'id', descending: false }], offset: 0, limit, count: false }
}
