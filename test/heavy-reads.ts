import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Type } from '@sinclair/typebox'
import type { Storage } from '../lib/index.js'
import { customers } from '../lib/index.js'
import { loadItems } from '../lib/tools/index.js'

/** Customers with a name. */
export const people = customers.extend({ fields: Type.Object({ name: Type.String() }) })

/** Queries that no index answers by itself, or not at once. */
export const heavyQueries: readonly string[] = [
  'sort=-children,age,-id&page=1000',
  'sort=-children,age,-id&page=2&maxpagesize=1000',
  'name.gt=p&sort=-children',
  'min-age=0&sort=children,age&count=exact',
  'sort=-age&min-children=2',
  'sort=-children',
  'sort=children&page=900',
  'sort=name&age.ne=5',
  'sort=-name&min-age=120',
  'min-age=0&max-age=200&min-children=0&page=1000',
  'min-age=150&children.ne=1',
  'age.ne=200&page=700',
  'age.ne=200&count=exact',
  'min-age=1&age.gt=0&age.gte=2&max-age=1&min-children=9',
  'count=exact',
  'page=1000',
  'sort=-id&page=1000',
  'age=7&page=100',
  'children=2&sort=-name&count=exact',
  'name.regex=zz9&sort=-children',
  'name.regex=^a.*7$&count=exact&sort=age'
]

export async function loadPeople (storage: Storage, count: number): Promise<void> {
  await loadItems(storage, people, makePeople(count), { batchSize: 10_000 })
}

function * makePeople (count: number): Generator<object> {
  for (let id = 1; id <= count; id++) {
    const name = `${String.fromCharCode(97 + id * 7 % 26)}${(id * 2654435761 % 4294967296).toString(36)}`
    yield { id, age: id * 37 % 100, children: id * 13 % 5, name }
  }
}

/** What the work brings, and the longest time in milliseconds that the event loop was held meanwhile. */
export async function measureStall<T> (work: () => Promise<T>): Promise<{ result: T, stall: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  // Two rounds of the timer, so that it has begun.
  await new Promise(resolve => setTimeout(resolve, 5))
  delay.reset()
  const result = await work()
  await new Promise(resolve => setTimeout(resolve, 5))
  delay.disable()
  return { result, stall: delay.max / 1e6 }
}
