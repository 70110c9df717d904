import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { writeLiteral } from './dialect.js'
import type { PostgresClient, PostgresPool, PostgresQuery } from './driver.js'
import { getCode, isRefusal, isUndone } from './driver.js'

/** A statement with its values. */
export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  /** Under which it is prepared. */
  readonly name?: string | undefined
}

/** Runs one statement, or several without values in one text, and returns the rows. */
export type Run = (text: string, values?: unknown[]) => Promise<unknown[][]>

export interface ConnectionSettings {
  /** Milliseconds that one statement may take. */
  readonly statementTimeout: number
  /** Whether the sessions have that limit themselves. */
  readonly limitsTime: boolean
  readonly preparedStatements: boolean
}

// Milliseconds between two checks of what is under way. An unused connection goes back to the pool at the next one.
const interval = 50
const maxAttempts = 10
// Every value as its text: a host may have set other parsers for all of the process.
const types = { getTypeParser: () => (value: string) => value }

/** A connection that is taken from the pool. */
export class Connection {
  isBroken = false
  /** Whether it is to be closed, and not used again. */
  isSpent = false
  readonly #onError = (): void => { this.isBroken = true }

  constructor (readonly client: PostgresClient) {
    // The pool listens only while it has the connection.
    client.on('error', this.#onError)
  }

  release (error?: unknown): void {
    const isClosed = error !== undefined || this.isBroken || this.isSpent
    // A connection that is closed may report further errors.
    if (!isClosed) this.client.off('error', this.#onError)
    this.client.release(isClosed ? error as Error | undefined ?? true : undefined)
  }
}

/** A statement whose answer is waited for. */
interface Flight {
  readonly since: number
  readonly fail: (error: Error) => void
}

/** Sends statements on the connections of a pool. */
export class Connections {
  readonly names: StatementNames
  /** How often something was run again that the server had undone. */
  retries = 0
  /** Used a moment ago. To take one from the pool and to give it back costs a third as much as a small read. */
  readonly #idle: Connection[] = []
  readonly #flights = new Set<Flight>()
  readonly #prepared = new WeakMap<PostgresClient, Set<string>>()
  readonly #checks: ((now: number) => boolean)[] = []
  #timer: NodeJS.Timeout | undefined
  #inUse = 0

  constructor (readonly pool: PostgresPool, readonly settings: ConnectionSettings) {
    this.names = new StatementNames(settings.preparedStatements && settings.limitsTime)
  }

  /** Calls this every now and then while something is under way; it returns whether it waits for something itself. */
  onInterval (check: (now: number) => boolean): void {
    this.#checks.push(check)
  }

  /** Starts the checks, which one timer makes for all. */
  watch (): void {
    this.#timer ??= setTimeout(() => { this.#check() }, interval).unref()
  }

  #check (): void {
    this.#timer = undefined
    const now = performance.now()
    // A server that still works has ended the statement itself by then.
    const latest = now - this.settings.statementTimeout - 1000
    for (const { since, fail } of this.#flights) if (since < latest) fail(new Error('PostgreSQL does not answer'))
    let isNeeded = this.#inUse > 0
    for (const check of this.#checks) if (check(now)) isNeeded = true
    this.releaseIdle()
    if (isNeeded) this.watch()
  }

  releaseIdle (): void {
    for (const connection of this.#idle.splice(0)) connection.release()
  }

  /** Takes a connection for some work. One that broke is closed. */
  async use<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    this.#inUse++
    this.watch()
    try {
      const connection = this.#takeIdle() ?? new Connection(await this.pool.connect())
      try {
        const result = await work(connection)
        this.#giveBack(connection)
        return result
      } catch (error) {
        if (isRefusal(error)) this.#giveBack(connection)
        else connection.release(error)
        throw error
      }
    } finally {
      this.#inUse--
    }
  }

  #takeIdle (): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection?.isBroken !== true) return connection
      connection.release()
    }
  }

  #giveBack (connection: Connection): void {
    // The host may wait for one of its pool.
    const isKept = !connection.isSpent && !connection.isBroken && (this.pool.waitingCount ?? 0) === 0
    if (isKept) this.#idle.push(connection)
    else connection.release()
  }

  /** One statement sees one state of the data in every isolation, so it needs a transaction only to limit its time. */
  async read (connection: Connection, statement: Statement): Promise<unknown[][]> {
    const { text, values, name } = statement
    if (!this.settings.limitsTime) {
      return await this.#runTogether(connection, this.#writeBegin(), [writeValues(text, values)])
    }
    const query: PostgresQuery = { text, values: values as unknown[], rowMode: 'array', types }
    if (name !== undefined && this.names.areUsed) query.name = name
    const { rows } = await this.#send(connection, query) as Result
    return rows
  }

  /**
   * Runs statements in one transaction, and returns the rows of the last. They are sent as one text, in one round trip.
   *
   * @param lockTimeout milliseconds to wait for a lock
   */
  async write (statements: readonly Statement[], lockTimeout: number): Promise<unknown[][]> {
    const begin = this.#writeBegin(lockTimeout)
    return await this.use(async connection => {
      const texts: string[] = []
      for (const { text, values, name } of statements) {
        if (name === undefined || !this.names.areUsed) {
          texts.push(writeValues(text, values))
          continue
        }
        const prepared = this.#getPrepared(connection)
        if (!prepared.has(name)) {
          await this.#runTogether(connection, begin, [`PREPARE ${name} AS ${text}`])
          prepared.add(name)
        }
        texts.push(`EXECUTE ${name} (${values.map(writeLiteral).join(', ')})`)
      }
      return await this.#runTogether(connection, begin, texts)
    })
  }

