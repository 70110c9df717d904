import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage, Problem, type Storage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const rates = defineFamily({
  name: 'rates',
  singular: 'rate',
  fields: Type.Object({ id: Type.String(), branch: Type.String(), percent: Type.Integer() }),
  create: ['id', 'branch', 'percent']
})

const calls: string[] = []

const loans = defineFamily({
  name: 'loans',
  singular: 'loan',
  fields: Type.Object({
    id: Type.Integer(),
    sum: Type.Integer(),
    rate: Type.String(),
    percent: Type.Integer(),
    open: Type.Integer()
  }),
  create: ['sum', 'rate'],
  edit: ['rate'],
  initial: (loan, { facts }) => ({ ...loan, percent: facts.percent ?? -1, open: facts.open }),
  async prepare ({ action, item, params, context }, { find, get }) {
    calls.push(`${action} ${item?.id} ${context.principal}`)
    if (params.sum === 13) throw new Problem('invalid-body', 'No credit for 13', { errors: [] })
    const rate = await get(rates, params.rate ?? item?.rate ?? 'none')
    const { items } = await find('loans', 'sum>=100', { limit: 10 })
    const all = await find(rates, [{ field: 'percent', op: 'gte', value: 0 }], { count: true })
    return { percent: rate?.percent, open: items.length, rates: all.total }
  },
  operations: {
    raise: {
      name: 'raise',
      verb: 'raise',
      participle: 'raised',
      noun: 'raises',
      action: 'RaiseLoan',
      params: Type.Object({ by: Type.Integer() }),
      final: true,
      allowed: (_loan, _params, { facts: { percent = 0 } }) => percent < 9 || 'The rate is too high',
      apply: (loan, { by }, { facts: { percent = -1, rates } }) =>
        ({ ...loan, sum: loan.sum + by, percent, open: rates })
    }
  }
})

const grant = (branch: unknown) => typeof branch === 'string'
  ? { principal: branch, where: [{ field: 'branch', op: 'eq' as const, values: [branch] }] }
  : undefined

async function open (storage: Storage) {
  const app = Fastify()
  app.register(rates, { storage, authorize: (request: FastifyRequest) => grant(request.headers['x-branch']) })
  app.register(loans, {
    storage,
    authorize: request => {
      const branch = request.headers['x-branch']
      return typeof branch === 'string' ? { principal: branch } : undefined
    }
  })
  await app.ready()
  const send = async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object, branch?: string) =>
    await app.inject({ method, url, ...(payload && { payload }), headers: branch ? { 'x-branch': branch } : {} })
  await send('POST', '/rates', { id: 'low', branch: 'north', percent: 3 })
  await send('POST', '/rates', { id: 'high', branch: 'south', percent: 9 })
  return { app, send }
}

for (const { name, make } of storages) {
  t.test(`${name}: prepare looks up facts for the rules`, async t => {
    const { storage, dispose } = await make()
    const { app, send } = await open(storage)
    t.teardown(async () => { await app.close(); await dispose() })
    calls.length = 0

    t.match((await send('POST', '/loans', { sum: 100, rate: 'low' })).json(), { percent: 3, open: 0 })
    t.match((await send('POST', '/loans', { sum: 200, rate: 'low' }, 'north')).json(), { percent: 3, open: 1 })
    t.match((await send('POST', '/loans', { sum: 1, rate: 'low' }, 'south')).json(), { percent: -1, open: 2 },
      'what the caller may not read does not exist')
    t.same(calls, ['CreateLoan undefined undefined', 'CreateLoan undefined north', 'CreateLoan undefined south'])

    const refused = await send('POST', '/loans', { sum: 13, rate: 'low' })
    t.match({ status: refused.statusCode, ...refused.json() }, { status: 400, detail: 'No credit for 13' })

    t.match((await send('PUT', '/loans/1/raise', { by: 5 }, 'north')).json(), { sum: 105, percent: 3, open: 1 })
    await send('PUT', '/loans/1/edit', { rate: 'high' })
    const high = await send('PUT', '/loans/1/raise', { by: 5 })
    t.match({ status: high.statusCode, ...high.json() }, { status: 409, detail: 'The rate is too high' })
    const offered = (await send('GET', '/loans/1/operations')).json()
    t.match(JSON.stringify(offered), /raise/, 'where it is only offered, there are no facts')

    calls.length = 0
    const book = loans.service({ storage })
    const first = await book.run('raise', 2, { by: 1 }, { principal: 'ann', command: 'c-1' })
    const again = await book.run('raise', 2, { by: 1 }, { principal: 'ann', command: 'c-1' })
    t.match(first, { item: { sum: 201, open: 2 }, replayed: false })
    t.match(again, { item: { sum: 201 }, replayed: true })
    await book.remove(3)
    t.same(calls, ['RaiseLoan 2 ann'], 'not for a replay or a deletion')
  })
}

