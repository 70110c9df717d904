import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { BusyError } from '../../core/storage/storage.js'
import { writeLiteral } from './dialect.js'
import {
  type ConnectionSource, getCode, ignore, isFromServer, isUndone, type PostgresClient, type PostgresQuery
} from './driver.js'

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
  /** The name of the prepared statement; undefined if it is not prepared. */
  readonly name?: string | undefined
}

/** Runs one statement, or several without values, joined by semicolons. */
export type Run = (text: string, values?: unknown[]) => Promise<unknown[][]>

interface ConnectionSettings {
  /** Milliseconds. */
  readonly statementTimeout: number
  /** Milliseconds to wait for a connection. */
  readonly connectionTimeout: number
  /** Whether the sessions themselves have that limit. */
  readonly limitsTime: boolean
  readonly preparedStatements: boolean
}

// Milliseconds between checks. At the next one, unused connections are returned to the pool.
const checkReadsEvery = 50
const maxConnects = 10
export const tooMany = 'Too many requests are waiting for the database'
// A server keeps prepared statements until the connection ends.
const maxNames = 200
// Milliseconds that commits wait for a lock: longer than most are held, and too short to be noticed.
const lockTimeout = 100
// Milliseconds that a server may take longer than the limit of a statement.
const grace = 1000
// A small commit that any role may make. Without synchronous standbys, nothing is written.
const waitForStandbys = "SELECT CASE WHEN current_setting('synchronous_standby_names') <> '' " +
  "THEN pg_logical_emit_message(true, 'fastify-dealbook', '') END"
// Rows of the first and of the largest part of a scan: most pages are full after a few.
const firstPart = 250
const largestPart = 4000
// All values as text: a host may have set different parsers for the whole process.
const types = { getTypeParser: () => String }
// Names of prepared statements. Storages may share a host's pool.
const preparedNames = new WeakMap<PostgresClient, Set<string>>()

export class Connection {
  /** To be closed and not used again. */
  isSpent = false
  /** The deadline of its statement. */
  deadline = Infinity
  #isReleased = false
  readonly #onError = (): void => { this.isSpent = true }

  /** @param isWritable whether the pool gave only connections that accept writes */
  constructor (readonly client: PostgresClient, readonly isWritable: boolean) {
    // The pool listens only while it has the connection.
    client.on('error', this.#onError)
  }

  /** Closing it ends its statement. */
  release (error?: unknown): void {
    if (this.#isReleased) return
    this.#isReleased = true
    const isClosed = error !== undefined || this.isSpent
    this.isSpent = true
    // A closed connection may report further errors.
    if (!isClosed) this.client.off('error', this.#onError)
    this.client.release(isClosed ? error as Error | undefined ?? true : undefined)
  }
}

export class Connections {
  retries = 0
  readonly #names = new Set<string>()
  #usesNames: boolean
  /** Used a moment ago: to take one from the pool and return it costs a third of a small read. */
  readonly #idle: Connection[] = []
  /** Those with a running statement. */
  readonly #used = new Set<Connection>()
  readonly #checks: ((now: number) => boolean)[] = []
  readonly #commitSettings: string
  #timer: NodeJS.Timeout | undefined

  constructor (readonly pool: ConnectionSource, readonly settings: ConnectionSettings) {
    // Rows are found by their keys, even if a table is small now: the plan is kept. Before PostgreSQL 18, a scan that
    // is needed nevertheless would look expensive enough to be compiled.
    this.#commitSettings = `${this.#set('', lockTimeout)}; SET LOCAL enable_seqscan = off; SET LOCAL jit = off`
    this.#usesNames = settings.preparedStatements && settings.limitsTime
  }

  /** Settings of a transaction: several statements in one text are one, even without BEGIN. */
  #set (mode: string, lock: number): string {
    // Explicit, since the default may be stricter and refuse valid commits.
    return `SET TRANSACTION ISOLATION LEVEL READ COMMITTED${mode}; SET LOCAL lock_timeout = ${lock}; ` +
      `SET LOCAL statement_timeout = ${this.settings.statementTimeout}`
  }

  /** Behind a proxy that pools transactions, each may be on a different server. A standby refuses this. */
  get #readSettings (): string {
    return this.#set(this.pool.mustWrite === true ? ', READ WRITE' : '', this.settings.statementTimeout)
  }

  /** Calls `check` at intervals while something is running. It returns whether it waits for something. */
  onInterval (check: (now: number) => boolean): void {
    this.#checks.push(check)
  }

  watch (): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#releaseIdle()
      const now = performance.now()
      for (const connection of this.#used) if (now > connection.deadline) connection.release(true)
      // filter, not some: all must be called.
      if (this.#checks.filter(check => check(now)).length > 0 || this.#used.size > 0) this.watch()
    }, checkReadsEvery).unref()
  }

