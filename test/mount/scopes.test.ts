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

type Prepare = (scope: FastifyInstance) => void

/** Stamps and invoices, each in a scope of its own with what is done there before or after. */
function twoScopes (inStamps: Prepare, inInvoices: Prepare = () => {}, isAfter = false): FastifyInstance {
  const app = Fastify()
  for (const [family, prepare] of [[stamps, inStamps], [invoices, inInvoices]] as const) {
    app.register(async scope => {
      if (!isAfter) prepare(scope)
      scope.register(family as typeof invoices, small)
      if (isAfter) prepare(scope)
    })
  }
  return app
}

const nothing = async (_request: unknown) => {}
const hooks = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onResponse', 'onError',
  'onTimeout', 'onRequestAbort'
] as const

/** What the scope of one family has, and the word for it in the error. */
const differences: [string, Prepare][] = [
  ...hooks.map((name): [string, Prepare] =>
    [`${name} hooks`, scope => { scope.addHook(name as 'onRequest', nothing) }]),
  ['onRoute hooks', scope => { scope.addHook('onRoute', () => {}) }],
  ['decorators', scope => { scope.decorateRequest('user', 'ann') }],
  ['decorators', scope => { scope.decorateRequest('user', { getter: () => 'ann' }) }],
  ['decorators', scope => { scope.decorateReply('sign', () => {}) }],
  ['decorators', scope => { scope.decorate('rights', {}) }],
  ['decorators', scope => { scope.decorate(Symbol('fastify-middie-middlewares') as never, [] as never) }]
]

t.test('two scopes with other hooks do not share a path', async t => {
  const [[, onRequest]] = differences as [[string, Prepare]]
  const boots: [string, FastifyInstance][] = [
    ...differences.map(([name, prepare]): [string, FastifyInstance] => [name, twoScopes(prepare)]),
    ['onRequest hooks', twoScopes(() => {}, onRequest)],
    ['onRequest hooks', twoScopes(onRequest, undefined, true)],
    ['onRequest hooks', twoScopes(() => {}, onRequest, true)]
  ]
  for (const [difference, app] of boots) {
    t.teardown(() => app.close())
    const message = new RegExp(
      `invoices: /rest/commands is in the scope of stamps, which has other ${difference}, .*"unversioned: false"`
    )
    await t.rejects(async () => await app.ready(), { code: 'FST_DEALBOOK_SCOPE_TAKEN', message }, difference)
  }
})

t.test('the same function twice is the same hook, another that does the same is not', async t => {
  const guard: Prepare = scope => { scope.addHook('onRequest', signIn) }
  const same = twoScopes(guard, guard)
  const another: Prepare = scope => { scope.addHook('onRequest', async () => await signIn()) }
  const other = twoScopes(another, another)
  t.teardown(async () => { await same.close(); await other.close() })
  for (const payload of [use, pay]) {
    t.equal((await same.inject({ method: 'PUT', url: '/rest/commands/c1', payload })).statusCode, 401)
  }
  await t.rejects(async () => await other.ready(), { code: 'FST_DEALBOOK_SCOPE_TAKEN' })
})

t.test('a hook of the scope around reaches all shared paths, whenever it is added', async t => {
  for (const when of ['before', 'between', 'after']) {
    const app = Fastify()
    t.teardown(() => app.close())
    const guard = (now: string) => { if (now === when) app.addHook('onRequest', signIn) }
    guard('before')
    await app.register(invoices, small)
    guard('between')
    await app.register(async scope => { scope.register(stamps, small) })
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

t.test('a hook by which routes are changed must be there before both', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(invoices, small)
  app.addHook('onRoute', route => { route.preHandler = signIn })
  await app.register(stamps, small)
  await t.rejects(async () => await app.ready(), { code: 'FST_DEALBOOK_SCOPE_TAKEN', message: /other onRoute hooks/ })
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
  const versions = (hook?: () => Promise<void>): FastifyInstance => {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(async scope => { scope.register(customers, { storage: v1.storage }) })
    app.register(async scope => {
      if (hook !== undefined) scope.addHook('onRequest', hook)
      scope.register(customers, v1)
    })
    return app
  }
  t.equal((await versions().inject('/query/customers/1')).statusCode, 404)
  await t.rejects(async () => await versions(signIn).ready(), {
    message: /customers: \/query is in the scope of customers, which has other onRequest hooks/
  })
})
