import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { customers, dealbook, deals, defineFamily, html, json, memoryStorage, Type, xml } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { people } from '../customers-app.js'
import { anyStorage, storages } from '../storages.js'

interface Teardown { teardown (close: () => Promise<unknown>): void }

/** Both families at a prefix, between what the host declares before and after them. */
async function makeApp (t: Teardown, { options = {}, server = {}, before, after }: {
  readonly options?: Partial<FamilyOptions>
  readonly server?: FastifyServerOptions
  readonly before?: (app: FastifyInstance) => unknown
  readonly after?: (app: FastifyInstance) => unknown
} = {}): Promise<FastifyInstance> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  await before?.(app)
  await app.register(dealbook, { storage: memoryStorage(), prefix: '/crm', version: 'v1', ...options })
  await after?.(app)
  await app.ready()
  return app
}

for (const { name, make } of anyStorage) {
  t.test(`${name}: the home says what there is`, async t => {
    const { storage, dispose } = await make()
    const app = await makeApp(t, { options: { storage } })
    t.teardown(dispose)
    await loadItems(storage, customers, people(1001))
    for (const price of [1, 2, 3]) {
      const payload = { name: 'Tea', price }
      const { id } = (await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload })).json<{ id: string }>()
      const url = `/crm/rest/v1/deals/${id}`
      if (price === 2) await app.inject({ method: 'PUT', url: `${url}/hold`, payload: { reason: 'Papers' } })
      if (price === 3) await app.inject({ method: 'PUT', url: `${url}/complete`, payload: {} })
    }
    const list = '/crm/rest/v1/deals'
    t.strictSame((await app.inject('/crm/')).json(), {
      families: [
        { name: 'customers', atLeast: 1000, links: { list: '/crm/customers' } },
        {
          name: 'deals',
          version: 'v1',
          total: 3,
          states: [
            { state: 'open', total: 1, links: { list: `${list}?state=open` } },
            { state: 'held', total: 1, links: { list: `${list}?state=held` } },
            { state: 'completed', total: 1, links: { list: `${list}?state=completed` } },
            { state: 'cancelled', total: 0, links: { list: `${list}?state=cancelled` } }
          ],
          links: { list }
        }
      ],
      links: { self: '/crm/' }
    })
    const page = await app.inject({ url: '/crm/', headers: { accept: 'text/html' } })
    t.match(page.body, '1,000+ in total')
    t.match(page.body, /<a href="\/crm\/rest\/v1\/deals\?state=held"><span class="badge warning">Held<\/span><\/a> 1</)
  })
}

t.test('the home counts states that can be filtered, each with a link to its items', async t => {
  const status = Type.Union([Type.Literal('new'), Type.Literal('a b')], { default: 'new' })
  const fields = { id: Type.Integer(), size: Type.Integer(), status }
  const states = { large: { filter: 'size>9&status=new' }, 'a b': 'good', odd: 'bad', new: 'done' } as const
  const own = { singular: 'thing', create: ['size'], states, state: () => 'odd' } as const
  const things = defineFamily({ ...own, name: 'things', fields: Type.Object(fields) })
  const stated = defineFamily({
    ...own, name: 'stated', singular: 'one', fields: Type.Object({ ...fields, state: Type.Optional(Type.String()) })
  })
  const plain = defineFamily({ name: 'plain', singular: 'other', fields: Type.Object(fields) })
  const app = Fastify()
  t.teardown(() => app.close())
  for (const family of [things, stated, plain]) app.register(family, { storage: memoryStorage(), prefix: '/p' })
  for (const [url, size] of [['/p/things', 5], ['/p/things', 10], ['/p/stated', 10]] as const) {
    await app.inject({ method: 'POST', url, payload: { size } })
  }
  const { families } = (await app.inject('/p/')).json<{ families: { states: Counted[] }[] }>()
  const [ofThings, ofStated, ofPlain] = families.map(({ states }) =>
    states.map(({ state, total, links: { list } }) => [state, total, list.split('?')[1]]))
  t.strictSame(ofThings, [['large', 1, 'state=large'], ['a b', 0, 'state=a%20b'], ['new', 2, 'state=new']])
  t.strictSame(ofStated, [['large', 1, 'size>9&status=new'], ['a b', 0, 'status=a%20b'], ['new', 1, 'status=new']],
    'a family with a field of this name')
  t.strictSame(ofPlain, [['new', 0, 'state=new'], ['a b', 0, 'state=a%20b']])
  for (const { states } of families) {
    for (const { total, links: { list } } of states) {
      t.equal((await app.inject(`${list}&count=exact`)).json<{ total: number }>().total, total, list)
    }
  }
})

interface Counted { readonly state: string, readonly total: number, readonly links: { readonly list: string } }

