import { createHash } from 'node:crypto'
import { Watchers } from '../../core/storage/storage.js'
import type { Connections } from './connections.js'
import { type ConnectionSource, ignore, type PostgresClient } from './driver.js'

// Milliseconds. A notification in every commit would halve their rate.
const notifyEvery = 30
// Behind a proxy that pools transactions, no notification arrives.
const lookEvery = 1000

/** Notices commits of this process at once, and of others by a notification. */
export class Changes {
  readonly #channel: string
  readonly #watchers = new Watchers()
  #timer: NodeJS.Timeout | undefined
  #notifying: NodeJS.Timeout | undefined
  #listener: PostgresClient | undefined
  #isConnecting = false

  /** @param mayListen false where the pool has no connection to spare */
  constructor (
    readonly connections: Connections,
    readonly pool: ConnectionSource,
    schema: string | undefined,
    readonly mayListen: boolean
  ) {
    this.#channel = `dealbook_${createHash('sha256').update(schema ?? '').digest('hex').slice(0, 16)}`
  }

  watch (wake: () => void): () => void {
    const stop = this.#watchers.add(wake)
    this.#timer ??= setInterval(() => {
      this.#watchers.notify()
      this.#listen()
    }, lookEvery).unref()
    this.#listen()
    return () => {
      stop()
      if (this.#watchers.isEmpty) this.stop()
    }
  }

  /** After a commit. */
  notify (): void {
    // Without a timer, nothing watches.
    if (this.#timer !== undefined) this.#watchers.notify()
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined
      this.connections.run(`NOTIFY ${this.#channel}`).catch(ignore)
    }, notifyEvery).unref()
  }

  stop (): void {
    clearInterval(this.#timer)
    clearTimeout(this.#notifying)
    this.#timer = this.#notifying = undefined
    // Closed, so that the next user of the pool does not listen.
    this.#listener?.release(true)
    this.#listener = undefined
  }

  async #listen (): Promise<void> {
    if (!this.mayListen || this.#listener !== undefined || this.#isConnecting) return
    this.#isConnecting = true
    try {
      const client = await this.pool.connect()
      client.on('error', () => { this.#lose(client) })
      client.on('notification', () => { this.#watchers.notify() })
      this.#listener = client
      await client.query({ text: `LISTEN ${this.#channel}` })
    } catch {
      // Tried again at the next look.
      if (this.#listener !== undefined) this.#lose(this.#listener)
    } finally {
      this.#isConnecting = false
      if (this.#timer === undefined) this.stop()
    }
  }

  #lose (client: PostgresClient): void {
    if (this.#listener !== client) return
    this.#listener = undefined
    client.release(true)
  }
}
