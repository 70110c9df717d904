import { setTimeout as delay } from 'node:timers/promises'
import { CloudEvent, HTTP } from 'cloudevents'
import Fastify from 'fastify'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { deals, memoryStorage, type Storage } from '../../lib/index.js'
import { listConsumers, prune } from '../../lib/tools/index.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'
import { anyStorage, storages } from '../storages.js'
import { createDeal, createWebhook, quick, receive, startApp, until } from './receiver.js'

interface Delivery { id: string, status: string, attempts: number, responseStatus?: number, error?: string }

for (const { name, make } of storages) {
  t.test(`on ${name}, events arrive, are signed, and are CloudEvents`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await startApp(t, storage, undefined, { publicUrl: 'https://example.org' })
    const { url, received } = await receive(t)
    const early = await createDeal(app, 'before')
    const { secret, home, id: webhook } = await createWebhook(app, { url })
    // At once, so that nothing has been started for it.
    const id = await createDeal(app)
    const put = await app.inject({
      method: 'PUT',
      url: `/crm/rest/v1/deals/${id}/commands/c-1`,
      payload: { action: 'HoldDeal', params: { reason: 'Papers' } }
    })
    t.equal(put.statusCode, 201)
    await app.inject({ method: 'PUT', url: `/crm/rest/v1/deals/${id}/hold`, payload: { reason: 'Papers' } })
    await app.inject({ method: 'DELETE', url: `/crm/rest/v1/deals/${id}` })
    await until(() => received.length >= 3, () => received)
    t.strictSame(received.map(({ event }) => event.type), ['deal.created', 'deal.holded', 'deal.deleted'])
    t.notOk(received.some(({ body }) => body.includes(early)), 'nothing from before')
    for (const { headers, body } of received) {
      new Webhook(secret).verify(body, headers as Record<string, string>)
      const event = HTTP.toEvent({ headers, body }) as CloudEvent
      t.ok(event.validate(), event.id)
      t.equal(event.id, headers['webhook-id'])
      t.equal(event.subject, id)
    }
    t.throws(() => new Webhook(secret).verify(`${received[0]?.body} `, received[0]?.headers as Record<string, string>))
    const [, held] = received
    t.match(held?.event, {
      id: `deals/${id}/2`,
      source: '/crm/rest/v1/deals',
      data: {
        params: { reason: 'Papers' },
        changes: { held: { from: false, to: true } },
        revision: 2,
        command: 'c-1',
        links: { item: `/crm/rest/v1/deals/${id}` }
      }
    })
    t.notOk('name' in (held?.event.data ?? {}), 'not the item')
    const sequences = received.map(({ event }) => event.sequence)
    t.strictSame(sequences, [...sequences].sort())
    t.ok(sequences.every(sequence => /^\d{16}$/.test(sequence)), 'of one length, also after many more')

    const list = async () => (await app.inject(`${home}/deliveries`)).json() as { items: Delivery[] }
    await until(async () => (await list()).items.length === 3)
    const { items } = await list()
    const one = await app.inject(`${home}/deliveries/${items[0]?.id}`)
    t.match(one.json(), { id: items[0]?.id, type: 'deal.deleted', webhook })
    t.equal((await app.inject(`${home}/deliveries/none`)).statusCode, 404)
    t.match(items, [
      { type: 'deal.deleted', status: 'delivered', attempts: 1, responseStatus: 204 },
      { type: 'deal.holded' },
      { type: 'deal.created' }
    ])
    t.equal((await app.inject(`${home}/deliveries?maxpagesize=1`)).json().links.next.includes('deliveries'), true)
    t.equal((await app.inject('/crm/webhooks/nothing/deliveries')).statusCode, 404)

    t.test('send-again sends the same event', async t => {
      const delivery = items[1]?.id
      const run = (delivery: unknown) =>
        app.inject({ method: 'PUT', url: `${home}/send-again`, payload: { delivery } })
      t.equal((await run('another~1')).statusCode, 400)
      t.equal((await run(delivery)).statusCode, 200)
      await until(() => received.length >= 4, () => received)
      t.equal(received[3]?.body, received[1]?.body)
      t.equal(received[3]?.headers['webhook-id'], received[1]?.headers['webhook-id'])
    })

    t.test('rotate-secret signs with the new one', async t => {
      const response = await app.inject({ method: 'PUT', url: `${home}/rotate-secret` })
      const { secret: next } = response.json() as { secret: string }
      t.not(next, secret)
      await createDeal(app)
      await until(() => received.length >= 5, () => received)
      const { body, headers } = received[4] as typeof received[number]
      new Webhook(next).verify(body, headers as Record<string, string>)
      t.throws(() => new Webhook(secret).verify(body, headers as Record<string, string>))
    })

    t.test('pause holds events up, and resume sends them', async t => {
      await app.inject({ method: 'PUT', url: `${home}/pause` })
      await createDeal(app)
      await delay(300)
      t.equal(received.length, 5)
      await app.inject({ method: 'PUT', url: `${home}/resume` })
      await until(() => received.length >= 6, () => received)
    })

    t.test('only families and actions that were asked for', async t => {
      const other = await receive(t)
      await createWebhook(app, { url: other.url, families: ['deals'], actions: ['HoldDeal'] })
      const none = await receive(t)
      await createWebhook(app, { url: none.url, families: ['others'] })
      const id = await createDeal(app)
      await app.inject({ method: 'PUT', url: `/crm/rest/v1/deals/${id}/hold`, payload: { reason: 'Papers' } })
      await until(() => other.received.length > 0)
      await delay(100)
      t.strictSame(other.received.map(({ event }) => event.type), ['deal.holded'])
      t.strictSame(none.received, [])
    })

    t.test('of a deleted webhook, nothing stays that holds up prune', async t => {
      const consumers = async () => (await listConsumers(storage)).map(({ name }) => name)
      t.ok((await consumers()).includes(`webhook/${webhook}`))
      t.equal((await app.inject({ method: 'DELETE', url: home })).statusCode, 204)
      await until(async () => !(await consumers()).includes(`webhook/${webhook}`))
      const where = [{ field: 'webhook', op: 'eq', values: [webhook] } as const]
      const order = [{ field: 'id', descending: false }]
      const query = { where, order, offset: 0, limit: 10, count: false }
      await until(async () => (await storage.find('webhook-deliveries', query)).items.length === 0)
      await prune(storage, { before: new Date() })
    })
  })
}