t.test('an extension adds facts; a family that is not mounted is a mistake', async t => {
  const more = loans.extend({
    fields: Type.Object({ note: Type.Optional(Type.String()) }),
    prepare: async () => ({ note: 'checked' }),
    initial: (loan, { facts }) => ({ ...loan, note: `${facts.note} ${facts.open}` })
  })
  const book = more.service({ storage: memoryStorage() })
  t.match(await book.create({ sum: 1, rate: 'none' }), { item: { percent: -1, open: 0, note: 'checked 0' } })

  const app = Fastify()
  t.teardown(() => app.close())
  app.register(loans, { storage: memoryStorage() })
  const alone = await app.inject({ method: 'POST', url: '/loans', payload: { sum: 1, rate: 'none' } })
  t.equal(alone.statusCode, 500)

  const wrong = more.extend({ prepare: async (_asked, { find }) => ({ found: await find('loans', 'summ=1') }) })
  await t.rejects(wrong.service({ storage: memoryStorage() }).create({ sum: 1, rate: 'none' }),
    { code: 'FST_DEALBOOK_INVALID_LOOKUP', message: /summ/ })
  const renamedRates = rates.rename({ percent: 'share' })
  const renamed = more.extend({ prepare: async (_asked, { get }) => ({ rate: await get(renamedRates, 'low') }) })
  await t.rejects(renamed.service({ storage: memoryStorage() }).create({ sum: 1, rate: 'none' }),
    { code: 'FST_DEALBOOK_INVALID_LOOKUP', message: /not a renamed one/ })
})

t.test('prepare ends with the deadline, without holding up other writers', async t => {
  let release = (): void => {}
  const slow = loans.extend({
    prepare: async ({ params }) => {
      if (params.by === 2) await new Promise<void>(resolve => { release = resolve })
    }
  })
  const storage = memoryStorage()
  const book = slow.service({ storage })
  await book.create({ sum: 1, rate: 'none' })
  const controller = new AbortController()
  const waiting = book.run('raise', 1, { by: 2 }, { signal: controller.signal })
  t.match(await book.run('raise', 1, { by: 1 }), { item: { sum: 2 } }, 'the item is not locked meanwhile')
  controller.abort(new Error('too late'))
  await t.rejects(waiting, { message: 'too late' })
  release()
  t.match(await book.get(1), { sum: 2, revision: 2 })
})

t.test('facts stay as they are', async t => {
  const cache: Record<string, unknown> = { low: 3, bytes: Buffer.from('x') }
  cache['self'] = cache
  const cached = loans.extend({
    fields: Type.Object({ of: Type.Optional(Type.String()) }),
    references: { of: rates },
    create: ['of'],
    prepare: async () => ({ cache }),
    operations: {
      check: {
        name: 'check',
        verb: 'check',
        participle: 'checked',
        noun: 'checks',
        action: 'CheckLoan',
        params: Type.Object({}),
        with: { of: 'of' },
        allowed: (_loan, _params, { facts }) => facts.cache.low === 3 || 'Not so',
        apply: (loan, _params, { facts }) => ({ ...loan, open: facts.cache.low })
      }
    }
  })
  const storage = memoryStorage()
  await rates.service({ storage }).create({ id: 'low', branch: 'north', percent: 3 })
  const book = cached.service({ storage })
  await book.create({ sum: 1, rate: 'low', of: 'low' })
  t.match(await book.run('check', 1), { item: { open: 3 } })
  cache['low'] = 4
  await t.rejects(book.run('check', 1), { message: 'Not so' })
  t.notOk(Object.isFrozen(cache))
})

