import { setTimeout as delay } from 'node:timers/promises'
import { raceSignal } from '../patience.js'
import { runCancellably } from './cancel.js'
import type { PostgresClient, PostgresPool, PostgresQuery } from './driver.js'
import { getCode, ignore, isRefusal, useClient } from './driver.js'
import type { Lanes } from './lanes.js'
import type { StatementNames } from './names.js'

// Every value as its text: a host may have set other parsers for all of the process.
const types = { getTypeParser: () => (value: string) => value }
const maxAttempts = 10

export interface RunnerSettings {
  readonly lanes: Lanes
  readonly names: StatementNames
  /** Milliseconds that one statement may take. */
  readonly statementTimeout: number
  /** Whether the sessions have that limit themselves. */
  readonly limitsTime: boolean
}

/** How long a write may take. */
export interface WriteLimits {
  /** Milliseconds to wait for a lock. */
  readonly lock: number
  /** The time after which nothing is tried again. */
  readonly deadline: number
}

/** Runs one statement, or several without values in one text, and returns the rows. */
export type Run = (text: string, values?: unknown[]) => Promise<unknown[][]>

/** Runs statements on the connections of a pool. Writes rely on no setting that a session happens to have. */
export class StatementRunner {
  readonly #timeout: number
  readonly #beginRead: string | undefined
  /** How often something was run again that the server had undone. */
  retries = 0

  constructor (readonly pool: PostgresPool, readonly settings: RunnerSettings) {
    // The driver's own clock is for a server that has gone silent; one that still works ends the statement itself.
    this.#timeout = settings.statementTimeout + 1000
    this.#beginRead = settings.limitsTime ? undefined : this.#writeBegin()
  }

  get lanes (): Lanes {
    return this.settings.lanes
  }

  /** One statement sees one state of the data in every isolation, so it needs no transaction but to limit its time. */
  async read (table: string, text: string, values: unknown[], signal?: AbortSignal): Promise<unknown[][]> {
    const deadline = performance.now() + this.settings.statementTimeout
    return await raceSignal(signal, this.lanes.reads.run(table, async () => {
      // Whoever has left meanwhile takes no connection, which would then be closed.
      signal?.throwIfAborted()
      return await this.#retryUndone(deadline, client =>
        runCancellably(client, signal, () => this.#beginRead === undefined
          ? client.query(this.#makeQuery(client, text, values))
          : this.#runBetween(client, this.#beginRead, text, values)))
    }))
  }

  /**
   * Runs one statement in a transaction of its own.
   *
   * @param undone the code of an error by which the statement itself undoes everything, to be tried again
   */
  async write (text: string, values: unknown[], limits: WriteLimits, undone?: string): Promise<unknown[][]> {
    const begin = this.#writeBegin(limits.lock)
    return await this.#retryUndone(limits.deadline, client => this.#runBetween(client, begin, text, values), undone)
  }

  /** Runs this on one connection, in a transaction. */
  async transact (table: string, work: (run: Run) => Promise<void>): Promise<void> {
    await this.lanes.reads.run(table, () => this.#use(async client => {
      const run: Run = async (text, values) => {
        const query = { text, rowMode: 'array' as const, types }
        // Several statements in one text have several results, of which nobody reads the rows.
        const { rows }: { rows?: unknown[] } = await client.query(values === undefined ? query : { ...query, values })
        return (rows ?? []) as unknown[][]
      }
      await run(this.#writeBegin())
      try {
        await work(run)
      } catch (error) {
        if (isRefusal(error)) await run('ROLLBACK')
        throw error
      }
      await run('COMMIT')
    }))
  }

  /** The isolation is said: a database may have any for its default, and a stricter one refuses what need not be. */
  #writeBegin (lockTimeout = this.settings.statementTimeout): string {
    const { statementTimeout } = this.settings
    return 'BEGIN ISOLATION LEVEL READ COMMITTED; ' +
      `SET LOCAL lock_timeout = ${Math.ceil(lockTimeout)}; SET LOCAL statement_timeout = ${statementTimeout}`
  }

  /**
   * A statement between BEGIN and COMMIT, in one go where the connection pipelines. After a statement that failed,
   * COMMIT undoes the transaction; and where BEGIN itself failed, one statement is all or nothing anyway.
   */
  async #runBetween (
    client: PostgresClient,
    begin: string,
    text: string,
    values: unknown[]
  ): Promise<{ rows: unknown[] }> {
    const timeout = { query_timeout: this.#timeout }
    const query = this.#makeQuery(client, text, values)
    const answers: Promise<{ rows: unknown[] }>[] = []
    for (const each of [{ text: begin, ...timeout }, query, { text: 'COMMIT', ...timeout }]) {
      const answer = client.query(each)
      answers.push(answer)
      answer.catch(ignore)
      if (client.pipeline !== true) await answer.catch(error => { if (!isRefusal(error)) throw error })
    }
    await Promise.allSettled(answers)
    const [, found, committed] = answers as [unknown, Promise<{ rows: unknown[] }>, Promise<unknown>]
    const result = await found
    await committed
    return result
  }

  #makeQuery (client: PostgresClient, text: string, values: unknown[]): PostgresQuery {
    const name = this.settings.names.choose(client, text)
    const query: PostgresQuery = { text, values, rowMode: 'array', types, query_timeout: this.#timeout }
    return name === undefined ? query : { ...query, name }
  }

  async #retryUndone (
    deadline: number,
    work: (client: PostgresClient) => Promise<{ rows: unknown[] }>,
    undone?: string
  ): Promise<unknown[][]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#use(work)).rows as unknown[][]
      } catch (error) {
        // Not serializable, or a deadlock: the server has undone all of it.
        const again = ['40001', '40P01', undone].includes(getCode(error)) || this.settings.names.areLost(error)
        if (!again || attempt === maxAttempts || performance.now() > deadline) throw error
      }
      this.retries++
      await delay(Math.random() * 5 * attempt)
    }
  }

  async #use<T> (work: (client: PostgresClient) => Promise<T>): Promise<T> {
    return await useClient(this.pool, work, client => this.settings.names.isSpent(client))
  }
}
