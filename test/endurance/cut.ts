import { once } from 'node:events'
import { connect } from 'node:net'
import type { HostileRequest } from './hostile.js'

/** A request as it goes over the wire. */
export function writeRequest ({ method, path, headers, body = '' }: HostileRequest): Buffer {
  const lines = Object.entries({ host: 'localhost', ...headers, 'content-length': String(Buffer.byteLength(body)) })
    .map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

/** Sends the first bytes of a request, and is gone: at once, or after it has begun to read. */
export async function sendAndLeave (url: string, bytes: Buffer, politely: boolean): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(bytes)
  if (politely) {
    socket.end()
    socket.resume()
  } else {
    socket.resetAndDestroy()
  }
  if (!socket.closed) await once(socket, 'close')
}
