import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { type Feed, writePosition } from '../../core/service/feed.js'
import type { FeedEntry } from '../../core/service/tail.js'
import type { Condition } from '../../core/storage/storage.js'
import type { Mount } from '../mount.js'
import { watch } from './page.js'

export const eventStream = 'text/event-stream'

export function wantsEvents ({ headers: { accept = '' } }: FastifyRequest): boolean {
  if (!accept.includes(eventStream)) return false
  return new Negotiator({ headers: { accept } }).mediaType(['application/json', eventStream]) === eventStream
}

interface Events {
  readonly start: number
  readonly where: readonly Condition[]
  /** Asks again what the client may see. */
  renew (): Promise<void>
  write (entry: FeedEntry): string
}

// Milliseconds. A comment keeps proxies from closing the connection.
const interval = 15_000
const reconnectAfter = 1000

/** Server-sent events, until the client or the application closes. A slow client is disconnected, and can resume. */
export function sendEvents (
  { mount, request, reply }: { readonly mount: Mount, readonly request: FastifyRequest, readonly reply: FastifyReply },
  feed: Feed,
  { start, where, renew, write }: Events
): FastifyReply {
  const ended = new AbortController()
  const end = (): void => { ended.abort() }
  mount.streams.add(end)
  reply.raw.once('close', () => {
    end()
    mount.streams.delete(end)
  })
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
  const batches = writeEvents()
  // As for exports: without it, a reset would not end the stream.
  request.raw.resume()
  return reply.send(Readable.from(watch(batches, reply, mount.exportTimeout)))

  async function * writeEvents (): AsyncGenerator<string> {
    // An id without data is kept by the client, who then resumes here even if nothing happens.
    yield `retry: ${reconnectAfter}\nid: ${writePosition(start)}\n\n`
    for await (const { entries, position } of feed.follow(start, { where, signal: ended.signal, interval, renew })) {
      const text = entries.map(entry =>
        `id: ${writePosition(entry.position)}\nevent: ${entry.action}\ndata: ${write(entry)}\n\n`).join('')
      const isPassed = entries.at(-1)?.position !== position
      yield text === ''
        ? `: \nid: ${writePosition(position)}\n\n`
        : isPassed
          ? `${text}id: ${writePosition(position)}\n\n`
          : text
    }
  }
}
