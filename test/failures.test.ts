import { DatabaseSync } from '@photostructure/sqlite'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Storage } from '../lib/index.js'
import { BusyError, ConflictError, deals, defineFamily, memoryStorage } from '../lib/index.js'
import { sqliteStorage } from '../lib/storage/sqlite/sqlite-storage.js'
import type { TestRequest } from './deals/app.js'
import { createDeal, dealsApp, home, snapshot } from './deals/app.js'
import { forms } from './deals/forms.js'
import { operation } from './deals/operations.js'

const secret = 'password=tiger'

/** A storage in which one method can be made to fail, before or after it has done its work. */
function failingStorage (): { storage: Storage, fail: { method?: 'get' | 'find' | 'commit', after?: boolean } } {
  const fail: { method?: 'get' | 'find' | 'commit', after?: boolean } = {}
  const inner = memoryStorage()
  const failOrDo = async <T>(method: 'get' | 'find' | 'commit', work: () => Promise<T>): Promise<T> => {
    if (fail.method === method && fail.after !== true) throw new Error(secret)
    const result = await work()
    if (fail.method === method) throw new Error(secret)
    return result
  }
  const storage: Storage = {
    ...inner,
    get: (family, id) => failOrDo('get', () => inner.get(family, id)),
    find: (family, query) => failOrDo('find', () => inner.find(family, query)),
    commit: changes => failOrDo('commit', () => inner.commit(changes))
  }
  return { storage, fail }
}

t.test('a storage that fails is 503, in every form, and nothing has happened', async t => {
  const { storage, fail } = failingStorage()
  const app = await dealsApp(storage)
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  const requests: TestRequest[] = [
    ...forms.map(form => form.request(operation('hold'), id, 'c1') as TestRequest),
    { method: 'DELETE', url: `${home}/${id}` },
    { method: 'POST', url: home, payload: { name: 'a', price: 1 } }
  ]
  for (const request of requests) {
    for (const method of ['get', 'commit'] as const) {
      if (method === 'get' && request.url === home) continue
      fail.method = method
      const answer = await app.inject(request)
      delete fail.method
      t.equal(answer.statusCode, 503, `${request.method as string} ${request.url as string}, ${method}`)
      t.equal(answer.headers['retry-after'], '1')
      t.match(answer.json(), { type: 'urn:dealbook:problem:storage-unavailable', status: 503 })
      t.notMatch(answer.body, secret, 'what it said stays inside')
      t.strictSame(await snapshot(app, id), before)
    }
  }
})

t.test('a commit that was made but not acknowledged is found by sending the same again', async t => {
  const { storage, fail } = failingStorage()
  const app = await dealsApp(storage)
  const { id } = await createDeal(app)
  for (const [request, status] of [
    [
      { method: 'PUT', url: `${home}/${id}/commands/c1`, payload: { action: 'HoldDeal', params: { reason: 'a' } } },
      200
    ],
    [{ method: 'POST', url: home, headers: { 'idempotency-key': 'k1' }, payload: { name: 'unsure', price: 1 } }, 201]
  ] as const) {
    Object.assign(fail, { method: 'commit', after: true })
    t.equal((await app.inject(request)).statusCode, 503)
    delete fail.method
    const again = await app.inject(request)
    t.equal(again.statusCode, status)
    t.equal(again.headers['idempotent-replayed'], 'true')
  }
  t.equal((await app.inject(`${home}?name=unsure`)).json<{ items: unknown[] }>().items.length, 1)
})

t.test('a tenant whose storage cannot be prepared is 503, and served when it can', async t => {
  const inner = memoryStorage()
  let broken = true
  const storage: Storage = {
    ...inner,
    prepare: async shape => {
      if (broken) throw new Error(secret)
      await inner.prepare(shape)
    }
  }
  const app = await dealsApp(storage, { storage: () => storage })
  const answer = await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 } })
  t.equal(answer.statusCode, 503)
  t.notMatch(answer.body, secret)
  t.equal((await app.inject(home)).statusCode, 503)
  t.equal((await app.inject(`${home}?nothing=1`)).statusCode, 400, 'an invalid query needs no storage')
  const guarded = await dealsApp(storage, { storage: () => storage, authorize: () => {} })
  t.equal((await guarded.inject(`${home}?nothing=1`)).statusCode, 400, 'also with authorize')
  broken = false
  t.equal((await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 } })).statusCode, 201)
})

t.test('a tenant whose tables do not fit the family is 500: it is not better the next time', async t => {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE deals (id TEXT PRIMARY KEY, price INTEGER)')
  const storage = sqliteStorage({ database, tables: { deals: { table: 'deals' } } })
  t.teardown(async () => { await storage.close(); database.close() })
  const app = await dealsApp(storage, { storage: () => storage })
  for (const request of [{ method: 'POST', url: home, payload: { name: 'a', price: 1 } }, { url: home }] as const) {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, 500)
    t.match(answer.json(), { type: 'urn:dealbook:problem:internal', status: 500 })
    t.equal(answer.headers['retry-after'], undefined)
    t.notMatch(answer.body, 'column', 'what does not fit stays inside')
  }
})