t.test('prepare returns an object or nothing', async t => {
  const give = async (facts: unknown) => {
    const odd = rates.extend({ prepare: async () => facts as object })
    await odd.service({ storage: memoryStorage() }).create({ id: 'low', branch: 'north', percent: 3 })
  }
  for (const facts of [7, 'low', true, [1], () => 7]) {
    await t.rejects(give(facts), { code: 'FST_DEALBOOK_INVALID_FACTS' }, typeof facts)
  }
  for (const facts of [null, undefined, {}]) await t.resolves(give(facts))
})

t.test('a command that means another action since has the facts of that', async t => {
  const words = (verb: string, action: string) =>
    ({ name: verb, verb, participle: `${verb}-done`, noun: `${verb}s`, action, params: Type.Object({}) })
  const bills = defineFamily({
    name: 'bills',
    singular: 'bill',
    fields: Type.Object({ id: Type.Integer(), paid: Type.Boolean(), by: Type.Optional(Type.String()) }),
    create: ['paid'],
    prepare: async ({ action }) => ({ action }),
    attributes: { fields: ['paid'], read: ({ paid }) => ({ operation: paid ? 'pay' : 'return', params: {} }) },
    operations: {
      pay: {
        ...words('pay', 'PayBill'),
        apply: (bill, _params, { facts }) => ({ ...bill, paid: true, by: facts.action })
      },
      return: { ...words('return', 'ReturnBill'), apply: bill => ({ ...bill, paid: false }) }
    }
  })
  const storage = memoryStorage()
  const book = bills.service({ storage })
  await book.create({ paid: true })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(bills, { storage })
  await app.ready()
  const { get } = storage
  storage.get = async (...asked) => {
    const read = await get.apply(storage, asked)
    if (asked[0] !== 'bills') return read
    // The request has read the paid bill, and nothing is to be done; then it is returned.
    storage.get = get
    await book.run('return', 1)
    return read
  }
  const { statusCode, body } = await app.inject({ method: 'PUT', url: '/bills/1', payload: { paid: true } })
  t.match({ statusCode, ...JSON.parse(body) }, { statusCode: 200, paid: true, by: 'PayBill', revision: 3 })
})

t.test('prepare gets the context of the command, and is not asked where nothing is decided', async t => {
  const seen: Record<string, unknown>[] = []
  const fixed = defineFamily({
    name: 'fixed',
    singular: 'one',
    fields: Type.Object({ id: Type.Integer(), text: Type.Optional(Type.String()) }),
    edit: ['text'],
    async prepare ({ context }) { seen.push({ ...context }) }
  })
  const storage = memoryStorage()
  await loadItems(storage, fixed, [{ id: 1 }])
  const claims = { list: [1] }
  const book = fixed.service({ storage, authorize: () => ({ principal: 'ann', claims }) })
  await book.run('edit', 1, { text: 'a' }, { command: 'c-1' })
  await book.run('edit', 1, { text: 'b' })
  const context = { principal: 'ann', claims, items: {}, newIds: {}, facts: {} }
  t.strictSame(seen.map(({ now, ...rest }) => rest), [{ command: 'c-1', ...context }, { command: '', ...context }])
  t.ok(Object.isFrozen((seen[0]?.['claims'] as typeof claims).list) && !Object.isFrozen(claims.list))
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(fixed, { storage })
  seen.length = 0
  for (const [text, count] of [['b', 0], ['c', 1]] as const) {
    t.equal((await app.inject({ method: 'PATCH', url: '/fixed/1', payload: { text } })).statusCode, 200)
    t.equal(seen.length, count)
  }
})

