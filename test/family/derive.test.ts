import Fastify, { type InjectOptions } from 'fastify'
import t from 'tap'
import { decimal, defineFamily, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { storages } from '../storages.js'

const Lines = Type.Array(Type.Object({ quantity: Type.Integer(), price: Type.Integer() }))

/** Prices are in cents, totals in units. */
const orders = defineFamily({
  name: 'orders',
  singular: 'order',
  fields: Type.Object({
    id: Type.String(),
    lines: Lines,
    status: Type.Union([Type.Literal('open'), Type.Literal('sent')], { default: 'open' }),
    cents: Type.Integer(),
    total: decimal({ scale: 2 }),
    note: Type.Optional(Type.String()),
    size: Type.Optional(Type.String())
  }),
  create: ['id', 'lines', 'note'],
  edit: ['lines', 'note'],
  derive: {
    cents: order => order.lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0),
    total: order => (order.cents / 100).toFixed(2),
    size: order => order.lines.length > 2 ? 'long' : undefined
  },
  operations: {
    add: {
      name: 'add',
      verb: 'add',
      participle: 'added',
      noun: 'additions',
      action: 'AddLine',
      params: Type.Object({ quantity: Type.Integer(), price: Type.Integer() }),
      // What it makes of a derived field does not count.
      apply: (order, line) => ({ ...order, lines: [...order.lines, line], cents: -1, total: '-1.00' })
    },
    pretend: {
      name: 'pretend',
      verb: 'pretend',
      participle: 'pretended',
      noun: 'pretences',
      action: 'PretendTotal',
      params: Type.Object({}),
      apply: order => ({ ...order, cents: 0, total: '0.00' })
    },
    take: {
      name: 'take',
      verb: 'take',
      participle: 'taken',
      noun: 'takings',
      action: 'TakeLines',
      params: Type.Object({ from: Type.String() }),
      with: { from: { family: 'orders', id: ({ from }) => from } },
      apply: (order, _params, { items: { from } }) => ({
        item: { ...order, lines: [...order.lines, ...from?.lines ?? []] },
        others: { from: from && { ...from, lines: [] } }
      })
    }
  },
  order: ['-cents']
})

const baskets = defineFamily({
  name: 'baskets',
  singular: 'basket',
  fields: Type.Object({ id: Type.String(), open: Type.Boolean({ default: true }) }),
  create: ['id'],
  operations: {
    order: {
      name: 'order',
      verb: 'order',
      participle: 'ordered',
      noun: 'orders',
      action: 'OrderBasket',
      params: Type.Object({}),
      creates: { order: orders },
      apply: basket => ({
        item: { ...basket, open: false },
        created: { order: { id: '', lines: [{ quantity: 1, price: 250 }] } }
      })
    }
  }
})

const totals = { cents: 700, total: '7.00' }
const lines = [{ quantity: 2, price: 350 }]

async function start (t: { teardown (end: () => unknown): void }, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(orders, { storage })
  app.register(baskets, { storage })
  app.register(orders.rename({ total: 'sum', cents: 'sumInCents' }), { storage, version: 'v2' })
  await app.ready()
  return async (method: InjectOptions['method'], url: string, payload?: object) => {
    const response = await app.inject({ method: method as 'GET', url, ...payload && { payload } })
    return { status: response.statusCode, body: response.body === '' ? undefined : response.json() }
  }
}