t.test('the home is negotiated like everything else', async t => {
  const app = await makeApp(t)
  for (const [url, accept, status, type] of [
    ['/crm/', undefined, 200, 'application/json'],
    ['/crm', undefined, 200, 'application/json'],
    ['/crm/', 'application/xml', 200, 'application/xml'],
    ['/crm/?format=xml', undefined, 200, 'application/xml'],
    ['/crm/', 'text/html', 200, 'text/html'],
    ['/crm/', 'image/png', 406, 'application/problem+json'],
    ['/crm/?format=csv', undefined, 406, 'application/problem+json'],
    ['/crm/?page=2', undefined, 400, 'application/problem+json'],
    ['/crm/?format=json&format=xml', undefined, 400, 'application/problem+json'],
    ['/crm/?page=2', 'text/html', 400, 'text/html']
  ] as const) {
    const answer = await app.inject({ url, headers: accept === undefined ? {} : { accept } })
    t.equal(answer.statusCode, status, `${url} ${accept}`)
    t.equal(answer.headers['content-type'], `${type}; charset=utf-8`)
    t.equal(answer.headers.vary, type === 'text/html' ? 'Accept, Accept-Language' : 'Accept')
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/crm/' })).statusCode, 200)
  t.equal((await app.inject({ method: 'POST', url: '/crm/' })).statusCode, 404, 'other methods are for the host')
  t.equal((await app.inject('/crm/else')).statusCode, 404, 'and so is every other path')
  t.equal((await app.inject('/crmx')).statusCode, 404)
})

t.test('the home takes no path from the host', async t => {
  const own = async () => 'own'
  const declare: Record<string, (app: FastifyInstance) => unknown> = {
    'a route': app => app.get('/crm/', own),
    'a route in a plugin': app => app.register(async scope => { scope.get('/', own) }, { prefix: '/crm' }),
    'all methods': app => app.all('/crm/', own)
  }
  for (const [name, add] of Object.entries(declare)) {
    const app = await makeApp(t, { before: async app => { await add(app) } })
    t.equal((await app.inject('/crm/')).body, 'own', name)
    t.equal((await app.inject('/crm/customers')).statusCode, 200)
    const late = await makeApp(t, { options: { home: false }, after: add })
    t.equal((await late.inject('/crm/')).body, 'own', `${name}, declared later`)
  }
  const bare = await makeApp(t, { before: app => app.get('/crm', own) })
  t.equal((await bare.inject('/crm')).body, 'own')

  // At the root of the server a host has something of its own, or will have it.
  for (const order of ['before', 'after'] as const) {
    const app = await makeApp(t, { options: { prefix: '' }, [order]: (app: FastifyInstance) => app.get('/', own) })
    t.equal((await app.inject('/')).body, 'own')
  }
  t.equal((await (await makeApp(t, { options: { prefix: '' } })).inject('/')).statusCode, 404)
  const asked = { prefix: '', home: true }
  t.equal((await (await makeApp(t, { options: asked })).inject('/')).statusCode, 200, 'if it says so')
  t.equal((await (await makeApp(t, { options: { home: false } })).inject('/crm/')).statusCode, 404)
})

t.test('the home is at every kind of prefix', async t => {
  for (const [options, server, url] of [
    [{ prefix: '/crm/' }, {}, '/crm/'],
    [{ prefix: '/a/b' }, {}, '/a/b/'],
    [{ prefix: '/:tenant' }, {}, '/acme/'],
    [{}, { routerOptions: { ignoreTrailingSlash: true } }, '/crm/'],
    [{}, { routerOptions: { ignoreTrailingSlash: true } }, '/crm'],
    [{}, { routerOptions: { caseSensitive: false } }, '/CRM/']
  ] as const) {
    const app = await makeApp(t, { options, server })
    const answer = await app.inject(url)
    t.equal(answer.statusCode, 200, JSON.stringify([options, server, url]))
    t.equal(answer.json<{ families: unknown[] }>().families.length, 2)
  }
  const tenant = await makeApp(t, { options: { prefix: '/:tenant', publicUrl: 'https://example.org/api' } })
  t.match((await tenant.inject('/acme/')).json(), { links: { self: 'https://example.org/api/acme/' } })
})

for (const { name, make } of storages) {
  t.test(`${name}: the home counts what the caller may see`, async t => {
    const { storage, dispose } = await make()
    const authorize: FamilyOptions['authorize'] = (_request, { family }) => ({
      where: [{ field: family === 'deals' ? 'name' : 'age', op: 'eq', values: [family === 'deals' ? 'Tea' : 7] }]
    })
    const app = await makeApp(t, { options: { storage, authorize } })
    t.teardown(dispose)
    await loadItems(storage, customers, people(1500).map((person, index) => ({ ...person, age: index < 1100 ? 7 : 8 })))
    const book = deals.service({ storage })
    for (const name of ['Tea', 'Tea', 'Salt']) {
      const { item } = await book.create({ name, price: 1 })
      if (name === 'Salt') await book.run('complete', item.id)
    }
    const { families } = (await app.inject('/crm/')).json<{ families: readonly object[] }>()
    t.match(families, [
      { name: 'customers', atLeast: 1000 },
      {
        name: 'deals',
        total: 2,
        states: [
          { state: 'open', total: 2 }, { state: 'held', total: 0 }, { state: 'completed', total: 0 },
          { state: 'cancelled', total: 0 }
        ]
      }
    ])
  })
}

t.test('the home shows what who asks may see', async t => {
  const deny = (message: string, statusCode: number) => Object.assign(new Error(message), { statusCode })
  const authorize: FamilyOptions['authorize'] = ({ headers }, { family, action }) => {
    if (headers['x-user'] === undefined) throw deny('who are you?', 401)
    if (headers['x-user'] === 'bob' && family === 'deals') throw deny('not for you', 403)
    if (headers['x-user'] === 'dan' && family === 'customers') throw deny('not for you', 403)
    if (headers['x-user'] === 'broken' && action === 'list') throw new Error('broken')
    return headers['x-user'] === 'cy' ? { where: [{ field: 'id', op: 'ne', values: [] }] } : undefined
  }
  const app = await makeApp(t, { options: { authorize } })
  const get = async (user?: string, accept = 'application/json', url = '/crm/') =>
    await app.inject({ url, headers: { accept, ...(user === undefined ? {} : { 'x-user': user }) } })
  const names = async (user: string) =>
    (await get(user)).json<{ families: { name: string, total?: number }[] }>().families
      .map(({ name, total }) => [name, total])
  t.strictSame(await names('ann'), [['customers', 0], ['deals', 0]])
  t.strictSame(await names('bob'), [['customers', 0]])
  t.strictSame(await names('cy'), [['customers', 0], ['deals', 0]])
  t.equal((await get()).statusCode, 401)
  t.equal((await get(undefined, 'application/json', '/crm/?page=2')).statusCode, 401, 'whatever is asked')
  t.equal((await get('broken')).statusCode, 500)
  t.match((await get('ann', 'text/html', '/crm/customers')).body, 'href="/crm/rest/v1/deals"')
  t.notMatch((await get('bob', 'text/html', '/crm/customers')).body, '/crm/rest/v1/deals')
  t.match((await get('ann', 'text/html')).body, 'href="/crm/customers"')
  t.notMatch((await get('dan', 'text/html')).body, '/crm/customers', 'not the family that has mounted the home either')
})

t.test('a family in another scope, which may have other hooks, is not told of', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(async scope => {
    scope.addHook('onRequest', async () => { throw Object.assign(new Error('sign in'), { statusCode: 401 }) })
    scope.register(deals, { storage, prefix: '/crm', version: 'v1', unversioned: false })
  })
  app.register(customers, { storage, prefix: '/crm', unversioned: false, home: true })
  const second = customers.extend({ fields: Type.Object({}) })
  app.register(second, { storage, prefix: '/crm', version: 'v2', unversioned: false })
  await app.ready()
  t.equal((await app.inject('/crm/')).statusCode, 401, 'the first of them has the path')
  const { body } = await app.inject({ url: '/crm/customers', headers: { accept: 'text/html' } })
  t.notMatch(body, '/crm/rest/v1/deals')
  t.match(body, '<a href="/crm/rest/v2/customers">Customers v2</a>', 'but of another version it is')
})

