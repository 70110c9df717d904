import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { Problem, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, readMetrics, Type } from '../../lib/index.js'
import { storages } from '../storages.js'
import { bills, people } from './keyed.js'

interface Said {
  readonly id: string
  readonly params: object
}

/** The forms in which a bill that is there is changed; `edit` by its fields, `to` by an operation with other words. */
const forms: Readonly<Record<string, (said: Said) => InjectOptions>> = {
  verb: ({ id, params }) => ({ method: 'PUT', url: `/bills/${id}/edit`, payload: params }),
  update: ({ id, params }) => ({ method: 'PUT', url: `/bills/${id}`, payload: { action: 'EditBill', params } }),
  PUT: ({ id, params }) => ({ method: 'PUT', url: `/bills/${id}`, payload: params }),
  PATCH: ({ id, params }) => ({ method: 'PATCH', url: `/bills/${id}`, payload: params }),
  noun: ({ id, params }) => ({ method: 'POST', url: `/bills/${id}/edits`, payload: params }),
  command: ({ id, params }) =>
    ({ method: 'PUT', url: `/bills/${id}/commands/c1`, payload: { action: 'EditBill', params } }),
  commands: ({ id, params }) =>
    ({ method: 'PUT', url: '/rest/commands/c2', payload: { bill: id, action: 'EditBill', params } }),
  action: ({ id, params }) => ({ method: 'POST', url: '/command/EditBill/', payload: { id, ...params } })
}

function openApp (storage: Storage): FastifyInstance {
  const app = Fastify()
  app.register(bills, { storage })
  app.register(people, { storage })
  return app
}

/** What a request is refused with, and where. */
async function refusal (app: FastifyInstance, asked: InjectOptions): Promise<unknown[]> {
  const answer = await app.inject(asked)
  const { type, errors = [], family } = answer.json<{ type: string, errors?: { pointer: string }[], family?: string }>()
  return [answer.statusCode, type.replace('urn:dealbook:problem:', ''), ...errors.map(({ pointer }) => pointer),
    ...(family === undefined ? [] : [family])]
}

const day = '2026-01-31'

