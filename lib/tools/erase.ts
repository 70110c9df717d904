import {
  type AnyFamily, type EntryCopies, type EraseOptions, erasePersonal, type ErasureReport, findPosition, type Storage
} from '../index.js'
import { eraseErrors, findHandled, listConsumers } from './consumer-places.js'

const copies: EntryCopies = { listWaiting, eraseErrors }

/**
 * Erases the personal data of an item, which its family names in `personal`: in the item, in its log, and in what other
 * logs have of its commands. Or erases a principal as the author of commands. That something happened, when, numbers
 * and states stay, and an entry of the log says when the item was erased. It commits in small batches, so that other
 * requests are not blocked. If it is interrupted, call it again.
 *
 * @param families all of the storage, in versions that together have all fields and operations
 * @example
 * await erase(storage, [customers, orders], { family: 'customers', id: 17, by: 'dpo' })
 * await erase(storage, [customers, orders], { principal: 'ann' })
 */
export async function erase (
  storage: Storage, families: readonly AnyFamily[], options: EraseOptions
): Promise<ErasureReport> {
  return await erasePersonal(storage, families, options, copies)
}

async function listWaiting (storage: Storage, position: number): Promise<string[]> {
  if (await findHandled(storage) >= position) return []
  const waiting = (await listConsumers(storage)).filter(({ cursor, parked }) =>
    (findPosition(cursor) ?? 0) < position || parked.some(entry => entry.position <= position))
  return waiting.map(({ name }) => name)
}
