import { createHash } from 'node:crypto'
import { BoundedCache } from '../../core/cache.js'
import type { PostgresClient } from './driver.js'
import { getCode } from './driver.js'

// A server keeps what is prepared until the connection ends, so a connection prepares only so many texts.
const maxPrepared = 200
// After so many that would have had a name there, what it has prepared is not what is asked now.
const maxMisses = 1000

interface Shape {
  times: number
  name: string | undefined
}

interface Prepared {
  readonly names: Set<string>
  misses: number
}

/**
 * The names under which statements are prepared. Clients make up as many texts as they like, so only those that come
 * again have one, each connection takes a bounded number of them, and one that is full of others is replaced.
 */
export class StatementNames {
  readonly #shapes = new BoundedCache<Shape>(1000)
  readonly #prepared = new WeakMap<PostgresClient, Prepared>()

  /** @param inUse whether statements have names at all */
  constructor (public inUse: boolean) {}

  choose (client: PostgresClient, text: string): string | undefined {
    if (!this.inUse) return undefined
    const shape = this.#shapes.get(text, () => ({ times: 0, name: undefined }))
    if (shape.times++ === 0) return undefined
    shape.name ??= `dealbook_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
    let prepared = this.#prepared.get(client)
    if (prepared === undefined) this.#prepared.set(client, prepared = { names: new Set(), misses: 0 })
    if (prepared.names.has(shape.name)) return shape.name
    if (prepared.names.size < maxPrepared) {
      prepared.names.add(shape.name)
      return shape.name
    }
    prepared.misses++
    return undefined
  }

  /** Whether another connection would serve better than this one. */
  isSpent (client: PostgresClient): boolean {
    return (this.#prepared.get(client)?.misses ?? 0) >= maxMisses
  }

  /**
   * Whether the statement failed for its name alone. Behind a proxy that pools transactions and knows nothing of names,
   * the next transaction has another session, without what was prepared, or with it already: then they are of no use.
   */
  areLost (error: unknown): boolean {
    // invalid_sql_statement_name, duplicate_prepared_statement
    if (!['26000', '42P05'].includes(getCode(error))) return false
    this.inUse = false
    return true
  }
}