for (const { name, make } of storages) {
  t.test(`${name}: fields that are computed`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const send = await start(t, storage)
    const book = orders.service({ storage })
    t.match(await send('POST', '/orders', { id: 'a', lines }), { status: 201 })
    t.match((await send('GET', '/orders/a')).body, totals, 'at creation')
    await send('PUT', '/orders/a', { lines: [...lines, ...lines, ...lines] })
    t.match((await send('GET', '/orders/a')).body, { cents: 2100, total: '21.00', size: 'long' }, 'by an edit')
    await send('PATCH', '/orders/a', { lines })
    const edited = (await send('GET', '/orders/a')).body
    t.match(edited, totals, 'by a part')
    t.notOk('size' in edited, 'an optional one goes')
    await send('PUT', '/orders/a/add', { quantity: 1, price: 50 })
    t.match((await send('GET', '/orders/a')).body, { cents: 750, total: '7.50' }, 'by an operation')
    const unchanged = await book.run('pretend', 'a')
    t.strictSame([unchanged.changed, unchanged.item?.total], [false, '7.50'], 'which cannot set them')
    t.equal((await book.run('edit', 'a', { note: 'x' })).item?.total, '7.50', 'whatever else changes')

    await book.create({ id: 'b', lines })
    t.match((await book.run('take', 'a', { from: 'b' })).item, { cents: 1450, total: '14.50' })
    t.match(await book.get('b'), { cents: 0, total: '0.00' }, 'in another item that it changes')
    await baskets.service({ storage }).create({ id: 'x' })
    await baskets.service({ storage }).run('order', 'x')
    t.match((await book.find('cents=250')).items, [{ total: '2.50' }], 'and in one that it creates')
    const { body: { items: some } } = await send('GET', '/orders?min-total=2.50&sort=total')
    t.match(some, [{ cents: 250 }, { cents: 1450 }], 'they are filters and have an order')
    const log = await storage.find('commands', { where: [], order: [], offset: 0, limit: 99, count: false })
    t.match(log.items.find(({ action, target }) => action === 'TakeLines' && target === 'a'),
      { changes: { total: { from: '7.50', to: '14.50' } } }, 'the log has what changed')
    const line = { quantity: 1, price: 1 }
    await book.runAll([
      { operation: 'create', params: { id: 'c', lines } },
      { operation: 'add', id: 'c', params: line }
    ], { atomic: true })
    t.match(await book.get('c'), { total: '7.01' }, 'in many commands at once')
  })

  t.test(`${name}: no client sends them`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const send = await start(t, storage)
    const [current] = [(await send('POST', '/orders', { id: 'a', lines })).body]
    for (const [method, url, payload] of [
      ['POST', '/orders', { id: 'b', lines, total: '1.00' }],
      ['PUT', '/orders/a', { lines, total: '1.00' }],
      ['PATCH', '/orders/a', { total: '1.00' }],
      ['PUT', '/orders/a/edit', { cents: 1 }],
      ['POST', '/rest/v2/orders', { id: 'b', lines, sum: '1.00' }]
    ] as const) {
      const { status, body } = await send(method, url, payload)
      const names = ['/total', '/cents', '/sum']
      t.ok(status === 400 && names.includes(body.errors[0].pointer), `${method} ${url}: ${JSON.stringify(body)}`)
    }
    t.equal((await send('PUT', '/orders/a', { ...current, note: 'n' })).status, 200, 'but unchanged ones may be sent')
    t.match((await send('GET', '/orders/a')).body, { ...totals, note: 'n', revision: 2 })
    t.match((await send('GET', '/rest/v2/orders/a')).body, { sum: '7.00', sumInCents: 700 }, 'also renamed')
    await send('PATCH', '/rest/v2/orders/a', { lines: [] })
    t.match((await send('GET', '/rest/v2/orders/a')).body, { sum: '0.00', sumInCents: 0 })
  })

  t.test(`${name}: items from before a field was derived`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const { cents, total, ...older } = orders.definition.fields.properties
    const names = { name: 'orders', singular: 'order' } as const
    const before = defineFamily({ ...names, fields: Type.Object(older), create: ['id', 'lines'] })
    await before.service({ storage }).create({ id: 'a', lines })
    const after = defineFamily({
      ...names,
      fields: Type.Object({ ...older, cents: Type.Optional(cents) }),
      create: ['id', 'lines'],
      edit: ['note'],
      derive: { cents: ({ lines }) => lines.length }
    })
    const book = after.service({ storage: another?.() ?? storage })
    t.notOk('cents' in await book.get('a'), 'lack it')
    t.equal((await book.run('edit', 'a', {})).changed, false, 'which is no change')
    t.equal((await book.run('edit', 'a', { note: 'b' })).item?.cents, 1, 'until they are written')
  })

  t.test(`${name}: items that are loaded get them`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const items = [{ id: 'a', lines, total: '9.00' }, { id: 'b', lines: [] }]
    await loadItems(storage, orders, items)
    t.match(await orders.service({ storage }).get('a'), totals)
    t.match(await orders.service({ storage }).get('b'), { cents: 0, total: '0.00' })
    t.equal(await loadItems(storage, orders, items), 2, 'also again')
    const flawed = defineFamily({ ...small, derive: { length: () => 1.5 } })
    await t.rejects(loadItems(storage, flawed, [{ id: 'c', text: 'x' }]), /notes, item 1: \/length must be .*integer/)
    const failing = defineFamily({ ...small, derive: { length () { throw new Error('no idea') } } })
    await t.rejects(loadItems(storage, failing, [{ id: 'c', text: 'x' }]), /item 1: it has no .*: .*no idea/)
  })
}

