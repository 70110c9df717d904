import { once } from 'node:events'
import { Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Problem } from 'fastify-dealbook'

const listening: Record<string, string> = {
  EADDRINUSE: 'is used by another program: choose a different PORT, or end that program',
  EACCES: 'needs more rights: choose a PORT of 1024 or above',
  EADDRNOTAVAIL: 'is not an address of this machine: choose a different HOST',
  ENOTFOUND: 'is an unknown name: choose a different HOST'
}

/** Why the server could not start, in one line. */
export function explainFailure (error: unknown): string {
  // Problems hide the reason of a failed storage from clients.
  if (error instanceof Problem && error.cause !== undefined) return explainFailure(error.cause)
  const { syscall, code = '', address, hostname, port, message } = error as Partial<NodeJS.ErrnoException & Where>
  const reason = syscall === 'listen' || syscall === 'getaddrinfo' ? listening[code] : undefined
  const where = [address ?? hostname, port].filter(each => each !== undefined).join(':')
  if (reason !== undefined) return `${where} ${reason}`
  // Text that could not be parsed is quoted with its line ends.
  return String(message ?? error).replace(/\s+/g, ' ')
}

interface Where { address: string, hostname: string, port: number }

/** The reason to stop if another process takes the new connections. */
export const replaced = 'replaced'

/** Waits for the signal and for the running requests, and logs their number. */
export async function finishRequests (app: FastifyInstance, signal: AbortSignal): Promise<void> {
  let running = 0
  app.server.on('request', (_request, response) => {
    running++
    response.once('close', () => running--)
  })
  if (!signal.aborted) await once(signal, 'abort')
  const say = (): void => console.log(`Stopping: ${running} ${running === 1 ? 'request' : 'requests'} to finish`)
  say()
  const reminder = setInterval(say, 5000)
  if (signal.reason === replaced) await finishConnections(app)
  await app.close()
  clearInterval(reminder)
}

/** Takes no new connections, and waits until clients have left those that they have, or these are idle for too long. */
async function finishConnections (app: FastifyInstance): Promise<void> {
  const closed = once(app.server, 'close')
  // The method of http, and so app.close(), also cuts idle connections, where the next request may be on its way.
  Server.prototype.close.call(app.server)
  await Promise.race([closed, delay(app.server.keepAliveTimeout + 2000, undefined, { ref: false })])
}
