import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { customers, dealbook, deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { webhooks } from '../../lib/webhooks/webhooks.js'
import { customersApp, people, storageOf } from '../customers-app.js'

t.test('every plugin accepts the versions of Fastify that package.json names', async t => {
  const { peerDependencies: { fastify } } = JSON.parse(readFileSync('package.json', 'utf8'))
  const majors = fastify.split(' || ').map((range: string) => `${/\d+/.exec(range)?.[0]}.x`).join(' || ')
  for (const plugin of [customers, deals, dealbook, webhooks, mcp]) {
    const { name, fastify } = Reflect.get(plugin, Symbol.for('plugin-meta')) as { name: string, fastify: string }
    t.equal(fastify, majors, name)
  }
})

t.test('two mounts at two prefixes with two storages', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(customers, { storage: await storageOf(people(3)), prefix: '/north' })
  app.register(customers, { storage: await storageOf(people(70)), prefix: '/south/', pageSize: 60 })
  app.register(customers, { storage: await storageOf(people(1)), prefix: '/south', version: 'v2' })
  t.equal((await app.inject('/north/customers')).json().items.length, 3)
  const south = (await app.inject('/south/customers')).json()
  t.match(south, { pageSize: 60, links: { next: /^\/south\/customers\?after=/ } })
  t.equal((await app.inject('/south/rest/v2/customers')).json().items.length, 1)
  t.equal((await app.inject('/south/customers/70')).statusCode, 200)
  t.equal((await app.inject('/north/customers/70')).statusCode, 404)
  t.equal((await app.inject('/customers')).statusCode, 404)
})

t.test('one storage per tenant, under a prefix with a parameter', async t => {
  const tenants = new Map([['a', await storageOf(people(60))], ['b', await storageOf(people(1))]])
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(customers, {
    storage: request => tenants.get((request.params as { tenant: string }).tenant) as never,
    prefix: '/:tenant'
  })
  t.match((await app.inject('/a/customers')).json().links.next, /^\/a\/customers\?after=[\w-]+$/)
  t.equal((await app.inject('/b/customers')).json().items.length, 1)
})

// Whatever a host may set that could change our answers.
const hosts: Record<string, { server?: FastifyServerOptions, before?: (app: FastifyInstance) => void }> = {
  'ajv that coerces, removes and fills in': {
    server: {
      ajv: { customOptions: { coerceTypes: 'array', removeAdditional: 'all', useDefaults: true, allErrors: true } }
    }
  },
  'an error handler': {
    before: app => {
      app.setErrorHandler(async (_error, _request, reply) => await reply.code(599).send({ host: true }))
    }
  },
  'a handler for what is not found': {
    before: app => {
      app.setNotFoundHandler(async (_request, reply) => await reply.code(404).send({ host: true }))
    }
  },
  'a query parser': { server: { routerOptions: { querystringParser: () => ({ overwritten: 'yes' }) } } },
  'a validator, a serializer and a reply serializer': {
    before: app => {
      app.setValidatorCompiler(() => () => ({ error: new Error('the host says no') }))
      app.setSerializerCompiler(() => () => '"serialized by the host"')
      app.setReplySerializer(() => '"serialized by the host"')
    }
  },
  'a router that ignores trailing slashes': { server: { routerOptions: { ignoreTrailingSlash: true } } },
  'the same, said in the old way': { server: { ignoreTrailingSlash: true } },
  'a router that ignores duplicate slashes': { server: { routerOptions: { ignoreDuplicateSlashes: true } } },
  'a router that ignores case': { server: { routerOptions: { caseSensitive: false } } },
  'no HEAD routes': { server: { exposeHeadRoutes: false } },
  'parsers of its own': {
    before: app => {
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('*', async () => 'parsed by the host')
    }
  },
  'strict Ajv and a schema of the same name': {
    before: app => {
      app.addSchema({ $id: 'customers', type: 'string' })
    }
  },
  'decorators of any name': {
    before: app => {
      app.decorate('storage', 'of the host')
      app.decorateRequest('family', 'of the host')
      app.decorateReply('problem', 'of the host')
    }
  }
}

const requests = [
  { url: '/customers?maxpagesize=2&min-age=5' },
  { url: '/customers/' },
  { url: '/customers?page=x&nme=1' },
  { url: '/customers?age=30&age=40' },
  { url: '/customers/1' },
  { url: '/customers/1/' },
  { url: '/customers/99' },
  { url: '/customers/x' },
  { url: '/customers.json?fields=id' },
  { url: '/customers.nothing' },
  { url: '/customers', headers: { accept: 'image/png' } },
  { method: 'HEAD' as const, url: '/customers/1' },
  { method: 'OPTIONS' as const, url: '/customers' },
  { method: 'POST' as const, url: '/customers', payload: '{', headers: { 'content-type': 'application/json' } },
  { method: 'DELETE' as const, url: '/customers/1' }
]

