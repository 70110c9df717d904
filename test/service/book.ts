import type { Test } from 'tap'
import t from 'tap'
import type { Problem } from '../../lib/core/problems.js'
import type { Service, ServiceOptions } from '../../lib/core/service/service.js'
import type { Storage } from '../../lib/core/storage/storage.js'
import { deals } from '../../lib/deals/deals.js'
import { operation } from '../deals/operations.js'
import type { StorageFixture } from '../storages.js'
import { anyStorage } from '../storages.js'

/** The deals, whose operations may be named by any text. */
export type Book = Service<typeof deals.definition.fields.properties>

export function openBook (storage: Storage, options: Omit<ServiceOptions, 'storage'> = {}): Book {
  return deals.service({ storage, ...options }) as unknown as Book
}

/** Runs tests with a service of the deals, over any storage. */
export function testOverStorages (
  tests: (t: Test, made: StorageFixture & { readonly book: Book }) => Promise<void>
): void {
  for (const { name, make } of anyStorage) {
    t.test(name, async t => {
      const made = await make()
      t.teardown(made.dispose)
      await tests(t, { ...made, book: openBook(made.storage) })
    })
  }
}

/** The id of a new deal. */
export async function makeDeal (book: Book, members: object = {}): Promise<string> {
  const { item: { id } } = await book.create({ name: 'Ten tons of tea', price: 100, ...members })
  return id
}

/** The id of a new deal on which these operations were run. */
export async function dealAfter (book: Book, ...names: readonly string[]): Promise<string> {
  const id = await makeDeal(book)
  for (const name of names) await book.run(name, id, operation(name).params)
  return id
}

/** The problem that a call is refused with. */
export async function refusal (call: Promise<unknown>): Promise<Problem> {
  return await call.then(() => { throw new Error('it was not refused') }, (problem: Problem) => problem)
}

/** Without what depends on the clock or on chance. */
export function timeless (item: object | undefined): object {
  const { id, deal, createdAt, updatedAt, changes, ...members } = item as Readonly<Record<string, unknown>>
  return typeof changes === 'object' ? { ...members, changes: timeless(changes ?? {}) } : members
}
