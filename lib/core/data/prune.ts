import { errorCodes } from '../errors.js'
import { commandsShape } from '../family/fields.js'
import { now, yieldToEventLoop } from '../runtime.js'
import { findKeys, numbered } from '../service/log-reads.js'
import { prunedId } from '../service/record.js'
import { isConflict } from '../service/storage-access.js'
import type { Change, Storage } from '../storage/storage.js'
import { isDate, readDateTime } from '../values/formats.js'
import { findHash, keepMark } from './mark.js'

/** Options of `pruneLog`. */
export interface PruneLogOptions {
  /** Commands decided before this time are deleted. */
  readonly before: Date | string
  /** The position up to which everything has been handled that must be. It is asked before each commit. */
  findHandled (): Promise<number>
  /** How many per commit. Default 500. */
  readonly batch?: number
  /** Stops it between two commits; deleted commands stay deleted. */
  readonly signal?: AbortSignal
}

/**
 * What `prune` does, for programs that read the log in their own way: it asks them instead of consumers what it may
 * delete. A program that begins to read adds its place by `commitWithMark` of the log, which ends a commit of this.
 *
 * @example
 * await pruneLog(storage, { before: '2030-01-31', findHandled: async () => relay.position })
 * @returns how many were deleted
 */
export async function pruneLog (storage: Storage, options: PruneLogOptions): Promise<number> {
  const { batch = 500, signal } = options
  const moment = readBefore(options.before)
  if (!Number.isSafeInteger(batch) || batch < 1) throw refusePrune('"batch" must be an integer from 1')
  await storage.prepare(commandsShape)
  let dropped = 0
  // One pass along the positions, so that followers that are further are not concerned.
  let passed = 0
  const isChained = storage.chain === true
  // A chain has no gaps: where clocks differ, an older entry may come after a newer one.
  const end = isChained ? await findFirstSince(storage, moment) : Number.MAX_SAFE_INTEGER
  for (;;) {
    signal?.throwIfAborted()
    // First: a consumer that is added meanwhile changes it, and nothing is deleted. Others only move forward.
    const mark = await storage.get('commands', prunedId)
    const handled = await options.findHandled()
    const { entries } = await findKeys(storage, [
      { field: 'createdAt', op: 'lt', value: moment }, { field: 'position', op: 'gt', value: passed },
      { field: 'position', op: 'lte', value: Math.min(handled, end - 1) }, { field: 'id', op: 'ne', values: [prunedId] }
    ], batch)
    const last = entries.at(-1)
    if (last === undefined) return dropped
    const reached = Math.max(last.position, mark?.position as number | undefined ?? 0)
    const hash = isChained ? await findHash(storage, reached) : undefined
    try {
      await storage.commit([
        ...entries.map(({ id, revision: expected }): Change => ({ type: 'delete', family: 'commands', id, expected })),
        keepMark(mark, entries, hash)
      ])
      dropped += entries.length
      passed = last.position
    } catch (error) {
      // Another process prunes too, or has added a consumer; the next find returns the rest.
      if (!isConflict(error)) throw error
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

function readBefore (before: unknown): string {
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
