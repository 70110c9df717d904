import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'
import { invoices } from '../family/invoices.js'

async function buildApp (
  t: Test,
  register: (app: FastifyInstance) => unknown = () => {},
  options: FastifyServerOptions = {}
): Promise<{ app: FastifyInstance, item: string }> {
  const app = Fastify(options)
  t.teardown(() => app.close())
  await register(app)
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  const payload = { name: 'a', price: 1 }
  const made = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload })
  return { app, item: String(made.headers.location) }
}

const hold = { payload: { reason: 'a' } }

t.test('only the words of the family match; a host may have others beside them', async t => {
  const { app, item } = await buildApp(t, app => {
    app.get('/rest/v1/deals/:id/:section', async request => request.params)
    app.put('/rest/v1/deals/:id/files', async () => 'files')
  })
  t.match((await app.inject(`${item}/anything`)).json(), { section: 'anything' })
  t.equal((await app.inject({ method: 'PUT', url: `${item}/files` })).body, 'files')
  t.equal((await app.inject({ method: 'POST', url: `${item}/holds`, ...hold })).statusCode, 201)
  t.match((await app.inject(`${item}/holds`)).json(), { items: [{ action: 'HoldDeal' }] })
  t.match((await app.inject(`${item}/unholds.json`)).json(), { items: [] })
  t.match((await app.inject({ method: 'PUT', url: `${item}/unholded` })).json(), { held: false })
})

t.test('an unknown word is a 404 whatever the body is, and a wrong method a 405', async t => {
  const { app, item } = await buildApp(t)
  for (const [method, word, status] of [
    ['PUT', 'fly', 404],
    ['POST', 'flights', 404],
    ['PUT', 'holds', 405],
    ['POST', 'holded', 405],
    ['GET', 'holded', 405],
    ['PUT', 'HOLDED', 404],
    ['PUT', 'a'.repeat(200), 404]
  ] as const) {
    const body = method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, payload: '{' }
    const answer = await app.inject({ method, url: `${item}/${word}`, ...body })
    t.equal(answer.statusCode, status, `${method} ${word}`)
    t.match(answer.headers['content-type'], 'application/problem+json')
  }
})

t.test('a router that ignores case ignores it in words too', async t => {
  const { app, item } = await buildApp(t, () => {}, { routerOptions: { caseSensitive: false } })
  t.match((await app.inject({ method: 'PUT', url: `${item}/HOLDED`, ...hold })).json(), { held: true })
  t.equal((await app.inject({ method: 'POST', url: `${item}/UnHolds` })).statusCode, 201)
  t.equal((await app.inject(`${item}/UNHOLDS.json`)).statusCode, 200)
  t.equal((await app.inject({ method: 'POST', url: '/COMMAND/holddeal', payload: {} })).statusCode, 400)
})

t.test('two scopes at one prefix can both have actions', async t => {
  const forms = ['verb'] as const
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  for (const family of [deals, invoices]) {
    app.register(async scope => { scope.register(family, { storage: memoryStorage(), version: 'v1', forms }) })
  }
  await app.ready()
  t.ok(app.swagger().paths?.['/command/{word}'])
  for (const action of ['CreateDeal', 'PayInvoice']) {
    t.equal((await app.inject({ method: 'POST', url: `/command/${action}`, payload: {} })).statusCode, 400, action)
  }
  t.equal((await app.inject({ method: 'POST', url: '/command/Nothing', payload: {} })).statusCode, 404)
})
