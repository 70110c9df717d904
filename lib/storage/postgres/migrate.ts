import { setTimeout as delay } from 'node:timers/promises'
import { BusyError } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import type { Connections, Run } from './connections.js'
import { writeLiteral } from './dialect.js'
import { getCode, statementTimedOut } from './driver.js'
import type { Missing, TablePlace } from './tables.js'
import { findMissing, isBuilding } from './tables.js'

export interface MigrationSettings {
  readonly schema: string | undefined
  /** Milliseconds that a statement may take which makes a table, a column or an index, or that another process may. */
  readonly migrationTimeout: number
}

/**
 * Makes what is missing of tables. Of several processes one does it, and the others ask again and again whether it has
 * ended: an index that is built would wait for a statement that waits for the lock.
 */
export class Migration {
  readonly #place: TablePlace

  /** @param poolSize to build an index while others write takes a connection for it, and one for the lock */
  constructor (readonly connections: Connections, readonly settings: MigrationSettings, poolSize: number) {
    this.#place = { schema: settings.schema, concurrently: poolSize > 1 }
  }

  async listMissing (layout: Layout): Promise<readonly string[]> {
    const { definitions, builds } = await this.#find(this.connections.run, layout)
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
      // A process that makes it just now keeps it locked, for longer than a request may wait.
      if (getCode(error) === statementTimedOut) return false
      throw error
    }
  }

  /** Returns whether it was done; it is not while another process is doing it. */
  async #make (layout: Layout): Promise<boolean> {
    const builds = await this.#define(layout)
    return builds !== undefined && (builds.length === 0 || await this.#build(layout))
  }

  /** Makes all but what is to be built then. */
  async #define (layout: Layout): Promise<Missing['builds'] | undefined> {
    return await this.connections.transact(async run => {
      if (!await this.#lock(run)) return undefined
      // It may take longer than any request. Only for a table it waits no longer than others: until it has its lock,
      // nothing else gets one.
      await run(`SET LOCAL statement_timeout = ${this.settings.migrationTimeout}`)
      const { definitions, builds } = await this.#find(run, layout)
      if (definitions.length > 0) await run(definitions.join('; '))
      return builds
    })
  }

  /** Builds indexes while others write. Returns whether it was done. */
  async #build (layout: Layout): Promise<boolean> {
    // The lock has a transaction for itself: a build waits for all others that have read a table.
    return await this.connections.transact(async run => {
      if (!await this.#lock(run)) return false
      await run('SET LOCAL idle_in_transaction_session_timeout = 0')
      return await this.connections.runAlone(this.settings.migrationTimeout, run => this.#runBuilds(run, layout))
    })
  }

  async #runBuilds (run: Run, layout: Layout): Promise<boolean> {
    // The server may still be busy with it for a process that has ended.
    if (await isBuilding(run, layout)) return false
    const { builds } = await this.#find(run, layout)
    try {
      for (const build of builds) await run(build)
      return true
    } catch (error) {
      if (getCode(error) === deadlocked) return false
      // The same was stored twice while it was built: this finds the items.
      if (getCode(error) === clashing) await this.#find(run, layout)
      throw error
    }
  }

  async #find (run: Run, layout: Layout): Promise<Missing> {
    return await findMissing(run, layout, this.#place)
  }

  // Without values: those would leave something open on the connection that a build waits for.
  async #lock (run: Run): Promise<boolean> {
    const key = writeLiteral(`fastify-dealbook ${this.settings.schema ?? ''}`)
    const [[isLocked] = []] = await run(`SELECT pg_try_advisory_xact_lock(hashtext(${key}))`)
    return isLocked === 't'
  }
}

const deadlocked = '40P01'
const clashing = '23505'
