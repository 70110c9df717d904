import t from 'tap'
import { deals, memoryStorage, Problem } from '../../lib/index.js'

const { now } = performance
let skipped = 0
t.before(() => { performance.now = () => now.call(performance) + skipped })
t.teardown(() => { performance.now = now })

t.test('a follower is asked for its permission again, also between entries that were read together', async t => {
  const storage = memoryStorage()
  const free = deals.service({ storage })
  const make = async (name: string, price: number) => await free.create({ name, price })
  for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) await make(name, index)
  let asked = 0
  let below = 10
  const book = deals.service({
    storage,
    authorize () {
      asked++
      if (below === 0) throw new Problem('forbidden', 'No longer')
      return { where: [{ field: 'price', op: 'lt', value: below }] }
    }
  })
  const stop = new AbortController()
  t.teardown(() => { stop.abort() })
  const follower = book.follow({ signal: stop.signal })[Symbol.asyncIterator]()
  const next = async () => (await follower.next()).value?.params?.name as string
  t.equal(await next(), 'a')
  t.equal(await next(), 'b')
  t.equal(asked, 1)
  below = 3
  skipped += 15_000
  // The rest of what was read is filtered by the new grant: "d" is hidden.
  t.equal(await next(), 'c')
  t.equal(asked, 2)
  const waiting = next()
  await make('e', 2)
  t.equal(await waiting, 'e')
  below = 0
  skipped += 15_000
  await make('f', 1)
  await t.rejects(follower.next(), { code: 'forbidden' })
})

t.test('who may do everything is not asked', async t => {
  const storage = memoryStorage()
  const book = deals.service({ storage })
  await book.create({ name: 'a', price: 1 })
  await book.create({ name: 'b', price: 1 })
  const stop = new AbortController()
  const names: unknown[] = []
  for await (const { params } of book.follow({ signal: stop.signal })) {
    skipped += 20_000
    names.push(params?.name)
    if (names.length === 2) stop.abort()
  }
  t.strictSame(names, ['a', 'b'])
})
