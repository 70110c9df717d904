import { join } from 'node:path'
import autoload from '@fastify/autoload'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { customers, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { invoices } from '../family/invoices.js'

const hold = { action: 'HoldDeal', params: { reason: 'a' } }
const signIn = async () => { throw new Problem('unauthorized', 'who are you?') }

t.test('one file for each family, by @fastify/autoload', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(autoload, { dir: join(import.meta.dirname, 'autoload'), options: { storage: memoryStorage() } })
  const { id } = (await app.inject({ method: 'POST', url: '/crm/rest/v1/deals', payload: { name: 'a', price: 1 } }))
    .json<{ id: string }>()
  await app.inject({ method: 'POST', url: '/crm/command/CreateInvoice' })
  const requests = [
    { url: '/crm/customers' },
    { url: `/crm/query/deals/${id}` },
    { url: '/crm/query/invoices/1' },
    { method: 'PUT' as const, url: '/crm/rest/commands/c1', payload: { deal: id, ...hold } },
    { method: 'PUT' as const, url: '/crm/rest/commands/c2', payload: { invoice: 1, action: 'PayInvoice' } },
    { url: '/crm/rest/commands/c1' },
    { url: '/crm/rest/commands/c2' },
    { method: 'POST' as const, url: '/crm/command/UnholdDeal', payload: { id } }
  ]
  for (const request of requests) {
    const { statusCode, body } = await app.inject(request)
    t.ok(statusCode === 200 || statusCode === 201, `${request.url}: ${body}`)
  }
})

const v1 = { storage: memoryStorage(), version: 'v1' }
// What the boot takes goes by the number of routes.
const small = { ...v1, forms: ['commands'] as const }
const stamps = defineFamily({
  name: 'stamps',
  singular: 'stamp',
  fields: Type.Object({ id: Type.Integer(), used: Type.Boolean({ default: false }) }),
  create: [],
  operations: {
    use: {
      name: 'use',
      verb: 'use',
      participle: 'used',
      noun: 'uses',
      action: 'UseStamp',
      params: Type.Object({}),
      apply: stamp => ({ ...stamp, used: true })
    }
  }
})
const use = { stamp: 1, action: 'UseStamp' }
const pay = { invoice: 1, action: 'PayInvoice' }

t.test('families in two scopes do not share a path: the hooks of one would not be those of the other', async t => {
  const signsIn = (scope: FastifyInstance): void => { scope.addHook('onRequest', signIn) }
  type Prepare = (scope: FastifyInstance) => void
  const declare: Record<string, readonly [inStamps: Prepare, inInvoices: Prepare]> = {
    'no hooks': [() => {}, () => {}],
    'hooks in the first': [signsIn, () => {}],
    'hooks in the second': [() => {}, signsIn]
  }
  for (const [name, [inStamps, inInvoices]] of Object.entries(declare)) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(async scope => { inStamps(scope); scope.register(stamps, small) })
    app.register(async scope => { inInvoices(scope); scope.register(invoices, small) })
    const message = /at \/rest\/commands\/:command already exists\. Register the families of one prefix in one scope/
    await t.rejects(async () => await app.ready(), { code: 'FST_DEALBOOK_ROUTE_TAKEN', message }, name)
  }
})

t.test('on a shared path, the authorize of the family that is meant is asked', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(stamps, { ...small, storage })
  app.register(invoices, {
    ...small,
    storage,
    authorize: (_request, { action }) => {
      if (action === 'PayInvoice' || action === 'read') throw new Problem('forbidden', 'not for you')
    }
  })
  await app.inject({ method: 'POST', url: '/command/CreateStamp' })
  await app.inject({ method: 'POST', url: '/command/CreateInvoice' })
  const put = async (payload: object) => await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload })
  t.equal((await put(pay)).statusCode, 403)
  t.equal((await put(use)).statusCode, 201)
  t.equal((await app.inject('/rest/commands/c1')).statusCode, 200)
})

t.test('a hook of the scope around reaches all shared paths, whenever it is added', async t => {
  for (const when of ['before', 'between', 'after']) {
    const app = Fastify()
    t.teardown(() => app.close())
    const guard = (now: string) => { if (now === when) app.addHook('onRequest', signIn) }
    guard('before')
    await app.register(invoices, small)
    guard('between')
    await app.register(stamps, small)
    guard('after')
    const requests = [
      { method: 'PUT' as const, url: '/rest/commands/c1', payload: use },
      { method: 'PUT' as const, url: '/rest/commands/c1', payload: pay },
      { url: '/rest/commands/c1' },
      { url: '/query/stamps/1' },
      { url: '/query/invoices/1' },
      { method: 'POST' as const, url: '/command/PayInvoice', payload: { id: 1 } }
    ]
    for (const request of requests) t.equal((await app.inject(request)).statusCode, 401, `${when}: ${request.url}`)
  }
})

t.test('what shares no path may have hooks of its own', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(async scope => {
    scope.addHook('onRequest', signIn)
    scope.register(stamps, small)
  })
  app.register(customers, { storage: v1.storage })
  app.register(invoices, { ...small, unversioned: false })
  for (const url of ['/customers', '/rest/v1/invoices', '/query/customers/1']) {
    t.not((await app.inject(url)).statusCode, 401, url)
  }
  for (const url of ['/rest/v1/stamps', '/query/stamps/1', '/rest/commands/c1']) {
    t.equal((await app.inject(url)).statusCode, 401, url)
  }
  const paid = await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: pay })
  t.equal(paid.statusCode, 401, 'the path is that of the stamps alone')
})

t.test('two versions of one family in two scopes', async t => {
  const versions = (unversioned?: boolean): FastifyInstance => {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(async scope => { scope.register(customers, { storage: v1.storage }) })
    app.register(async scope => {
      scope.addHook('onRequest', signIn)
      scope.register(customers, unversioned === undefined ? v1 : { ...v1, unversioned })
    })
    return app
  }
  t.equal((await versions(false).inject('/query/customers/1')).statusCode, 404, 'one has the paths without a version')
  t.equal((await versions(false).inject('/rest/v1/customers')).statusCode, 401)
  await t.rejects(async () => await versions().ready(), { code: 'FST_DEALBOOK_ROUTE_TAKEN', message: /at \/query\// })
})
