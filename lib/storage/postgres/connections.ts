import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { writeLiteral } from './dialect.js'
import { getCode, isRefusal, isUndone, type PostgresClient, type PostgresPool, type PostgresQuery } from './driver.js'

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
// Milliseconds that commits wait for a lock: longer than other processes need one, and too short to be noticed.
const lockTimeout = 100
// Rows of the first part of a scan, and of the largest: most pages are full after a few.
const firstPart = 250
const largestPart = 4000
// Every value as its text: a host may have set other parsers for all of the process.
const types = { getTypeParser: () => (value: string) => value }

/** A connection that is taken from the pool. */
export class Connection {
  /** Whether it is broken, or to be closed for another reason, and not used again. */
  isSpent = false
  readonly #onError = (): void => { this.isSpent = true }

  constructor (readonly client: PostgresClient) {
    // The pool listens only while it has the connection.
    client.on('error', this.#onError)
  }

  release (error?: unknown): void {
    const isClosed = error !== undefined || this.isSpent
    // A connection that is closed may report further errors.
    if (!isClosed) this.client.off('error', this.#onError)
    this.client.release(isClosed ? error as Error | undefined ?? true : undefined)
  }
}

/** Sends statements on the connections of a pool. */
export class Connections {
  readonly names: StatementNames
  /** How often something was run again that the server had undone. */
  retries = 0
  /** Used a moment ago. To take one from the pool and to give it back costs a third as much as a small read. */
  readonly #idle: Connection[] = []
  readonly #prepared = new WeakMap<PostgresClient, Set<string>>()
  readonly #checks: ((now: number) => boolean)[] = []
  readonly #begin: string
  readonly #beginCommit: string
  #timer: NodeJS.Timeout | undefined

  constructor (readonly pool: PostgresPool, readonly settings: ConnectionSettings) {
    const { statementTimeout } = settings
    // The isolation is named: a database may have any default, and a stricter one refuses what need not be refused.
    const begin = (lock: number): string => 'BEGIN ISOLATION LEVEL READ COMMITTED; ' +
      `SET LOCAL lock_timeout = ${lock}; SET LOCAL statement_timeout = ${statementTimeout}`
    this.#begin = begin(statementTimeout)
    this.#beginCommit = begin(lockTimeout)
    this.names = new StatementNames(settings.preparedStatements && settings.limitsTime)
  }

  /** Calls this every now and then while something is under way; it returns whether it waits for something itself. */
  onInterval (check: (now: number) => boolean): void {
    this.#checks.push(check)
  }

  /** Starts the checks, which one timer makes for all. */
  watch (): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.releaseIdle()
      const now = performance.now()
      // All are called, whatever the first returns.
      if (this.#checks.filter(check => check(now)).length > 0) this.watch()
    }, interval).unref()
  }

