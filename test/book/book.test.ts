import Fastify, { type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import type { Book, Granted, Intent, Storage } from '../../lib/index.js'
import {
  deals, defineFamily, describe, explainError, findMounts, memoryStorage, Problem, Type
} from '../../lib/index.js'
import { storages } from '../storages.js'

type Authorize = (principal: string | undefined, intent: Intent) => Granted

const authorize: Authorize = (principal, { action, tentative }) => {
  const refuse = (statusCode: number): never => { throw Object.assign(new Error('No'), { statusCode }) }
  if (principal === undefined) return refuse(401)
  if (principal === 'broken' && tentative === true && action === 'HoldDeal') throw new Error('Lost')
  if (principal === 'writer' && (action === 'read' || action === 'list')) return refuse(403)
  if (principal === 'reader' && !['read', 'list', 'HoldDeal'].includes(action)) return refuse(403)
  if (principal === 'offered') return { principal, offers: ['HoldDeal'] }
  if (principal === 'narrow') return { principal, where: [{ field: 'price', op: 'lt', value: 50 }] }
  return { principal }
}

interface Known { readonly id: string }

const cheap = { name: 'Tea', price: 1 }

/** Does something by the book of a caller. */
type By = <T>(principal: string | undefined, work: (book: Book) => Promise<T>) => Promise<T>

/** The same family by a service, and by the book of a request. */
const ways: Readonly<Record<string, (storage: Storage, t: Test) => Promise<By>>> = {
  async service (storage) {
    return (principal, work) =>
      work(deals.service({ storage, authorize: (_call, intent) => authorize(principal, intent) }) as unknown as Book)
  },
  async 'the book of a request' (storage, t) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(deals, {
      storage,
      version: 'v1',
      authorize: ({ headers }: FastifyRequest, intent: Intent) => authorize(headers.principal as string, intent)
    })
    const waiting: ((book: Book) => Promise<unknown>)[] = []
    app.post('/work', async request => {
      const [mount] = findMounts(app)
      if (mount === undefined) throw new Error('It is not mounted')
      await waiting.shift()?.(mount.book(request))
      return {}
    })
    await app.ready()
    return async (principal, work) => await new Promise((resolve, reject) => {
      waiting.push(async book => { await work(book).then(resolve, reject) })
      app.inject({ method: 'POST', url: '/work', headers: principal === undefined ? {} : { principal } })
        .catch(reject)
    })
  }
}

