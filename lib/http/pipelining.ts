import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { onRequestHookHandler } from 'fastify'
import { Problem } from '../problems.js'
import { Turn } from '../storage/turn.js'

// Who sends so many times what may wait is not told any more.
const patience = 10

// How many requests of a connection wait, or were passed over; those that do not pipeline are not in it.
const waiting = new WeakMap<Socket, { count: number }>()

/**
 * A hook that lets the requests of one connection be answered one after the other, however many are sent before the
 * first answer: each begins when the answers before it were taken, and after others had their turn. Answers come in
 * this order anyway; begun all at once they would hold up the process, and fill its memory.
 */
export function queuePipelined (maxPipelined: number): onRequestHookHandler {
  return (request, reply, done) => {
    // A response has its connection from the beginning, unless there are others before it.
    if (reply.raw.socket !== null) return done()
    const { socket } = request.raw
    let line = waiting.get(socket)
    if (line === undefined) waiting.set(socket, line = { count: 0 })
    line.count++
    if (line.count <= maxPipelined) waitForTurn(reply.raw, line, done)
    else if (line.count === maxPipelined + 1) done(refuse(maxPipelined))
    // The connection ends with that refusal, so nothing after it is answered.
    else if (line.count > patience * maxPipelined) socket.destroy()
  }
}

function waitForTurn (response: ServerResponse, line: { count: number }, start: () => void): void {
  response.once('socket', () => {
    line.count--
    if (new Turn().isOver) setImmediate(start)
    else start()
  })
}

function refuse (maxPipelined: number): Problem {
  const detail = `On a connection at most ${maxPipelined} requests may wait for the answers before them (maxPipelined)`
  return new Problem('busy', detail, { headers: { connection: 'close', 'retry-after': '1' } })
}
