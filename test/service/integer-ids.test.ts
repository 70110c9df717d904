import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { copyStorage, loadItems, prune } from '../../lib/tools/index.js'
import type { TestResponse } from '../deals/app.js'
import { home } from '../deals/app.js'
import { storages } from '../storages.js'

const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({ id: Type.Integer(), title: Type.String(), closed: Type.Boolean({ default: false }) }),
  create: ['title'],
  operations: {
    close: {
      name: 'close',
      verb: 'close',
      participle: 'closed',
      noun: 'closings',
      action: 'CloseTicket',
      params: Type.Object({}),
      allowed: ticket => !ticket.closed,
      apply: ticket => ({ ...ticket, closed: true })
    }
  }
})

for (const { name, make } of storages) {
  t.test(`${name}: a family whose ids are integers`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app: FastifyInstance = Fastify()
    app.register(tickets, { storage })
    const create = async (headers = {}): Promise<TestResponse> =>
      await app.inject({ method: 'POST', url: '/tickets/', headers, payload: { title: 'It rains in' } })

    const first = await create()
    t.match(first.json(), { id: 1, title: 'It rains in', closed: false, revision: 1, links: { self: '/tickets/1' } })
    t.equal(first.headers.location, '/tickets/1')
    t.equal((await create()).json<{ id: number }>().id, 2)

    t.equal(
      (await app.inject({ method: 'POST', url: '/tickets/2/closings' })).json<{ ticket: number }>().ticket,
      2,
      'a number in the log too'
    )
    t.equal(
      (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: { ticket: 1, action: 'CloseTicket' } }))
        .statusCode,
      201
    )
    t.equal(
      (
        await app.inject({
          method: 'PUT',
          url: '/tickets/1/commands/c1',
          payload: { action: 'CloseTicket', params: {} }
        })
      ).statusCode,
      200,
      'the same by the other address'
    )
    t.equal((await app.inject({ method: 'POST', url: '/command/CloseTicket', payload: { id: 1 } })).statusCode, 200)
    t.strictSame(
      (await app.inject({ method: 'PUT', url: '/rest/commands/c2', payload: { ticket: '1', action: 'CloseTicket' } }))
        .json<{ errors: { pointer: string }[] }>()
        .errors.map(({ pointer }) => pointer),
      ['/ticket']
    )
    for (const id of ['01', '1.0', '+1', '1e0', 'x', '-0', '9007199254740993']) {
      t.equal((await app.inject({ method: 'DELETE', url: `/tickets/${id}` })).statusCode, 404, id)
    }

    t.equal((await app.inject({ method: 'DELETE', url: '/tickets/2' })).statusCode, 204)
    const third = (await create()).json<{ id: number }>().id
    t.equal(third, 3, 'the id of what was deleted is not given again')
    t.strictSame((await log(app, 2)), ['CreateTicket', 'CloseTicket', 'DeleteTicket'], 'its log is its own')
    t.strictSame((await log(app, third)), ['CreateTicket'])
    for (const id of [3, 1]) await app.inject({ method: 'DELETE', url: `/tickets/${id}` })
    const later = (await create()).json<{ id: number }>().id
    t.ok(later > 3, 'even where all are gone')
    t.strictSame((await log(app, later)), ['CreateTicket'])

    const key = { 'idempotency-key': 'k1' }
    const [once, again] = [await create(key), await create(key)]
    t.equal(again.body, once.body)
    t.equal(again.headers.location, once.headers.location)
    t.equal(again.headers['idempotent-replayed'], 'true')
  })
}

const labels = defineFamily({
  name: 'labels',
  singular: 'label',
  fields: Type.Object({ id: Type.String(), text: Type.String() }),
  create: ['id', 'text'],
  operations: {
    report: {
      name: 'report',
      verb: 'report',
      participle: 'reported',
      noun: 'reports',
      action: 'ReportLabel',
      params: Type.Object({}),
      creates: { ticket: tickets },
      apply: label => ({ item: label, created: { ticket: { title: label.text } } })
    }
  }
})

