import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { getStream } from './streams.js'

/** Somebody who takes an answer. */
interface Taker {
  /** Another number whenever something more was taken. */
  countTaken (): number
  hasToTake (): boolean
  isGone (): boolean
  cutOff (): void
}

/** Cuts the client off where it takes nothing for so many milliseconds while there is something to take. */
export function endWhenStalled ({ raw, request }: FastifyReply, timeout: number): void {
  const stream = getStream(request)
  // That of the request: the answer has none yet while others on the connection come first.
  const { socket } = request.raw
  // Requests that are injected have no connection.
  if (stream === undefined && !(socket instanceof Socket)) return
  const taker = stream === undefined ? watchConnection(socket, raw) : watchStream(stream)
  let taken = -1
  let since = performance.now()
  // Node's own clock for this begins anew where less is waiting than before, which is nothing that a client did.
  const timer = setInterval(() => {
    if (taker.isGone()) return clearInterval(timer)
    const now = taker.countTaken()
    if (now !== taken || !taker.hasToTake()) {
      taken = now
      since = performance.now()
    } else if (performance.now() - since >= timeout) {
      request.log.info(`The client has taken nothing for ${timeout} ms`)
      taker.cutOff()
    }
  }, Math.max(1, timeout / 10))
  timer.unref()
  raw.once('close', () => clearInterval(timer))
}

/**
 * The same for a short answer over HTTP/2. Over HTTP/1 the system keeps it; there, a client that opens no window leaves
 * a hundred of them with us, for each of its connections.
 */
export function endShortWhenStalled (reply: FastifyReply, timeout: number): void {
  const stream = getStream(reply.request)
  if (stream === undefined) return
  // Most are taken at once.
  setImmediate(() => { if (!stream.destroyed && stream.writableLength > 0) endWhenStalled(reply, timeout) })
}

function watchConnection (socket: Socket, response: ServerResponse): Taker {
  return {
    countTaken: () => socket.bytesWritten - socket.writableLength,
    hasToTake: () => socket.writableLength > 0 || response.writableLength > 0,
    isGone: () => socket.destroyed,
    cutOff: () => socket.destroy()
  }
}

/** What others on the connection take tells nothing of this one. */
function watchStream (stream: ServerHttp2Stream): Taker {
  let drained = 0
  stream.on('drain', () => { drained++ })
  return {
    countTaken: () => drained,
    hasToTake: () => stream.writableLength > 0,
    isGone: () => stream.destroyed,
    // Not as if it had come to its end.
    cutOff: () => stream.close(constants.NGHTTP2_CANCEL)
  }
}
