import { connect } from 'node:net'
import type { PostgresClient } from './driver.js'

/** What is known of the server and of the session of a connection. */
interface Session {
  readonly host?: string
  readonly port?: number
  readonly processID?: number | null
  readonly secretKey?: number | null
}

// The code that the protocol has in place of a version number where a statement is to be cancelled.
const cancelRequest = 80877102

/**
 * Runs a statement, which the server is told to end when the signal is aborted. The connection must then be closed: the
 * cancellation may come late, and would end whatever runs on it next.
 */
export async function runCancellably<T> (
  client: PostgresClient,
  signal: AbortSignal | undefined,
  run: () => Promise<T>
): Promise<T> {
  if (signal === undefined) return await run()
  signal.throwIfAborted()
  let isCancelled = false
  const cancel = (): void => {
    isCancelled = true
    sendCancellation(client)
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const result = await run()
    if (isCancelled) throw signal.reason
    return result
  } catch (error) {
    throw isCancelled ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/**
 * Tells the server to end what runs on a connection. It is told on another, which it closes without an answer. Proxies
 * that pool know what to do with it.
 */
export function sendCancellation (client: PostgresClient): void {
  const { host, port, processID, secretKey } = client as Session
  if (typeof processID !== 'number' || typeof secretKey !== 'number' || port === undefined) return
  const message = Buffer.alloc(16)
  for (const [at, value] of [16, cancelRequest, processID, secretKey].entries()) message.writeInt32BE(value, 4 * at)
  const isPath = host?.startsWith('/') === true
  const socket = isPath ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host ?? 'localhost')
  // Where it does not arrive, the time limit of the statement ends it.
  socket.on('error', () => {}).on('connect', () => { socket.end(message) }).unref()
}
