import {
  type AnyFamily, type Change, ConstraintError, DuplicateError, errorCodes, type ItemReader, makeItemReader,
  makeResumable, type ReadItem, type Storage
} from '../index.js'
import { toolRuntime } from './system.js'

/** Options of `loadItems`. */
export interface LoadOptions {
  /** Items and entries of logs per commit. Default 1000. */
  readonly batchSize?: number
  /** Called after every commit with the number of items loaded so far, including those that already existed. */
  readonly onProgress?: (loaded: number) => void
  /** The member of the given items that has the log of each: a list of commands as `service.log` returns them. */
  readonly log?: string
  /** Stops it between two commits; loaded items stay. */
  readonly signal?: AbortSignal
}

/**
 * Loads many items into a family, in batches, from an array, any iterable, or a stream of objects. Fields with a
 * default may be omitted; `revision`, `createdAt` and `updatedAt` are kept if given.
 *
 * An item that does not fit the family, or breaks `unique` or `references`, stops it with an error that names the item
 * and the reason; earlier batches stay. Repeating it is safe: items that exist with the same content are skipped, so
 * an interrupted load continues (`FST_DEALBOOK_INTERRUPTED`).
 *
 * @example
 * await loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
 * @returns how many were loaded, or existed already
 */
export async function loadItems (
  storage: Storage,
  family: AnyFamily,
  items: Iterable<unknown> | AsyncIterable<unknown>,
  options: LoadOptions = {}
): Promise<number> {
  const { batchSize = 1000, onProgress, log, signal } = options
  const reader = makeItemReader(family, { log })
  if (!Number.isSafeInteger(batchSize) || batchSize < 1) {
    const flaw = 'the option "batchSize" must be a positive integer'
    throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(reader.family, flaw)
  }
  const resumable = makeResumable(storage, 'loadItems')
  await reader.prepare(storage)
  let loaded = 0
  let size = 0
  let batch: ReadItem[] = []
  for await (const item of items) {
    const row = reader.read(item, loaded + batch.length + 1)
    batch.push(row)
    size += 1 + row.entries.length
    if (size >= batchSize) await flush()
  }
  if (batch.length > 0) await flush()
  return loaded

  async function flush (): Promise<void> {
    signal?.throwIfAborted()
    await commitRows(resumable, reader, batch)
    loaded += batch.length
    size = 0
    batch = []
    onProgress?.(loaded)
    await toolRuntime.pause()
  }
}

/** Tries to commit everything first, since looking for existing rows costs more and mostly finds none. */
async function commitRows (storage: Storage, reader: ItemReader, rows: readonly ReadItem[]): Promise<void> {
  try {
    await storage.commit(rows.flatMap(({ item, entries }): Change[] => [
      { type: 'insert', family: reader.family, item },
      ...entries.map((item): Change => ({ type: 'insert', family: 'commands', item }))
    ]))
  } catch (error) {
    if (!(error instanceof ConstraintError || error instanceof DuplicateError)) throw error
    const missing = await reader.findMissing(storage, rows)
    if (missing.length === 0) return
    if (missing.length < rows.length) return await commitRows(storage, reader, missing)
    const [row] = rows as [ReadItem]
    if (rows.length === 1) throw reader.explain(row, error)
    // To find the one that is refused.
    const middle = Math.ceil(rows.length / 2)
    await commitRows(storage, reader, rows.slice(0, middle))
    await commitRows(storage, reader, rows.slice(middle))
  }
}
