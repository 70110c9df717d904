import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { customers, deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { invoices } from '../family/invoices.js'

const hold = { action: 'HoldDeal', params: { reason: 'a' } }

async function newDeal (app: FastifyInstance, home = '/rest/v1/deals'): Promise<string> {
  return (await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 } })).json<{ id: string }>().id
}

t.test('families at one prefix share the paths without a version', async t => {
  const app = Fastify()
  const storage = memoryStorage()
  app.register(customers, { storage })
  app.register(invoices, { storage })
  app.register(deals, { storage, version: 'v1' })
  const deal = await newDeal(app)
  await app.inject({ method: 'POST', url: '/invoices' })

  t.equal(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: { deal, ...hold } })).headers.location,
    `/rest/v1/deals/${deal}/commands/c1`
  )
  t.equal(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c2', payload: { invoice: 1, action: 'PayInvoice' } }))
      .headers.location,
    '/invoices/1/commands/c2'
  )
  t.match((await app.inject('/rest/commands/c1')).json(), { deal, action: 'HoldDeal' })
  t.match((await app.inject('/rest/commands/c2')).json(), { invoice: 1, action: 'PayInvoice' })
  t.equal(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: { invoice: 1, action: 'PayInvoice' } }))
      .statusCode,
    422,
    'an id is used once, over all families'
  )
  t.equal(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c3', payload: { deal, invoice: 1, ...hold } })).statusCode,
    400,
    'a command is for one thing'
  )
  t.match(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c3', payload: { customer: 1, ...hold } })).json<{
      detail: string
    }>().detail,
    /invoice, deal/
  )
  t.match(
    (await app.inject({ method: 'PUT', url: '/rest/commands/c3', payload: { invoice: 1, ...hold } })).json<{
      errors: { pointer: string }[]
    }>().errors,
    [{ pointer: '/action' }],
    'an invoice cannot be held'
  )
  t.equal((await app.inject({ method: 'POST', url: '/command/PayInvoice/', payload: { id: 1 } })).statusCode, 200)
  t.equal((await app.inject({ method: 'POST', url: '/command/UnholdDeal/', payload: { id: deal } })).statusCode, 200)
  t.equal((await app.inject('/query/invoices/1')).json<unknown[]>().length, 1)
  t.equal((await app.inject('/invoices/1/commands/c1')).statusCode, 404, 'a deal\'s command is in no invoice')
})

t.test('of two versions at one prefix, the first has them, or the one that asks', async t => {
  for (const [options, home] of [[{}, '/rest/v1/deals'], [{ unversioned: true }, '/rest/v2/deals']] as const) {
    const app = Fastify()
    const storage = memoryStorage()
    app.register(deals, { storage, version: 'v1' })
    app.register(deals, { storage, version: 'v2', ...options })
    const deal = await newDeal(app)
    t.equal((await app.inject(`/rest/v2/deals/${deal}`)).statusCode, 200, 'one storage, one deal')
    t.equal(
      (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: { deal, ...hold } })).headers.location,
      `${home}/${deal}/commands/c1`
    )
    t.match(
      (await app.inject({ method: 'POST', url: '/command/CreateDeal', payload: { name: 'a', price: 1 } })).headers
        .location,
      home
    )
    t.equal(
      (await app.inject({ method: 'PUT', url: `/rest/v2/deals/${deal}/commands/c1`, payload: hold })).statusCode,
      200,
      'a command put again through the other version'
    )
  }
})

// The shared paths begin like the path of such a family, and are not its own.
for (const name of ['q', 'query', 'co']) {
  t.test(`the end of /${name} is not that of /query and /command`, async t => {
    const family = defineFamily({
      name,
      singular: 'entry',
      fields: Type.Object({ id: Type.Integer() }),
      create: []
    })
    const app = Fastify()
    const storage = memoryStorage()
    app.register(family, { storage, sunset: '2020-01-01' })
    app.register(family, { storage, version: 'v2', unversioned: true })
    t.equal((await app.inject({ method: 'POST', url: `/rest/v2/${name}`, payload: {} })).statusCode, 201)

    const queried = await app.inject(`/query/${name}/1`)
    t.equal(queried.statusCode, 200, queried.body)
    t.equal(queried.json<unknown[]>().length, 1)
    const commanded = await app.inject({ method: 'POST', url: '/command/CreateEntry', payload: {} })
    t.equal(commanded.statusCode, 200, commanded.body)
    t.equal(commanded.headers.location, `/rest/v2/${name}/2`, 'the second mount answers')
    for (const url of [`/${name}`, `/${name}/1`]) t.equal((await app.inject(url)).statusCode, 410, url)
  })
}

t.test('deals under a path with a parameter, each tenant with a storage', async t => {
  const tenants: Record<string, FamilyOptions['storage']> = { a: memoryStorage(), b: memoryStorage() }
  const app = Fastify()
  app.register(deals, {
    version: 'v1',
    prefix: '/:tenant',
    storage: request => tenants[(request.params as { tenant: string }).tenant] as ReturnType<typeof memoryStorage>
  })
  const made = await app.inject({ method: 'POST', url: '/a/rest/v1/deals/', payload: { name: 'a', price: 1 } })
  const { id } = made.json<{ id: string }>()
  t.equal(made.headers.location, `/a/rest/v1/deals/${id}`)
  t.equal(
    (await app.inject({ method: 'PUT', url: '/a/rest/commands/c1', payload: { deal: id, ...hold } })).headers.location,
    `/a/rest/v1/deals/${id}/commands/c1`
  )
  t.equal(
    (await app.inject({ method: 'PUT', url: '/b/rest/commands/c1', payload: { deal: id, ...hold } })).statusCode,
    404,
    'another tenant has it not'
  )
  t.equal((await app.inject('/b/rest/commands/c1')).statusCode, 404)
})

t.test('with a public address, Location and links are absolute', async t => {
  const app = Fastify()
  app.register(deals, { storage: memoryStorage(), version: 'v1', prefix: '/crm', publicUrl: 'https://deals.example' })
  const made = await app.inject({
    method: 'POST',
    url: '/crm/rest/v1/deals/',
    headers: { host: 'evil.example' },
    payload: { name: 'a', price: 1 }
  })
  const self = made.headers.location as string
  t.match(self, /^https:\/\/deals\.example\/crm\/rest\/v1\/deals\/[0-9a-f-]+$/)
  t.match(made.json(), {
    links: {
      self,
      collection: 'https://deals.example/crm/rest/v1/deals',
      log: `${self}/commands`,
      operations: `${self}/operations`
    }
  })
  const held = await app.inject({ method: 'PUT', url: `${new URL(self).pathname}/hold`, payload: { reason: 'a' } })
  t.equal(held.headers['content-location'], self)
})
