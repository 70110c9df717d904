import { join } from 'node:path'
import autoload from '@fastify/autoload'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { customers, deals, memoryStorage, Problem } from '../../lib/index.js'
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

/** Deals and invoices, each in a scope of its own with what is done there before or after. */
function twoScopes (
  inDeals: (scope: FastifyInstance) => void,
  inInvoices: (scope: FastifyInstance) => void = () => {},
  when: 'before' | 'after' = 'before'
): FastifyInstance {
  const app = Fastify()
  const inScope = (prepare: (scope: FastifyInstance) => void, mount: (scope: FastifyInstance) => void):
  FastifyPluginAsync => async scope => {
    if (when === 'before') prepare(scope)
    mount(scope)
    if (when === 'after') prepare(scope)
  }
  app.register(inScope(inDeals, scope => { scope.register(deals, v1) }))
  app.register(inScope(inInvoices, scope => { scope.register(invoices, v1) }))
  return app
}

const nothing = async () => {}
const hooks = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend', 'onResponse', 'onError',
  'onTimeout', 'onRequestAbort'
] as const

/** What a scope of one family has, and the word for it in the error. */
const differences: [string, (scope: FastifyInstance) => void][] = [
  ...hooks.map((name): [string, (scope: FastifyInstance) => void] =>
    [`${name} hooks`, scope => { scope.addHook(name as 'onRequest', nothing) }]),
  ['onRoute hooks', scope => { scope.addHook('onRoute', () => {}) }],
  ['decorators', scope => { scope.decorateRequest('user', 'ann') }],
  ['decorators', scope => { scope.decorateRequest('user', { getter: () => 'ann' }) }],
  ['decorators', scope => { scope.decorateReply('sign', () => {}) }],
  ['decorators', scope => { scope.decorate('rights', {}) }]
]

t.test('two scopes with other hooks do not share a path', async t => {
  for (const [difference, add] of differences) {
    for (const when of ['before', 'after'] as const) {
      for (const [first, second] of [[add, undefined], [() => {}, add]] as const) {
        const app = twoScopes(first, second, when)
        t.teardown(() => app.close())
        await t.rejects(async () => await app.ready(), {
          code: 'FST_DEALBOOK_SCOPE_TAKEN',
          message: new RegExp(
            `invoices: /rest/commands is in the scope of deals, which has other ${difference}, .*"unversioned: false"`
          )
        }, `${difference}, ${when}`)
      }
    }
  }
})

t.test('the same function twice is the same hook, another that does the same is not', async t => {
  const guard = (scope: FastifyInstance) => { scope.addHook('onRequest', signIn) }
  const same = twoScopes(guard, guard)
  const another = (scope: FastifyInstance) => { scope.addHook('onRequest', async () => await signIn()) }
  const other = twoScopes(another, another)
  t.teardown(async () => { await same.close(); await other.close() })
  for (const payload of [{ deal: 'x', ...hold }, { invoice: 1, action: 'PayInvoice' }]) {
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
    await app.register(invoices, v1)
    guard('between')
    await app.register(async scope => { scope.register(deals, v1) })
    guard('after')
    const requests = [
      { method: 'PUT' as const, url: '/rest/commands/c1', payload: { deal: 'x', ...hold } },
      { method: 'PUT' as const, url: '/rest/commands/c1', payload: { invoice: 1, action: 'PayInvoice' } },
      { url: '/rest/commands/c1' },
      { url: '/query/deals/1' },
      { url: '/query/invoices/1' },
      { method: 'POST' as const, url: '/command/PayInvoice', payload: { id: 1 } }
    ]
    for (const request of requests) t.equal((await app.inject(request)).statusCode, 401, `${when}: ${request.url}`)
  }
})

t.test('a hook by which routes are changed must be there before both', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(invoices, v1)
  app.addHook('onRoute', route => { route.preHandler = signIn })
  await app.register(deals, v1)
  await t.rejects(async () => await app.ready(), { code: 'FST_DEALBOOK_SCOPE_TAKEN', message: /other onRoute hooks/ })
})

t.test('what shares no path may have hooks of its own', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(async scope => {
    scope.addHook('onRequest', signIn)
    scope.register(deals, v1)
  })
  app.register(customers, { storage: v1.storage })
  app.register(invoices, { ...v1, unversioned: false })
  for (const url of ['/customers', '/rest/v1/invoices', '/query/customers/1']) {
    t.not((await app.inject(url)).statusCode, 401, url)
  }
  for (const url of ['/rest/v1/deals', '/query/deals/1', '/rest/commands/c1']) {
    t.equal((await app.inject(url)).statusCode, 401, url)
  }
  const paid = { method: 'PUT' as const, url: '/rest/commands/c1', payload: { invoice: 1, action: 'PayInvoice' } }
  t.equal((await app.inject(paid)).statusCode, 401, 'the path is that of the deals alone')
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
