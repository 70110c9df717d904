import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { anyStorage } from '../storages.js'

const people = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
  create: ['name'],
  edit: ['name']
})

const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({
    id: Type.Integer(),
    title: Type.String(),
    owner: Type.Integer(),
    helper: Type.Optional(Type.Integer()),
    parent: Type.Optional(Type.Integer())
  }),
  create: ['title', 'owner', 'helper', 'parent'],
  edit: ['title'],
  references: { owner: people, helper: people, parent: 'tickets' }
})

type Options = Partial<FamilyOptions>

async function openApp (storage: Storage, ofPeople: Options = {}, ofTickets: Options = {}): Promise<FastifyInstance> {
  const app = Fastify()
  app.register(people, { storage, ...ofPeople } as never)
  app.register(tickets, { storage, ...ofTickets } as never)
  await app.ready()
  return app
}

async function fill (app: FastifyInstance): Promise<void> {
  const post = async (url: string, payload: object) => {
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload })
    if (statusCode !== 201) throw new Error(body)
  }
  for (const name of ['Ann', 'Bob', 'Eve']) await post('/people', { name })
  await post('/tickets', { title: 'one', owner: 1, helper: 2 })
  await post('/tickets', { title: 'two', owner: 1, parent: 1 })
  await post('/tickets', { title: 'three', owner: 3, parent: 1 })
}

interface Page {
  readonly items: Record<string, Record<string, unknown>>[]
  readonly links: Record<string, string>
}