for (const { name, make } of storages) {
  for (const [way, open] of Object.entries(ways)) {
    t.test(`${way}, on ${name}`, async t => {
      const { storage, dispose } = await make()
      t.teardown(dispose)
      const by = await open(storage, t)
      const made = await by('ann', book => book.create(cheap))
      const id = (made.item as unknown as Known).id as never
      const names = async (principal?: string, of?: string) =>
        (await by(principal, book => book.offers(of as never))).map(({ name, allowed }) => allowed ? name : `(${name})`)

      const all = ['find', 'get', ...describe(deals).actions.map(({ name }) => name)]
      t.ok(all.length > 8 && all.includes('remove'), all.join())
      t.strictSame(await names('ann'), all)
      t.strictSame(await names('reader'), ['find', 'get', 'hold'])
      t.strictSame(await names('offered'), ['find', 'get', 'hold'])
      t.ok((await names('ann', id)).includes('hold'))
      t.strictSame(await names('reader', id), ['get', 'hold'])
      const unoffered: [principal: string | undefined, id: unknown, expected: object][] = [
        [undefined, undefined, { statusCode: 401 }],
        // A failure is no refusal.
        ['broken', undefined, { message: 'Lost' }],
        ['writer', id, { statusCode: 403 }],
        ['ann', 'none', { code: 'not-found' }]
      ]
      for (const [principal, of, expected] of unoffered) {
        await refused(t, principal, book => book.offers(of as never), expected)
      }

      const reason = { reason: 'Papers' }
      await by('ann', book => book.run('hold', id, reason, { command: 'c-1', revision: 1 }))
      const offers = await by('ann', book => book.offers(id))
      const held = { action: 'CompleteDeal', allowed: false, reason: String }
      t.match(offers.find(({ name }) => name === 'complete'), held)

      const can: [principal: string | undefined, name: string, id: unknown, expected: boolean][] = [
        ['ann', 'unhold', id, true],
        ['ann', 'complete', id, false],
        ['ann', 'complete', undefined, true],
        ['ann', 'create', undefined, true],
        ['ann', 'remove', id, true],
        ['ann', 'get', id, true],
        ['ann', 'get', 'none', false],
        ['ann', 'find', undefined, true],
        ['reader', 'create', undefined, false],
        ['reader', 'cancel', id, false],
        ['offered', 'cancel', undefined, false],
        ['writer', 'get', id, false],
        ['writer', 'hold', id, false],
        ['writer', 'hold', undefined, true],
        [undefined, 'find', undefined, false]
      ]
      for (const [principal, name, of, expected] of can) {
        const may = await by(principal, book => book.can(name, of as never))
        t.equal(may, expected, `${principal} ${name} ${of}`)
      }
      const unknown = { code: 'FST_DEALBOOK_UNKNOWN_OPERATION' }
      await refused(t, 'ann', book => book.can('explode', id), unknown)
      await refused(t, 'ann', book => book.preview('create', id), unknown)

      const free = ((await by('ann', book => book.create(cheap))).item as unknown as Known).id as never
      const previews: [principal: string, name: string, params: object, expected: object][] = [
        ['ann', 'change-price', { newPrice: 70, reason: 'Rise' }, { changed: true, item: { id: free, price: 70 } }],
        ['ann', 'edit', { name: 'Tea' }, { changed: false, item: { name: 'Tea' } }],
        ['ann', 'remove', {}, { changed: true, item: undefined }],
        ['narrow', 'edit', { name: 'Rum' }, { changed: true, item: { name: 'Rum' } }],
        ['narrow', 'change-price', { newPrice: 70, reason: 'Rise' }, { statusCode: 403 }],
        ['writer', 'edit', { name: 'Rum' }, { changed: true, item: undefined }],
        ['ann', 'complete', {}, { code: 'wrong-state' }],
        ['ann', 'edit', { color: 'red' }, { code: 'invalid-body' }],
        ['reader', 'remove', {}, { statusCode: 403 }]
      ]
      for (const [principal, name, params, expected] of previews) {
        const target = name === 'change-price' ? free : id
        const done = await by(principal, book => book.preview(name, target, params).catch((error: unknown) => error))
        t.match(done, expected, `${principal} ${name}`)
      }
      const stale = { revision: 1 }
      await refused(t, 'ann', book => book.preview('edit', id, { name: 'Rum' }, stale), { code: 'precondition-failed' })
      t.match(await by('ann', book => book.get(id)), { price: 1, revision: 2 }, 'nothing is done')

      const entry = { id: 'c-1', deal: id, action: 'HoldDeal', params: reason }
      t.match(await by('ann', book => book.entry(id, 'c-1')), entry)
      await refused(t, 'ann', book => book.entry(id, 'none'), { code: 'not-found' })
      await refused(t, 'writer', book => book.entry(id, 'c-1'), { statusCode: 403 })

      const { item } = await by('ann', book => book.create(cheap, { command: 'n-1' }))
      const again = await by('ann', book => book.create(cheap, { command: 'n-1' }))
      t.match(again, { item: { id: (item as unknown as Known).id }, replayed: true })
      for (const replayed of [false, true]) {
        const refusal = { code: 'wrong-state', replayed }
        await refused(t, 'ann', book => book.run('complete', id, {}, { command: 'c-2' }), refusal)
      }

      const many = Array.from({ length: 101 }, () => ({ operation: 'remove', id: 'none' } as const))
      const results = await by('ann', book => book.runAll(many as never).catch((error: unknown) => error))
      t.match(results, way === 'service' ? [{ reason: { code: 'not-found' } }] : { code: 'invalid-body' })
      await refused(t, 'ann', book => book.get(id, { expand: ['name'] }), { code: 'invalid-query' })
      await refused(t, 'writer', book => book.get(id, { expand: ['name'] }), { statusCode: 403 })

      async function refused (
        t: Test, principal: string | undefined, work: (book: Book) => Promise<unknown>, expected: object
      ): Promise<void> {
        t.match(await by(principal, work).catch((error: unknown) => error), expected, JSON.stringify(expected))
      }
    })
  }
}

