import { setTimeout as delay } from 'node:timers/promises'
import { quoteName, quoteText } from '../sql/dialect.js'
import { type Column, getColumn, type Layout } from '../sql/layout.js'
import type { Connections } from './connections.js'
import { getCode, lockTimedOut } from './driver.js'

// Rows that are numbered at once.
const maxNumbered = 5000
// Milliseconds: enough for about 10,000 rows.
const maxLockWait = 1000

/**
 * Numbers items in the order in which they became visible. A sequence would do so in the order in which transactions
 * began to write. So items have no number when they are committed. A reader that selects by the number first
 * numbers what is visible: one process at a time, under a lock that is taken in a statement before, so that the next
 * statement sees all numbers.
 */
export class Positions {
  /** SQL: whether a statement sees items without a number. */
  readonly isBehind: string
  readonly #check: string
  readonly #lock: string
  readonly #number: string
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor (readonly connections: Connections, layout: Layout, sequence: Column) {
    const { table } = layout
    const [id, family, target, revision, outcome, createdAt] = logKey.map(field =>
      quoteName(getColumn(layout, field).name as string)) as [string, string, string, string, string, string]
    const position = quoteName(sequence.name as string)
    this.isBehind = `EXISTS (SELECT 1 FROM ${table} WHERE ${position} IS NULL)`
    this.#check = `SELECT 1 FROM ${table} WHERE ${position} IS NULL LIMIT 1`
    this.#lock = `SELECT pg_advisory_xact_lock(hashtext(${quoteText(`fastify-dealbook positions ${table}`)}))`
    // Clocks of processes differ: an earlier revision is numbered first, though its time may be later.
    const own = `${family}, ${target}`
    // As the index has it, so that only these rows are read.
    const byIndex = `${position} NULLS FIRST, ${createdAt} NULLS FIRST, ${id}`
    const inLog = `${revision}, ${outcome}, ${createdAt}, ${id}`
    const last = `COALESCE((SELECT max(${position}) FROM ${table}), 0)`
    const { links, set, from } = writeLinks(layout, { id, position, last })
    // Only a full batch can lack earlier revisions. To look for them reads the whole log of these items.
    this.#number = `WITH${links === '' ? '' : ' RECURSIVE'} first AS MATERIALIZED (
        SELECT ${id}, ${own}, ${revision} FROM ${table}
        WHERE ${position} IS NULL ORDER BY ${byIndex} LIMIT ${maxNumbered}),
      last AS (SELECT ${own}, max(${revision}) AS last FROM first GROUP BY ${own}),
      found AS (SELECT ${id} FROM first UNION SELECT t.${id} FROM last JOIN ${table} t USING (${own})
        WHERE (SELECT count(*) FROM first) = ${maxNumbered} AND t.${position} IS NULL AND t.${revision} < last.last),
      timed AS (SELECT ${id}, ${own}, ${revision}, ${outcome}, ${createdAt},
        max(${createdAt}) OVER (PARTITION BY ${own} ORDER BY ${inLog}) AS time
        FROM ${table} WHERE ${id} IN (SELECT ${id} FROM found)),
      numbered AS (SELECT ${id}, row_number() OVER (ORDER BY time, ${own}, ${inLog}) AS n FROM timed),
      ${links}done AS (UPDATE ${table} t SET ${position} = numbered.n + ${last}${set}
        FROM numbered${from} WHERE t.${id} = numbered.${id} RETURNING 1)
      SELECT count(*) FROM done`
  }

  /** For requests: stops waiting after a second, while the numbering continues. A log may have millions of rows. */
  async catchUpShortly (isBehind?: boolean): Promise<void> {
    await Promise.race([this.catchUp(isBehind), delay(maxLockWait, undefined, { ref: false })])
  }

  /**
   * Numbers everything that was committed before the call. Calls during a run share the next one.
   *
   * @param isBehind whether a statement has seen items without a number
   */
  catchUp (isBehind = false): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#run(isBehind).finally(() => { this.#running = undefined })
      return this.#running
    }
    this.#next ??= this.#running.catch(() => {}).then(() => {
      this.#next = undefined
      return this.catchUp()
    })
    return this.#next
  }

  async #run (isBehind: boolean): Promise<void> {
    for (let isKnown = isBehind; ; isKnown = false) {
      if (!isKnown && (await this.connections.run(this.#check)).length === 0) return
      try {
        const [[count] = []] = await this.connections.write([this.#lock], { text: this.#number, values: [] })
        if (Number(count) < maxNumbered) return
      } catch (error) {
        // Another process is numbering.
        if (getCode(error) !== lockTimedOut) throw error
      }
    }
  }
}

/**
 * For a chained log: common tables with the hash of each numbered entry over that of the one before it, as of
 * `linkEntry`. Entries of a process without a chain have no digest, and get no hash.
 */
function writeLinks (
  { table, hash: column }: Layout, { id, position, last }: Record<'id' | 'position' | 'last', string>
): Record<'links' | 'set' | 'from', string> {
  if (column === undefined) return { links: '', set: '', from: '' }
  const hash = quoteName(column.name as string)
  const text = "concat_ws(' ', previous, start + n + 1, digest)"
  const hashed = `translate(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '+/=', '-_')`
  // Without OFFSET, each use of a column would compute it again.
  const links = `digests AS MATERIALIZED (SELECT array_agg(t.${hash} ORDER BY n) AS digests, ${last} AS start
        FROM numbered JOIN ${table} t USING (${id})),
      linked (n, previous, hash) AS (
        SELECT 0::bigint, COALESCE((SELECT ${hash} FROM ${table} WHERE ${hash} IS NOT NULL AND ${position} IS NOT NULL
          ORDER BY ${position} DESC NULLS LAST LIMIT 1), ''), NULL::text COLLATE "C"
        UNION ALL SELECT n + 1, CASE WHEN digest IS NULL THEN previous ELSE next END, next
        FROM linked, digests, LATERAL (SELECT digests[n::integer + 1] AS digest OFFSET 0) AS one,
          LATERAL (SELECT CASE WHEN digest IS NOT NULL THEN ${hashed} COLLATE "C" END AS next
            OFFSET 0) AS two
        WHERE n < cardinality(digests)),
      `
  return { links, set: `, ${hash} = linked.hash`, from: ' JOIN linked USING (n)' }
}

const logKey = ['id', 'family', 'target', 'revision', 'outcome', 'createdAt'] as const