t.test('lookups in one commit see what the commands before have done', async t => {
  const seen: unknown[] = []
  const parts = defineFamily({
    name: 'parts',
    singular: 'part',
    fields: Type.Object({ id: Type.String(), size: Type.Integer() }),
    create: ['id', 'size'],
    edit: ['size'],
    async prepare (_asked, { find, get }) {
      const large = await find('parts', 'size>=2', { count: true, limit: 2, sort: '-size' })
      const rest = await find('parts', '', { limit: 2, page: 2, sort: 'size' })
      const ids = (page: typeof large) => page.items.map(({ id }) => id).join('')
      seen.push([ids(large), large.total, ids(rest), rest.total, (await get('parts', 'c'))?.size])
    }
  })
  const book = parts.service({ storage: memoryStorage() })
  for (const [size, id] of ['a', 'b', 'c'].entries()) await book.create({ id, size: size + 1 })
  seen.length = 0
  await book.runAll([
    { operation: 'create', params: { id: 'd', size: 5 } },
    { operation: 'edit', id: 'a', params: { size: 4 } },
    { operation: 'remove', id: 'b' },
    { operation: 'edit', id: 'c', params: { size: 1 } },
    { operation: 'create', params: { id: 'e', size: 2 } }
  ], { atomic: true })
  t.strictSame(seen, [
    ['cb', 2, 'c', undefined, 3],
    ['dc', 3, 'cd', undefined, 3],
    ['da', 3, 'd', undefined, 3],
    ['da', 2, 'd', undefined, 1]
  ])
})

t.test('where the storage of another family refuses, nothing is decided', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  let isRefused = false
  app.register(rates, {
    storage () {
      if (isRefused) throw Object.assign(new Error('Too many'), { statusCode: 429 })
      return storage
    }
  })
  app.register(loans, { storage })
  await app.inject({ method: 'POST', url: '/rates', payload: { id: 'low', branch: 'north', percent: 3 } })
  isRefused = true
  const { statusCode } = await app.inject({ method: 'POST', url: '/loans', payload: { sum: 1, rate: 'low' } })
  t.equal(statusCode, 429)
  t.match(await loans.service({ storage }).find(), { items: [] })
})

t.test('a lookup that finds nothing, is refused, or fails', async t => {
  const inner = memoryStorage()
  const asked: unknown[] = []
  let isBroken = false
  const storage: Storage = {
    ...inner,
    get (family, id) {
      if (family === 'rates') asked.push(id)
      return inner.get(family, id)
    },
    async find (family, query) {
      if (isBroken && family === 'rates') throw new Error('no disk')
      return await inner.find(family, query)
    }
  }
  const found: unknown[] = []
  const visits = defineFamily({
    name: 'visits',
    singular: 'visit',
    fields: Type.Object({ id: Type.Integer(), rate: Type.String() }),
    create: ['rate'],
    async prepare ({ params }, { find, get }) {
      const rate = await get(rates, params.rate ?? '')
      found.push(rate?.percent, (await get(rates, 5 as never)), await find(rates))
    }
  })
  let isRefused = false
  const book = visits.service({
    storage,
    authorize (_call, { family }) {
      if (isRefused && family === 'rates') throw new Problem('forbidden', 'Not you')
    }
  })
  const low = { id: 'low', branch: 'north', percent: 3 }
  const { item } = await rates.service({ storage }).create(low)
  asked.length = 0
  for (const [rate, expected, ids] of [
    ['low', [3, undefined, { items: [item], hasNext: false }], ['low']],
    ['none', [undefined, undefined, { items: [item], hasNext: false }], ['none']]
  ] as const) {
    await book.create({ rate })
    t.strictSame(found.splice(0), expected)
    t.strictSame(asked.splice(0), ids, 'what no item can have is not looked for')
  }
  isRefused = true
  await book.create({ rate: 'low' })
  t.strictSame(found.splice(0), [undefined, undefined, { items: [], hasNext: false }], 'who is refused finds nothing')
  t.strictSame(asked, [])
  isRefused = false
  isBroken = true
  await t.rejects(book.create({ rate: 'low' }), { code: 'storage-unavailable' }, 'no mistake of the host')
})

t.test('a family without a deletion has facts for its other commands', async t => {
  const kept = defineFamily({
    name: 'kept',
    singular: 'kept-one',
    fields: Type.Object({ id: Type.Integer(), size: Type.Integer() }),
    create: ['size'],
    edit: ['size'],
    remove: false,
    initial: (item, { facts }) => ({ ...item, size: Number(facts.size) }),
    prepare: async () => ({ size: 5 })
  })
  const book = kept.service({ storage: memoryStorage() })
  t.match(await book.create({ size: 1 }), { item: { size: 5 } })
  t.match(await book.run('edit', 1, { size: 2 }), { item: { size: 2 } })
})
