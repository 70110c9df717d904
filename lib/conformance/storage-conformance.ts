import type { Storage } from '../core/storage/storage.js'
import { commits, refusals } from './commits.js'
import { concurrency } from './concurrency.js'
import { decimals } from './decimals.js'
import { filters } from './filters.js'
import { type Case, notes, things } from './fixture.js'
import { references, unique } from './keys.js'
import { changedFamilies, lifecycle } from './lifecycle.js'
import { nulls } from './nulls.js'
import { order, pages } from './pages.js'
import { pathReferences } from './path-references.js'
import { alternatives, patterns } from './patterns.js'
import { sequence } from './sequence.js'
import { texts } from './texts.js'
import { longTexts, values } from './values.js'

const cases = [
  ...lifecycle,
  ...values,
  ...changedFamilies,
  ...filters,
  ...nulls,
  ...decimals,
  ...patterns,
  ...alternatives,
  ...pages,
  ...order,
  ...longTexts,
  ...texts,
  ...commits,
  ...refusals,
  ...unique,
  ...references,
  ...pathReferences,
  ...concurrency,
  ...sequence
]

/**
 * The function that runs one named case: `test` of node:test, `t.test` of tap, or your own. The case fails by
 * rejecting. Where the storage lacks what it tests, it calls `skip` of the context that the runner passes to it;
 * without a context it does nothing.
 */
export type ConformanceTest = (name: string, run: (context?: ConformanceContext) => Promise<void>) => unknown

/** The part of the context of node:test, tap and others that is used. */
export interface ConformanceContext {
  /** Reports the test as skipped. Of tap it makes a skipped subtest, which is why there is a function to run. */
  skip (reason: string, run: () => void): unknown
}

/** A storage for one case. */
export interface StorageUnderTest {
  /** Empty: nothing prepared, nothing stored. */
  readonly storage: Storage
  /**
   * Closes `storage` and opens what it kept, as a restarted process would. Without it, the cases about reopening are
   * skipped.
   */
  reopen?(): Promise<Storage>
  /** Called at the end of the case, passed or failed, to close and clean up. Without it `storage` is closed. */
  dispose?(): Promise<void>
}

/**
 * The conditions that every storage must meet, as named cases. Each case gets a new storage from `makeStorage`.
 *
 * @example
 * import { test } from 'node:test'
 * import { storageConformance } from 'fastify-dealbook/conformance'
 *
 * storageConformance(test, async () => ({ storage: ownStorage() }))
 */
export function storageConformance (
  test: ConformanceTest,
  makeStorage: () => StorageUnderTest | Promise<StorageUnderTest>
): void {
  for (const each of cases) {
    test(each.name, async context => {
      const made = await makeStorage()
      try {
        const lacking = describeLacking(each, made)
        if (lacking === undefined) await runCase(each, made)
        else await context?.skip(lacking, () => {})
      } finally {
        await (made.dispose === undefined ? made.storage.close() : made.dispose())
      }
    })
  }
}

/** Why the case has nothing to check. */
function describeLacking ({ needs }: Case, { storage, reopen }: StorageUnderTest): string | undefined {
  if (needs === 'reopen' && reopen === undefined) return 'the storage keeps nothing to reopen'
  if (needs === 'findText' && storage.findText === undefined) return 'the storage has no findText'
  if (needs === 'chain' && storage.chain !== true) return 'the log is not chained'
  if (needs === 'watch' && storage.watch === undefined) return 'the storage has no watch'
  return undefined
}

async function runCase ({ run }: Case, made: StorageUnderTest): Promise<void> {
  await made.storage.prepare(things)
  await made.storage.prepare(notes)
  await run({ storage: made.storage, reopen: async () => await (made as Required<StorageUnderTest>).reopen() })
}