for (const { name, make } of anyStorage) {
  t.test(`on ${name}, a webhook whose events were pruned is failing, and continues with later ones`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await startApp(t, storage)
    let status = 500
    const { url, received, answered } = await receive(t, () => status)
    const { home } = await createWebhook(app, { url })
    const read = async () => (await app.inject(home)).json<{ status: string, problem?: string }>()
    // Those that are held up, and more than are read at once.
    for (const count of [3, 150]) {
      received.length = 0
      for (let made = 0; made < count; made++) await createDeal(app, 'lost')
      await until(() => received.length > 1)
      await delay(5)
      await prune(storage, { before: new Date(), ignoreConsumers: true })
      await until(async () => (await read()).status === 'failing')
      t.match(await read(), { problem: 'Events that were not sent yet were deleted by prune' })
      const id = await createDeal(app, 'kept')
      status = 204
      await app.inject({ method: 'PUT', url: `${home}/resume` })
      await until(() => answered.some(({ event }) => event.id === `deals/${id}/1`))
      t.equal(answered.length, 1)
      answered.length = 0
      status = 500
    }
  })

  t.test(`on ${name}, a webhook whose creation was pruned before any process saw it is failing`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { url, received } = await receive(t)
    const { item: { id } } = await makeWebhooks(quick).service({ storage }).create({ url })
    const book = deals.service({ storage })
    await book.create({ name: 'lost', price: 1 })
    await delay(5)
    await prune(storage, { before: new Date() })
    const { item: kept } = await book.create({ name: 'kept', price: 1 })
    const app = await startApp(t, storage)
    const read = async () => (await app.inject(`/crm/webhooks/${id}`)).json<{ status: string, problem?: string }>()
    await until(async () => (await read()).status === 'failing')
    t.match(await read(), { problem: 'Events that were not sent yet were deleted by prune' })
    await app.inject({ method: 'PUT', url: `/crm/webhooks/${id}/resume` })
    await until(() => received.length > 0)
    t.strictSame(received.map(({ event }) => event.id), [`deals/${kept.id}/1`])
  })

  t.test(`on ${name}, prune keeps the events of a webhook that was paused before any process saw it`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { url, received } = await receive(t)
    const service = makeWebhooks(quick).service({ storage })
    const { item: { id } } = await service.create({ url })
    await service.run('pause', id)
    const app = await startApp(t, storage)
    await until(async () => (await listConsumers(storage)).length === 1)
    const deal = await createDeal(app)
    await delay(5)
    await prune(storage, { before: new Date() })
    await app.inject({ method: 'PUT', url: `/crm/webhooks/${id}/resume` })
    await until(() => received.length > 0)
    t.strictSame(received.map(({ event }) => event.id), [`deals/${deal}/1`])
  })

  t.test(`on ${name}, nothing stays of a webhook that is deleted while no process runs`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const { url } = await receive(t)
    const service = makeWebhooks(quick).service({ storage })
    const [kept, deleted] = [(await service.create({ url })).item.id, (await service.create({ url })).item.id]
    const names = async () => (await listConsumers(storage)).map(({ name }) => name)
    const app = await startApp(t, storage)
    await until(async () => (await names()).length === 2)
    await app.close()
    await service.remove(deleted)
    await startApp(t, storage)
    await until(async () => (await names()).length === 1)
    t.strictSame(await names(), [`webhook/${kept}`])
  })

  t.test(`on ${name}, a receiver that fails half the time and one that hangs hold up no others`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await startApp(t, storage, { ...quick, timeout: 3000 })
    const good = await receive(t)
    const flaky = await receive(t, (_received, count) => count % 2 === 1 ? 500 : 200)
    const hanging = await receive(t, () => undefined)
    for (const { url } of [good, flaky, hanging]) await createWebhook(app, { url })
    const count = 12
    const ids: string[] = []
    for (let i = 0; i < count; i++) ids.push(await createDeal(app))
    // On a busy machine, an answer may come too late, and the event is sent again.
    const idsOf = ({ answered }: typeof good) => [...new Set(answered.map(({ event }) => event.id))]
    await until(() => idsOf(good).length >= count && idsOf(flaky).length >= count, () => flaky.received.length)
    t.strictSame(idsOf(good), ids.map(id => `deals/${id}/1`))
    t.strictSame(idsOf(flaky), ids.map(id => `deals/${id}/1`), 'in order')
    t.ok(hanging.received.length > 0)
    t.equal(new Set(hanging.received.map(({ event }) => event.id)).size, 1)
  })

  t.test(`on ${name}, a receiver that takes nothing makes the webhook failing, until resume`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    let status = 500
    const { url, received, answered } = await receive(t, () => status)
    const app = await startApp(t, storage, { allowPrivate: true, retryDelay: 20, maxRetryDelay: 50, giveUpAfter: 300 })
    const { home } = await createWebhook(app, { url })
    const read = async () => (await app.inject(home)).json() as { status: string, problem?: string }
    await createDeal(app)
    await until(async () => (await read()).status === 'failing')
    t.equal((await read()).problem, 'The response had the status 500')
    const log = (await app.inject(`${home}/commands`)).json() as { items: { action: string }[] }
    t.equal(log.items.at(-1)?.action, 'FailWebhook')
    t.match((await app.inject(`${home}/deliveries`)).json().items, [{ status: 'failed', responseStatus: 500 }])
    await delay(200)
    const before = received.length
    await delay(200)
    t.equal(received.length, before, 'nothing is tried')
    t.equal((await app.inject({ method: 'PUT', url: `${home}/fail`, payload: { reason: 'x' } })).statusCode, 409)
    status = 200
    await createDeal(app)
    await app.inject({ method: 'PUT', url: `${home}/resume` })
    await until(() => answered.length >= 2)
    t.equal((await read()).problem, undefined)
    status = 410
    await createDeal(app)
    await until(async () => (await read()).status === 'paused')
  })
}

