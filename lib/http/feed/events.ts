import type { FastifyReply } from 'fastify'
import { type Feed } from '../../core/feed/feed.js'
import { type Batch, followFeed } from '../../core/feed/follow.js'
import { performance } from '../../core/runtime.js'
import type { FeedEntry } from '../../core/service/log-reads.js'
import { writePosition } from '../../core/service/log-reads.js'
import type { Condition } from '../../core/storage/storage.js'
import { endLongTurn } from '../../core/storage/turns.js'
import type { Members } from '../../core/values/json.js'
import type { Exchange, Mount } from '../mount.js'
import { sendStream } from '../reads/page.js'
import { toProblem } from '../reply.js'

export const eventStream = 'text/event-stream'

export type Streaming = Pick<Exchange, 'mount' | 'request' | 'reply'>

/** Aborted when the client or the application closes, or by `end`. */
export function watchEnd (
  { streams }: Mount, { raw, request }: FastifyReply
): { readonly signal: AbortSignal, end (): void } {
  const ended = new AbortController()
  const end = (): void => {
    streams.delete(close)
    raw.off('close', end)
    ended.abort()
  }
  const close = (): void => {
    // A connection that is kept alive would hold up the application for longer than a minute.
    if (request.raw.httpVersionMajor === 1) raw.once('finish', () => { request.raw.socket.end() })
    end()
  }
  raw.once('close', end)
  streams.add(close)
  if (raw.destroyed) end()
  return { signal: ended.signal, end }
}

interface EventSettings {
  /** The position after which it begins. */
  readonly start: number
  readonly where: readonly Condition[]
  /** Whether `renew` is called before the first event. */
  readonly isDue: boolean
  /** Asks again what the client may see. */
  renew (): Promise<void>
  show (entry: FeedEntry): Members
}

// Milliseconds. A comment keeps proxies from closing the connection.
const interval = 15_000
// Of commits that the client may not see, it gets the position of the last, not more often than this.
const quietTime = 5000
const reconnectAfter = 1000
// Characters to write at once, so that no more wait for a slow client.
const pieceLength = 64 * 1024

/** Server-sent events, until the client or the application closes. A slow client is disconnected, and can resume. */
export function sendEvents (
  { mount, request, reply }: Streaming, feed: Feed, { start, show, ...settings }: EventSettings
): FastifyReply {
  const { signal, end } = watchEnd(mount, reply)
  reply.header('content-type', `${eventStream}; charset=utf-8`)
    // Proxies must neither keep nor buffer it.
    .header('cache-control', 'no-store, no-transform')
    .header('x-accel-buffering', 'no')
    .header('x-content-type-options', 'nosniff')
    .header('vary', 'Accept')
  if (request.method === 'HEAD') {
    end()
    return reply.send()
  }
  return sendStream(reply, writeEvents(), mount.exportTimeout)

  async function * writeEvents (): AsyncGenerator<string> {
    // An id without data is kept by the client, who then resumes here even if nothing happens.
    yield `retry: ${reconnectAfter}\nid: ${writePosition(start)}\n\n`
    for await (const batch of followFeed(feed, start, { ...settings, signal, interval, quietTime, survives })) {
      // Many streams may have the same entries to write.
      await endLongTurn()
      yield * writeBatch(batch, show)
    }
  }

  // The browser would not come back: the next stream may be refused, and an EventSource ends for good then.
  function survives (error: unknown, failures: number): boolean {
    if (toProblem(error).statusCode < 500) return false
    if (failures === 0) request.log.warn({ err: error }, 'An event stream cannot read; it tries again')
    return true
  }
}

async function * writeBatch (batch: Batch, show: (entry: FeedEntry) => Members): AsyncGenerator<string> {
  const { entries, dueAt } = batch
  let text = entries.length === 0 ? ': \n' : ''
  for (const entry of entries) {
    text += `id: ${writePosition(entry.position)}\nevent: ${entry.action}\ndata: ${JSON.stringify(show(entry))}\n\n`
    if (text.length < pieceLength) continue
    yield text
    text = ''
    if (performance.now() < dueAt) continue
    // A slow client gets the rest if it may still see it.
    batch.position = entry.position
    return
  }
  // Entries that the client may not see may follow.
  if (entries.at(-1)?.position !== batch.position) text += `id: ${writePosition(batch.position)}\n\n`
  if (text !== '') yield text
}