t.test('an operation that fails is 500, and nothing has happened', async t => {
  const words = (name: string): { name: string, verb: string, participle: string, noun: string, action: string } => ({
    name,
    verb: name,
    participle: `${name}-done`,
    noun: `${name}-all`,
    action: `${name[0]?.toUpperCase()}${name.slice(1)}Gadget`
  })
  const gadgets = defineFamily({
    name: 'gadgets',
    singular: 'gadget',
    fields: Type.Object({
      id: Type.String(),
      size: Type.Integer({ minimum: 1, default: 1 }),
      parts: Type.Array(Type.String(), { default: [] })
    }),
    create: [],
    operations: {
      throw: {
        ...words('throw'),
        params: Type.Object({}),
        apply: () => {
          throw new Error(secret)
        }
      },
      spoil: { ...words('spoil'), params: Type.Object({}), apply: item => ({ ...item, size: 0 }) },
      invent: {
        ...words('invent'),
        params: Type.Object({}),
        apply: item => ({ ...item, color: 'red' } as typeof item)
      },
      mutate: { ...words('mutate'), params: Type.Object({}), apply: item => Object.assign(item, { size: 2 }) },
      judge: {
        ...words('judge'),
        params: Type.Object({}),
        allowed: () => {
          throw new Error(secret)
        },
        apply: item => ({ ...item, size: 2 })
      }
    }
  })
  const app = Fastify()
  app.register(gadgets, { storage: memoryStorage() })
  const { id } = (await app.inject({ method: 'POST', url: '/gadgets' })).json<{ id: string }>()
  for (const verb of ['throw', 'spoil', 'invent', 'mutate', 'judge']) {
    const answer = await app.inject({ method: 'PUT', url: `/gadgets/${id}/${verb}` })
    t.equal(answer.statusCode, 500, verb)
    t.match(answer.json(), { type: 'urn:dealbook:problem:internal', status: 500, instance: `/gadgets/${id}/${verb}` })
    t.notMatch(answer.body, secret)
    const named = await app.inject({
      method: 'PUT',
      url: `/gadgets/${id}/commands/c1`,
      payload: { action: `${verb[0]?.toUpperCase()}${verb.slice(1)}Gadget` }
    })
    t.equal(named.statusCode, 500)
  }
  t.match((await app.inject(`/gadgets/${id}`)).json(), { size: 1, revision: 1 })
  t.equal(
    (await app.inject(`/gadgets/${id}/commands`)).json<{ items: unknown[] }>().items.length,
    1,
    'a mistake is not recorded'
  )
})

t.test('what a host throws is a problem of its status', async t => {
  const statuses: Record<string, [number, string]> = {
    400: [400, 'bad-request'],
    401: [401, 'unauthorized'],
    403: [403, 'forbidden'],
    404: [404, 'not-found'],
    // These have codes of ours that say more than a host's error means.
    405: [405, 'other'],
    406: [406, 'other'],
    409: [409, 'other'],
    410: [410, 'other'],
    412: [412, 'other'],
    413: [413, 'other'],
    415: [415, 'other'],
    418: [418, 'other'],
    422: [422, 'other'],
    428: [428, 'other'],
    429: [429, 'too-many-requests'],
    499: [499, 'other'],
    500: [500, 'internal'],
    501: [501, 'other'],
    502: [502, 'other'],
    503: [503, 'other'],
    504: [504, 'other'],
    599: [599, 'other'],
    200: [500, 'internal'],
    600: [500, 'internal'],
    403.5: [500, 'internal']
  }
  const app = await dealsApp(memoryStorage(), {
    authorize: request => {
      const status = request.headers['x-throw']
      if (status !== undefined) throw Object.assign(new Error('no'), { statusCode: Number(status) })
    }
  })
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  for (const [thrown, [status, code]] of Object.entries(statuses)) {
    const answer = await app.inject({
      method: 'PUT',
      url: `${home}/${id}/hold`,
      headers: { 'x-throw': thrown },
      payload: { reason: 'a' }
    })
    t.equal(answer.statusCode, status)
    t.equal(answer.json<{ type: string }>().type, `urn:dealbook:problem:${code}`, thrown)
  }
  t.strictSame(await snapshot(app, id), before)
})

t.test('a writer that always loses gives up and says so', async t => {
  const inner = memoryStorage()
  let busy = false
  let attempts = 0
  const app: FastifyInstance = Fastify()
  app.register(deals, {
    version: 'v1',
    storage: {
      ...inner,
      commit: async changes => {
        if (busy) {
          attempts++
          throw new ConflictError('deals', 'x')
        }
        await inner.commit(changes)
      }
    }
  })
  const { id } = await createDeal(app)
  busy = true
  const answer = await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  t.equal(answer.statusCode, 503)
  t.match(answer.json(), { type: 'urn:dealbook:problem:busy' })
  t.equal(answer.headers['retry-after'], '1')
  t.ok(attempts > 3 && attempts < 200, 'after a bounded number of attempts')
})

t.test('what is busy is a warning in the log, what fails an error with its cause', async t => {
  const table = [[new BusyError('full'), 40, undefined], [new Error(secret), 50, /tiger/]] as const
  for (const [error, level, err] of table) {
    const lines: string[] = []
    const app = Fastify({ logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
    t.teardown(() => app.close())
    app.register(deals, { version: 'v1', storage: { ...memoryStorage(), get: async () => { throw error } } })
    t.equal((await app.inject(`${home}/a`)).statusCode, 503)
    const [line, ...others] = lines.map(line => JSON.parse(line))
    t.strictSame([line.level, others], [level, []])
    if (err === undefined) t.equal(line.err, undefined)
    else t.match(line.err.message, err)
  }
})
