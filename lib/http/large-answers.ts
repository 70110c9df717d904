import type { FastifyReply } from 'fastify'
import { Problem } from '../problems.js'
import { endWhenStalled } from './stalled.js'

/** Shorter answers are not worth watching: what the system keeps of a connection holds most of them. */
export const largeAnswer = 100_000

// Characters of large answers that no client has taken yet, in all.
const maxUntaken = 50_000_000
let untaken = 0

/**
 * Counts an answer until the client has taken it, and cuts off a client that takes nothing. Many who ask for much and
 * read nothing would fill the memory; beyond a bound, what is only read is refused.
 */
export function watchLargeAnswer (reply: FastifyReply, length: number, timeout: number): void {
  const { request: { method }, raw } = reply
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead && untaken > 0 && untaken + length > maxUntaken) throw makeBusy()
  untaken += length
  let isCounted = true
  const end = (): void => {
    if (isCounted) untaken -= length
    isCounted = false
  }
  raw.once('finish', end).once('close', end)
  endWhenStalled(reply, timeout)
}

// So few are seldom a large answer.
const fewItems = 50

/** To be asked before a page of so many items is made, which may take long: much waits to be taken already. */
export function refuseLargePage (items: number): void {
  if (items > fewItems && untaken > maxUntaken / 2) throw makeBusy()
}

function makeBusy (): Problem {
  const detail = 'Too much waits for other clients to take it; ask for less at once (maxpagesize), or later'
  return new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}