t.test('an operation may have the name of a method', async t => {
  const operation = (name: string, action: string) => ({
    name,
    verb: `${name}-it`,
    participle: `${name}d-it`,
    noun: `${name}-its`,
    action,
    params: Type.Object({}),
    apply: <I extends object>(item: I) => ({ ...item, note: name })
  })
  const things = defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), note: Type.Optional(Type.String()) }),
    create: ['note'],
    operations: { remove: operation('remove', 'ArchiveThing'), get: operation('get', 'FetchThing') }
  })
  const book = things.service({ storage: memoryStorage() })
  const { item: { id } } = await book.create({})
  t.strictSame((await book.offers(id)).map(({ name, action }) => [name, action]), [
    ['get', 'read'], ['remove', 'ArchiveThing'], ['get', 'FetchThing'], ['remove', 'DeleteThing']
  ])
  t.match(await book.preview('remove', id), { changed: true, item: { note: 'remove' } }, 'as run does it')
  t.equal((await book.run('remove', id)).command.action, 'ArchiveThing')
  t.equal((await book.remove(id)).command.action, 'DeleteThing')
  t.strictSame(describe(things).actions.map(({ kind, name, action }) => [kind, name, action]), [
    ['create', 'create', 'CreateThing'], ['operation', 'remove', 'ArchiveThing'], ['operation', 'get', 'FetchThing'],
    ['remove', 'remove', 'DeleteThing'], ['restore', 'restore', 'RestoreThing']
  ])
})

t.test('a preview of a renamed family has its names', async t => {
  const goods = defineFamily({
    name: 'goods',
    singular: 'good',
    fields: Type.Object({ id: Type.Integer(), amount: Type.Integer() }),
    create: ['amount'],
    operations: {
      lower: {
        name: 'lower',
        verb: 'lower',
        participle: 'lowered',
        noun: 'lowerings',
        action: 'LowerGood',
        params: Type.Object({}),
        apply (good) {
          const errors = [{ pointer: '/amount', detail: 'is too small' }]
          if (good.amount === 0) throw new Problem('wrong-state', '/amount is too small', { errors })
          return { ...good, amount: 0 }
        }
      }
    }
  }).rename({ amount: 'cost' })
  const book = goods.service({ storage: memoryStorage() })
  const { item: { id } } = await book.create({ cost: 5 })
  t.match(await book.preview('lower', id), { changed: true, item: { cost: 0 } })
  await book.run('lower', id)
  for (const call of [book.preview('lower', id), book.run('lower', id)]) {
    t.match(await call.catch((error: unknown) => error), { errors: [{ pointer: '/cost' }], message: /^\/cost/ })
  }
})

t.test('a failure is logged where it is explained, and refusals are not', async t => {
  const logged: unknown[] = []
  const log = { error: (details: unknown) => logged.push(details), warn () {}, info () {} }
  const refusal = Object.assign(new Error('Not you'), { statusCode: 403 })
  t.match(explainError(refusal, { log } as never), { code: 'forbidden' })
  t.strictSame(logged, [])
  t.match(explainError(new Error('Lost'), { log } as never), { code: 'internal', statusCode: 500 })
  t.match(logged, [{ err: { message: 'Lost' } }])
})

t.test('a follower of a request needs an end of its own; flaws are those of a known action', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  app.get('/follow', async request => {
    const [mount] = findMounts(app)
    return await mount?.book(request).follow()[Symbol.asyncIterator]().next().catch(({ message }) => ({ message }))
  })
  t.match((await app.inject('/follow')).json(), { message: /"signal" is missing/ })
  const [mount] = findMounts(app)
  t.match(mount?.findFlaws('HoldDeal', {}), [{ pointer: '/reason' }])
  t.strictSame(mount?.findFlaws('HoldDeal', { reason: 'Papers' }), [])
  t.throws(() => mount?.findFlaws('hold', {}), { code: 'FST_DEALBOOK_UNKNOWN_OPERATION' })
})

t.test('pages of lists and logs are limited for a request, but not for a program', async t => {
  const storage = memoryStorage()
  const service = deals.service({ storage })
  const { item: { id } } = await service.create(cheap)
  await service.create(cheap)
  await service.create(cheap)
  await service.run('hold', id, { reason: 'Papers' })
  await service.run('unhold', id)
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage, version: 'v1', pageSize: 2, maxPageSize: 2 })
  app.get('/lengths', async request => {
    const book = findMounts(app)[0]?.book(request) as Book
    const pages = [await book.find('', { limit: 10 }), await book.log(id as never, { limit: 10 })]
    return pages.map(({ items }) => items.length)
  })
  t.strictSame((await app.inject('/lengths')).json(), [2, 2])
  const own = [await service.find('', { limit: 10 }), await service.log(id, { limit: 10 })]
  t.strictSame(own.map(({ items }) => items.length), [3, 3])
})
