import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Problem } from '../core/problems.js'
import { endWhenStalled } from './stalled.js'
import { getStream } from './streams.js'

/** Shorter answers are not worth watching: what the system keeps of a connection holds most of them. */
export const largeAnswer = 100_000

// Characters that are kept for large answers, in all.
const maxHeld = 50_000_000
let held = 0

// What is kept for each of them.
const holds = new WeakMap<ServerResponse, { length: number }>()

/**
 * Counts what is kept in memory for an answer, from when it is read until the client has taken it. Many who ask for
 * much, and read nothing, would fill the memory: beyond a bound, what is only read is refused.
 *
 * @param length that of all there is now
 */
export function holdAnswer (reply: FastifyReply, length: number): void {
  const { request: { method }, raw } = reply
  const before = holds.get(raw)?.length ?? 0
  const others = held - before
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead && length >= largeAnswer && length > before && others > 0 && others + length > maxHeld) {
    // At once, and not when the refusal is sent: of many that grow at the same time, all would be refused otherwise.
    changeHold(reply, 0)
    throw makeBusy()
  }
  changeHold(reply, length)
}

/** The same for what has begun, and cannot be refused any more. */
export function changeHold ({ raw, request }: FastifyReply, length: number): void {
  const hold = holds.get(raw)
  if (hold !== undefined) {
    held += length - hold.length
    hold.length = length
    return
  }
  // Whoever has left takes nothing any more, and nothing would tell when to forget him.
  if (length < largeAnswer || raw.destroyed || getStream(request)?.destroyed === true) return
  held += length
  const added = { length }
  holds.set(raw, added)
  const end = (): void => {
    held -= added.length
    added.length = 0
    holds.delete(raw)
  }
  raw.once('finish', end).once('close', end)
}

/** Counts an answer until the client has taken it, and cuts off a client that takes nothing. */
export function watchLargeAnswer (reply: FastifyReply, length: number, timeout: number): void {
  holdAnswer(reply, length)
  endWhenStalled(reply, timeout)
}

// Characters of an item, where nobody knows better.
const usualLength = 200

/**
 * To be asked before a page of so many items is made, which may take long: much waits to be taken already.
 *
 * @param average characters that such an item has
 */
export function refuseLargePage (items: number, average = 0): void {
  if (items * Math.max(average, usualLength) > largeAnswer && isCrowded()) throw makeBusy()
}

/** Whether so much is kept already that nobody should keep more than he needs. */
export function isCrowded (): boolean {
  return held > maxHeld / 2
}

function makeBusy (): Problem {
  const detail = 'Too much waits for other clients to take it; ask for less at once (maxpagesize), or later'
  return new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}