for (const { name, make } of anyStorage) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const finds: string[] = []
    const gets: string[] = []
    // Named, since some are on a prototype.
    const counted: Storage = {
      ...storage,
      async find (family, query, signal) {
        finds.push(family)
        return await storage.find(family, query, signal)
      },
      async get (family, id, signal) {
        gets.push(family)
        return await storage.get(family, id, signal)
      }
    }
    const app = await openApp(counted)
    await fill(app)

    t.test('a page', async t => {
      finds.length = gets.length = 0
      const { items } = (await app.inject('/tickets?expand=owner')).json<Page>()
      t.strictSame(items.map(({ owner }) => owner?.['name']), ['Ann', 'Ann', 'Eve'])
      t.match(items[0]?.['owner'], { id: 1, revision: 1 })
      t.strictSame([finds, gets], [['tickets', 'people'], []], 'one further query')
      const several = (await app.inject('/tickets?expand=owner,helper,parent&sort=-id&maxpagesize=2')).json<Page>()
      t.match(several.items, [{ owner: { name: 'Eve' }, parent: { title: 'one', owner: 1 } }, { parent: { id: 1 } }])
      const next = (await app.inject(several.links['next'] as string)).json<Page>()
      t.match(next.items, [{ title: 'one', owner: { name: 'Ann' }, helper: { name: 'Bob' } }], 'links keep it')
      t.match((await app.inject('/tickets?expand=owner&fields=title')).json<Page>().items[0], { title: 'one' })
      t.match((await app.inject('/tickets?expand=owner&sort=owner&maxpagesize=1')).json<Page>().links['next'], /after=/)
      t.match((await app.inject('/query/tickets/2?expand=owner')).json(), [{ owner: { name: 'Ann' } }])
    })

    t.test('one item', async t => {
      t.match((await app.inject('/tickets/1?expand=helper,owner')).json(), {
        title: 'one', owner: { id: 1, name: 'Ann' }, helper: { name: 'Bob' }, links: { self: '/tickets/1' }
      })
      t.match((await app.inject('/tickets/2?expand=helper')).json(), { owner: 1 }, 'what is absent stays so')
    })

    t.test('other representations', async t => {
      const read = async (format: string) => (await app.inject(`/tickets?expand=owner&format=${format}`)).body
      t.match(await read('xml'), /<owner>\s*<id>1<\/id>\s*<name>Ann<\/name>/)
      t.match(JSON.parse((await read('ndjson')).split('\n')[2] as string), { owner: { name: 'Eve' } })
      t.match(await read('csv'), '""name"":""Ann""', 'in a cell, as what is nested')
      t.match(await read('html'), 'Ann')
      t.match((await app.inject('/tickets/1?expand=owner&format=xml')).body, '<name>Ann</name>')
    })

    t.test('links', async t => {
      t.match((await app.inject('/tickets/2')).json(), {
        links: { self: '/tickets/2', owner: '/people/1', parent: '/tickets/1' }
      })
      t.notMatch((await app.inject('/tickets/2')).json().links, { helper: String })
      for (const url of ['/tickets?format=html&fields=title,owner', '/tickets/2?format=html']) {
        t.match((await app.inject(url)).body, /<a href="\/people\/1">/, url)
      }
    })

    t.test('validators', async t => {
      const url = '/tickets/1?expand=owner'
      const { headers } = await app.inject(url)
      const plain = await app.inject('/tickets/1')
      t.not(headers.etag, plain.headers.etag)
      t.equal(headers['last-modified'], undefined)
      t.equal(headers['cache-control'], plain.headers['cache-control'])
      const again = async (headers: Record<string, string>) => (await app.inject({ url, headers })).statusCode
      const since = new Date(Date.now() + 1e6).toUTCString()
      t.equal(await again({ 'if-none-match': String(headers.etag) }), 304)
      t.equal(await again({ 'if-none-match': String(plain.headers.etag) }), 200, 'not by that of the item alone')
      t.equal(await again({ 'if-modified-since': since }), 200, 'nor by its date')
      t.equal(await again({ 'if-match': String(headers.etag), 'if-unmodified-since': since }), 200)
      await app.inject({ method: 'PATCH', url: '/people/1', payload: { name: 'Anna' } })
      t.equal(await again({ 'if-none-match': String(headers.etag) }), 200, 'another name is another answer')
      t.equal(await again({ 'if-match': String(headers.etag) }), 412)
      t.match((await app.inject(url)).json(), { revision: 1, owner: { name: 'Anna' } })
    })

    t.test('what cannot be', async t => {
      const refusals: [string, RegExp][] = [
        ['/tickets?expand=title', /"title", which is not a field that refers to an item.*: owner, helper, parent/],
        ['/tickets?expand=ownr', /Did you mean "?owner/],
        ['/tickets?expand=owner,owner', /names "owner" twice/],
        ['/tickets?expand=owner&expand=helper', /only once/],
        ['/tickets?expand=', /expand names ""/],
        ['/tickets/1?expand=title', /not a field that refers/],
        ['/tickets/1?sort=id', /allowed parameters: fields and format and expand/],
        ['/people?expand=name', /Unknown parameter "expand"/],
        ['/people/1?expand=name', /Unknown parameter "expand"/]
      ]
      for (const [url, detail] of refusals) {
        const { status, detail: said } = (await app.inject(url)).json<{ status: number, detail: string }>()
        t.equal(status, 400, url)
        t.match(said, detail, url)
      }
    })
  })
}

t.test('who may not see', async t => {
  const storage = memoryStorage()
  await fill(await openApp(storage))
  const who = (request: FastifyRequest) => String(request.headers['x-who'])
  const app = await openApp(storage, {
    authorize (request, { action }) {
      if (who(request) === 'stranger') throw new Problem('forbidden', 'No')
      if (who(request) === 'reader' && action === 'list') throw new Problem('forbidden', 'No list')
      if (who(request) === 'broken') throw new Error('broken')
      // As in errors of fetch and other libraries.
      if (who(request) === 'guest') throw Object.assign(new Error('No'), { status: 403 })
      if (who(request) === 'moved') throw Object.assign(new Error('moved'), { statusCode: 302 })
      return { where: [{ field: 'name', op: 'ne', values: ['Eve'] }] }
    }
  })
  const read = async (url: string, name: string) => await app.inject({ url, headers: { 'x-who': name } })
  const owners = async (name: string) =>
    (await read('/tickets?expand=owner', name)).json<Page>().items.map(({ owner }) => owner?.['name'] ?? owner)
  t.strictSame(await owners('ann'), ['Ann', 'Ann', 3], 'by the conditions of the grant')
  t.strictSame(await owners('stranger'), [1, 1, 3], 'or not at all')
  t.strictSame(await owners('guest'), [1, 1, 3])
  t.strictSame(await owners('reader'), [1, 1, 3])
  t.match((await read('/tickets/1?expand=owner', 'reader')).json(), { owner: { name: 'Ann' } })
  t.match((await read('/tickets/3?expand=owner', 'reader')).json(), { owner: 3 })
  t.equal((await read('/tickets?expand=owner', 'broken')).statusCode, 500)
  t.equal((await read('/tickets?expand=owner', 'moved')).statusCode, 500)
})

