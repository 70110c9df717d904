import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { onRequestHookHandler } from 'fastify'
import { Problem } from '../core/problems.js'
import { Turn } from '../core/storage/turn.js'
import { getStream, queueStream } from './streams.js'

// Who sends so many times what may wait is not told any more.
const patience = 10

// How many requests of a connection wait, or were passed over; those that do not pipeline are not in it.
const waiting = new WeakMap<Socket, { count: number }>()

/**
 * A hook that lets the requests of one connection be answered one after the other, however many are sent before the
 * first answer: each begins when the answers before it were taken, and after others had their turn. Answers come in
 * this order anyway; begun all at once they would hold up the process, and fill its memory. Over HTTP/2, where answers
 * come in any order, some are at work at once.
 */
export function queuePipelined (maxPipelined: number): onRequestHookHandler {
  return (request, reply, done) => {
    const session = getStream(request)?.session
    if (session !== undefined) {
      const bounds = { maxWaiting: maxPipelined, maxRefused: patience * maxPipelined }
      return queueStream(session, reply.raw, bounds, {
        start: () => { startInTurn(done) },
        refuse: () => { done(makeBusy(maxPipelined)) }
      })
    }
    // A response has its connection from the beginning, unless there are others before it.
    if (reply.raw.socket !== null) return done()
    const { socket } = request.raw
    let line = waiting.get(socket)
    if (line === undefined) waiting.set(socket, line = { count: 0 })
    line.count++
    if (line.count <= maxPipelined) waitForTurn(reply.raw, line, done)
    else if (line.count === maxPipelined + 1) done(makeBusy(maxPipelined, { connection: 'close' }))
    // The connection ends with that refusal, so nothing after it is answered.
    else if (line.count > patience * maxPipelined) socket.destroy()
  }
}

function waitForTurn (response: ServerResponse, line: { count: number }, start: () => void): void {
  response.once('socket', () => {
    line.count--
    startInTurn(start)
  })
}

function startInTurn (start: () => void): void {
  if (new Turn().isOver) setImmediate(start)
  else start()
}

function makeBusy (maxPipelined: number, headers: Record<string, string> = {}): Problem {
  const detail = `On a connection at most ${maxPipelined} requests may wait for the answers before them (maxPipelined)`
  return new Problem('busy', detail, { headers: { ...headers, 'retry-after': '1' } })
}