async function answers (app: FastifyInstance): Promise<unknown[]> {
  const all: unknown[] = []
  for (const request of requests) {
    const { statusCode, headers, body } = await app.inject(request)
    const { date, 'last-modified': modified, ...rest } = headers
    all.push({ request, statusCode, headers: rest, body })
  }
  return all
}

t.test('nothing that a host sets changes our answers', async t => {
  const plain = await answers(await customersApp(t))
  t.ok(plain.every(answer => (answer as { statusCode: number }).statusCode < 500))
  for (const [name, { server = {}, before }] of Object.entries(hosts)) {
    const app = await customersApp(t, { server, ...(before === undefined ? {} : { before }) })
    t.strictSame(await answers(app), plain, name)
  }
})

/** All that can be seen of a request or a reply, decorators among them. */
function membersOf (object: object): string[] {
  const names: string[] = []
  for (const name in object) names.push(name)
  return names.sort()
}

t.test('our plugin changes nothing in the host', async t => {
  const host = (app: FastifyInstance) => {
    app.setErrorHandler(
      async (error: Error & { code?: string }, _request, reply) =>
        await reply.code(400).send({ host: error.code ?? error.message })
    )
    app.post(
      '/echo',
      { schema: { body: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false } } },
      async request => request.body
    )
    app.get(
      '/query',
      { schema: { querystring: { type: 'object', properties: { n: { type: 'integer' } } } } },
      async request => request.query
    )
    app.get(
      '/answer',
      { schema: { response: { 200: { type: 'object', properties: { shown: { type: 'string' } } } } } },
      async () => ({ shown: 1, hidden: 2 })
    )
    app.get('/members', async (request, reply) => [request, reply].map(membersOf))
    app.get('/bug', async () => { throw new Error('of the host') })
  }
  const requests = [
    { method: 'POST' as const, url: '/echo', payload: { n: '5', unknown: 1 } },
    { method: 'POST' as const, url: '/echo', payload: { n: 'x' } },
    { method: 'POST' as const, url: '/echo', payload: '{', headers: { 'content-type': 'application/json' } },
    { method: 'POST' as const, url: '/echo', payload: '', headers: { 'content-type': 'application/json' } },
    { method: 'POST' as const, url: '/echo', payload: 'text', headers: { 'content-type': 'text/plain' } },
    { method: 'PUT' as const, url: '/echo' },
    { url: '/query?n=5&m=6' },
    { url: '/answer' },
    { method: 'HEAD' as const, url: '/answer' },
    { url: '/answer/' },
    { url: '/members' },
    { url: '/bug' },
    { url: '/nowhere' },
    { url: '/customers-of-others/1' }
  ]
  const alone = Fastify()
  host(alone)
  const shared = await customersApp(t, { before: host })
  t.teardown(() => alone.close())
  for (const request of requests) {
    const [without, beside] = [await alone.inject(request), await shared.inject(request)]
    const { date: _date, ...headers } = without.headers
    const { date: _other, ...same } = beside.headers
    t.strictSame(
      [beside.statusCode, same, beside.body],
      [without.statusCode, headers, without.body],
      `${request.method ?? 'GET'} ${request.url}`
    )
  }
  t.ok(
    (await alone.inject('/members')).json<string[][]>().every(names => names.length > 5),
    'there are members to compare'
  )
  const own = (app: FastifyInstance) => Object.getOwnPropertyNames(app).sort()
  t.strictSame(own(shared), own(alone), 'no decorator')
  t.strictSame(shared.getSchemas(), alone.getSchemas(), 'no schema')
})

t.test('hooks of the host see our requests', async t => {
  const seen: string[] = []
  const app = await customersApp(t, {
    before: app => {
      app.addHook('onResponse', async request => {
        seen.push(request.url)
      })
    }
  })
  await app.inject('/customers/1')
  t.strictSame(seen, ['/customers/1'])
})

