import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { makeWebhooks, webhooks } from '../../lib/webhooks/webhooks.js'
import { createWebhook, quick, receive, until } from './receiver.js'

const nodes = defineFamily({
  name: 'nodes',
  singular: 'node',
  fields: Type.Object({ id: Type.Integer(), parent: Type.Optional(Type.Integer()), children: Type.Integer() }),
  create: { fields: ['parent'], with: { parent: { family: 'nodes', id: ({ parent }) => parent } } },
  initial (given, { items: { parent } }) {
    const item = { ...given, children: 0 }
    if (parent === undefined) return item
    return { item, others: { parent: { ...parent, children: Number(parent['children']) + 1 } } }
  }
})

t.test('an item that a creation of its own family changes was not created', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  app.register(nodes, { storage, prefix: '/crm' })
  app.register(makeWebhooks(quick), { storage, prefix: '/crm' })
  t.teardown(() => app.close())
  const { url, received } = await receive(t)
  await createWebhook(app, { url })
  const create = async (payload: object) => await app.inject({ method: 'POST', url: '/crm/nodes', payload })
  t.equal((await create({})).statusCode, 201)
  t.equal((await create({ parent: 1 })).statusCode, 201)
  await until(() => received.length >= 3, () => received)
  const types = received.map(({ event }) => `${event.id} ${event.type}`)
  t.strictSame(types.sort(), ['nodes/1/1 node.created', 'nodes/1/2 node.changed', 'nodes/2/1 node.created'])
})

t.test('events speak for the version of the paths without a version, and for none that has ended', async t => {
  for (const [v1, v2] of [[{}, { unversioned: true }], [{ sunset: '2020-01-01' }, {}]] as const) {
    const storage = memoryStorage()
    const app = Fastify()
    app.register(nodes, { storage, prefix: '/crm', version: 'v1', ...v1 })
    app.register(nodes.rename({ parent: 'above' }), { storage, prefix: '/crm', version: 'v2', ...v2 })
    app.register(makeWebhooks(quick), { storage, prefix: '/crm' })
    t.teardown(() => app.close())
    const { url, received } = await receive(t)
    await createWebhook(app, { url })
    t.equal((await app.inject({ method: 'POST', url: '/crm/rest/v2/nodes', payload: {} })).statusCode, 201)
    await app.inject({ method: 'POST', url: '/crm/rest/v2/nodes', payload: { above: 1 } })
    await until(() => received.length >= 3, () => received)
    const { event } = received.find(({ event: { id } }) => id === 'nodes/2/1') ?? {}
    t.match(event, {
      source: '/crm/rest/v2/nodes', data: { params: { above: 1 }, links: { item: '/crm/rest/v2/nodes/2' } }
    })
  }
})

t.test('on mapped tables', async t => {
  const app = Fastify()
  app.register(webhooks, { storage: { ...memoryStorage(), mappedFamilies: ['webhooks', 'webhook-deliveries'] } })
  await app.ready()
  t.equal((await app.inject('/webhooks')).statusCode, 200)
  await app.close()
})
