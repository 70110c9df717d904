import { setTimeout as delay } from 'node:timers/promises'
import { BusyError } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import { isBuilding } from './catalog.js'
import { postgresDialect as dialect } from './dialect.js'
import { getCode, statementTimedOut } from './driver.js'
import type { TablePlace } from './indexes.js'
import type { Missing } from './missing.js'
import { findMissing } from './missing.js'
import type { Run, StatementRunner } from './runner.js'
import { readWith } from './tables.js'

export interface MigrationSettings {
  readonly schema: string | undefined
  /** Milliseconds that a statement may take which makes a table, a column or an index, or that another process may. */
  readonly migrationTimeout: number
}

/**
 * Makes what is missing of tables. Of several processes one does it, and the others ask again and again whether it has
 * ended: who waited for its lock within a statement would be waited for by an index that is built meanwhile.
 */
export class Migration {
  readonly #place: TablePlace

  constructor (readonly runner: StatementRunner, readonly settings: MigrationSettings) {
    // To build an index beside others takes a connection for it, and one for the lock.
    this.#place = { schema: settings.schema, concurrently: runner.lanes.alone !== runner.lanes.reads }
  }

  async listMissing (layout: Layout): Promise<readonly string[]> {
    const { definitions, builds } = await this.#find(readWith(this.runner, layout.table), layout)
    return [...definitions, ...builds]
  }

  async makeMissing (layout: Layout): Promise<void> {
    if (await this.#isComplete(layout)) return
    const end = performance.now() + this.settings.migrationTimeout
    while (!await this.#make(layout)) {
      if (performance.now() > end) throw new BusyError(`Another process is still making ${layout.table}`)
      await delay(50 + Math.random() * 100)
    }
  }

  async #isComplete (layout: Layout): Promise<boolean> {
    try {
      return (await this.listMissing(layout)).length === 0
    } catch (error) {
      // Whoever makes it just now keeps it locked, for longer than a request may wait.
      if (getCode(error) === statementTimedOut) return false
      throw error
    }
  }

  /** Returns whether it was done; it is not where another process is at it. */
  async #make (layout: Layout): Promise<boolean> {
    const builds = await this.#define(layout)
    return builds !== undefined && (builds.length === 0 || await this.#build(layout))
  }

  /** Makes all but what is to be built then. */
  async #define (layout: Layout): Promise<Missing['builds'] | undefined> {
    return await this.runner.transact(layout.table, async run => {
      if (!await this.#lock(run)) return undefined
      // It may take longer than any request. Only for a table it waits no longer than others: until it has its lock,
      // nobody else gets one.
      await run(`SET LOCAL statement_timeout = ${this.settings.migrationTimeout}`)
      const { definitions, builds } = await this.#find(run, layout)
      if (definitions.length > 0) await run(definitions.join('; '))
      return builds
    })
  }

  /** Builds indexes while others write. Returns whether it was done. */
  async #build (layout: Layout): Promise<boolean> {
    // The lock has a transaction for itself: a build waits for all others that have looked at a table.
    return await this.runner.transact(layout.table, async run => {
      if (!await this.#lock(run)) return false
      await run('SET LOCAL idle_in_transaction_session_timeout = 0')
      return await this.runner.runAlone(this.settings.migrationTimeout, run => this.#runBuilds(run, layout))
    })
  }

  async #runBuilds (run: Run, layout: Layout): Promise<boolean> {
    // A process that has ended may have left the server at it.
    if (await isBuilding(run, layout)) return false
    const { builds } = await this.#find(run, layout)
    try {
      for (const build of builds) await run(build)
      return true
    } catch (error) {
      if (getCode(error) === deadlocked) return false
      // Somebody stored the same twice while it was built: it says who.
      if (getCode(error) === clashing) await this.#find(run, layout)
      throw error
    }
  }

  async #find (run: Run, layout: Layout): Promise<Missing> {
    return await findMissing(run, layout, this.#place)
  }

  // Without values: those would leave something open on the connection that a build waits for.
  async #lock (run: Run): Promise<boolean> {
    const key = dialect.literal(`fastify-dealbook ${this.settings.schema ?? ''}`, 'string')
    const [[isLocked] = []] = await run(`SELECT pg_try_advisory_xact_lock(hashtext(${key}))`)
    return isLocked === 't'
  }
}

const deadlocked = '40P01'
const clashing = '23505'
