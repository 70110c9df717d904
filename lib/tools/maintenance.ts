import { getFamily, listShapes } from '../core/family/family.js'
import { commandsShape } from '../core/family/fields.js'
import { now, yieldToEventLoop } from '../core/runtime.js'
import { findKeys, numbered } from '../core/service/log-reads.js'
import { prunedId } from '../core/service/record.js'
import { isDate, readDateTime } from '../core/values/formats.js'
import { type AnyFamily, type Change, ConflictError, DuplicateError, errorCodes, type Storage } from '../index.js'
import { findHandled } from './consumer-places.js'
import { findHash, keepMark } from './rows.js'

/** Options of `prune`. */
export interface PruneOptions {
  /** Commands decided before this time are deleted. */
  readonly before: Date | string
  /** Also deletes commands that a consumer has not handled yet. Default: they are kept. */
  readonly ignoreConsumers?: boolean
  /** How many per commit. Default 500. */
  readonly batch?: number
  /** Stops it between two commits; deleted commands stay deleted. */
  readonly signal?: AbortSignal
}

/**
 * Deletes the commands of all families that are older than a time: their log entries and their results for retries.
 * The items stay, and so do commands that a consumer has not handled yet. It commits in small batches, so that other
 * requests are not blocked. A follower that comes from before what was deleted gets the problem `pruned`.
 *
 * @example
 * await prune(storage, { before: new Date(Date.now() - 90 * 24 * 3600 * 1000) })
 * @returns how many were deleted
 */
export async function prune (storage: Storage, options: PruneOptions): Promise<number> {
  const { batch = 500, signal, ignoreConsumers = false } = options
  const moment = readMoment(options.before)
  if (!Number.isSafeInteger(batch) || batch < 1) throw refusePrune('"batch" must be an integer from 1')
  await storage.prepare(commandsShape)
  let dropped = 0
  // One pass along the positions, so that followers that are further are not concerned.
  let passed = 0
  // A chain has no gaps: where clocks differ, an older entry may come after a newer one.
  const end = storage.chain === true ? await findFirstSince(storage, moment) : Number.MAX_SAFE_INTEGER
  for (;;) {
    signal?.throwIfAborted()
    // First: a consumer that is added meanwhile changes it, and nothing is deleted. Others only move forward.
    const mark = await storage.get('commands', prunedId)
    const handled = ignoreConsumers ? Number.MAX_SAFE_INTEGER : await findHandled(storage)
    const { entries } = await findKeys(storage, [
      { field: 'createdAt', op: 'lt', value: moment }, { field: 'position', op: 'gt', value: passed },
      { field: 'position', op: 'lte', value: Math.min(handled, end - 1) }, { field: 'id', op: 'ne', values: [prunedId] }
    ], batch)
    const last = entries.at(-1)
    if (last === undefined) return dropped
    const reached = Math.max(last.position, mark?.position as number | undefined ?? 0)
    const hash = storage.chain === true ? await findHash(storage, reached) : undefined
    try {
      await storage.commit([
        ...entries.map(({ id, revision: expected }): Change => ({ type: 'delete', family: 'commands', id, expected })),
        keepMark(mark, entries, hash)
      ])
      dropped += entries.length
      passed = last.position
    } catch (error) {
      // Another process prunes too, or has added a consumer; the next find returns the rest.
      if (!(error instanceof ConflictError || error instanceof DuplicateError)) throw error
    }
    await yieldToEventLoop()
  }
}

async function findFirstSince (storage: Storage, moment: string): Promise<number> {
  const { entries: [first] } = await findKeys(storage, [
    { field: 'createdAt', op: 'gte', value: moment }, ...numbered, { field: 'id', op: 'ne', values: [prunedId] }
  ], 1)
  return first?.position ?? Number.MAX_SAFE_INTEGER
}

function readMoment (before: unknown): string {
  const text = before instanceof Date && !Number.isNaN(before.getTime()) ? before.toISOString() : before
  const moment = typeof text !== 'string' ? undefined : isDate(text) ? `${text}T00:00:00.000Z` : readDateTime(text)
  if (moment === undefined) throw refusePrune('"before" must be a date, such as "2030-01-31"')
  // Most likely a mistake in a calculation.
  if (moment > new Date(now()).toISOString()) throw refusePrune('"before" is in the future')
  return moment
}

function refusePrune (flaw: string): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_PRUNE(flaw)
}

/**
 * Returns the SQL that creates the tables, columns and indexes that these families lack in the storage's database, in
 * the right order, for your migration tool. Empty if nothing is missing. Changes nothing.
 *
 * @example
 * const sql = await writeMigration(storage, [customers, deals])
 */
export async function writeMigration (storage: Storage, families: readonly AnyFamily[]): Promise<string> {
  if (storage.writeMigration === undefined) throw new errorCodes.FST_DEALBOOK_NO_MIGRATIONS()
  return await storage.writeMigration(families.flatMap(family => listShapes(getFamily(family))))
}