for (const { name, make } of storages) {
  t.test(`on ${name}, two applications deliver once, and one takes over`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const first = await startApp(t, storage)
    const second = await startApp(t, another?.() ?? storage)
    const { url, received } = await receive(t)
    await createWebhook(first, { url })
    for (let i = 0; i < 20; i++) await createDeal(i % 2 === 0 ? first : second)
    await until(() => received.length >= 20, () => received.length)
    await delay(300)
    t.equal(received.length, 20)
    t.equal(new Set(received.map(({ event }) => event.id)).size, 20)
    await first.close()
    await createDeal(second)
    await until(() => received.length >= 21, () => received.length)
    const [consumer] = await listConsumers(storage)
    t.ok(consumer?.holder)
  })

  t.test(`on ${name}, only the last deliveries are kept`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await startApp(t, storage)
    const { url, received } = await receive(t)
    const { home } = await createWebhook(app, { url })
    const book = deals.service({ storage })
    for (let i = 0; i < 150; i++) await book.create({ name: 'Tea', price: i })
    await until(() => received.length >= 150, () => received.length)
    await until(async () => {
      const { total } = (await app.inject(`${home}/deliveries?count=exact`)).json() as { total: number }
      return total >= 100 && total <= 125
    })
  })
}

t.test('nothing stays of a webhook that is lost in a failover', async t => {
  const storage = memoryStorage()
  const { url } = await receive(t)
  const { item: { id } } = await makeWebhooks(quick).service({ storage }).create({ url })
  let confirmed = 0
  const app = await startApp(t, {
    ...storage,
    async confirm () {
      confirmed++
      await storage.commit([{ type: 'delete', family: 'webhooks', id, expected: 1 }])
      throw new Error('lost')
    }
  })
  await until(() => confirmed > 0)
  await app.close()
  t.strictSame(await listConsumers(storage), [])
})