for (const { name, make } of storages) {
  t.test(`${name}: what is declared is kept, in every form`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = openApp(storage)
    t.teardown(() => app.close())
    const [book, persons] = [bills.service({ storage }), people.service({ storage })]
    const { item: { id: ann } } = await persons.create({ name: 'Ann' })
    const { item: { id: bob } } = await persons.create({ name: 'Bob' })
    const first = { number: 'A-1', customer: ann, room: 1, day, at: `${day}T12:00:00Z`, share: 1 }
    const { item: { id: taken } } = await book.create(first)
    const { item: { id } } = await book.create({ customer: ann, room: 1 })
    const before = readMetrics(storage)

    const cases: readonly (readonly [object, ...unknown[]])[] = [
      [{ number: 'A-1' }, 409, 'taken', '/number'],
      [{ room: 1, day }, 409, 'taken', '/room', '/day'],
      [{ customer: 99 }, 400, 'invalid-body', '/customer'],
      [{ payer: 99 }, 400, 'invalid-body', '/payer']
    ]
    for (const [params, ...expected] of cases) {
      const creation = { method: 'POST', url: '/bills', payload: { customer: ann, ...params } } as const
      t.strictSame(await refusal(app, creation), expected, `created with ${JSON.stringify(params)}`)
      for (const [form, say] of Object.entries(forms)) {
        t.strictSame(await refusal(app, say({ id, params })), expected, `${form}: ${JSON.stringify(params)}`)
      }
    }
    for (const at of [`${day}T13:00:00+01:00`, `${day}T12:00:00.000Z`]) {
      const payload = { customer: ann, at }
      t.strictSame(await refusal(app, { method: 'POST', url: '/bills', payload }), [409, 'taken', '/at'], at)
    }
    const renumber = { method: 'PUT', url: `/bills/${id}/renumber`, payload: { to: 'A-1' } } as const
    t.strictSame(await refusal(app, renumber), [409, 'taken', '/number'])
    const handOver = { method: 'PUT', url: `/bills/${id}/hand-over`, payload: { to: 99 } } as const
    t.strictSame(await refusal(app, handOver), [400, 'invalid-body', '/customer'])
    t.strictSame(await refusal(app, { method: 'DELETE', url: `/people/${ann}` }), [409, 'in-use', 'bills'])
    t.strictSame(await refusal(app, { method: 'POST', url: '/command/DeletePerson/', payload: { id: ann } }),
      [409, 'in-use', 'bills'])
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
    for (const [url, payload, text] of [
      ['/bills', `number=A-1&customer=${ann}`, /id="create-number-error">Number is already taken/],
      [`/bills/${id}/edits`, 'customer=99', /id="edit-customer-error">Customer must be an existing id of people/],
      [`/bills/${id}/renumberings`, 'to=A-1', /Number is already taken/],
      [`/people/${ann}/deletions`, '', /cannot be deleted while bills refer to it/]
    ] as const) {
      t.match((await app.inject({ method: 'POST', url, payload, headers })).body, text, `the page of ${url}`)
    }
    t.equal((await book.get(id)).revision, 1, 'nothing was done')
    t.equal((await book.log(id)).items.length, 1, 'nor recorded')
    t.equal(readMetrics(storage)['retries_total'], before['retries_total'], 'nor tried again')

    t.equal((await book.run('edit', taken, { number: 'A-1', customer: ann })).changed, false, 'its own value')
    t.equal((await book.run('edit', taken, { number: 'A-1', payer: bob })).item?.revision, 2, 'beside another change')
    await book.run('edit', taken, { number: null })
    t.equal((await app.inject(forms['command']?.({ id, params: { number: 'A-1' } }) as InjectOptions)).statusCode, 201,
      'once it is free, the same command is done')

    await book.run('edit', taken, { customer: bob, payer: null })
    await book.run('edit', id, { customer: bob })
    await persons.run('edit', bob, { boss: ann })
    t.strictSame(await refusal(app, { method: 'DELETE', url: `/people/${ann}` }), [409, 'in-use', 'people'])
    await persons.run('edit', bob, { boss: bob })
    t.equal((await app.inject({ method: 'DELETE', url: `/people/${ann}` })).statusCode, 204)
    t.strictSame(await refusal(app, { method: 'PATCH', url: `/bills/${id}`, payload: { customer: ann } }),
      [400, 'invalid-body', '/customer'], 'what is gone')
    await book.remove(id)
    await book.remove(taken)
    await persons.remove(bob)
    t.equal((await persons.find()).items.length, 0, 'what refers to itself alone can go')
  })

  t.test(`${name}: values are compared exactly`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const [book, persons] = [bills.service({ storage }), people.service({ storage })]
    const { item: { id: customer } } = await persons.create({ name: 'Ann' })
    const long = 'x'.repeat(1_000_000)
    const different = ['A', 'a', 'ß', 'ss', 'SS', '\u00e9', 'e\u0301', ' ', '', 'a ', ' a', 'a\t', '0', '0.0',
      '1', '01', 'a\\', 'a\\\\', '\\x41', 'İ', 'i', 'ı', '😀', 'null', long, `${long}y`, `y${long}`, `${long} `]
    for (const number of different) await book.create({ number, customer })
    for (const number of different) {
      await t.rejects(book.create({ number, customer }), { code: 'taken' }, JSON.stringify(number.slice(0, 10)))
    }
    for (const share of [0, 1, 0.1, 1e-300, -1]) await book.create({ share, customer })
    for (const share of [-0, 1.0, 0.1, 1e-300, -1]) await t.rejects(book.create({ share, customer }), { code: 'taken' })
    t.equal((await book.find('', { limit: 100 })).items.length, different.length + 5)
  })

  t.test(`${name}: of those who race, one wins`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const opened = [storage, another?.() ?? storage]
    const books = opened.map(storage => bills.service({ storage }))
    const persons = opened.map(storage => people.service({ storage }))
    const on = <T>(services: readonly T[], n: number): T => services[n % 2] as T
    const { item: { id: customer } } = await on(persons, 0).create({ name: 'Ann' })
    const many = Array.from({ length: 40 }, (_, n) => n)

    const created = await Promise.allSettled(many.map(n => on(books, n).create({ number: 'one', customer })))
    t.equal(created.filter(({ status }) => status === 'fulfilled').length, 1, 'for one value')
    const codes = created.flatMap(result => result.status === 'rejected' ? [(result.reason as Problem).code] : [])
    t.strictSame(new Set(codes), new Set(['taken']))

    const keyed = await Promise.all(many.map(n => on(books, n).create({ number: 'two', customer }, { key: 'k' })))
    t.equal(new Set(keyed.map(({ item }) => item.id)).size, 1, 'one key, one bill')
    t.equal(keyed.filter(({ replayed }) => !replayed).length, 1)

    const { item: { id } } = await on(books, 0).create({ number: 'freed', customer })
    const moved = await Promise.allSettled([
      on(books, 0).run('edit', id, { number: 'other' }), on(books, 0).create({ number: 'freed', customer }),
      on(books, 1).create({ number: 'freed', customer })
    ])
    t.equal(moved[0]?.status, 'fulfilled')
    const holders = (await on(books, 0).find('number=freed')).items.length
    t.equal(moved.slice(1).filter(({ status }) => status === 'fulfilled').length, holders)
    t.ok(holders <= 1)

    for (let round = 0; round < 10; round++) {
      const { item: { id } } = await on(persons, round).create({ name: `Bob ${round}` })
      const racing = many.slice(0, 8).map(n => n === round % 8
        ? on(persons, n).remove(id)
        : on(books, n).create({ customer: id }))
      const settled = await Promise.allSettled(racing)
      const isGone = settled[round % 8]?.status === 'fulfilled'
      const bills = (await on(books, 0).find(`customer=${id}`)).items.length
      t.equal(bills, settled.filter(({ status }, n) => n !== round % 8 && status === 'fulfilled').length)
      t.ok(isGone ? bills === 0 : bills > 0, `round ${round}: ${isGone ? 'deleted' : `${bills} refer to it`}`)
      for (const result of settled) {
        if (result.status === 'rejected') t.match((result.reason as Problem).code, /^(in-use|invalid-body)$/)
      }
    }
  })

  t.test(`${name}: items from before a rule`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    const fields = Type.Object({ id: Type.Integer(), number: Type.Optional(Type.String()), customer: Type.Integer() })
    const definition = { name: 'orders', singular: 'order', fields, create: ['number', 'customer'] } as const
    const plain = defineFamily({ ...definition, edit: ['number'] })
    const old = plain.service({ storage })
    for (const number of ['a', 'b', 'a', undefined, undefined]) {
      await old.create({ customer: 99, ...(number === undefined ? {} : { number }) })
    }
    const again = (): Storage => another?.() ?? storage
    const strict = plain.extend({ unique: [['number'], ['customer', 'number']], references: { customer: people } })
    await t.rejects(strict.service({ storage: again() }).find(), {
      code: 'FST_DEALBOOK_NOT_UNIQUE', message: /^orders: "number" must be unique, but some items have .*: 1, 3\. /
    })
    t.equal((await old.find('number=a')).items.length, 2, 'nothing was done')
    await old.run('edit', 3, { number: 'c' })
    const kept = strict.service({ storage: again() })
    t.equal((await kept.run('edit', 3, { number: 'd' })).item?.customer, 99, 'what refers to nothing stays')
    await t.rejects(kept.create({ customer: 99 }), { code: 'invalid-body' })

    const known = plain.extend({
      fields: Type.Object({ code: Type.String({ default: 'none' }), room: Type.Optional(Type.Integer()) }),
      unique: [['code'], ['room']]
    })
    await t.rejects(known.service({ storage: again() }).find(), {
      code: 'FST_DEALBOOK_NOT_UNIQUE', message: /"code" must be unique, but .*: 1, 2, 3, 4, 5\. /
    }, 'a default counts')
    for (const id of [2, 3, 4, 5]) await plain.service({ storage }).remove(id)
    const last = known.service({ storage: again() })
    await t.rejects(last.create({ customer: 99 }), { code: /taken|invalid-body/ })
  })
}

