import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { errorCodes } from '../core/errors.js'
import { commandsShape } from '../core/family/command-schema.js'
import type { Change, Query, Storage } from '../core/storage/storage.js'
import { ConflictError } from '../core/storage/storage.js'
import { isDate, readDateTime } from '../core/values/dates.js'

/** Options of `prune`. */
export interface PruneOptions {
  /** Drops the commands that were decided before this moment: a date, or its text. */
  readonly before: Date | string
  /** How many per commit. Default 500. */
  readonly batch?: number
  /** Ends it between two commits; what is dropped stays dropped. */
  readonly signal?: AbortSignal
}

/**
 * Drops the commands of all families that are older than a moment: their entries in the logs, and their results for
 * retries. The items stay as they are. It commits in small parts, so that other requests continue meanwhile.
 *
 * @example
 * await prune(storage, { before: new Date(Date.now() - 90 * 24 * 3600 * 1000) })
 * @returns how many were dropped
 */
export async function prune (storage: Storage, options: PruneOptions): Promise<number> {
  const { batch = 500, signal } = options
  const query = selectBefore(readMoment(options.before), batch)
  await storage.prepare(commandsShape)
  let dropped = 0
  for (;;) {
    signal?.throwIfAborted()
    const { items } = await storage.find('commands', query)
    const changes = items.map(({ id, revision }): Change =>
      ({ type: 'delete', family: 'commands', id, expected: revision }))
    if (changes.length === 0) return dropped
    try {
      await storage.commit(changes)
      dropped += changes.length
    } catch (error) {
      // Another process prunes too; the next find shows what is left.
      if (!(error instanceof ConflictError)) throw error
    }
    await yieldToEventLoop()
  }
}

function selectBefore (moment: string, limit: number): Query {
  if (!Number.isSafeInteger(limit) || limit < 1) throw refuse('"batch" must be an integer from 1')
  const order = ['createdAt', 'id'].map(field => ({ field, descending: false }))
  return { where: [{ field: 'createdAt', op: 'lt', value: moment }], order, offset: 0, limit, count: false }
}

function readMoment (before: unknown): string {
  const text = before instanceof Date && !Number.isNaN(before.getTime()) ? before.toISOString() : before
  const moment = typeof text !== 'string' ? undefined : isDate(text) ? `${text}T00:00:00.000Z` : readDateTime(text)
  if (moment === undefined) throw refuse('"before" must be a date, such as "2030-01-31"')
  // A sign of a mistake in a calculation.
  if (moment > new Date().toISOString()) throw refuse('"before" lies in the future')
  return moment
}

function refuse (flaw: string): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_PRUNE(flaw)
}