t.test('options are validated at registration', async t => {
  const storage = memoryStorage()
  const table: [Record<string, unknown>, RegExp][] = [
    [{}, /^fastify-dealbook, customers: the option "storage" is missing; it must be a storage, such as memory/],
    [{ storage: undefined }, /the option "storage" is missing/],
    [{ storage: {} }, /the option "storage" must be a storage/],
    [{ storage: null }, /the option "storage" must be a storage/],
    [{ storage, storag: 1 }, /unknown option "storag"\. Did you mean "storage"\?/],
    [{ storage, zzzzzzzzzz: 1 }, /unknown option "zzzzzzzzzz"\.$/],
    [{ storage, constructor: 1 }, /unknown option "constructor"/],
    [{ storage, pageSize: 0 }, /the option "pageSize" must be a positive integer/],
    [{ storage, pageSize: '50' }, /the option "pageSize" must be a positive integer/],
    [{ storage, maxPageSize: 1.5 }, /the option "maxPageSize" must be a positive integer/],
    [{ storage, pageSize: 20, maxPageSize: 10 }, /the option "pageSize" must not be above "maxPageSize"/],
    [{ storage, pageSize: 2000 }, /the option "pageSize" must not be above "maxPageSize"/],
    [{ storage, version: 'v 1' }, /the option "version" must be a URL-safe word/],
    [{ storage, version: '' }, /the option "version" must be a URL-safe word/],
    [{ storage, version: 1 }, /the option "version" must be a URL-safe word/],
    [{ storage, emptyList: 'nothing' }, /the option "emptyList" must be "page" or "not-found"/],
    [{ storage, authorize: true }, /the option "authorize" must be a function/],
    [{ storage, representations: [] }, /the option "representations" must be a list of representations/],
    [{ storage, publicUrl: 'example.org' }, /the option "publicUrl" must be an http or https URL/],
    [{ storage, publicUrl: 'ftp://example.org' }, /the option "publicUrl" must be an http or https URL/],
    [{ storage, publicUrl: 'https://example.org/a?b' }, /the option "publicUrl" must be an http or https URL without/],
    [{ storage, publicUrl: 'https://example.org/a b' }, /the option "publicUrl" must be an http or https URL without/]
  ]
  for (const [options, message] of table) {
    const app = Fastify()
    app.register(customers, options as unknown as FamilyOptions)
    await t.rejects(async () => await app.ready(), { message }, JSON.stringify(Object.keys(options)))
  }
  const app = Fastify()
  t.teardown(() => app.close())
  const options = Object.freeze({
    storage,
    pageSize: 5,
    version: 'v1',
    prefix: '/a',
    logLevel: 'warn' as const,
    publicUrl: 'http://localhost:3000'
  })
  app.register(customers, options)
  await app.ready()
  t.equal((await app.inject('/a/rest/v1/customers')).json().links.self, 'http://localhost:3000/a/rest/v1/customers')
})

t.test('a storage that cannot be prepared stops the boot with its own words', async t => {
  const app = Fastify()
  app.register(customers, {
    storage: {
      ...memoryStorage(),
      prepare: async () => {
        throw new Error('no such database')
      }
    }
  })
  await t.rejects(async () => await app.ready(), { message: 'no such database' })
})

t.test('definitions are checked', async t => {
  const fields = Type.Object({ id: Type.Integer(), year: Type.Integer(), tags: Type.Array(Type.String()) })
  const table: [object, RegExp][] = [
    [{ name: 'Books' }, /name "Books" must be lower-case/],
    [{ singular: 'a book' }, /singular "a book" must be lower-case/],
    [{ fields: Type.Object({ year: Type.Integer() }) }, /must have an id/],
    [{ fields: Type.Object({ id: Type.Boolean() }) }, /must have an id/],
    [{ fields: Type.Object({ id: Type.Optional(Type.Integer()) }) }, /must have an id/],
    [{ fields: Type.Object({ id: Type.Integer(), page: Type.Integer() }) }, /"page" is named like a query parameter/],
    [{ fields: Type.Object({ id: Type.Integer(), 'a.b': Type.Integer() }) }, /"a\.b" must be letters/],
    [{ fields: Type.Object({ id: Type.Integer(), __proto: Type.Integer() }) }, /"__proto" must be letters/],
    [{ fields: Type.Object({ id: Type.Integer(), revision: Type.Integer() }) }, /"revision" belongs to the service/],
    [{ fields: Type.Object({ id: Type.Integer(), links: Type.Integer() }) }, /"links" belongs to the service/],
    [{ queries: { 'by year': { field: 'year' } } }, /the query "by year" must be lower-case/],
    [{ queries: { books: { field: 'year' } } }, /the query "books" already exists/],
    [{ queries: { 'by-title': { field: 'title' } } }, /by "title", which is not a field/],
    [{ queries: { 'by-tags': { field: 'tags' } } }, /by "tags", which is not a field that can be filtered/]
  ]
  for (const [part, message] of table) {
    t.throws(
      () => defineFamily({ name: 'books', singular: 'book', fields, ...part } as never),
      { message },
      String(message)
    )
  }
  t.doesNotThrow(() => defineFamily({ name: 'books', singular: 'book', fields }))
})
