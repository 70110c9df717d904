import { setTimeout as delay } from 'node:timers/promises'
import { raceSignal } from '../../core/storage/deadline.js'
import { runCancellably } from './cancel.js'
import type { PostgresClient, PostgresPool } from './driver.js'
import { getCode, isAboutData, isRefusal, useClient } from './driver.js'
import type { Lanes } from './lanes.js'
import type { Statement } from './queued-read.js'
import { QueuedRead } from './queued-read.js'
import { ReadBatch } from './read-batch.js'
import { ReadQueue } from './read-queue.js'
import type { SenderSettings } from './sender.js'
import { StatementSender } from './sender.js'

const maxAttempts = 10
const maxStatements = 16

export interface RunnerSettings extends SenderSettings {
  readonly lanes: Lanes
  /** Milliseconds to wait for a connection. */
  readonly connectionTimeout: number
}

/** How a write is run. */
export interface WriteLimits {
  /** Milliseconds to wait for a lock. */
  readonly lock: number
  /** The time after which nothing is tried again. */
  readonly deadline: number
  /** Statements that come before it in the transaction. */
  readonly first?: readonly Statement[]
}

/** Runs one statement, or several without values in one text, and returns the rows. */
export type Run = (text: string, values?: unknown[]) => Promise<unknown[][]>

/** How something is read. */
export interface Reading {
  readonly signal?: AbortSignal | undefined
  /** Whether it may take more than a millisecond: then it has a connection for itself, and nobody waits behind it. */
  readonly isLong?: boolean
}

/** Runs statements on the connections of a pool. */
export class StatementRunner {
  readonly #sender: StatementSender
  /** Where small reads wait for each other. */
  readonly reads: ReadQueue
  /** How often something was run again that the server had undone. */
  retries = 0

  constructor (readonly pool: PostgresPool, readonly settings: RunnerSettings) {
    this.#sender = new StatementSender(settings)
    this.reads = new ReadQueue(settings.lanes.reads, settings.connectionTimeout, reads => this.#sendReads(reads))
  }

  get lanes (): Lanes {
    return this.settings.lanes
  }

  read (table: string, statement: Statement, { signal, isLong }: Reading = {}): Promise<unknown[][]> {
    if (isLong === true) return this.#readAlone(table, statement, signal)
    const read = new QueuedRead(table, statement)
    const rows = read.wait(signal)
    if (read.isWanted) this.reads.add(read)
    return rows
  }

  async #readAlone (table: string, statement: Statement, signal: AbortSignal | undefined): Promise<unknown[][]> {
    signal?.throwIfAborted()
    const { statementTimeout, connectionTimeout: timeout } = this.settings
    const deadline = performance.now() + statementTimeout
    const read = (client: PostgresClient): Promise<unknown[][]> =>
      runCancellably(client, signal, () => this.#sender.read(client, statement, true))
    const work = (): Promise<unknown[][]> => this.#retryUndone(deadline, read)
    return await raceSignal(signal, this.lanes.reads.run(table, work, { timeout, signal }))
  }

  /**
   * Runs one statement in a transaction of its own.
   *
   * @param undone the code of an error by which the statement itself undoes everything, to be tried again
   */
  async write (statement: Statement, limits: WriteLimits, undone?: string): Promise<unknown[][]> {
    const begin = this.#sender.writeBegin(limits.lock)
    const write = async (client: PostgresClient): Promise<unknown[][]> =>
      (await this.#sender.between(client, begin, statement, limits.first)).rows as unknown[][]
    return await this.#retryUndone(limits.deadline, write, undone)
  }

  /** Runs this on one connection, in a transaction. */
  async transact<T> (table: string, work: (run: Run) => Promise<T>): Promise<T> {
    const patience = { timeout: this.settings.connectionTimeout, signal: undefined }
    return await this.lanes.reads.run(table, () => this.#use(async client => {
      const run: Run = (text, values) => this.#sender.run(client, text, values)
      await run(this.#sender.writeBegin())
      let done: T
      try {
        done = await work(run)
      } catch (error) {
        if (isRefusal(error)) await run('ROLLBACK')
        throw error
      }
      await run('COMMIT')
      return done
    }), patience)
  }

  /** Runs this on a connection that is closed afterwards, in no transaction. @param timeout of a statement, in ms */
  async runAlone<T> (timeout: number, work: (run: Run) => Promise<T>): Promise<T> {
    return await this.lanes.alone.run(undefined, () => this.#use(async client => {
      const run: Run = (text, values) => this.#sender.run(client, text, values)
      // A limit that the session began with is its own. One of the role, or behind a proxy, holds for others too.
      const [[source] = []] = await run("SELECT source FROM pg_settings WHERE name = 'statement_timeout'")
      if (source === 'client') await run(`SET statement_timeout = ${timeout}`)
      return await work(run)
    }, () => true))
  }

  async #sendReads (reads: readonly QueuedRead[]): Promise<void> {
    const batch = new ReadBatch(reads, this.#sender, (read, error, isAlone) => { this.#failRead(read, error, isAlone) })
    try {
      await this.#use(client => {
        this.reads.maxStatements = client.pipeline === true ? maxStatements : 1
        return batch.send(client)
      }, () => batch.isCancelled)
    } catch (error) {
      for (const read of reads) read.reject(error)
    }
  }

  #failRead (read: QueuedRead, error: unknown, isAlone: boolean): void {
    if (!isAlone && isAboutData(error)) {
      read.isAlone = true
      this.reads.add(read)
    } else if (this.#isUndone(error) && ++read.attempts < maxAttempts) {
      this.#pause(read.attempts).then(() => { this.reads.add(read) }, () => {})
    } else read.reject(error)
  }

  async #retryUndone<T> (deadline: number, work: (client: PostgresClient) => Promise<T>, undone?: string): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#use(work)
      } catch (error) {
        const again = this.#isUndone(error, undone)
        if (!again || attempt === maxAttempts || performance.now() > deadline) throw error
      }
      await this.#pause(attempt)
    }
  }

  // Not serializable, or a deadlock: the server has undone all of it.
  #isUndone (error: unknown, undone?: string): boolean {
    return ['40001', '40P01', undone].includes(getCode(error)) || this.settings.names.areLost(error)
  }

  async #pause (attempt: number): Promise<void> {
    this.retries++
    await delay(Math.random() * 5 * attempt)
  }

  async #use<T> (work: (client: PostgresClient) => Promise<T>, isSpent = () => false): Promise<T> {
    return await useClient(this.pool, work, client => isSpent() || this.settings.names.isSpent(client))
  }
}
