import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { writePosition } from '../../lib/core/service/feed.js'
import { choosePartSize, countFitting } from '../../lib/core/storage/pages.js'
import type { Change, Storage } from '../../lib/index.js'
import { consume, deals, memoryStorage } from '../../lib/index.js'
import { storages } from '../storages.js'
import { makeOld } from './old-entries.js'

/** Counts the reads of a storage, and the items of the longest. */
function countReads (storage: Storage, measures: boolean) {
  const { findText } = storage
  const counted = { reads: 0, items: 0, most: 0 }
  const note = (items: number): void => {
    counted.reads++
    counted.items += items
    counted.most = Math.max(counted.most, items)
  }
  const own: Storage = {
    ...storage,
    async find (family, { maxLength, ...query }, signal) {
      const given = measures && maxLength !== undefined ? { ...query, maxLength } : query
      const found = await storage.find(family, given, signal)
      note(found.items.length)
      return found
    },
    ...(findText && {
      async findText (...asked) {
        const found = await findText.apply(storage, asked)
        note(found.count)
        return found
      }
    })
  }
  return { own, counted }
}

async function readAll (storage: Storage, count: number): Promise<void> {
  const stop = new AbortController()
  let seen = 0
  const handler = (): void => { if (++seen === count) stop.abort() }
  await consume(storage, { name: 'reader', families: [deals], signal: stop.signal, handler })
}

async function open (t: Test, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, {
    storage,
    version: 'v1',
    authorize: () => ({ where: [{ field: 'price', op: 'eq', values: [2] }] })
  })
  return app
}

const count = 500

for (const { name, make } of storages) {
  t.test(`${name}: short entries are read in few parts`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await deals.service({ storage }).find()
    await storage.commit(makeOld(count))
    const { own, counted } = countReads(storage, true)
    await readAll(own, count)
    t.ok(counted.reads < 20, `a consumer: ${counted.reads} reads`)

    const app = await open(t, own)
    await app.ready()
    counted.reads = 0
    const page = await app.inject(`/rest/commands?after=${writePosition(0)}`)
    t.strictSame((page.json() as { items: unknown[] }).items, [])
    t.ok(counted.reads < 20, `a page of which nothing is shown: ${counted.reads} reads`)
  })
}

t.test('from a storage that does not measure them, few are read at once', async t => {
  const storage = memoryStorage()
  await deals.service({ storage }).find()
  await storage.commit(makeOld(100))
  const { own, counted } = countReads(storage, false)
  await readAll(own, 100)
  t.equal(counted.most, 10)
})

t.test('a page skips a number of entries, in however many parts it is read', async t => {
  const storage = memoryStorage()
  const book = deals.service({ storage })
  const { item: { id } } = await book.create({ name: 'seen', price: 2 })
  const entries = makeOld(12_000) as (Change & { item: { target: string } })[]
  await storage.commit(entries.map((change, index) =>
    index % 400 > 0 ? change : { ...change, item: { ...change.item, target: String(id) } }) as Change[])
  const { own, counted } = countReads(storage, true)
  const app = await open(t, own)
  const page = await app.inject(`/rest/commands?after=${writePosition(0)}&maxpagesize=50`)
  const { items, links } = page.json<{ items: unknown[], links: { next?: string } }>()
  t.ok(items.length > 10 && items.length < 20, `${items.length} are shown`)
  t.ok(links.next !== undefined, 'the next page continues')
  // Their items are read, too.
  t.ok(counted.items < 10_000, `${counted.items} rows are read`)
})

t.test('how many fit', async t => {
  for (const [lengths, maxLength, expected] of [
    [[1, 1, 1], 3, 100], [[], 3, 100], [[4, 1], 3, 1], [[1, 1, 1, 1], 3, 2], [Array(60).fill(1), 55, 50]
  ] as const) {
    t.equal(countFitting(lengths, { limit: 100, maxLength }), expected, `${lengths.length} in ${maxLength}`)
  }
})

t.test('the size of the next part', async t => {
  for (const [size, length, count, most, expected] of [
    [10, 0, 0, 50, 10], [1, 0, 0, 50, 1], [10, 1000, 10, 50, 50], [1, 100, 1, 50, 10], [10, 1000, 10, 100, 100],
    [10, 1_000_000, 10, 100, 10], [10, 10_000_000, 10, 100, 1], [100, 1000, 100, 10, 10]
  ] as const) {
    t.equal(choosePartSize(size, { length, count }, most), expected, `${size}, then ${length} / ${count}`)
  }
})