type Service = ReturnType<typeof tickets.service>

/** A storage in which `meanwhile` is done before its first commit. */
function interrupted (storage: Storage, meanwhile: () => Promise<unknown>): Storage {
  let isDone = false
  return {
    ...storage,
    async commit (changes) {
      if (!isDone) {
        isDone = true
        await meanwhile()
      }
      await storage.commit(changes)
    }
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: an id that was given and is gone when it is committed`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const [own, other] = [tickets.service({ storage }), tickets.service({ storage: another() })]
    const label = labels.service({ storage })
    await label.create({ id: 'a', text: 'b' })
    const create: Readonly<Record<string, (storage: Storage) => Promise<unknown>>> = {
      alone: storage => tickets.service({ storage }).create({ title: 'a' }, { key: 'k-1' }),
      'in a list': storage => tickets.service({ storage })
        .runAll([{ operation: 'create', params: { title: 'a' } }], { atomic: true }),
      'by an operation': storage => labels.service({ storage }).run('report', 'a')
    }
    for (const [how, run] of Object.entries(create)) {
      let gone = 0
      await run(interrupted(storage, async () => {
        gone = (await other.create({ title: how })).item.id
        await other.remove(gone)
      }))
      const log = async (id: number) => (await own.log(id)).items.map(({ action, revision }) => [action, revision])
      t.strictSame(await log(gone), [['CreateTicket', 1], ['DeleteTicket', 2]], how)
      const [last] = (await own.find('sort=-id', { limit: 1 })).items
      t.strictSame([last?.id, last?.title], [gone + 1, how === 'by an operation' ? 'b' : 'a'], 'tried with the next')
      t.strictSame(await log(gone + 1), [[how === 'by an operation' ? 'ReportLabel' : 'CreateTicket', 1]])
    }
    const chosen = labels.service({
      storage: interrupted(storage, async () => {
        const others = labels.service({ storage: another() })
        await others.create({ id: 'c', text: 'd' })
        await others.remove('c')
      })
    })
    await t.rejects(chosen.create({ id: 'c', text: 'e' }), { code: 'taken' })
    t.equal((await label.log('c')).items.length, 2)
  })

  t.test(`${name}: counted ids are not given again after their logs are pruned`, async t => {
    const { storage, another = () => storage, dispose } = await make()
    t.teardown(dispose)
    const book = tickets.service({ storage, clock: () => new Date('2026-01-01T00:00:00.000Z') })
    const create = async (book: Service) => (await book.create({ title: 'a' })).item.id
    const before = '2026-01-02'
    for (const id of [1, 2, 3]) t.equal(await create(book), id)
    for (const id of [2, 3]) await book.remove(id)
    t.equal(await prune(storage, { before, batch: 2 }), 5)
    t.equal(await create(book), 4)
    await book.remove(4)
    // Pruned between the look for the last item and the look for a log.
    const target = another()
    let isPruned = false
    const pruning: Storage = {
      ...storage,
      async find (family, query, signal) {
        if (family === 'commands' && !isPruned) {
          isPruned = true
          t.equal(await prune(target, { before }), 2)
        }
        return await storage.find(family, query, signal)
      }
    }
    t.equal(await create(tickets.service({ storage: pruning })), 5)
    t.equal(await prune(storage, { before }), 0)
    const copy = memoryStorage()
    await copyStorage(storage, copy, { families: [tickets] })
    for (const id of [1, 5]) await tickets.service({ storage: copy }).remove(id)
    await prune(copy, { before: new Date() })
    t.equal(await create(tickets.service({ storage: copy })), 6, 'also in a copy')
  })
}

t.test('an id is not given again if the only log was pruned, or the item was loaded', async t => {
  const storage = memoryStorage()
  const book = tickets.service({ storage, clock: () => new Date('2026-01-01T00:00:00.000Z') })
  t.equal((await book.create({ title: 'a' })).item.id, 1)
  await book.remove(1)
  t.equal(await prune(storage, { before: '2026-01-02' }), 2)
  t.equal((await book.create({ title: 'a' })).item.id, 2)
  await loadItems(storage, tickets, [{ id: 7, title: 'a' }])
  await book.remove(7)
  const made = [7, 8]
  const odd = tickets.service({ storage, makeId: () => made.shift() as number })
  t.equal((await odd.create({ title: 'a' })).item.id, 8)
})

t.test('an id after which none is left', async t => {
  for (const bound of [{ maximum: 3 }, { exclusiveMaximum: 4 }]) {
    const fields = Type.Object({ id: Type.Integer(bound), title: Type.String() })
    const few = defineFamily({ name: 'tickets', singular: 'ticket', fields, create: ['title'] })
      .service({ storage: memoryStorage() })
    for (const id of [1, 2, 3]) t.equal((await few.create({ title: 'a' })).item.id, id)
    await t.rejects(few.create({ title: 'a' }), {
      code: 'taken', message: 'No id is left for a new ticket: 3 is taken, and ids are counted'
    })
  }
  const storage = memoryStorage()
  await loadItems(storage, tickets, [{ id: 2 ** 53 - 1, title: 'a' }])
  await labels.service({ storage }).create({ id: 'a', text: 'b' })
  const app = Fastify()
  app.register(tickets, { storage })
  app.register(labels, { storage })
  for (const request of [
    { method: 'POST', url: '/tickets', payload: { title: 'a' } }, { method: 'PUT', url: '/labels/a/report' }
  ] as const) {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, 409, request.url)
    t.match(answer.json(), { type: 'urn:dealbook:problem:taken', detail: /9007199254740991 is taken/ })
  }
})

for (const { name, make } of storages) {
  t.test(`${name}: ids that a host makes`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    // A counter, which begins again with the process.
    const start = async (): Promise<FastifyInstance> => {
      let next = 0
      const app = Fastify()
      t.teardown(() => app.close())
      app.register(deals.extend({ makeId: () => `D-${++next}` }), { storage, version: 'v1' })
      await app.ready()
      return app
    }
    const create = async (app: FastifyInstance): Promise<string> => {
      const answer = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea', price: 1 } })
      t.equal(answer.statusCode, 201)
      return answer.json<{ id: string }>().id
    }
    const first = await start()
    t.strictSame([await create(first), await create(first)], ['D-1', 'D-2'])
    await first.inject({ method: 'PUT', url: '/rest/v1/deals/D-1/hold', payload: { reason: 'a secret' } })
    await first.inject({ method: 'DELETE', url: '/rest/v1/deals/D-1' })
    const second = await start()
    t.equal(await create(second), 'D-3', 'neither the id of what is there nor of what is gone')
    const { items } = (await second.inject('/rest/v1/deals/D-3/commands')).json<{ items: { action: string }[] }>()
    t.strictSame(items.map(({ action }) => action), ['CreateDeal'], 'and so no log but its own')
    t.equal((await second.inject('/rest/v1/deals/D-1/commands')).json<{ items: [] }>().items.length, 3)
  })
}

async function log (app: FastifyInstance, id: number): Promise<string[]> {
  return (await app.inject(`/tickets/${id}/commands`))
    .json<{ items: { action: string }[] }>()
    .items.map(({ action }) => action)
}

for (const { name, make } of storages) {
  t.test(`${name}: an id that stands for a command of a family with other ids`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    const authorize = () => ({ principal: 'ann', where: [{ field: 'revision', op: 'gt', value: 0 }] as const })
    app.register(tickets, { storage, authorize })
    app.register(deals, { storage, version: 'v1', authorize })
    const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'Tea', price: 1 } })).json()
    await app.inject({ method: 'POST', url: '/tickets', payload: { title: 'It rains in' } })
    const put = async (payload: object): Promise<number> =>
      (await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload })).statusCode
    t.equal(await put({ deal: id, action: 'HoldDeal', params: { reason: 'a' } }), 201)
    t.equal(await put({ ticket: 1, action: 'CloseTicket' }), 422)
    t.equal(await put({ deal: id, action: 'HoldDeal', params: { reason: 'a' } }), 200)
  })
}