const small = {
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), text: Type.String(), length: Type.Integer() }),
  create: ['id', 'text'],
  edit: ['text']
} as const

t.test('a rule that fails is a mistake of the host', async t => {
  for (const [derive, message] of [
    [() => 1.5, /notes, create: the resulting item is invalid: \/length must be/],
    [() => undefined, /notes, create: the resulting item is invalid: \/length/],
    [async () => 1, /notes, create: the resulting item is invalid: \/length/],
    [() => { throw new Error('no idea') }, /notes, create: derive of the field "length" failed: no idea/],
    [(note: { text: string }) => { note.text = ''; return 1 },
      /notes, create: derive of the field "length" changes its arguments.* a new item or value .*read only/]
  ] as const) {
    const notes = defineFamily({ ...small, derive: { length: derive as () => number } })
    await t.rejects(notes.service({ storage: memoryStorage() }).create({ id: 'a', text: 'b' }), { message })
  }
  const notes = defineFamily({ ...small, derive: { length ({ text }) { return text === 'c' ? NaN : 1 } } })
  const book = notes.service({ storage: memoryStorage() })
  await book.create({ id: 'a', text: 'b' })
  await t.rejects(book.run('edit', 'a', { text: 'c' }), /notes, edit: the resulting item is invalid: \/length/)
  t.equal((await book.get('a')).revision, 1)
})

t.test('an extension derives more', async t => {
  const notes = defineFamily({ ...small, derive: { length: ({ text }) => text.length } })
  const more = notes.extend({
    fields: Type.Object({ twice: Type.Integer() }),
    derive: { twice: ({ length }) => 2 * length }
  })
  const { item } = await more.service({ storage: memoryStorage() }).create({ id: 'a', text: 'bc' })
  t.match(item, { length: 2, twice: 4 })
  t.throws(() => notes.extend({ derive: { length: () => 1 } }), /the derived field "length" already exists/)
})

t.test('a definition with a flaw', async t => {
  const derive = { length: () => 1 }
  for (const [definition, message] of [
    [{ derive: { ...derive, size: () => 1 } }, /derive has "size", which is not a field that can be computed/],
    [{ derive: { ...derive, id: () => 1 } }, /derive has "id", which is not a field that can be computed/],
    [{ derive: { length: 1 } }, /derive/],
    [{ create: ['id', 'text', 'length'], derive }, /create has "length", which derive computes/],
    [{ edit: ['text', 'length'], derive }, /edit has "length", which derive computes/],
    [{ attributes: { fields: ['length'], read: () => ({ field: 'length', detail: 'x' }) }, derive }, /attributes has/],
    [{ create: undefined, edit: undefined, derive }, /derive needs create, edit or operations/],
    [{}, /the field "length" needs a default, or must be optional, .* set by initial or derive/]
  ] as const) {
    t.throws(() => defineFamily({ ...small, ...definition } as never), { message })
  }
})