t.test('a host that protects only one of two families is warned', async t => {
  const warnings: Error[] = []
  const note = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(() => { process.off('warning', note) })
  const authorize = () => ({})
  for (const [ofPeople, ofTickets] of [[{}, {}], [{ authorize }, {}], [{ authorize }, { authorize }]] as const) {
    await (await openApp(memoryStorage(), ofPeople, ofTickets)).close()
  }
  const warned = () => warnings.filter(({ code }: Error & { code?: string }) => code === 'DEALBOOK_UNGUARDED')
  await new Promise(resolve => { setImmediate(resolve) })
  t.strictSame(warned(), [])
  await (await openApp(memoryStorage(), {}, { authorize })).close()
  await new Promise(resolve => { setImmediate(resolve) })
  t.match(warned().map(({ message }) => message), [
    /tickets has authorize, but people, which its field "owner" refers to, has none/, /"helper"/
  ])
})

t.test('where it is not mounted', async t => {
  const storage = memoryStorage()
  await fill(await openApp(storage))
  const owner = async (app: FastifyInstance, url: string) => (await app.inject(url)).json<Page>().items[0]?.['owner']
  t.equal(await owner(await openApp(storage, { prefix: '/other' } as Options), '/tickets?expand=owner'), 1)
  const app = Fastify()
  app.register(tickets, { storage })
  app.register(async scope => {
    scope.addHook('onRequest', async () => { throw new Problem('unauthorized', 'Sign in') })
    scope.register(people, { storage, unversioned: false })
  })
  await app.ready()
  t.equal((await app.inject('/people/1')).statusCode, 401)
  t.equal(await owner(app, '/tickets?expand=owner'), 1, 'nor where a hook guards it')
})

t.test('items that are too long to be repeated', async t => {
  const storage = memoryStorage()
  const app = await openApp(storage)
  await app.inject({ method: 'POST', url: '/people', payload: { name: 'x'.repeat(500_000) } })
  for (let n = 0; n < 30; n++) await app.inject({ method: 'POST', url: '/tickets', payload: { title: 't', owner: 1 } })
  const { status, errors } = (await app.inject('/tickets?expand=owner')).json()
  t.match([status, errors], [400, [{ parameter: 'expand', detail: /maxpagesize/ }]])
  t.equal((await app.inject('/tickets?expand=owner&maxpagesize=3')).statusCode, 200)
})

t.test('many items that may be long are read in parts', async t => {
  const storage = memoryStorage()
  const limits: number[] = []
  const counted: Storage = {
    ...storage,
    async find (family, query, signal) {
      if (family === 'people') limits.push(query.limit)
      return await storage.find(family, query, signal)
    }
  }
  const app = await openApp(counted)
  for (let owner = 1; owner <= 120; owner++) {
    await app.inject({ method: 'POST', url: '/people', payload: { name: 'x'.repeat(owner > 60 ? 180_000 : 1) } })
    await app.inject({ method: 'POST', url: '/tickets', payload: { title: 't', owner } })
  }
  limits.length = 0
  t.match((await app.inject('/tickets?expand=owner&maxpagesize=60')).json<Page>().items[59]?.['owner'], { id: 60 })
  t.strictSame(limits, [10, 50])
  limits.length = 0
  const { status, errors } = (await app.inject('/tickets?expand=owner&maxpagesize=1000&sort=-id')).json()
  t.match([status, errors], [400, [{ parameter: 'expand', detail: /maxpagesize/ }]])
  t.strictSame(limits, [10, 1, 1], 'no more is read once it is too much')
})