t.test('nothing stays of a deleted webhook whose process ends before it cleans up', async t => {
  const storage = memoryStorage()
  const { url } = await receive(t)
  const service = makeWebhooks(quick).service({ storage })
  const { item: { id } } = await service.create({ url })
  const place = () => storage.get('command-consumers', `webhook/${id}`)
  let isDeleted = false
  let isTried = false
  const app = await startApp(t, {
    ...storage,
    // The process sees late that it is deleted, and ends before it can clean up.
    async get (family, ...rest) {
      if (family === 'webhooks' && isDeleted) await delay(200)
      return await storage.get(family, ...rest)
    },
    async commit (changes) {
      const isForgetting = changes.some(({ family, type }) => family === 'command-consumers' && type === 'delete')
      isTried ||= isForgetting
      if (isForgetting) throw new Error('gone')
      await storage.commit(changes)
    }
  })
  await until(async () => (await place())?.holder !== undefined)
  isDeleted = true
  await service.remove(id)
  await until(() => isTried)
  await app.close()
  await delay(5)
  t.equal(await prune(storage, { before: new Date() }), 1, 'its creation, and not its deletion')
  await startApp(t, storage)
  await until(async () => await place() === undefined)
})

t.test('a webhook whose place is lost in a failover begins again where it was created', async t => {
  const storage = memoryStorage()
  const { url, received } = await receive(t)
  const { item: { id } } = await makeWebhooks(quick).service({ storage }).create({ url })
  await (await startApp(t, storage)).close()
  const app = await startApp(t, storage)
  await until(async () => (await storage.get('command-consumers', `webhook/${id}`))?.holder !== undefined)
  const ids: string[] = []
  for (let count = 1; count <= 3; count++) {
    const place = await storage.get('command-consumers', `webhook/${id}`)
    if (place !== undefined) {
      const { id, revision: expected } = place
      await storage.commit([{ type: 'delete', family: 'command-consumers', id, expected }])
    }
    ids.push(`deals/${await createDeal(app)}/1`)
  }
  await until(() => new Set(received.map(({ event }) => event.id)).size === 3)
  t.strictSame([...new Set(received.map(({ event }) => event.id))], ids)
})

t.test('a webhook that is failing has a place, so that prune keeps what it is to get', async t => {
  const storage = memoryStorage()
  const { url } = await receive(t)
  const { item: { id } } = await makeWebhooks(quick).service({ storage }).create({ url })
  await delay(5)
  t.equal(await prune(storage, { before: new Date() }), 1)
  const positions: unknown[] = []
  await startApp(t, {
    ...storage,
    async commit (changes) {
      if (changes.some(({ family, type }) => family === 'webhooks' && type === 'replace')) {
        positions.push((await storage.get('command-consumers', `webhook/${id}`))?.position)
      }
      await storage.commit(changes)
    }
  })
  await until(async () => (await storage.get('webhooks', id))?.status === 'failing')
  t.strictSame(positions, [0])
})

t.test('prune keeps what a paused webhook is to get, whose creation was pruned before', async t => {
  const storage = memoryStorage()
  const { url, received } = await receive(t)
  const service = makeWebhooks(quick).service({ storage })
  const { item: { id } } = await service.create({ url })
  await service.run('pause', id)
  await delay(5)
  await prune(storage, { before: new Date() })
  const app = await startApp(t, storage)
  await until(async () => (await listConsumers(storage)).length === 1)
  const deal = await createDeal(app)
  await delay(5)
  t.equal(await prune(storage, { before: new Date() }), 0)
  const read = async () => (await app.inject(`/crm/webhooks/${id}`)).json<{ status: string }>()
  await app.inject({ method: 'PUT', url: `/crm/webhooks/${id}/resume` })
  await until(async () => (await read()).status === 'failing')
  await app.inject({ method: 'PUT', url: `/crm/webhooks/${id}/resume` })
  await until(() => received.length > 0)
  t.strictSame(received.map(({ event }) => event.id), [`deals/${deal}/1`])
})

t.test('an application closes, though its storage no longer answers', async t => {
  const memory = memoryStorage()
  let isHanging = false
  const storage: Storage = {
    ...memory,
    async commit (changes) {
      if (isHanging) await new Promise(() => {})
      await memory.commit(changes)
    }
  }
  // Hooks of Fastify have this time.
  const app = Fastify({ pluginTimeout: 2000 })
  app.register(deals, { storage, prefix: '/crm', version: 'v1' })
  app.register(makeWebhooks(quick), { storage, prefix: '/crm' })
  const { url, received } = await receive(t)
  await createWebhook(app, { url })
  await createDeal(app)
  await until(() => received.length > 0)
  isHanging = true
  await t.resolves(app.close())
})
