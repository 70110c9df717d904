import type { PostgresClient, PostgresQuery } from './driver.js'
import { ignore, isRefusal, sendTogether } from './driver.js'
import type { StatementNames } from './names.js'
import type { Statement } from './queued-read.js'

// Every value as its text: a host may have set other parsers for all of the process.
const types = { getTypeParser: () => (value: string) => value }

export interface SenderSettings {
  readonly names: StatementNames
  /** Milliseconds that one statement may take. */
  readonly statementTimeout: number
  /** Whether the sessions have that limit themselves. */
  readonly limitsTime: boolean
}

interface Answer {
  readonly rows: unknown[]
}

/** Sends statements on a connection. Writes rely on no setting that a session happens to have. */
export class StatementSender {
  readonly #timeout: number
  readonly #beginRead: string | undefined

  constructor (readonly settings: SenderSettings) {
    // The driver's own clock is for a server that has gone silent; one that still works ends the statement itself.
    this.#timeout = settings.statementTimeout + 1000
    this.#beginRead = settings.limitsTime ? undefined : this.writeBegin()
  }

  /**
   * One statement sees one state of the data in every isolation, so it needs no transaction but to limit its time.
   *
   * @param isTimed whether it has a clock of its own; of statements sent together, one for the last is enough
   */
  async read (client: PostgresClient, statement: Statement, isTimed: boolean): Promise<unknown[][]> {
    const { rows } = this.#beginRead === undefined
      ? await client.query(this.#makeQuery(client, statement, isTimed))
      : await this.between(client, this.#beginRead, statement)
    return rows as unknown[][]
  }

  /** Several statements in one text, without values, or one with them. */
  async run (client: PostgresClient, text: string, values?: unknown[]): Promise<unknown[][]> {
    const query = { text, rowMode: 'array' as const, types }
    // Several statements in one text have several results, of which nobody reads the rows.
    const { rows }: { rows?: unknown[] } = await client.query(values === undefined ? query : { ...query, values })
    return (rows ?? []) as unknown[][]
  }

  /** The isolation is said: a database may have any for its default, and a stricter one refuses what need not be. */
  writeBegin (lockTimeout = this.settings.statementTimeout): string {
    const { statementTimeout } = this.settings
    return 'BEGIN ISOLATION LEVEL READ COMMITTED; ' +
      `SET LOCAL lock_timeout = ${Math.ceil(lockTimeout)}; SET LOCAL statement_timeout = ${statementTimeout}`
  }

  /**
   * A statement between BEGIN and COMMIT, in one go where the connection pipelines. After a statement that failed,
   * COMMIT undoes the transaction; and where BEGIN itself failed, one statement is all or nothing anyway.
   *
   * @param first statements that come before it; then BEGIN must not fail either
   */
  async between (
    client: PostgresClient,
    begin: string,
    statement: Statement,
    first: readonly Statement[] = []
  ): Promise<Answer> {
    const statements = [...first, statement].map(each => this.#makeQuery(client, each, false))
    const queries = [{ text: begin }, ...statements, { text: 'COMMIT' }]
    const answers = client.pipeline === true
      ? this.#sendTogether(client, queries)
      : await this.#sendInTurn(client, queries)
    if (first.length > 0) for (const answer of answers.slice(0, -2)) await answer
    const result = await (answers.at(-2) as Promise<Answer>)
    await answers.at(-1)
    return result
  }

  #sendTogether (client: PostgresClient, queries: readonly PostgresQuery[]): Promise<Answer>[] {
    const answers: Promise<Answer>[] = []
    sendTogether(client, () => {
      for (const [index, query] of queries.entries()) {
        const isLast = index === queries.length - 1
        answers.push(client.query(isLast ? { ...query, query_timeout: this.#timeout } : query))
      }
    })
    for (const answer of answers) answer.catch(ignore)
    return answers
  }

  async #sendInTurn (client: PostgresClient, queries: readonly PostgresQuery[]): Promise<Promise<Answer>[]> {
    const answers: Promise<Answer>[] = []
    for (const query of queries) {
      const answer = client.query({ ...query, query_timeout: this.#timeout })
      answers.push(answer)
      await answer.catch(error => { if (!isRefusal(error)) throw error })
    }
    return answers
  }

  #makeQuery (client: PostgresClient, { text, values }: Statement, isTimed: boolean): PostgresQuery {
    const query: PostgresQuery = { text, values: values as unknown[], rowMode: 'array', types }
    const name = this.settings.names.choose(client, text)
    if (name !== undefined) query.name = name
    if (isTimed) query.query_timeout = this.#timeout
    return query
  }
}
