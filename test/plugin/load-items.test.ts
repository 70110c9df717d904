import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, defineFamily, loadItems, memoryStorage } from '../../lib/index.js'
import { people } from '../customers-app.js'

const all = { where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 10_000, count: true }

async function idsIn (storage: Storage): Promise<unknown[]> {
  return (await storage.find('customers', all)).items.map(({ id }) => id)
}

t.test('from anything that gives items', async t => {
  const sources: Record<string, () => Iterable<unknown> | AsyncIterable<unknown>> = {
    'an array': () => people(2500),
    'a generator': function * () { yield * people(2500) },
    'an async generator': async function * () { yield * people(2500) },
    'a stream of objects': () => Readable.from(people(2500)),
    'a set': () => new Set(people(2500))
  }
  for (const [name, make] of Object.entries(sources)) {
    const storage = memoryStorage()
    const progress: number[] = []
    const loaded = await loadItems(storage, customers, make(), { onProgress: count => progress.push(count) })
    t.equal(loaded, 2500, name)
    t.strictSame(progress, [1000, 2000, 2500], `${name}: progress`)
    t.strictSame(await idsIn(storage), people(2500).map(({ id }) => id), `${name}: all there`)
  }
})

t.test('what is loaded is a first revision with its times', async t => {
  const storage = memoryStorage()
  await loadItems(storage, customers, people(1))
  const item = await storage.get('customers', 1)
  t.match(item, { ...people(1)[0], revision: 1, createdAt: /^\d{4}-.*Z$/ })
  t.equal(item?.createdAt, item?.updatedAt)
})

t.test('batches', async t => {
  const commits: number[] = []
  const inner = memoryStorage()
  const storage: Storage = {
    ...inner,
    commit: async changes => {
      commits.push(changes.length)
      await inner.commit(changes)
    }
  }
  await loadItems(storage, customers, people(7), { batchSize: 3 })
  t.strictSame(commits, [3, 3, 1])
  t.equal(await loadItems(storage, customers, []), 0)
  t.strictSame(commits, [3, 3, 1], 'nothing is no commit')
})

t.test('a wrong item stops it, naming the item and the member; whole batches before it stay', async t => {
  const table: [unknown, RegExp][] = [
    [{ id: 4, age: 'old', children: 0 }, /^customers, item 4: \/age must be an integer$/],
    [{ id: 4, age: -1, children: 0 }, /item 4: \/age must be at least 0/],
    [{ id: 4, age: 1.5, children: 0 }, /item 4: \/age must be an integer/],
    [{ id: 4, children: 0 }, /item 4: \/age is required/],
    [{ id: 4, age: 1, children: 0, agee: 1 }, /item 4: \/agee is unknown\. Did you mean "age"\?/],
    [{ id: 4, age: 2 ** 53, children: 0 }, /item 4: \/age must be from/],
    [{ id: 4, age: 1, children: 0, revision: 7 }, /item 4: \/revision is unknown/],
    ['text', /item 4: it must be an object/],
    [null, /item 4: it must be an object/]
  ]
  for (const [wrong, message] of table) {
    const storage = memoryStorage()
    await t.rejects(
      loadItems(storage, customers, [...people(3), wrong], { batchSize: 2 }),
      { code: 'FST_DEALBOOK_INVALID_LOAD', message },
      JSON.stringify(wrong)
    )
    t.strictSame(await idsIn(storage), [1, 2])
  }
  const taken = memoryStorage()
  await t.rejects(loadItems(taken, customers, [...people(1), ...people(1)]), { name: 'DuplicateError' })
  t.strictSame(await idsIn(taken), [], 'a batch is loaded whole or not at all')
})

t.test('an iteration that fails fails the load', async t => {
  const source = Readable.from((function * () { yield * people(1); throw new Error('the disk is gone') })())
  await t.rejects(loadItems(memoryStorage(), customers, source), { message: 'the disk is gone' })
})

t.test('defaults and optional fields of a family', async t => {
  const books = defineFamily({
    name: 'books',
    singular: 'book',
    fields: Type.Object({ id: Type.String(), title: Type.Optional(Type.String()) })
  })
  const storage = memoryStorage()
  await loadItems(storage, books, [{ id: 'a' }, { id: 'b', title: '\u00fc' }])
  t.notOk('title' in (await storage.get('books', 'a') as object))
  await t.rejects(loadItems(storage, books, [{ id: 'c', title: 'a\u0000' }]), {
    message: /\/title must not contain the character U\+0000/
  })
  await t.rejects(loadItems(storage, books, [{ id: 'c', title: '\ud800' }]), {
    message: /\/title must not contain a lone surrogate/
  })
})
