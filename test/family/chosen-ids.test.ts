import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { reservedIds } from '../../lib/core/values/ids.js'
import type { Storage } from '../../lib/index.js'
import { dealbook, deals, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { loadItems, prune } from '../../lib/tools/index.js'
import { webhooks } from '../../lib/webhooks/webhooks.js'
import { storages } from '../storages.js'

const rooms = defineFamily({
  name: 'rooms',
  singular: 'room',
  fields: Type.Object({ id: Type.String({ maxLength: 20 }), beds: Type.Integer({ default: 1 }) }),
  create: ['id', 'beds'],
  edit: ['beds']
})
const machines = defineFamily({
  name: 'machines',
  singular: 'machine',
  fields: Type.Object({ id: Type.Integer({ minimum: 100 }), kind: Type.String() }),
  create: ['kind', 'id']
})

interface Test {
  teardown (fn: () => unknown): void
}

async function houseApp (t: Test, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  app.register(rooms, { storage })
  app.register(machines, { storage })
  await app.ready()
  const create = (payload: object, headers = {}, url = '/rooms') =>
    app.inject({ method: 'POST', url, payload, headers })
  return { app, create }
}

for (const { name, make } of storages) {
  t.test(`${name}: a client chooses the id`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const { app, create } = await houseApp(t, storage)

    const made = await create({ id: 'B.1', beds: 2 })
    t.equal(made.statusCode, 201)
    t.equal(made.headers.location, '/rooms/B.1')
    t.match((await app.inject('/rooms/B.1')).json(), { id: 'B.1', beds: 2, revision: 1 })
    t.equal((await create({ id: 117, kind: 'Crane' }, {}, '/machines')).headers.location, '/machines/117')
    t.equal((await create({ id: 'B.2' }, {}, '/command/CreateRoom/')).headers.location, '/rooms/B.2')

    const taken = await create({ id: 'B.1', beds: 3 })
    t.equal(taken.statusCode, 409)
    t.match(taken.json(), {
      type: 'urn:dealbook:problem:taken',
      detail: '/id is already taken. Nothing was done',
      errors: [{ pointer: '/id', detail: 'is already taken' }]
    })
    t.equal((await create({ id: 117, kind: 'Crane' }, {}, '/machines')).json().type, 'urn:dealbook:problem:taken')
    t.match((await app.inject('/rooms/B.1')).json(), { beds: 2, revision: 1 })
    t.equal((await app.inject('/rooms/B.1/commands')).json().items.length, 1)

    const key = { 'idempotency-key': 'k-1' }
    t.equal((await create({ id: 'C.1' }, key)).statusCode, 201)
    const again = await create({ id: 'C.1' }, key)
    t.equal(again.statusCode, 201)
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.equal((await create({ id: 'C.2' }, key)).statusCode, 422)
    t.equal((await create({ id: 'C.1' }, { 'idempotency-key': 'k-2' })).statusCode, 409)

    t.equal((await app.inject({ method: 'DELETE', url: '/rooms/C.1' })).statusCode, 204)
    t.equal((await create({ id: 'C.1' })).json().type, 'urn:dealbook:problem:taken', 'its log is kept')
    t.equal((await app.inject('/rooms/C.1/commands')).json().items.length, 2)
    t.equal((await app.inject({ method: 'PUT', url: '/rooms/D.1', payload: { beds: 1 } })).statusCode, 404)

    const books = [storage, storage, another(), another()].map(storage => rooms.service({ storage }))
    const raced = await Promise.allSettled(books.map((book, index) => book.create({ id: 'R', beds: index + 1 })))
    t.same(raced.map(one => one.status === 'fulfilled' ? 'created' : one.reason.code).sort(),
      ['created', 'taken', 'taken', 'taken'])
    const same = await Promise.all(books.map(book => book.create({ id: 'S' }, { key: 'k-3' })))
    t.equal(same.filter(({ replayed }) => !replayed).length, 1)
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: an id that is chosen again after its log was pruned has other tags`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    let year = 2020
    app.register(rooms, { storage, clock: () => new Date(`${year}-01-31`) })
    const url = '/rooms/a'
    const create = async () =>
      String((await app.inject({ method: 'POST', url: '/rooms', payload: { id: 'a' } })).headers.etag)
    const readTags = async () => await Promise.all(['', '.xml', '?fields=beds', '/operations'].map(async end =>
      String((await app.inject(url + end)).headers.etag)))
    const edit = (tag: string, beds: number) =>
      app.inject({ method: 'PUT', url, payload: { beds }, headers: { 'if-match': tag } })
    const old = [await create(), ...await readTags()]
    t.equal(old[0], old[1])
    t.equal((await app.inject({ method: 'DELETE', url, headers: { 'if-match': old[1] } })).statusCode, 204)
    await prune(storage, { before: '2021-01-01' })
    year = 2022
    const now = [await create(), ...await readTags()]
    for (const [at, tag] of old.entries()) {
      t.match(tag, /^"1-/)
      t.not(tag, now[at])
      t.strictSame([(await edit(tag, 1)).statusCode, (await edit(now[at] as string, 1)).statusCode], [412, 200], tag)
    }
    const read = (tag: string) => app.inject({ url, headers: { 'if-none-match': tag } })
    t.strictSame([(await read(old[1] as string)).statusCode, (await read(now[1] as string)).statusCode], [200, 304])
    t.equal((await edit('"1-json"', 2)).statusCode, 200, 'one from before there were marks')
    t.equal((await edit('"2"', 3)).statusCode, 200, 'the revision of a body')
  })
}

const rule = 'has 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -, and is not ., .. or commands, also with a suffix'

t.test('reserved ids are the fixed words below a list, in the routes of every family', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  t.teardown(() => app.close())
  const urls: string[] = []
  app.addHook('onRoute', ({ url }) => { urls.push(url) })
  app.register(rooms, { storage })
  app.register(machines, { storage, version: 'v2' })
  app.register(dealbook, { storage, version: 'v1' })
  app.register(webhooks, { storage })
  await app.ready()
  const homes = ['/rooms', '/rest/v2/machines', '/customers', '/rest/v1/deals', '/webhooks']
  const below = homes.flatMap(home => {
    const own = urls.filter(url => url.startsWith(`${home}/`))
      .map(url => url.slice(home.length + 1).replace(/\/.*/, ''))
    t.ok(own.includes(':id'), home)
    return own
  })
  const words = below.filter(word => /^[^:]/.test(word)).map(word => word.replace(/\.:extension$/, ''))
  t.strictSame([...new Set(words)], reservedIds)
})

t.test('an id at whose URL something else is found is refused, from every caller', async t => {
  const storage = memoryStorage()
  const { app, create } = await houseApp(t, storage)
  const ids = reservedIds.flatMap(word => [word, `${word}.`, `${word}.json`, `${word}.a.b`, word.toUpperCase()])
  const flaw = [{ pointer: '/id', detail: rule }]
  const book = rooms.service({ storage })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  for (const id of ids) {
    for (const url of ['/rooms', '/command/CreateRoom/']) {
      const refused = await create({ id }, {}, url)
      t.strictSame([refused.statusCode, refused.json().errors], [400, flaw], `${url} ${id}`)
    }
    const payload = `id=${id}&beds=1&_key=${id}`
    t.equal((await app.inject({ method: 'POST', url: '/rooms', headers, payload })).statusCode, 400, id)
    const many = await create({ commands: [{ action: 'CreateRoom', params: { id } }] }, {}, '/rest/commands')
    t.equal(many.json().items[0].status, 400, id)
    await t.rejects(book.create({ id }), { code: 'invalid-body', errors: flaw }, id)
    await t.rejects(loadItems(storage, rooms, [{ id }]), { code: 'FST_DEALBOOK_INVALID_LOAD' }, id)
    const made = deals.service({ storage, makeId: () => id }).create({ name: 'Tea', price: 1 })
    await t.rejects(made, { code: 'FST_DEALBOOK_INVALID_OPTION' }, id)
  }
  await t.rejects(loadItems(storage, rooms, [{ id: 'a b' }]), { message: /\/id has 1 to 100/ })
  t.strictSame((await app.inject('/rooms')).json().items, [])
})

t.test('the Location of every other id leads to the item', async t => {
  const { app, create } = await houseApp(t, memoryStorage())
  const ids = ['x', 'x.json', 'x.xml.json', '.json', 'json', 'x.', '.x', '...', '~', 'operations', 'command', 'events',
    'a.commands', 'commands-1', 'totals', 'rest', 'rooms']
  for (const id of ids) t.equal((await create({ id })).headers.location, `/rooms/${id}`)
  for (const id of ids) t.equal((await app.inject(`/rooms/${id}`)).json().id, id)
})

t.test('an item that already has a reserved id is found by the service and in lists', async t => {
  const storage = memoryStorage()
  const { app } = await houseApp(t, storage)
  const time = '2030-01-31T10:00:00.000Z'
  const item = { id: 'commands', beds: 1, revision: 1, createdAt: time, updatedAt: time }
  await storage.commit([{ type: 'insert', family: 'rooms', item }])
  const book = rooms.service({ storage })
  t.strictSame(await book.get('commands'), item)
  t.equal((await book.run('edit', 'commands', { beds: 2 })).item?.beds, 2)
  t.strictSame((await app.inject('/rooms')).json().items.map(({ id }: { id: string }) => id), ['commands'])
  t.equal((await app.inject('/query/rooms/commands')).json()[0].beds, 2)
  await book.remove('commands')
  t.strictSame((await app.inject('/rooms')).json().items, [])
})

t.test('the id must be one that the family can have', async t => {
  const { app, create } = await houseApp(t, memoryStorage())
  for (const id of ['a b', 'a/b', 'ä', '', '.', '..', 'x'.repeat(21), 7, null]) {
    const refused = await create({ id })
    t.equal(refused.statusCode, 400, JSON.stringify(id))
    t.equal(refused.json().errors[0].pointer, '/id')
  }
  t.equal((await create({ id: 'a b' })).json().errors[0].detail, rule)
  t.match((await create({})).json().errors, [{ pointer: '/id', detail: 'is required' }])
  for (const id of ['117', 1.5, 99, 2 ** 53]) {
    t.equal((await create({ id, kind: 'a' }, {}, '/machines')).statusCode, 400, JSON.stringify(id))
  }
  // As many are left to be counted.
  const most = 2 ** 52
  for (const id of [most + 1, 2 ** 53 - 1]) {
    t.match((await create({ id, kind: 'a' }, {}, '/machines')).json(), {
      status: 400, errors: [{ pointer: '/id', detail: `must be at most ${most}` }]
    })
  }
  t.equal((await create({ id: most, kind: 'a' }, {}, '/machines')).statusCode, 201)
  await t.rejects(rooms.service({ storage: memoryStorage() }).create({ id: 'a b' }), { code: 'invalid-body' })
  t.same((await app.inject('/rooms')).json().items, [])
})

t.test('pages and documents have the id of a creation', async t => {
  const { app } = await houseApp(t, memoryStorage())
  const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  t.match((await app.inject({ url: '/rooms', headers: { accept: 'text/html' } })).body, /<input[^>]* name="id"/)
  const sent = await app.inject({ method: 'POST', url: '/rooms', headers, payload: 'id=F.1&beds=2&_key=a' })
  t.equal(sent.statusCode, 303)
  t.equal((await app.inject('/rooms/F.1')).json().beds, 2)
  const paths = app.swagger().paths as Record<string, { post: { responses: Record<string, { description: string }> } }>
  t.equal(paths['/rooms']?.post.responses['409']?.description, 'taken')
})

t.test('only create may have the id', t => {
  const fields = Type.Object({ id: Type.String(), text: Type.String({ default: '' }) })
  const message = /"id"/
  t.throws(() => defineFamily({ name: 'a', singular: 'b', fields, create: [], edit: ['id'] } as never), { message })
  t.throws(() => defineFamily({ name: 'a', singular: 'b', fields, create: ['id', 'id'] }), { message })
  const ours = deals.extend({ create: ['id'] })
  return t.resolveMatch(
    ours.service({ storage: memoryStorage() }).create({ id: 'D-1', name: 'Tea', price: 1 }),
    { item: { id: 'D-1', status: 'open' } }
  )
})
