import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { noteFamily } from '../service/mapped-families.js'
import type { Change, Id, Storage } from '../storage/storage.js'
import { findJsonFlaw } from '../values/json.js'
import { makeValidator } from '../values/validate.js'
import type { AnyFamily } from './define-family.js'
import { getFamily } from './define-family.js'

/** How a load goes. */
export interface LoadOptions {
  /** Items to a commit. Default 1000. */
  readonly batchSize?: number
  /** Called after every commit with the number of items loaded so far. */
  readonly onProgress?: (loaded: number) => void
}

/**
 * Brings many items into a family of a storage, in batches: an array, any iterable, or a stream of objects. An item
 * that does not fit the family stops it with an error that says which and why; the batches before it stay.
 *
 * @example
 * await loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
 * @returns how many were loaded
 */
export async function loadItems (
  storage: Storage,
  family: AnyFamily,
  items: Iterable<unknown> | AsyncIterable<unknown>,
  { batchSize = 1000, onProgress }: LoadOptions = {}
): Promise<number> {
  const compiled = getFamily(family)
  const { name, schema, shape } = compiled
  const validate = makeValidator(Type.Object(schema.properties, { additionalProperties: false }))
  noteFamily(storage, compiled)
  await storage.prepare(shape)
  let loaded = 0
  let batch: Change[] = []
  for await (const item of items) {
    const flaw = findJsonFlaw(item) ?? validate(item)[0]
    if (flaw !== undefined) {
      const number = loaded + batch.length + 1
      throw new errorCodes.FST_DEALBOOK_INVALID_LOAD(name, number, flaw.pointer || 'it', flaw.detail)
    }
    const now = new Date().toISOString()
    const stored = { ...item as { id: Id }, revision: 1, createdAt: now, updatedAt: now }
    batch.push({ type: 'insert', family: name, item: stored })
    if (batch.length >= batchSize) await flush()
  }
  if (batch.length > 0) await flush()
  return loaded

  async function flush (): Promise<void> {
    await storage.commit(batch)
    loaded += batch.length
    batch = []
    onProgress?.(loaded)
  }
}
