import { commits } from './commits.js'
import { concurrency } from './concurrency.js'
import { filters } from './filters.js'
import { notes, things } from './fixture.js'
import { lifetime } from './lifetime.js'
import { pages } from './pages.js'
import { patterns } from './patterns.js'
import { texts } from './texts.js'
import { values } from './values.js'
import type { Storage } from '../storage.js'

/** Whatever runs one named case: `test` of node:test, `t.test` of tap. The case fails by rejecting. */
export type ConformanceTest = (name: string, run: () => Promise<void>) => unknown

/** A storage for one case. */
export interface StorageUnderTest {
  /** Empty: nothing prepared, nothing stored. */
  readonly storage: Storage
  /**
   * Closes `storage` and opens what it kept, as a restarted process would. Left out by a storage that keeps nothing: the
   * cases about reopening then have nothing to check.
   */
  reopen? (): Promise<Storage>
  /** Called at the end of the case, whatever its outcome: closes and clears away. Without it `storage` is closed. */
  dispose? (): Promise<void>
}

/**
 * The conditions that every storage must meet, as named cases. Each case gets a storage of its own from `makeStorage`.
 *
 * @example
 * import { test } from 'node:test'
 * import { storageConformance } from 'fastify-dealbook/conformance'
 *
 * storageConformance(test, async () => ({ storage: ownStorage() }))
 */
export function storageConformance (test: ConformanceTest, makeStorage: () => StorageUnderTest | Promise<StorageUnderTest>): void {
  for (const { name, run } of [...lifetime, ...values, ...filters, ...patterns, ...pages, ...texts, ...commits, ...concurrency]) {
    test(name, async () => {
      const made = await makeStorage()
      try {
        await made.storage.prepare(things)
        await made.storage.prepare(notes)
        await run({ storage: made.storage, reopen: made.reopen?.bind(made) })
      } finally {
        await (made.dispose === undefined ? made.storage.close() : made.dispose())
      }
    })
  }
}