t.test('pages lead to each other', async t => {
  const pages = html({ title: 'CRM', documentation: '/docs' })
  const app = await makeApp(t, { options: { representations: [json, xml, pages] } })
  const page = async (url: string) => (await app.inject({ url, headers: { accept: 'text/html' } })).body
  const trail = (body: string) => [...(/<nav class="trail".*?<\/nav>/s.exec(body)?.[0] ?? '')
    .matchAll(/<li[^>]*>(.*?)<\/li>/g)]
    .map(([, text]) => text?.replace(/<\/?bdi>/g, '').replace(/<a href="([^"]*)">(.*)<\/a>/, '$2 $1'))
  const { id } = (await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload: { name: 'Tea', price: 1 } }))
    .json<{ id: string }>()
  const list = '/crm/rest/v1/deals'
  t.strictSame(trail(await page(list)), ['Home /crm/'])
  t.strictSame(trail(await page(`${list}/${id}`)), ['Home /crm/', `Deals ${list}`])
  t.strictSame(trail(await page(`${list}/${id}/commands`)), ['Home /crm/', `Deals ${list}`, `Tea ${list}/${id}`])
  t.match(await page(list), '<a href="/crm/customers">Customers</a>')
  t.match(await page(list), `<a href="${list}" aria-current="true">Deals</a>`)
  t.match(await page(list), '<a href="/docs">API documentation</a>')
  t.match(await page('/crm/'), '<title>Home - CRM</title>')
  t.notMatch(await page('/crm/'), 'aria-current="true"', 'it belongs to no family')
  for (const url of [`${list}/none`, '/crm/customers/1?page=1', `${list}/${id}/hodl`]) {
    t.match(trail(await page(url)), ['Home /crm/', /^(Deals|Customers) \/crm/], `${url}: a way on`)
  }
})
