import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t from 'tap'
import {
  type AnyFamily, type Committed, ConflictError, defineFamily, type Grant, type Intent, memoryStorage, Problem,
  type Storage, Type
} from '../../lib/index.js'
import { recordingStorage } from '../recording-storage.js'
import { storages } from '../storages.js'

const machines = defineFamily({
  name: 'machines',
  singular: 'machine',
  fields: Type.Object({
    id: Type.Integer(),
    branch: Type.String(),
    status: Type.Union([Type.Literal('free'), Type.Literal('rented'), Type.Literal('broken')], { default: 'free' })
  }),
  create: ['branch', 'status']
})

const words = (verb: string) => ({
  name: verb,
  verb,
  participle: `${verb}-done`,
  noun: `${verb}s`,
  action: verb.replace(/(^|-)(.)/g, (_, _a, letter) =>
    letter.toUpperCase())
})

const byOrSpare = (params: { by?: number }, { spare }: { spare?: number }): number | undefined => params.by ?? spare

const bookings = defineFamily({
  name: 'bookings',
  singular: 'booking',
  fields: Type.Object({
    id: Type.Integer(),
    machine: Type.Integer(),
    spare: Type.Optional(Type.Integer()),
    branch: Type.Optional(Type.String()),
    due: Type.Optional(Type.String({ format: 'date-time' })),
    status: Type.String({ default: 'new' })
  }),
  references: { machine: machines, spare: machines },
  create: ['machine', 'spare', 'due'],
  edit: ['spare'],
  initial: (booking, { claims }) => ({ ...booking, branch: claims.branch }),
  state: ({ status }) => status,
  operations: {
    'hand-out': {
      ...words('hand-out'),
      params: Type.Object({}),
      with: { machine: 'machine', spare: 'spare' },
      allowed: (booking, _params, { items: { machine } }) => {
        if (booking.status !== 'new') return 'It is handed out already'
        return machine?.['status'] === 'free' || `The machine is ${String(machine?.['status'])}`
      },
      apply: (booking, _params, { items: { machine, spare } }) => ({
        item: { ...booking, status: 'out' },
        others: { machine: { ...machine, status: 'rented' }, spare: spare && { ...spare, status: 'rented' } }
      })
    },
    remind: {
      ...words('remind'),
      params: Type.Object({}),
      allowed: ({ due = '9' }, _params, { now, claims }) =>
        claims.mayRemind === false ? 'It is not your task' : due <= now || 'It is not due yet',
      apply: booking => ({ ...booking, status: `${booking.status}!` })
    },
    swap: {
      ...words('swap'),
      params: Type.Object({ by: Type.Optional(Type.Integer()) }),
      // By a parameter, else by the item.
      with: { other: { family: machines, id: byOrSpare } },
      apply: (booking, _params, { items: { other } }) => ({ ...booking, machine: Number(other?.['id']) })
    }
  }
})

interface Teardown { teardown (close: () => Promise<unknown>): void }

const lines = defineFamily({
  name: 'entries',
  singular: 'entry',
  fields: Type.Object({ id: Type.Integer(), text: Type.String(), by: Type.String() }),
  create: ['text'],
  initial: (entry, { principal = 'unknown' }) => ({ ...entry, by: principal })
})

const invoices = defineFamily({
  name: 'invoices',
  singular: 'invoice',
  fields: Type.Object({
    id: Type.Integer(), number: Type.Integer(), total: Type.Integer(), paid: Type.Boolean({ default: false })
  }),
  unique: [['number']],
  create: ['number', 'total']
})

const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.Integer(),
    machine: Type.Integer(),
    total: Type.Integer(),
    branch: Type.String(),
    invoice: Type.Optional(Type.Integer()),
    status: Type.String({ default: 'new' })
  }),
  references: { machine: machines, invoice: invoices },
  create: { fields: ['machine', 'total'], with: { machine: 'machine' } },
  initial (order, { items: { machine } }) {
    if (machine?.['status'] !== 'free') throw new Problem('wrong-state', 'The machine is not free')
    const item = { ...order, branch: String(machine['branch']) }
    return { item, others: { machine: { ...machine, status: 'rented' } } }
  },
  operations: {
    bill: {
      ...words('bill'),
      params: Type.Object({ note: Type.Optional(Type.String()) }),
      creates: { invoice: invoices, entry: lines },
      allowed: order => order.invoice === undefined || 'It is billed already',
      apply: (order, { note }, { newIds }) => ({
        item: { ...order, status: 'billed', invoice: newIds.invoice },
        created: {
          invoice: { number: 1000 + order.id, total: order.total },
          entry: note === undefined ? undefined : { text: note }
        }
      })
    }
  }
})