  #releaseIdle (): void {
    for (const connection of this.#idle.splice(0)) connection.release()
  }

  /** Ends what is still running, such as notifications: a server that has vanished would answer none. */
  close (): void {
    this.#releaseIdle()
    for (const connection of this.#used) connection.release(true)
  }

  /** Not one from before connections had to accept writes: the pool checks those that it gives. */
  #isUsable ({ isSpent, isWritable }: Connection): boolean {
    return !isSpent && (isWritable || this.pool.mustWrite !== true)
  }

  #giveBack (connection: Connection): void {
    // The host may be waiting for a connection of its pool.
    if (!this.#isUsable(connection) || (this.pool.waitingCount ?? 0) > 0) return connection.release()
    this.#idle.push(connection)
    this.watch()
  }

  /** Waits for a limited time even if the host's pool does not. */
  async open (): Promise<Connection> {
    const isWritable = this.pool.mustWrite === true
    const connecting = this.pool.connect()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => { reject(new BusyError(tooMany)) }, this.settings.connectionTimeout).unref()
    })
    try {
      return new Connection(await Promise.race([connecting, timeout]), isWritable)
    } catch (error) {
      connecting.then(client => { client.release() }, ignore)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes the connection after an error that is not a refusal of the server. */
  async use<T> (work: (connection: Connection) => Promise<T>): Promise<T> {
    let connection = this.#idle.pop()
    for (; connection !== undefined && !this.#isUsable(connection); connection = this.#idle.pop()) connection.release()
    connection ??= await this.open()
    try {
      const result = await work(connection)
      this.#giveBack(connection)
      return result
    } catch (error) {
      if (isFromServer(error)) this.#giveBack(connection)
      else connection.release(error)
      throw error
    }
  }

  /** One statement sees one state in every isolation: it needs a transaction only to limit its time. */
  async read (connection: Connection, { text, values, name }: Statement): Promise<unknown[][]> {
    const { limitsTime } = this.settings
    if (!limitsTime) return await this.#runTogether(connection, this.#readSettings, [writeValues(text, values)])
    const query: PostgresQuery = { text, values: values as unknown[], rowMode: 'array', types }
    if (name !== undefined && this.#usesNames) query.name = name
    return (await this.#query(connection, query)).rows
  }

  /** Reads again what was found, once all that the server has is also on the standbys that commits wait for. */
  async confirm ({ text, values }: Statement): Promise<unknown[][]> {
    return await this.use(connection =>
      this.#runTogether(connection, this.#readSettings, [waitForStandbys, writeValues(text, values)]))
  }

  /** Reads rows in one transaction, until `take` returns true. Each statement has the comment `tag`. */
  async scan (connection: Connection, { text, values }: Statement, tag: string, take: TakePart): Promise<[]> {
    const read = async (text: string): Promise<unknown[][]> =>
      (await this.#query(connection, { text: tag + text, rowMode: 'array', types })).rows
    return await this.#transact(connection, read, async () => {
      await read(`DECLARE found NO SCROLL CURSOR FOR ${writeValues(text, values)}`)
      for (let size = firstPart; ; size = Math.min(largestPart, size * 2)) {
        const rows = await read(`FETCH ${size} FROM found`)
        if (await take(rows) || rows.length < size) return []
      }
    })
  }

  /** One transaction, sent as one text in one round trip. Returns the rows of the last statement. */
  async write (locks: readonly string[], { text, values, name }: Statement): Promise<unknown[][]> {
    return await this.use(async connection => {
      if (name === undefined || !this.#usesNames) {
        return await this.#runTogether(connection, this.#commitSettings, [...locks, writeValues(text, values)])
      }
      let prepared = preparedNames.get(connection.client)
      if (prepared === undefined) preparedNames.set(connection.client, prepared = new Set())
      if (!prepared.has(name)) {
        await this.#runTogether(connection, this.#commitSettings, [`PREPARE ${name} AS ${text}`])
        prepared.add(name)
      }
      const execute = `EXECUTE ${name} (${values.map(writeLiteral).join(', ')})`
      return await this.#runTogether(connection, this.#commitSettings, [...locks, execute])
    })
  }

  async #runTogether (connection: Connection, settings: string, texts: readonly string[]): Promise<unknown[][]> {
    const query: PostgresQuery = { text: `${settings}; ${texts.join('; ')}`, rowMode: 'array', types }
    const results = await this.#query(connection, query) as unknown as Result[]
    return (results.at(-1) as Result).rows
  }

  /**
   * Ended by the check at intervals: a timer for each statement costs a tenth of a small read. `limit`: milliseconds;
   * by default, a working server has ended the statement by then.
   */
  async #query (
    connection: Connection, query: PostgresQuery, limit = this.settings.statementTimeout + grace
  ): Promise<Result> {
    const deadline = connection.deadline = performance.now() + limit
    this.#used.add(connection)
    this.watch()
    try {
      return await connection.client.query(query) as Result
    } catch (error) {
      if (isFromServer(error) || performance.now() < deadline) throw error
      throw new Error('PostgreSQL did not answer before the timeout', { cause: error })
    } finally {
      connection.deadline = Infinity
      this.#used.delete(connection)
    }
  }

  #makeRun (connection: Connection, limit?: number): Run {
    return async (text, values) => {
      const query: PostgresQuery = { text, rowMode: 'array', types }
      if (values !== undefined) query.values = values
      // Several statements in one text have several results, whose rows are not needed.
      const { rows = [] } = await this.#query(connection, query, limit) as Partial<Result>
      return rows
    }
  }

  /** On a connection that the caller keeps. Fails if the server does not answer as soon as it should connect. */
  async ask (connection: Connection, text: string): Promise<void> {
    await this.#query(connection, { text }, this.settings.connectionTimeout)
  }

  /** An error closes the connection, and with it the transaction. */
  async #transact<T> (connection: Connection, run: Run, work: (run: Run) => Promise<T>): Promise<T> {
    try {
      await run(`BEGIN; ${this.#readSettings}`)
      const done = await work(run)
      await run('COMMIT')
      return done
    } catch (error) {
      connection.isSpent = true
      throw error
    }
  }

  readonly run = this.makeRun()

  /** @param timeout in milliseconds, if it may take longer than a request; the session may have a limit of its own */
  makeRun (timeout?: number): Run {
    const limit = timeout === undefined ? undefined : timeout + grace
    return (text, values) => this.retry(() => this.use(connection => this.#makeRun(connection, limit)(text, values)))
  }

  /** `runLong` may take `timeout` milliseconds for each statement. */
  async transact<T> (timeout: number, work: (run: Run, runLong: Run) => Promise<T>): Promise<T> {
    return await this.use(connection => this.#transact(connection, this.#makeRun(connection), run =>
      work(run, this.#makeRun(connection, timeout + grace))))
  }

  /** Runs outside of a transaction, on a connection that is then closed. `timeout` in milliseconds. */
  async runAlone<T> (timeout: number, work: (run: Run) => Promise<T>): Promise<T> {
    return await this.use(async connection => {
      const run = this.#makeRun(connection)
      connection.isSpent = true
      // Only a limit that this session set: one of the role, or behind a proxy, applies to others too.
      const [[source] = []] = await run("SELECT source FROM pg_settings WHERE name = 'statement_timeout'")
      if (source === 'client') await run(`SET statement_timeout = ${timeout}`)
      return await work(this.#makeRun(connection, timeout + grace))
    })
  }

  /** Retries work that the server has rolled back, with short pauses, until the deadline. */
  async retry<T> (work: () => Promise<T>, deadline = Infinity): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const isRetried = attempt < maxConnects && performance.now() <= deadline
        if (!isRetried || !(isUndone(error) || this.#lacksName(error))) throw error
        this.retries++
      }
      await delay(Math.random() * 5 * attempt)
    }
  }

  /** The name of a statement of a family, for preparing it; undefined if there are too many already. */
  nameStatement (text: string, most = maxNames): string | undefined {
    const name = `dealbook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
    if (this.#names.size >= most && !this.#names.has(name)) return undefined
    this.#names.add(name)
    return name
  }

  /** Behind a proxy that pools transactions, a session may lack the statement: then names are no longer used. */
  #lacksName (error: unknown): boolean {
    // invalid_sql_statement_name, duplicate_prepared_statement, a result of other types than when it was prepared
    const code = getCode(error)
    const isLacking = code === '26000' || code === '42P05' || (code === '0A000' && this.#usesNames)
    if (isLacking) this.#usesNames = false
    return isLacking
  }
}

interface Result {
  readonly rows: unknown[][]
}

/** Returns whether it needs no more rows. */
export type TakePart = (rows: readonly unknown[][]) => Promise<boolean>

function writeValues (text: string, values: readonly unknown[]): string {
  return text.replace(/\$(\d+)::/g, (_, n: string) => `${writeLiteral(values[Number(n) - 1])}::`)
}
