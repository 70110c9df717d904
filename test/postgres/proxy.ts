import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Server } from './server.js'

export interface Proxy {
  readonly url: string
  /** New connections go there. */
  target: Server
  /** Whether nothing is forwarded any more, on connections that come now, too. */
  isSilent: boolean
  /** From now on nothing is forwarded on the present connections, and none is closed: as if the server had vanished. */
  silence (): void
}

/** Forwards connections to a server, as a proxy does that follows the primary. */
export async function startProxy (t: { teardown (end: () => void): void }, target: Server): Promise<Proxy> {
  const sockets = new Set<Socket>()
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
    silence () {
      for (const socket of sockets) socket.unpipe().pause()
    }
  }
  return proxy
}