  releaseIdle (): void {
    for (const connection of this.#idle.splice(0)) connection.release()
  }

  /** A connection that was used a moment ago. */
  takeIdle (): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection?.isSpent !== true) return connection
      connection.release()
    }
  }

  async connect (): Promise<Connection> {
    return new Connection(await this.pool.connect())
  }

  /** @param error of the last statement; where it is no refusal of the server, the connection is closed */
  giveBack (connection: Connection, error?: unknown): void {
    if (error !== undefined && !isRefusal(error)) connection.release(error)
    // The host may wait for one of its pool.
    else if (connection.isSpent || (this.pool.waitingCount ?? 0) > 0) connection.release()
    else {
      this.#idle.push(connection)
      this.watch()
    }
  }

  /** Takes a connection for some work. */
  async use<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.takeIdle() ?? await this.connect()
    try {
      const result = await work(connection)
      this.giveBack(connection)
      return result
    } catch (error) {
      this.giveBack(connection, error)
      throw error
    }
  }

  /** One statement sees one state of the data in every isolation, so it needs a transaction only to limit its time. */
  async read (connection: Connection, { text, values, name }: Statement): Promise<unknown[][]> {
    if (!this.settings.limitsTime) return await this.#runTogether(connection, this.#begin, [writeValues(text, values)])
    const query = this.#makeQuery(text)
    query.values = values as unknown[]
    if (name !== undefined && this.names.areUsed) query.name = name
    return (await connection.client.query(query) as Result).rows
  }

  /**
   * Reads the rows of a statement part by part, in one transaction.
   *
   * @param tag a comment by which the server knows the statement
   * @param take returns whether it needs no more
   */
  async scan (connection: Connection, { text, values }: Statement, tag: string, take: TakePart): Promise<void> {
    const declare = `DECLARE found NO SCROLL CURSOR FOR ${writeValues(text, values)}`
    await this.#undoRefused(connection, async () => {
      await connection.client.query(this.#makeQuery(`${tag}${this.#begin}; ${declare}`))
      for (let size = firstPart; ; size = Math.min(largestPart, size * 2)) {
        const { rows } = await connection.client.query(this.#makeQuery(`${tag}FETCH ${size} FROM found`)) as Result
        if (await take(rows) || rows.length < size) break
      }
      await connection.client.query(this.#makeQuery('COMMIT'))
    })
  }

  /** Runs statements in one transaction, sent as one text in one round trip, and returns the rows of the last. */
  async write (locks: readonly string[], { text, values, name }: Statement): Promise<unknown[][]> {
    return await this.use(async connection => {
      if (name === undefined || !this.names.areUsed) {
        return await this.#runTogether(connection, this.#beginCommit, [...locks, writeValues(text, values)])
      }
      let prepared = this.#prepared.get(connection.client)
      if (prepared === undefined) this.#prepared.set(connection.client, prepared = new Set())
      if (!prepared.has(name)) {
        await this.#runTogether(connection, this.#beginCommit, [`PREPARE ${name} AS ${text}`])
        prepared.add(name)
      }
      const execute = `EXECUTE ${name} (${values.map(writeLiteral).join(', ')})`
      return await this.#runTogether(connection, this.#beginCommit, [...locks, execute])
    })
  }

  async #runTogether (connection: Connection, begin: string, texts: readonly string[]): Promise<unknown[][]> {
    const query = this.#makeQuery(`${begin}; ${texts.join('; ')}; COMMIT`)
    const results = await this.#undoRefused(connection, () => connection.client.query(query)) as unknown as Result[]
    return (results.at(-2) as Result).rows
  }

  async #undoRefused<T> (connection: Connection, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isRefusal(error)) {
        await connection.client.query(this.#makeQuery('ROLLBACK')).catch(() => { connection.isSpent = true })
      }
      throw error
    }
  }

  #makeQuery (text: string): PostgresQuery {
    // A server that still works has ended the statement itself by then.
    return { text, rowMode: 'array', types, query_timeout: this.settings.statementTimeout + 1000 }
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
    return await this.use(connection => this.#undoRefused(connection, async () => {
      const run: Run = (text, values) => runOn(connection, text, values)
      await run(this.#begin)
      const done = await work(run)
      await run('COMMIT')
      return done
    }))
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
        if (performance.now() > deadline || !this.isRetried(error, attempt)) throw error
      }
      await delay(Math.random() * 5 * attempt)
    }
  }

  /** Whether the server has undone what failed, so that the same may succeed. @param attempt how often it was tried */
  isRetried (error: unknown, attempt: number): boolean {
    const isRetried = attempt < maxAttempts && (isUndone(error) || this.names.areLost(error))
    if (isRetried) this.retries++
    return isRetried
  }
}

interface Result {
  readonly rows: unknown[][]
}

/** Takes some rows, and returns whether it needs no more. */
export type TakePart = (rows: readonly unknown[][]) => Promise<boolean>

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
    const code = getCode(error)
    const areLost = code === '26000' || code === '42P05' || (code === '0A000' && this.areUsed)
    if (areLost) this.areUsed = false
    return areLost
  }
}