  #getPrepared ({ client }: Connection): Set<string> {
    let prepared = this.#prepared.get(client)
    if (prepared === undefined) this.#prepared.set(client, prepared = new Set())
    return prepared
  }

  // The isolation is named: a database may have any default, and a stricter one refuses what need not be refused.
  #writeBegin (lockTimeout = this.settings.statementTimeout): string {
    return 'BEGIN ISOLATION LEVEL READ COMMITTED; ' +
      `SET LOCAL lock_timeout = ${Math.ceil(lockTimeout)}; ` +
      `SET LOCAL statement_timeout = ${this.settings.statementTimeout}`
  }

  async #runTogether (connection: Connection, begin: string, texts: readonly string[]): Promise<unknown[][]> {
    const text = `${begin}; ${texts.join('; ')}; COMMIT`
    try {
      const results = await this.#send(connection, { text, rowMode: 'array', types }) as Result[]
      return (results.at(-2) as Result).rows
    } catch (error) {
      if (isRefusal(error)) await this.#rollBack(connection)
      throw error
    }
  }

  async #rollBack (connection: Connection): Promise<void> {
    await connection.client.query({ text: 'ROLLBACK' }).catch(() => { connection.isBroken = true })
  }

  /** Waits no longer for the answer than a server that still works needs for it. */
  #send (connection: Connection, query: PostgresQuery): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        this.#flights.delete(flight)
        reject(error)
      }
      const flight: Flight = { since: performance.now(), fail }
      this.#flights.add(flight)
      connection.client.query(query).then(result => {
        this.#flights.delete(flight)
        resolve(result)
      }, fail)
    })
  }

  /** Ends the statement that has this text in it, on the server. */
  async cancel (tag: string): Promise<void> {
    await this.run(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND state = 'active' AND query LIKE $1`, [`%${tag}%`])
  }

  readonly run: Run = async (text, values) => await this.retry(Infinity, () => this.use(connection =>
    runOn(connection, text, values)))

  /** Runs this on one connection, in a transaction. */
  async transact<T> (work: (run: Run) => Promise<T>): Promise<T> {
    return await this.use(async connection => {
      const run: Run = (text, values) => runOn(connection, text, values)
      await run(this.#writeBegin())
      let done: T
      try {
        done = await work(run)
      } catch (error) {
        await this.#rollBack(connection)
        throw error
      }
      await run('COMMIT')
      return done
    })
  }

  /** Runs this on a connection that is closed afterwards, in no transaction. @param timeout of a statement, in ms */
  async runAlone<T> (timeout: number, work: (run: Run) => Promise<T>): Promise<T> {
    return await this.use(async connection => {
      connection.isSpent = true
      const run: Run = (text, values) => runOn(connection, text, values)
      // A limit that the session began with is its own. One of the role, or behind a proxy, holds for others too.
      const [[source] = []] = await run("SELECT source FROM pg_settings WHERE name = 'statement_timeout'")
      if (source === 'client') await run(`SET statement_timeout = ${timeout}`)
      return await work(run)
    })
  }

  /** Runs this again, after a short pause, when the server has undone it. @param deadline when that ends */
  async retry<T> (deadline: number, work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const isTried = isUndone(error) || this.names.areLost(error)
        if (!isTried || attempt === maxAttempts || performance.now() > deadline) throw error
        this.retries++
      }
      await delay(Math.random() * 5 * attempt)
    }
  }
}

interface Result {
  readonly rows: unknown[][]
}

async function runOn ({ client }: Connection, text: string, values?: unknown[]): Promise<unknown[][]> {
  const query: PostgresQuery = { text, rowMode: 'array', types }
  if (values !== undefined) query.values = values
  // Several statements in one text have several results, whose rows are not needed.
  const { rows = [] } = await client.query(query) as Partial<Result>
  return rows
}

/** The text with the values in the places of its parameters. */
function writeValues (text: string, values: readonly unknown[]): string {
  return text.replace(/\$(\d+)::/g, (_, n: string) => `${writeLiteral(values[Number(n) - 1])}::`)
}

// A server keeps what is prepared until the connection ends.
const maxNames = 200

/** The names of prepared statements: for those that families have, and not for those that clients make up. */
export class StatementNames {
  readonly #names = new Set<string>()

  constructor (public areUsed: boolean) {}

  /** @param most names that there may be besides it */
  make (text: string, most = maxNames): string | undefined {
    const name = `dealbook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
    if (this.#names.size >= most && !this.#names.has(name)) return undefined
    this.#names.add(name)
    return name
  }

  /**
   * Whether a statement failed for its name alone. Behind a proxy that pools transactions, the next transaction may
   * have a different session, in which nothing is prepared, or something else; then no more names are used.
   */
  areLost (error: unknown): boolean {
    // invalid_sql_statement_name, duplicate_prepared_statement, a result of other types than when it was prepared
    if (!this.areUsed || !['26000', '42P05', '0A000'].includes(getCode(error))) return false
    this.areUsed = false
    return true
  }
}
