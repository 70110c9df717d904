import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import type { FamilyOptions, Storage } from '../../lib/index.js'
import { customers, dealbook, deals, defineFamily, defineQuery, memoryStorage, Problem } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { wholeDocument } from '../openapi/whole.js'

type Test = { teardown (fn: () => unknown): void }

function newApp (t: Test): FastifyInstance {
  const app = Fastify()
  t.teardown(() => app.close())
  return app
}

/** What the boot of an application says, undefined where nothing is wrong. */
async function boot (declare: (app: FastifyInstance) => unknown): Promise<string | undefined> {
  const app = Fastify()
  try {
    await declare(app)
    await app.ready()
    return undefined
  } catch (error) {
    return (error as Error).message
  } finally {
    await app.close()
  }
}

async function create (
  app: FastifyInstance,
  home: string,
  payload: object = { name: 'tea', price: 5 },
  headers = {}
): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: home, payload, headers })
  if (answer.statusCode !== 201) throw new Error(`${home}: ${answer.body}`)
  return String(answer.headers.location)
}

const hold = { action: 'HoldDeal', params: { reason: 'a' } }
const idOf = (location: string) => location.split('/').at(-1) as string

t.test('several prefixes, each with its own storage and its own shared paths', async t => {
  const app = newApp(t)
  for (const prefix of ['', '/north', '/south/deep', '/a-b', '/a/b']) {
    app.register(deals, { storage: memoryStorage(), prefix, version: 'v1' })
  }
  for (const prefix of ['', '/north', '/south/deep', '/a-b', '/a/b']) {
    const place = await create(app, `${prefix}/rest/v1/deals`)
    t.ok(place.startsWith(`${prefix}/rest/v1/deals/`), place)
    t.equal(
      (await app.inject({ method: 'PUT', url: `${prefix}/rest/commands/c1`, payload: { deal: idOf(place), ...hold } }))
        .statusCode,
      201,
      prefix
    )
    t.equal((await app.inject(`${prefix}/query/deals/${idOf(place)}`)).json().length, 1)
    t.equal((await app.inject(`${prefix}/rest/v1/deals?count=exact`)).json().total, 1, 'its own storage')
  }
})

t.test('several versions at one prefix: the first has the shared paths', async t => {
  const app = newApp(t)
  const [first, second] = [memoryStorage(), memoryStorage()]
  app.register(deals, { storage: first, version: 'v1' })
  app.register(deals, { storage: second, version: 'v2' })
  const [one, two] = [await create(app, '/rest/v1/deals'), await create(app, '/rest/v2/deals')]
  t.equal((await app.inject(`/query/deals/${idOf(one)}`)).statusCode, 200)
  t.equal((await app.inject(`/query/deals/${idOf(two)}`)).statusCode, 404)
  t.equal(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: { deal: idOf(one), ...hold } })).headers
      .location,
    `${one}/commands/c1`
  )
  t.equal((await app.inject(`/rest/v2/deals/${idOf(one)}`)).statusCode, 404)
})

t.test('or the one that asks for them, and not the one that declines', async t => {
  for (const options of [
    [{}, { unversioned: true }],
    [{ unversioned: false }, {}],
    [{ unversioned: false }, { unversioned: true }]
  ] as const) {
    const app = newApp(t)
    app.register(deals, { storage: memoryStorage(), version: 'v1', ...options[0] })
    app.register(deals, { storage: memoryStorage(), version: 'v2', ...options[1] })
    const two = await create(app, '/rest/v2/deals')
    t.equal((await app.inject(`/query/deals/${idOf(two)}`)).statusCode, 200)
    t.equal(
      (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: { deal: idOf(two), ...hold } })).headers
        .location,
      `${two}/commands/c1`
    )
    t.match(
      (await app.inject({ method: 'POST', url: '/command/CreateDeal/', payload: { name: 'a', price: 1 } })).headers
        .location,
      '/rest/v2/deals/'
    )
  }
  const none = newApp(t)
  none.register(deals, { storage: memoryStorage(), version: 'v1', unversioned: false })
  t.equal(
    (await none.inject({ method: 'POST', url: '/command/CreateDeal/', payload: { name: 'a', price: 1 } })).statusCode,
    404,
    'nobody has them'
  )
})

