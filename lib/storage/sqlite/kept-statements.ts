import { BoundedCache } from '../../core/cache.js'
import type { ReadStatement, SqliteDatabase } from './driver.js'
import { prepareRead } from './driver.js'

const maxKept = 300
// One in so many takes the place of another, once all places are taken.
const replacing = 16

/**
 * Statements that read, by key, each prepared once and kept. No driver ends a statement when it is told to: it waits
 * for the garbage collector, which finds young ones soon and old ones late, since it knows nothing of the 10 KB and
 * more that each holds outside of the heap. So what comes once is not kept, and what is kept is seldom dropped, however
 * many queries clients make up.
 */
export class KeptStatements {
  readonly #kept = new Map<string, ReadStatement>()
  readonly #seen = new BoundedCache<{ times: number }>(1000)
  #refused = 0

  constructor (readonly database: SqliteDatabase) {}

  get (key: string, write: () => string): ReadStatement {
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      // In the order of use as soon as something may be dropped.
      if (this.#kept.size >= maxKept && this.#kept.delete(key)) this.#kept.set(key, kept)
      return kept
    }
    const statement = prepareRead(this.database, write())
    const comesAgain = this.#seen.get(key, () => ({ times: 0 })).times++ > 0
    if (comesAgain && this.#makeRoom()) this.#kept.set(key, statement)
    return statement
  }

  #makeRoom (): boolean {
    if (this.#kept.size < maxKept) return true
    if (++this.#refused % replacing !== 0) return false
    return this.#kept.delete(this.#kept.keys().next().value as string)
  }
}
