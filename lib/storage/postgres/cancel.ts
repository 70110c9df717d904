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
  let stop: (() => void) | undefined
  const cancel = (): void => { stop = startCancelling(client) }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const result = await run()
    if (stop !== undefined) throw signal.reason
    return result
  } catch (error) {
    throw stop === undefined ? error : signal.reason
  } finally {
    stop?.()
    signal.removeEventListener('abort', cancel)
  }
}

// Milliseconds between two cancellations.
const again = 100

/**
 * Tells the server to end what runs on a connection, and again until the function that it returns is called: what comes
 * between two statements, or before the first has begun, is passed over by the server.
 */
export function startCancelling (client: PostgresClient): () => void {
  sendCancellation(client)
  const timer = setInterval(() => { sendCancellation(client) }, again)
  return () => { clearInterval(timer) }
}

// On a connection of its own, which the server closes without an answer. Proxies that pool know what to do with it.
function sendCancellation (client: PostgresClient): void {
  const { host, port, processID, secretKey } = client as Session
  if (typeof processID !== 'number' || typeof secretKey !== 'number' || port === undefined) return
  const message = Buffer.alloc(16)
  for (const [at, value] of [16, cancelRequest, processID, secretKey].entries()) message.writeInt32BE(value, 4 * at)
  const isPath = host?.startsWith('/') === true
  const socket = isPath ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host ?? 'localhost')
  // Where it does not arrive, the time limit of the statement ends it.
  socket.on('error', () => {}).on('connect', () => { socket.end(message) }).unref()
}