t.test('families of different storages at one prefix', async t => {
  const app = newApp(t)
  app.register(dealbook, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
  app.register(invoices, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
  const deal = await create(app, '/crm/rest/v1/deals')
  const invoice = await create(app, '/crm/rest/v1/invoices', { customer: 1, total: 1 })
  const pay = { action: 'PayInvoice', params: { on: '2030-01-01' } }
  t.equal(
    (await app.inject({ method: 'PUT', url: '/crm/rest/commands/c1', payload: { deal: idOf(deal), ...hold } }))
      .statusCode,
    201
  )
  t.equal(
    (
      await app.inject({
        method: 'PUT',
        url: '/crm/rest/commands/c2',
        payload: { invoice: Number(idOf(invoice)), ...pay }
      })
    ).statusCode,
    201
  )
  t.match((await app.inject('/crm/rest/commands/c1')).json(), { deal: idOf(deal), action: 'HoldDeal' })
  t.match((await app.inject('/crm/rest/commands/c2')).json(), { invoice: Number(idOf(invoice)), action: 'PayInvoice' })
  const both = await app.inject({
    method: 'PUT',
    url: '/crm/rest/commands/c3',
    payload: { invoice: 1, deal: idOf(deal), ...pay }
  })
  t.match(both.json(), { status: 400, detail: /must have one of these.*deal, invoice/ })
})

t.test('dealbook: both families in one register call', async t => {
  const app = newApp(t)
  const storage = memoryStorage()
  await loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
  app.register(dealbook, { storage, prefix: '/crm', version: 'v1' })
  app.register(dealbook, { storage: memoryStorage(), prefix: '/other/', version: 'v7', pageSize: 3 })
  t.equal((await app.inject('/crm/customers/1')).statusCode, 200)
  t.match(await create(app, '/crm/rest/v1/deals/'), /^\/crm\/rest\/v1\/deals\//)
  t.match(await create(app, '/other/rest/v7/deals/'), /^\/other\/rest\/v7\/deals\//)
  t.equal((await app.inject('/other/customers')).json().pageSize, 3)
  t.equal((await app.inject('/customers')).statusCode, 404, 'nothing outside the prefix')
  t.equal((await app.inject('/other/rest/v1/deals')).statusCode, 404)
})

t.test('one storage per tenant: chosen by request, asynchronously too, or refused', async t => {
  const app = newApp(t)
  const tenants = new Map<string, Storage>([['a', memoryStorage()], ['b', memoryStorage()]])
  app.register(dealbook, {
    prefix: '/:tenant',
    version: 'v1',
    async storage (request) {
      const { tenant } = request.params as { tenant: string }
      if (tenant === 'bug') return undefined as never
      const storage = tenants.get(tenant)
      if (storage === undefined) throw new Problem('not-found', `There is no tenant "${tenant}"`)
      return storage
    }
  })
  const place = await create(app, '/a/rest/v1/deals')
  t.match(place, /^\/a\/rest\/v1\/deals\//, 'addresses have the tenant')
  t.equal((await app.inject(place)).statusCode, 200)
  t.equal((await app.inject(place.replace('/a/', '/b/'))).statusCode, 404)
  t.equal(
    (await app.inject({ method: 'PUT', url: '/a/rest/commands/c1', payload: { deal: idOf(place), ...hold } })).headers
      .location,
    `${place}/commands/c1`
  )
  t.equal((await app.inject('/b/rest/commands/c1')).statusCode, 404)
  t.match((await app.inject('/c/rest/v1/deals')).json(), { status: 404, detail: 'There is no tenant "c"' })
  t.match((await app.inject({ method: 'POST', url: '/c/rest/v1/deals', payload: { name: 'a', price: 1 } })).json(), {
    status: 404
  })
  t.equal((await app.inject('/bug/rest/v1/deals')).statusCode, 500)
})

t.test('inside a plugin of the host, whose hooks guard every path', async t => {
  const app = newApp(t)
  app.register(async scope => {
    scope.addHook('preHandler', async request => {
      if (request.headers.user !== 'ann') throw new Problem('unauthorized', 'who are you?')
    })
    scope.register(dealbook, { storage: memoryStorage(), version: 'v1' })
    scope.register(invoices, { storage: memoryStorage(), version: 'v1' })
  }, { prefix: '/private' })
  app.register(deals, { storage: memoryStorage(), prefix: '/public', version: 'v1' })
  const user = { user: 'ann' }
  const place = await create(app, '/private/rest/v1/deals', { name: 'a', price: 1 }, user)
  const requests = [
    { url: '/private/rest/v1/deals' },
    { url: place },
    { url: `/private/query/deals/${idOf(place)}` },
    { url: '/private/query/invoices/1' },
    { url: '/private/customers' },
    { method: 'PUT' as const, url: '/private/rest/commands/c1', payload: { deal: idOf(place), ...hold } },
    {
      method: 'PUT' as const,
      url: '/private/rest/commands/c2',
      payload: { invoice: 1, action: 'PayInvoice', params: { on: '2030-01-01' } }
    },
    { url: '/private/rest/commands/c1' },
    { method: 'POST' as const, url: '/private/command/HoldDeal/', payload: { id: idOf(place), reason: 'a' } },
    { method: 'POST' as const, url: '/private/command/CreateInvoice', payload: { customer: 1, total: 1 } }
  ]
  for (const request of requests) {
    const answer = await app.inject(request)
    t.match(answer.json(), { status: 401, detail: 'who are you?' }, request.url)
    t.match(answer.headers['content-type'], 'application/problem+json')
    t.not((await app.inject({ ...request, headers: user })).statusCode, 401, request.url)
  }
  t.equal((await app.inject('/public/rest/v1/deals')).statusCode, 200)
})

const storage = memoryStorage()
const fields = Type.Object({ id: Type.Integer(), total: Type.Number() })
const v1 = { storage, version: 'v1' }

/** What cannot stand together, and what the boot must say. */
const clashes: [string, (app: FastifyInstance) => unknown, RegExp][] = [
  [
    'two scopes at one prefix',
    app => {
      app.register(deals, v1)
      app.register(async scope => {
        scope.addHook('onRequest', async () => {})
        scope.register(invoices, v1)
      })
    },
    /a route at \/rest\/commands\/:command already exists\. Register the families of one prefix in one scope/
  ],
  [
    'the same, where the guarded scope comes first',
    app => {
      app.register(async scope => {
        scope.addHook('onRequest', async () => {})
        scope.register(invoices, { ...v1, prefix: '/crm' })
      })
      app.register(deals, { ...v1, prefix: '/crm/' })
    },
    /a route at \/crm\/rest\/commands\/:command already exists\. .* "unversioned: false"/
  ],
  [
    'two mounts that ask for the shared paths',
    app => {
      app.register(deals, { ...v1, unversioned: true })
      app.register(deals, { ...v1, version: 'v2', unversioned: true })
    },
    /deals: two mounts at one prefix have the option "unversioned"/
  ],
  [
    'one action in two families',
    app => {
      app.register(deals, v1)
      app.register(
        defineFamily({
          name: 'notes',
          singular: 'note',
          fields,
          create: ['total'],
          operations: {
            hold: {
              name: 'hold',
              verb: 'hold',
              participle: 'held',
              noun: 'holds',
              action: 'HoldDeal',
              params: Type.Object({}),
              apply: note => note
            }
          }
        }),
        v1
      )
    },
    /notes: \/command\/HoldDeal belongs to deals at the same prefix\. Choose .*"unversioned: false"/
  ],
  [
    'one query in two families',
    app => {
      app.register(deals, v1)
      app.register(
        defineFamily({
          name: 'notes',
          singular: 'note',
          fields,
          queries: { 'deals-by-name': defineQuery({ field: 'total' }) }
        }),
        v1
      )
    },
    /notes: \/query\/deals-by-name\/:parameter belongs to deals at the same prefix/
  ],
  [
    'one singular in two families',
    app => {
      app.register(deals, v1)
      app.register(
        defineFamily({
          name: 'offers',
          singular: 'deal',
          fields,
          operations: {
            note: {
              name: 'note',
              verb: 'note',
              participle: 'noted',
              noun: 'notes',
              action: 'NoteOffer',
              params: Type.Object({}),
              apply: note => note
            }
          }
        }),
        v1
      )
    },
    /offers: \/rest\/commands with "deal" belongs to deals at the same prefix/
  ],
  [
    'the same version twice',
    app => {
      app.register(deals, v1)
      app.register(deals, v1)
    },
    /deals: two families of this name are mounted at \/rest\/v1\/deals\. Choose a different prefix or version for one/
  ],
  [
    'customers twice',
    app => {
      app.register(customers, { storage, prefix: '/crm' })
      app.register(customers, { storage, prefix: '/crm/' })
    },
    /customers: two families of this name are mounted at \/crm\/customers\./
  ],
  [
    'a route of the host',
    app => {
      app.get('/crm/customers', async () => 'mine')
      app.register(customers, { storage, prefix: '/crm' })
    },
    /a route at \/crm\/customers already exists\. It belongs to your application, or to a family in a different scope/
  ],
  [
    'a route of the host on a shared path',
    app => {
      app.post('/command/HoldDeal', async () => 'mine')
      app.register(deals, v1)
    },
    /a route at \/command\/HoldDeal already exists\. Register the families of one prefix in one scope, or set "unver/
  ],
  [
    'a parameter of another name',
    app => {
      app.register(customers, { storage, prefix: '/:tenant' })
      app.register(customers, { storage, prefix: '/:customer' })
    },
    /a route at \/:customer\/customers already exists/
  ],
  [
    'a version that is a path of ours',
    app => {
      app.register(deals, { storage, version: 'commands' })
    },
    /"version" must be a URL-safe word, such as "v1", and not "commands"/
  ],
  [
    'a version that is no segment',
    app => {
      app.register(deals, { storage, version: '..' })
    },
    /"version" must be a URL-safe word/
  ]
]

t.test('what cannot stand together stops the boot, in our words', async t => {
  for (const [name, declare, says] of clashes) {
    const said = await boot(declare) ?? 'it booted'
    t.match(said, says, name)
    t.match(said, /^fastify-dealbook/, name)
    t.notMatch(said, /FST_ERR|already declared/, name)
  }
  t.equal(await boot(app => {
    app.register(async scope => { scope.register(invoices, v1) }, { prefix: '/a' })
    app.register(async scope => { scope.register(deals, v1) }, { prefix: '/b' })
    app.get('/customers/of/mine', async () => 'mine')
    app.register(customers, { storage })
  }), undefined, 'what does not clash')
})

t.test('the shared paths are described as their owner takes them', async t => {
  const wider = deals.extend({ fields: Type.Object({ region: Type.String() }), create: ['region'] })
  for (const [unversioned, described] of [[true, true], [undefined, false]] as const) {
    const app = newApp(t)
    await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
    app.register(deals, v1)
    app.register(wider, { storage, version: 'v2', ...(unversioned === undefined ? {} : { unversioned }) })
    await app.ready()
    const { paths } = wholeDocument<{ paths: Record<string, object> }>(app)
    for (const path of ['/command/{word}', '/query/deals-by-name/{parameter}']) {
      t.equal(JSON.stringify(paths[path]).includes('region'), described, path)
    }
    const made = await app.inject({
      method: 'POST',
      url: '/command/CreateDeal',
      payload: { name: 'a', price: 1, region: 'north' }
    })
    t.equal(made.statusCode, described ? 200 : 400)
  }
})

t.test('operation ids tell every place from every other', async t => {
  const app = newApp(t)
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  const options: Partial<FamilyOptions>[] = ['/a-b', '/a/b', '/aB', '/a_b', '/ab', '/a.b', '/:a/b', ''].map(prefix => ({
    prefix
  }))
  for (const each of [...options, { version: 'v11' }, { version: 'v1.1' }, { version: 'v1-1' }]) {
    // Not all with every form: each takes a while to mount, and the place is named in one way for all of them.
    const forms = each === options[0] ? {} : { forms: ['verb', 'noun'] as const }
    app.register(deals, { storage, version: 'v1', ...each, ...forms })
  }
  app.register(invoices, { storage, version: 'v1' })
  await app.ready()
  const paths = Object.values(app.swagger().paths ?? {}) as Record<string, { operationId: string }>[]
  const ids = paths.flatMap(path => Object.values(path).map(({ operationId }) => operationId))
  t.ok(ids.length > 200, `${ids.length} operations`)
  t.strictSame(ids.filter((id, index) => ids.indexOf(id) !== index), [], 'none twice')
  t.ok(ids.includes('listDeals_v1') && ids.includes('listDeals_a__2db_v1') && ids.includes('listDeals_a_b_v1'))
  for (const id of ids) t.match(id, /^[a-z][A-Za-z0-9_]+$/, 'a name in a program')
})

t.test('a mount declares only what it answers: a wrong method is answered where no route matches', async t => {
  const app = newApp(t)
  const routes: string[] = []
  app.addHook('onRoute', ({ method, url }) => { for (const each of [method].flat()) routes.push(`${each} ${url}`) })
  app.register(deals, { ...v1, prefix: '/crm' })
  await app.ready()
  t.ok(routes.length < 350, `${routes.length} routes`)
  t.strictSame(routes.filter(route => !/^(GET|HEAD|QUERY|POST|PUT|PATCH|DELETE) /.test(route)), [])
  for (const [method, url, allow] of [
    ['DELETE', '/crm/rest/v1/deals', 'GET, HEAD, OPTIONS, POST, QUERY'],
    ['DELETE', '/crm/rest/v1/deals/', 'GET, HEAD, OPTIONS, POST, QUERY'],
    ['PUT', '/crm/rest/v1/deals/1/commands/', 'GET, HEAD, OPTIONS, QUERY'],
    ['POST', '/crm/rest/v1/deals/1/', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    ['GET', '/crm/rest/v1/deals/1/hold', 'OPTIONS, PUT'],
    ['GET', '/crm/command/HoldDeal/', 'OPTIONS, POST'],
    ['PUT', '/crm/query/deals/1', 'GET, HEAD, OPTIONS, QUERY'],
    ['TRACE', '/crm/rest/commands/c1', 'GET, HEAD, OPTIONS, PUT']
  ] as const) {
    const answer = await app.inject({ method, url })
    t.strictSame([answer.statusCode, answer.headers.allow], [405, allow], `${method} ${url}`)
    const options = await app.inject({ method: 'OPTIONS', url })
    t.strictSame([options.statusCode, options.headers.allow], [204, allow], `OPTIONS ${url}`)
  }
})

t.test('with a slash at the end, each method does what it does without', async t => {
  const app = newApp(t)
  app.register(deals, v1)
  const send = async (method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    await app.inject({ method, url, ...(payload && { payload }) })
  const { id } = (await send('POST', '/rest/v1/deals/', { name: 'a', price: 1 })).json<{ id: string }>()
  const url = `/rest/v1/deals/${id}/`
  t.match((await send('PATCH', url, { name: 'b' })).json(), { name: 'b', revision: 2 })
  const { revision, createdAt, updatedAt, links, ...deal } = (await send('GET', url)).json()
  t.match((await send('PUT', url, { ...deal, price: 2 })).json(), { status: 400, errors: [{ pointer: '/price' }] })
  t.match((await send('PUT', url, { ...deal, name: 'c' })).json(), { name: 'c', revision: 3 })
  t.equal((await send('HEAD', url)).statusCode, 200)
  t.equal((await send('PUT', `${url}hold/`, { reason: 'r' })).json().revision, 4)
  t.equal((await send('POST', `${url}unholds/`)).statusCode, 201)
  t.equal((await send('GET', `${url}unholds/`)).json().items.length, 1)
  t.equal((await send('DELETE', url)).statusCode, 204)
  t.equal((await send('GET', url)).statusCode, 404)
})
