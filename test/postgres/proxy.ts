import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Duplex, Transform } from 'node:stream'
import type { Server } from './server.js'

export interface Proxy {
  readonly url: string
  /** New connections go there. */
  target: Pick<Server, 'url'>
  /** Whether nothing is forwarded any more, on connections that come now, too. */
  isSilent: boolean
  /** How often a client began to wait for answers: what is asked at the same time is one trip. */
  trips: number
  /** From now on nothing is forwarded on the present connections, and none is closed: as if the server had vanished. */
  silence (): void
}

/**
 * Forwards connections to a server, as a proxy does that follows the primary.
 *
 * @param latency milliseconds by which answers are late: what is asked in one turn is then asked before the first
 *   answer, on a busy machine, too
 */
export async function startProxy (
  t: { teardown (end: () => void): void }, target: Pick<Server, 'url'>, latency = 0
): Promise<Proxy> {
  const sockets = new Set<Duplex>()
  const waiting = new Set<Socket>()
  const keep = <T extends Duplex>(socket: T): T => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => { sockets.delete(socket) })
  }
  const listener = createServer({ allowHalfOpen: true }, client => {
    keep(client)
    if (proxy.isSilent) {
      client.pause()
      return
    }
    const server = keep(connect({ port: Number(new URL(proxy.target.url).port), host: '127.0.0.1' }))
    client.on('data', () => {
      if (waiting.size === 0) proxy.trips++
      waiting.add(client)
    })
    server.on('close', () => { waiting.delete(client) })
    client.pipe(server).on('close', () => { client.destroy() })
    const answers = new Transform({
      transform (chunk, _encoding, done) {
        const answer = (): void => {
          waiting.delete(client)
          done(null, chunk)
        }
        if (latency > 0) setTimeout(answer, latency)
        else answer()
      }
    })
    server.pipe(keep(answers)).pipe(client).on('close', () => { server.destroy() })
  })
  await new Promise<void>(resolve => { listener.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => {
    listener.close()
    for (const socket of sockets) socket.destroy()
  })
  const url = new URL(target.url)
  url.port = String((listener.address() as AddressInfo).port)
  const proxy: Proxy = {
    url: url.href,
    target,
    isSilent: false,
    trips: 0,
    silence () {
      for (const socket of sockets) socket.unpipe().pause()
    }
  }
  return proxy
}
