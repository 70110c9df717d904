import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
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

/** Forwards connections to a server, as a proxy does that follows the primary. */
export async function startProxy (
  t: { teardown (end: () => void): void }, target: Pick<Server, 'url'>
): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const waiting = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
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
    server.on('data', () => { waiting.delete(client) }).on('close', () => { waiting.delete(client) })
    client.pipe(server).on('close', () => { client.destroy() })
    server.pipe(client).on('close', () => { server.destroy() })
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