t.test('a flaw of a rule is an error at definition', async t => {
  const fields = Type.Object({
    id: Type.Integer(), number: Type.String(), customer: Type.Integer(), tags: Type.Optional(Type.Array(Type.String()))
  })
  const base = { name: 'orders', singular: 'order', fields }
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ unique: ['number'] }, /"unique" must be a list of lists of fields, such as \[\["number"\]\]/],
    [{ unique: [[]] }, /unique has a row without a field/],
    [{ unique: [['numbr']] }, /unique has "numbr", which is not a field\. Did you mean "?number/],
    [{ unique: [['createdAt']] }, /unique has "createdAt", which is not a field/],
    [{ unique: [['tags']] }, /unique has "tags", which is stored as JSON/],
    [{ unique: [['id', 'number']] }, /unique has "id", which is always unique/],
    [{ unique: [['number', 'number']] }, /a row of unique has "number" twice/],
    [{ unique: [['number', 'customer'], ['customer', 'number']] }, /unique has the row customer, number twice/],
    [{ indexes: 'number' }, /"indexes" must be a list of fields, or of lists of fields, such as \["status"\]/],
    [{ indexes: [1] }, /"indexes" must be a list of fields/],
    [{ indexes: [[]] }, /indexes has a row without a field/],
    [{ indexes: ['numbr'] }, /indexes has "numbr", which is not a field that can be indexed\. Did you mean "?number/],
    [{ indexes: [['number', 'tags']] }, /indexes has "tags", which is not a field that can be indexed/],
    [{ indexes: ['id'] }, /indexes has "id", which always has an index/],
    [{ indexes: [['number', 'number']] }, /indexes has "number" twice/],
    [{ references: [['customer']] }, /"references" must be an object/],
    [{ references: { custommer: people } }, /references has "custommer", which is not a field.* "customer"/],
    [{ references: { id: people } }, /references has "id"/],
    [{ references: { customer: 'people' } }, /"customer" for something that is not a family; .*"orders" for this one/],
    [{ references: { customer: {} } }, /for something that is not a family/],
    [{ references: { customer: undefined } }, /for something that is not a family/],
    [{ references: { number: people } }, /"number", which is of the kind string; ids of people are integer/],
    [{ references: { number: 'orders' } }, /"number", which is of the kind string; ids of orders are integer/]
  ]
  for (const [members, message] of wrong) {
    t.throws(() => defineFamily({ ...base, ...members } as never),
      { code: 'FST_DEALBOOK_INVALID_DEFINITION', message }, JSON.stringify(members))
  }
  const orders = defineFamily({ ...base, references: { customer: people }, unique: [['number']] })
  t.throws(() => orders.extend({ references: { customer: people } }), { message: /"customer" already exists/ })
  t.throws(() => orders.extend({ unique: [['number']] }), { message: /unique has the row number twice/ })
  t.throws(() => orders.extend({ fields: Type.Object({ next: Type.Integer() }), references: { next: orders } }),
    { message: /for a family of the same name; for this one, write "orders"/ })
  const more = orders.extend({
    fields: Type.Object({ next: Type.Optional(Type.Integer()) }), references: { next: 'orders' }, unique: [['next']]
  })
  t.strictSame(more.definition.unique, [['number'], ['next']])
  t.strictSame(Object.keys(more.definition.references ?? {}), ['customer', 'next'])
})

t.test('what is referred to is in the same storage', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(bills, { storage: memoryStorage() })
  app.register(people, { storage: memoryStorage() })
  const message = /bills: "customer" refers to.*"people"/
  await t.rejects(async () => await app.ready(), { code: 'FST_DEALBOOK_REFERENCE_STORAGE', message })
})

t.test('what a family refers to is prepared with it', async t => {
  const prepared: string[] = []
  const storage = memoryStorage()
  const watched = { ...storage, prepare: async (shape: { name: string }) => { prepared.push(shape.name) } }
  await bills.service({ storage: { ...watched, ...{ find: async () => ({ items: [] }) } } as never }).find()
  t.strictSame(prepared, ['people', 'bills', 'commands'])
})