type Authorize = (request: FastifyRequest, intent: Intent) => Grant | undefined

async function open (t: Teardown, storage: Storage, authorize?: Authorize, clock = () => new Date()) {
  const app = Fastify()
  t.teardown(() => app.close())
  const options = { storage, clock, ...(authorize === undefined ? {} : { authorize }) }
  app.register(machines, options)
  app.register(bookings, options)
  await app.ready()
  return app
}

async function send (app: FastifyInstance, method: 'PUT' | 'POST', url: string, payload: object = {}, by = '') {
  const { statusCode, body } = await app.inject({ method, url, payload, headers: { by } })
  return { statusCode, ...JSON.parse(body === '' ? '{}' : body) }
}

async function get (app: FastifyInstance, url: string, by = '') {
  return (await app.inject({ url, headers: { by } })).json()
}

for (const { name, make } of storages) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await open(t, storage)
    for (const branch of ['north', 'north', 'south']) await send(app, 'POST', '/machines', { branch })

    await t.test('an operation takes the item that a reference names', async t => {
      const { id } = await send(app, 'POST', '/bookings', { machine: 1, spare: 2 })
      t.match(await send(app, 'PUT', `/bookings/${id}/hand-out`), { statusCode: 200, status: 'out' })
      for (const machine of [1, 2]) {
        t.match(await get(app, `/machines/${machine}`), { status: 'rented', revision: 2 })
        t.match(await get(app, `/machines/${machine}/commands`), { items: [{}, { action: 'HandOut' }] })
      }
      const again = await send(app, 'POST', '/bookings', { machine: 1 })
      const refused = await send(app, 'PUT', `/bookings/${again.id}/hand-out`)
      t.match(refused, { statusCode: 409, detail: 'The machine is rented' })
      t.strictSame(refused.allowed, ['swap', 'edit'], 'neither what is refused nor what is not due')
      const alone = await send(app, 'POST', '/bookings', { machine: 3 })
      t.match(await send(app, 'PUT', `/bookings/${alone.id}/hand-out`), { statusCode: 200 }, 'without a spare one')
      const held = await app.inject({ method: 'DELETE', url: '/machines/3' })
      t.equal(held.statusCode, 409)
    })

    await t.test('the id of another item follows from the parameters and the item', async t => {
      const { id } = await send(app, 'POST', '/bookings', { machine: 1, spare: 2 })
      t.match(await send(app, 'PUT', `/bookings/${id}/swap`), { statusCode: 200, machine: 2 })
      t.match(await send(app, 'PUT', `/bookings/${id}/swap`, { by: 3 }), { statusCode: 200, machine: 3 })
      t.match(await send(app, 'PUT', `/bookings/${id}/swap`, { by: 99 }), {
        statusCode: 400, errors: [{ pointer: '/by', detail: 'does not name an existing machine' }]
      })
      const service = bookings.service({ storage })
      t.match(await service.run('swap', id, { by: 1 }), { item: { machine: 1 }, changed: true })
    })

    await t.test('what is offered is judged with the time, the claims and the items referred to', async t => {
      let now = new Date('2026-01-01T00:00:00Z')
      const claims = { mayRemind: true }
      const timed = await open(t, storage, () => ({ principal: 'ann', claims }), () => now)
      const { id } = await send(timed, 'POST', '/bookings', { machine: 1, due: '2026-02-01T00:00:00Z' })
      const readOffers = async (): Promise<Record<string, string | true>> =>
        Object.fromEntries((await get(timed, `/bookings/${id}/operations`)).items
          .map(({ name, reason }: { name: string, reason?: string }) => [name, reason ?? true]))
      t.match(await readOffers(), { 'hand-out': 'The machine is rented', remind: 'It is not due yet', swap: true })
      const page = await timed.inject({ url: `/bookings/${id}`, headers: { accept: 'text/html' } })
      t.notMatch(page.body, /action="[^"]*\/reminds"/, 'no button')
      now = new Date('2026-03-01T00:00:00Z')
      t.match(await readOffers(), { remind: true })
      claims.mayRemind = false
      t.match(await readOffers(), { remind: 'It is not your task' })
      t.match(await send(timed, 'PUT', `/bookings/${id}/remind`), { statusCode: 409, detail: 'It is not your task' })
    })

    await t.test('claims reach the rules, and nothing else', async t => {
      const secret = 'a-secret-claim'
      const claims = { branch: 'south', secret, list: [1] }
      const own = await open(t, storage, () => ({ principal: 'ann', claims }))
      const made = await send(own, 'POST', '/bookings', { machine: 1 })
      t.match(made, { statusCode: 201, branch: 'south' })
      const log = await own.inject(`/bookings/${made.id}/commands`)
      t.notMatch(log.body + JSON.stringify(made), secret)
      t.notOk(Object.isFrozen(claims.list), 'those of the host are left as they are')
      const service = bookings.service({ storage, authorize: () => ({ claims }) })
      t.match(await service.create({ machine: 1 }), { item: { branch: 'south' } })
      for (const wrong of ['north', [1], { at: new Date() }, { of: 1n }]) {
        const faulty = await open(t, storage, () => ({ claims: wrong }) as never)
        t.match(await send(faulty, 'POST', '/bookings', { machine: 1 }), { statusCode: 500 })
      }
    })

    await t.test('what a client may not read cannot be referred to', async t => {
      const tenants = await open(t, storage, ({ headers: { by } }, { family, action }) => {
        if (by === 'none' && family === 'machines') throw new Problem('forbidden', 'no machines for you')
        if (family !== 'machines' || by === 'all' || (by === 'writer' && action !== 'read')) return {}
        return { where: [{ field: 'branch', op: 'eq', values: ['south'] }] }
      })
      const missing = await send(tenants, 'POST', '/bookings', { machine: 99 }, 'south')
      t.match(missing, { statusCode: 400, errors: [{ pointer: '/machine' }] })
      for (const by of ['south', 'none', 'writer']) {
        const hidden = await send(tenants, 'POST', '/bookings', { machine: 1 }, by)
        t.strictSame({ ...hidden, instance: '' }, { ...missing, instance: '' }, `${by}: as one that does not exist`)
      }
      t.match(await send(tenants, 'POST', '/bookings', { machine: 1 }, 'all'), { statusCode: 201 })
      const { id } = await send(tenants, 'POST', '/bookings', { machine: 3 }, 'south')
      for (const url of [`/bookings/${id}/edit`, `/bookings/${id}`]) {
        t.match(await send(tenants, 'PUT', url, { spare: 1 }, 'south'), {
          statusCode: 400, errors: [{ pointer: '/spare', detail: 'must be an existing id of machines' }]
        })
      }
      t.match(await send(tenants, 'PUT', `/bookings/${id}/edit`, { spare: 3 }, 'south'), { statusCode: 200, spare: 3 })
      t.match(await send(tenants, 'PUT', `/bookings/${id}/swap`, { by: 1 }, 'south'), {
        statusCode: 400, errors: [{ pointer: '/by', detail: 'does not name an existing machine' }]
      })
      const other = await send(tenants, 'POST', '/bookings', { machine: 2 }, 'all')
      const refused = await send(tenants, 'PUT', `/bookings/${other.id}/hand-out`, {}, 'south')
      t.match(refused, { statusCode: 400, errors: [{ pointer: '/machine' }] })
      const { items } = await get(tenants, `/bookings/${other.id}/operations`, 'south')
      const offered = items.find(({ name }: { name: string }) => name === 'hand-out')
      t.match(offered, { allowed: false, reason: 'hand-out is not allowed while the booking is new' })
      t.match(await get(tenants, `/bookings/${other.id}?expand=machine`, 'south'), { machine: 2 }, 'not expanded')
      t.match(await send(tenants, 'PUT', `/bookings/${other.id}/edit`, { spare: 3 }, 'south'), { statusCode: 200 },
        'a reference that is not changed is not checked')
    })
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: items are created with others, and by operations`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    const committed: string[] = []
    const intents: Intent[] = []
    const options = {
      storage,
      authorize: (request: FastifyRequest, intent: Intent) => {
        intents.push(intent)
        const { by } = request.headers
        if (by === 'eve' && intent.family === 'invoices') throw new Problem('forbidden', 'no invoices for you')
        return by === 'low' && intent.family === 'invoices'
          ? { principal: 'low', where: [{ field: 'total', op: 'lt', value: 10 } as const] }
          : { principal: 'ann' }
      },
      onCommitted: ({ family, action, id, before }: Committed) => {
        committed.push(`${family} ${id} ${action} ${before === undefined ? 'new' : 'changed'}`)
      }
    }
    for (const family of [machines, orders, invoices, lines]) app.register(family, options)
    await app.ready()
    for (const branch of ['north', 'south']) await send(app, 'POST', '/machines', { branch })

    committed.length = 0
    const order = await send(app, 'POST', '/orders', { machine: 1, total: 50 })
    t.match(order, { statusCode: 201, id: 1, branch: 'north', status: 'new' })
    t.match(await get(app, '/machines/1'), { status: 'rented', revision: 2 })
    t.strictSame(committed, ['orders 1 CreateOrder new', 'machines 1 CreateOrder changed'])
    t.match(await get(app, '/machines/1/commands'), { items: [{}, { about: { family: 'orders', id: 1 } }] })
    t.match(await send(app, 'POST', '/orders', { machine: 1, total: 50 }), { statusCode: 409 })
    t.match(await send(app, 'POST', '/orders', { machine: 9, total: 50 }), {
      statusCode: 400, errors: [{ pointer: '/machine' }]
    })
    t.equal((await get(app, '/orders')).items.length, 1, 'nothing else was created')

    committed.length = 0
    intents.length = 0
    t.match(await send(app, 'PUT', '/orders/1/bill', {}, 'eve'), { statusCode: 403 })
    t.match(await send(app, 'PUT', '/orders/1/bill', {}, 'low'), { statusCode: 403 }, 'out of the grant')
    t.strictSame((await get(app, '/invoices')).items, [], 'nothing was created')
    const asked = intents.find(({ family }) => family === 'invoices')
    t.strictSame(asked, { family: 'invoices', action: 'Bill', id: undefined, params: {} })
    const payload = { action: 'Bill', params: { note: 'a' } }
    const put = { method: 'PUT', url: '/orders/1/commands/c-1', payload } as const
    t.equal((await app.inject(put)).statusCode, 201)
    t.match(await get(app, '/orders/1'), { status: 'billed', invoice: 1, revision: 2 })
    t.match(await get(app, '/invoices/1'), { number: 1001, total: 50, paid: false, revision: 1 })
    t.match(await get(app, '/entries/1'), { text: 'a', by: 'ann' }, 'completed by its own initial')
    t.match(await get(app, '/invoices/1/commands'), {
      items: [{ action: 'Bill', revision: 1, outcome: 'done', about: { family: 'orders', id: 1 } }]
    })
    t.strictSame(committed, ['orders 1 Bill changed', 'invoices 1 Bill new', 'entries 1 Bill new'])
    const again = await app.inject(put)
    t.match(again, { statusCode: 200, headers: { 'idempotent-replayed': 'true' } })
    t.match(await send(app, 'PUT', '/orders/1/bill'), { statusCode: 409, detail: 'It is billed already' })
    t.equal((await get(app, '/invoices')).items.length, 1, 'created once')
    t.match(await app.inject({ method: 'DELETE', url: '/invoices/1' }), { statusCode: 409 }, 'it is referred to')

    const service = orders.service({ storage })
    const { item: { id } } = await service.create({ machine: 2, total: 7 })
    await invoices.service({ storage }).create({ number: 1000 + id, total: 1 })
    await t.rejects(service.run('bill', id), { code: 'taken' }, 'a rule that the new item breaks')
    t.match(await service.get(id), { status: 'new', revision: 1 }, 'nothing was done')
  })

  t.test(`${name}: operations that create at the same time number without a gap`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const others = another === undefined ? [] : [another(), another()]
    t.teardown(() => Promise.all(others.map(other => other.close())))
    const services = [storage, ...others].map(storage => orders.service({ storage }))
    const stock = machines.service({ storage })
    for (let n = 0; n < 12; n++) {
      await stock.create({ branch: 'a' })
      await services[0]?.create({ machine: n + 1, total: n })
    }
    // Each is sent by all of them, under one id.
    await Promise.all(Array.from({ length: 12 }, (_, n) => services.map(service =>
      service.run('bill', n + 1, {}, { command: `bill-${n}` }))).flat())
    const { items } = await invoices.service({ storage }).find('', { limit: 100 })
    t.strictSame(items.map(({ id }) => id), Array.from({ length: 12 }, (_, n) => n + 1))
    const billed = (await services[0]?.find('', { limit: 100 }))?.items ?? []
    t.strictSame(billed.map(({ invoice }) => invoice).sort((a = 0, b = 0) => a - b), items.map(({ id }) => id))
  })
}

t.test('a page that asks shows what the command with its id would do', async t => {
  const stamps = defineFamily({
    name: 'stamps',
    singular: 'stamp',
    fields: Type.Object({ id: Type.Integer(), by: Type.Optional(Type.String({ minLength: 1 })) }),
    create: [],
    operations: {
      press: {
        ...words('press'), params: Type.Object({}), apply: (stamp, _params, { command }) => ({ ...stamp, by: command })
      }
    }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(stamps, { storage: memoryStorage() })
  await send(app, 'POST', '/stamps')
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  const payload = '_confirm=1&_key=k-1'
  const asked = await app.inject({ method: 'POST', url: '/stamps/1/presss', headers, payload })
  t.equal(asked.statusCode, 200, asked.body)
  t.match((await app.inject('/stamps/1')).json(), { revision: 1 }, 'nothing was done')
})

t.test('nothing is authorized twice when it is decided again', async t => {
  const inner = memoryStorage()
  let conflicts = 0
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (conflicts-- > 0) throw new ConflictError('orders', 1)
      await inner.commit(changes)
    }
  }
  for (const branch of ['north', 'south']) await machines.service({ storage }).create({ branch })
  const asked: string[] = []
  const authorize = (_call: object, { family, action, id }: Intent): undefined => {
    if (action !== 'read') asked.push(`${action} ${family} ${id}`)
  }
  const [book, desk] = [orders.service({ storage, authorize }), bookings.service({ storage, authorize })]
  const rows: readonly (readonly [run: () => Promise<unknown>, expected: readonly string[]])[] = [
    [() => book.create({ machine: 1, total: 5 }), ['CreateOrder orders undefined', 'CreateOrder machines 1']],
    [() => book.run('bill', 1, { note: 'a' }),
      ['Bill orders 1', 'Bill invoices undefined', 'Bill entries undefined']],
    [() => desk.create({ machine: 2, spare: 1 }), ['CreateBooking bookings undefined']],
    [() => desk.run('swap', 1), ['Swap bookings 1', 'Swap machines 1']],
    [() => desk.run('swap', 1, { by: 2 }), ['Swap bookings 1', 'Swap machines 2']],
    [() => desk.run('edit', 1, { spare: 2 }), ['EditBooking bookings 1']],
    [() => book.remove(1), ['DeleteOrder orders 1']]
  ]
  for (const [run, expected] of rows) {
    conflicts = 2
    asked.length = 0
    await run()
    t.strictSame(asked, expected)
  }
})

t.test('a reference is checked when it is given, and a refusal knows what it refers to', async t => {
  const storage = memoryStorage()
  for (const branch of ['north', 'south']) await machines.service({ storage }).create({ branch })
  const all = bookings.service({ storage })
  const guarded = bookings.service({
    storage,
    authorize: (_call, { family }) =>
      family === 'machines' ? { where: [{ field: 'branch', op: 'eq', values: ['south'] }] } : {}
  })
  const hidden = (field: string) => ({ code: 'invalid-body', errors: [{ pointer: `/${field}` }] })
  await t.rejects(guarded.create({ machine: 1 }), hidden('machine'))
  t.match(await guarded.create({ machine: 2 }), { item: { machine: 2 } })
  await t.rejects(guarded.run('edit', 1, { spare: 1 }), hidden('spare'))
  await all.run('edit', 1, { spare: 1 })
  t.match(await guarded.run('edit', 1, { spare: 1 }), { changed: false }, 'it is so already')
  t.match(await guarded.run('edit', 1, { spare: null }), { changed: true })
  await all.create({ machine: 1 })
  await all.run('hand-out', 2)
  const { item: { id } } = await all.create({ machine: 1 })
  const refused = (book: typeof all) => book.run('remind', id).then(() => undefined, problem => problem)
  t.match(await refused(all), { code: 'wrong-state', members: { allowed: ['swap', 'edit'] } }, 'the machine is rented')
  await all.run('edit', 1, { spare: null })
  const free = (await all.create({ machine: 2 })).item.id
  const offered = await all.run('remind', free).catch(problem => problem)
  t.match(offered, { code: 'wrong-state', members: { allowed: ['hand-out', 'swap', 'edit'] } }, 'this one is not')
  t.match(await guarded.remove(id), { changed: true })
  const read: string[] = []
  const counted = bookings.service({ storage: recordingStorage(read, storage) })
  await counted.run('edit', 1, { spare: 2 })
  t.strictSame(read, ['get bookings', 'commit'], 'what is not refused needs nothing else')
})

const visits = defineFamily({
  name: 'visits',
  singular: 'visit',
  fields: Type.Object({
    id: Type.Integer(),
    site: Type.Optional(Type.Integer()),
    next: Type.Optional(Type.Integer()),
    note: Type.Optional(Type.String()),
    plan: Type.Optional(Type.Array(Type.Union([Type.Integer(), Type.Null()])))
  }),
  references: { site: machines, next: 'visits' },
  create: ['site', 'next', 'note', 'plan'],
  edit: ['site', 'next', 'note'],
  initial (visit) {
    const site = visit.note === 'rule' ? 1 : visit.site ?? visit.plan?.[1]
    return typeof site === 'number' ? { ...visit, site } : visit
  }
})

t.test('who gives the id of an item must be able to read it', async t => {
  const storage = memoryStorage()
  for (const branch of ['north', 'south']) await machines.service({ storage }).create({ branch })
  const all = visits.service({ storage })
  await all.create({ site: 1, note: 'secret' })
  await all.create({ site: 1 })
  const grant = (principal: unknown, { family }: Intent): Grant => {
    if (family === 'machines' && principal === 'none') throw new Problem('forbidden', 'No machines')
    return family === 'machines'
      ? { where: [{ field: 'branch', op: 'eq', values: ['south'] }] }
      : { where: [{ field: 'note', op: 'ne', values: ['secret'] }] }
  }
  const book = visits.service({ storage, authorize: ({ principal }, intent) => grant(principal, intent) })
  type Row = readonly [what: string, run: () => Promise<unknown>, pointer?: string]
  const rows: readonly Row[] = [
    ['hidden', () => book.create({ site: 1 }), '/site'],
    ['readable', () => book.create({ site: 2 })],
    ['hidden, within a list', () => book.create({ plan: [null, 1] }), '/site'],
    ['readable, within a list', () => book.create({ plan: [null, 2] })],
    ['of a rule', () => book.create({ note: 'rule' })],
    ['none', () => book.create({})],
    ['as it was', () => book.run('edit', 2, { site: 1, note: 'a' })],
    ['no longer', () => book.run('edit', 2, { site: null, note: 'b' })],
    ['of its own family, hidden', () => book.run('edit', 2, { next: 1 }), '/next'],
    ['of its own family, readable', () => book.run('edit', 2, { next: 2 })],
    ['of one who may read none', () => book.create({ site: 2 }, { principal: 'none' }), '/site']
  ]
  for (const [what, run, pointer] of rows) {
    const answer = await run().catch((problem: unknown) => problem)
    t.match(answer, pointer === undefined ? { changed: true } : { code: 'invalid-body', errors: [{ pointer }] }, what)
  }
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(visits, { storage, authorize: (_request, intent) => grant(undefined, intent) })
  t.match(await send(app, 'POST', '/visits', { site: 1 }), { statusCode: 201 }, 'of a family that clients do not know')
})

t.test('an item can be used once by a command, and only what it names is read', async t => {
  const events: string[] = []
  const storage = recordingStorage(events)
  for (const branch of ['north', 'south']) await machines.service({ storage }).create({ branch })
  const book = bookings.service({ storage })
  for (const spare of [2, undefined]) await book.create({ machine: 2, ...(spare && { spare }) })
  const detail = 'must be a different machine: an item can be used only once'
  await t.rejects(book.run('hand-out', 1), { code: 'invalid-body', errors: [{ pointer: '/spare', detail }] })
  const people = defineFamily({
    name: 'people',
    singular: 'person',
    fields: Type.Object({ id: Type.Integer(), name: Type.Optional(Type.String()) }),
    create: ['name'],
    operations: {
      meet: {
        ...words('meet'),
        params: Type.Object({ whom: Type.Unknown() }),
        with: { other: { family: 'people', id: ({ whom }) => whom as number } },
        apply: person => person
      }
    }
  }).service({ storage })
  await people.create({})
  await t.rejects(people.run('meet', 1, { whom: 1 }), { code: 'invalid-body', message: /a different person/ })
  events.length = 0
  await t.rejects(people.run('meet', 1, { whom: '1' }), { code: 'invalid-body', message: /existing person/ })
  t.strictSame(events, [], 'a text is no id of these')
  await t.rejects(book.run('remind', 2), { code: 'wrong-state' })
  t.strictSame(events, ['get bookings', 'get machines'], 'there is no spare one')
})

t.test('who may not use another item has asked nothing of the storage', async t => {
  const events: string[] = []
  const storage = recordingStorage(events)
  const shops = defineFamily({
    name: 'shops',
    singular: 'shop',
    fields: Type.Object({ id: Type.Integer(), list: Type.Array(Type.Integer()) }),
    create: ['list'],
    operations: {
      take: {
        ...words('take'),
        params: Type.Object({ by: Type.Integer() }),
        with: { one: { family: machines, id: ({ by }) => by } },
        apply: shop => shop
      },
      sort: {
        ...words('sort'),
        params: Type.Object({}),
        with: { one: { family: machines, id: (_params, { list }) => list[0] } },
        apply: shop => shop
      }
    }
  })
  await machines.service({ storage }).create({ branch: 'a' })
  await shops.service({ storage }).create({ list: [1] })
  const book = shops.service({
    storage,
    authorize (_call, { family }) { if (family === 'machines') throw new Problem('forbidden', 'Not these') }
  })
  await book.get(1)
  events.length = 0
  await t.rejects(book.run('take', 1, { by: 1 }), { code: 'forbidden' })
  t.strictSame(events, [])
  await t.rejects(book.run('sort', 1), { code: 'forbidden' }, 'unless the item says which one')
  t.equal(events.length, 1)
})

t.test('a parameter that names a missing item is pointed to', async t => {
  const storage = memoryStorage()
  const trips = (id: (params: Readonly<Record<string, unknown>>) => unknown) => defineFamily({
    name: 'trips',
    singular: 'trip',
    fields: Type.Object({ id: Type.Integer() }),
    create: [],
    operations: {
      ride: {
        ...words('ride'),
        params: Type.Object({ other: Type.Optional(Type.Integer()), on: Type.Optional(Type.Integer()) }),
        with: { on: { family: machines, id: id as () => number } },
        apply: trip => trip
      }
    }
  }).service({ storage })
  await trips(() => 1).create({})
  for (const [params, pointer, id = () => 9] of [
    [{ on: 9 }, '/on'], [{ other: 1, on: 3 }, '/on'], [{ other: 9 }, '/other'], [{ other: 1 }, '/on'], [{}, '/on'],
    [{}, '/on', () => '9'], [{}, '/on', () => 0.5]
  ] as const) {
    const errors = [{ pointer, detail: 'does not name an existing machine' }]
    await t.rejects(trips(id).run('ride', 1, params), { code: 'invalid-body', errors }, JSON.stringify(params))
  }
  t.match(await trips(() => undefined).run('ride', 1), { changed: false }, 'none is needed')
})

t.test('mistakes in with are found when the family is defined', async t => {
  const define = (others: unknown) => () => defineFamily({
    name: 'visits',
    singular: 'visit',
    fields: Type.Object({ id: Type.Integer(), machine: Type.Integer() }),
    references: { machine: machines },
    operations: {
      end: { ...words('end'), params: Type.Object({}), with: others as { machine: 'machine' }, apply: visit => visit }
    }
  })
  t.throws(define({ machine: 'machin' }), /with "machine": "machin" is not in references\. Did you mean "machine"/)
  t.throws(define({ machine: 7 }), /must be a field in references, or an object with family, and id or path/)
  t.throws(define({ machine: { family: machines } }), /"id" is missing/)
  t.doesNotThrow(define({ machine: 'machine' }))
  const creating = (creates: object, field = 'text') => () => defineFamily({
    name: 'visits',
    singular: 'visit',
    fields: Type.Object({ id: Type.Integer(), [field]: Type.Optional(Type.String()) }),
    operations: {
      end: {
        ...words('end'), params: Type.Object({}), creates: creates as { a: AnyFamily }, apply: visit => visit
      }
    }
  })
  t.throws(creating({ a: machines, b: machines }), /the operation "end": creates may name a family once/)
  t.throws(creating({ a: 'machines' }), /creates "a": must be a family with create/)
  t.throws(creating({ 'a b': machines }), /creates "a b": its name must be letters/)
  t.throws(creating({ a: machines }, 'created'), /may return "created", which cannot be a field/)
  t.doesNotThrow(creating({ a: machines }))
})
