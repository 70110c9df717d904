import { createHash } from 'node:crypto'
import { Watchers } from '../../core/storage/storage.js'
import type { Connection, Connections } from './connections.js'
import { ignore } from './driver.js'

// Milliseconds. A notification in every commit would halve their rate.
const notifyEvery = 30
// Behind a proxy that pools transactions, no notification arrives.
const readMarkEvery = 1000
// A server that has vanished sends nothing, not even an end.
const checkConnectionEvery = 5000

/** Notices commits of this process at once, and of others by a notification. */
export class ChangeWatch {
  readonly #channel: string
  readonly #watchers = new Watchers()
  #timer: NodeJS.Timeout | undefined
  #notifying: NodeJS.Timeout | undefined
  #listener: Connection | undefined
  #isAsking = false
  #answeredAt = 0

  /** @param mayListen false if the pool has no connection to spare */
  constructor (
    readonly connections: Connections,
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
    }, readMarkEvery).unref()
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
    if (!this.mayListen || this.#isAsking) return
    if (this.#listener !== undefined && performance.now() - this.#answeredAt < checkConnectionEvery) return
    this.#isAsking = true
    try {
      this.#listener ??= await this.#connect()
      // Again, to see whether the server still answers.
      await this.connections.ask(this.#listener, `LISTEN ${this.#channel}`)
      this.#answeredAt = performance.now()
    } catch {
      // Tried again at the next look.
      if (this.#listener !== undefined) this.#lose(this.#listener)
    } finally {
      this.#isAsking = false
      if (this.#timer === undefined) this.stop()
    }
  }

  async #connect (): Promise<Connection> {
    const connection = await this.connections.open()
    connection.client.on('error', () => { this.#lose(connection) })
    connection.client.on('notification', () => { this.#watchers.notify() })
    return connection
  }

  #lose (connection: Connection): void {
    if (this.#listener === connection) this.#listener = undefined
    connection.release(true)
  }
}
