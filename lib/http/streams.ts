import type { ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2Session, ServerHttp2Stream } from 'node:http2'
import { constants } from 'node:http2'
import type { FastifyRequest } from 'fastify'

/** The stream of a request over HTTP/2; undefined over HTTP/1. */
export function getStream (request: FastifyRequest): ServerHttp2Stream | undefined {
  return (request.raw as unknown as Partial<Http2ServerRequest>).stream
}

// So many every client may send at once (RFC 9113, 6.5.2).
const maxAtWork = 100

interface StreamLine {
  atWork: number
  /** Since it was last shorter. */
  refused: number
  readonly waiting: Set<() => void>
}

const lines = new WeakMap<Http2Session, StreamLine>()

interface LineBounds {
  readonly maxWaiting: number
  /** Beyond so many the connection ends. */
  readonly maxRefused: number
}

/**
 * Lets so many requests of a connection over HTTP/2 be at work at once; others wait, or are refused. A few bytes are a
 * request there, so thousands can come in one packet.
 */
export function queueStream (
  session: Http2Session,
  response: ServerResponse,
  { maxWaiting, maxRefused }: LineBounds,
  { start, refuse }: { start (): void, refuse (): void }
): void {
  let line = lines.get(session)
  if (line === undefined) lines.set(session, line = { atWork: 0, refused: 0, waiting: new Set() })
  const { waiting } = line
  const begin = (): void => {
    line.atWork++
    response.once('close', () => {
      line.atWork--
      if (!session.destroyed) beginNext(line)
    })
    start()
  }
  if (line.atWork < maxAtWork) return begin()
  if (waiting.size < maxWaiting) {
    waiting.add(begin)
    response.once('close', () => waiting.delete(begin))
  } else if (++line.refused <= maxRefused) {
    refuse()
  } else {
    session.destroy(new Error('Too many requests wait'), constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
}

function beginNext (line: StreamLine): void {
  line.refused = 0
  const [next] = line.waiting
  if (next === undefined) return
  line.waiting.delete(next)
  next()
}
