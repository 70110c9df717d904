import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { customers, deals, defineOperation, defineQuery, memoryStorage } from '../../lib/index.js'
import { wholeDocument } from '../openapi/whole.js'
import { anyStorage } from '../storages.js'

const sign = defineOperation({
  name: 'sign',
  verb: 'sign',
  participle: 'signed',
  noun: 'signatures',
  action: 'SignDeal',
  summary: 'Sign a deal',
  params: Type.Object({ by: Type.String({ minLength: 1, maxLength: 50, description: 'Who signs' }) }),
  changes: ['signedBy'],
  allowed: deal => deal.status === 'open',
  apply: (deal, { by }) => ({ ...deal, signedBy: by })
})

let made = 0
const ours = deals.extend({
  fields: Type.Object({
    region: Type.Union([Type.Literal('north'), Type.Literal('south')], { description: 'Where it is' }),
    weight: Type.Optional(Type.Number({ minimum: 0, description: 'In tons' })),
    urgent: Type.Boolean({ default: false }),
    due: Type.Optional(Type.String({ format: 'date' })),
    tags: Type.Optional(Type.Array(Type.String())),
    signedBy: Type.Optional(Type.String())
  }),
  create: ['region', 'weight', 'urgent', 'due', 'tags'],
  operations: {
    sign,
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveDeal',
      params: Type.Object({ region: Type.Union([Type.Literal('north'), Type.Literal('south')]) }),
      allowed: deal => !deal.urgent,
      apply: (deal, { region }) => ({ ...deal, region })
    }
  },
  queries: { 'deals-by-region': defineQuery({ field: 'region' }) },
  makeId: () => `D-${++made}`
})

const home = '/rest/v1/deals'

type Test = { teardown (fn: () => unknown): void }

async function oursApp (t: Test, storage = memoryStorage()): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  app.register(ours, { storage, version: 'v1' })
  await app.ready()
  return app
}

const full = { name: 'tea', price: 5, region: 'north', weight: 2.5, urgent: false, due: '2030-01-01', tags: ['a', 'b'] }
const create = async (app: FastifyInstance, members: object = full) =>
  (await app.inject({ method: 'POST', url: home, payload: members })).json()

for (const { name, make } of anyStorage) {
  t.test(`own fields are filtered and shown like any other, over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await oursApp(t, storage)
    const { id } = await create(app)
    await create(app, { name: 'silk', price: 1, region: 'south', urgent: true })
    t.match((await app.inject(`${home}/${id}`)).json(), full)
    const found: [string, number][] = [
      ['region=north', 1],
      ['region.ne=north', 1],
      ['min-weight=2.5', 1],
      ['weight>3', 0],
      ['urgent=true', 1],
      ['due<=2030-01-01', 1],
      ['region.regex=th$', 2],
      ['sort=-weight', 2],
      ['fields=region', 2],
      ['signedBy.ne=x', 2]
    ]
    for (const [search, total] of found) {
      t.equal((await app.inject(`${home}?count=exact&${search}`)).json().total, total, search)
    }
    t.equal((await app.inject('/query/deals-by-region/north')).json().length, 1)
    t.equal((await app.inject('/query/deals-by-name/tea')).json().length, 1, 'beside what there was')
    for (const url of [`${home}?tags=a`, `${home}?region=west`, `${home}?weight=heavy`]) {
      t.equal((await app.inject(url)).statusCode, 400, url)
    }
    for (const format of ['json', 'xml', 'html', 'csv', 'ndjson']) {
      const { body } = await app.inject(`${home}.${format}`)
      for (const text of ['region', 'north', '2.5', '2030-01-01']) t.match(body, text, `${text} in ${format}`)
    }
  })
}

t.test('own fields and operations stand in the forms of the pages', async t => {
  const app = await oursApp(t)
  const page = (await app.inject({ url: home, headers: { accept: 'text/html' } })).body
  for (const text of [
    'name="region"',
    '<option value="north"',
    'name="weight"',
    'name="urgent"',
    'name="due"',
    'type="date"',
    'Where it is',
    'In tons',
    'name="min-weight"',
    'name="signedBy.has"'
  ]) { t.match(page, text, text) }
  const browser = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
  const posted = await app.inject({
    method: 'POST',
    url: home,
    headers: browser,
    payload: 'name=tea&price=5&region=south&weight=1.5&urgent=&due=2030-02-03'
  })
  t.equal(posted.statusCode, 303, posted.body)
  const place = String(posted.headers.location)
  t.match((await app.inject(place)).json(), { region: 'south', weight: 1.5, urgent: false, due: '2030-02-03' })
  const item = (await app.inject({ url: place, headers: { accept: 'text/html' } })).body
  for (const text of [`action="${place}/signatures"`, 'Sign a deal', 'Who signs', `action="${place}/moves"`]) {
    t.match(item, text, text)
  }
  t.equal(
    (await app.inject({ method: 'POST', url: `${place}/signatures`, headers: browser, payload: 'by=ann' })).statusCode,
    303
  )
  t.equal((await app.inject(place)).json().signedBy, 'ann')
})

t.test('own fields, operations and queries stand in the documentation', async t => {
  const app = await oursApp(t)
  const { paths } = wholeDocument<{ paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }>(app)
  for (const path of [
    `${home}/{id}/sign`,
    `${home}/{id}/{word}`,
    `${home}/{id}/move`,
    '/command/{word}',
    '/query/deals-by-region/{parameter}'
  ]) { t.ok(paths[path], path) }
  t.match(JSON.stringify(paths[`${home}/{id}/{word}`]), /"signatures".*"signed"/)
  t.match(JSON.stringify(paths['/command/{word}']), '"SignDeal"')
  const text = JSON.stringify(paths[home])
  for (const each of ['min-weight', '"region"', '"In tons"', '"enum":["north","south"]']) {
    t.ok(text.includes(each), each)
  }
  t.match(JSON.stringify(paths[`${home}/{id}`]?.put), 'SignDeal')
})

t.test('own operations are said in every form', async t => {
  const app = await oursApp(t)
  const forms: Record<string, (id: string) => InjectOptions> = {
    verb: id => ({ method: 'PUT', url: `${home}/${id}/sign`, payload: { by: 'ann' } }),
    participle: id => ({ method: 'PUT', url: `${home}/${id}/signed`, payload: { by: 'ann' } }),
    update: id => ({ method: 'PUT', url: `${home}/${id}`, payload: { action: 'SignDeal', params: { by: 'ann' } } }),
    noun: id => ({ method: 'POST', url: `${home}/${id}/signatures`, payload: { by: 'ann' } }),
    command: id => ({
      method: 'PUT',
      url: `${home}/${id}/commands/c-${id}`,
      payload: { action: 'SignDeal', params: { by: 'ann' } }
    }),
    commands: id => ({
      method: 'PUT',
      url: `/rest/commands/d-${id}`,
      payload: { deal: id, action: 'SignDeal', params: { by: 'ann' } }
    }),
    action: id => ({ method: 'POST', url: '/command/SignDeal/', payload: { id, by: 'ann' } })
  }
  for (const [form, say] of Object.entries(forms)) {
    const { id } = await create(app)
    t.match(id, /^D-\d+$/, 'an id of the host\'s making')
    t.ok((await app.inject(say(id))).statusCode < 300, form)
    t.match((await app.inject(`${home}/${id}`)).json(), { ...full, signedBy: 'ann', revision: 2 }, form)
  }
  const { id } = await create(app, { ...full, urgent: true })
  t.match((await app.inject({ method: 'PUT', url: `${home}/${id}/move`, payload: { region: 'south' } })).json(), {
    status: 409,
    operation: 'move',
    allowed: ['hold', 'complete', 'cancel', 'change-price', 'change-completion-date', 'sign', 'edit']
  })
  t.match((await app.inject({ method: 'PUT', url: `${home}/${id}`, payload: { signedBy: 'eve' } })).json(), {
    status: 400,
    errors: [{ pointer: '/signedBy', detail: /operation sign/ }]
  })
  const held = await app.inject({ method: 'PUT', url: `${home}/${id}`, payload: { held: true, holdReason: 'a' } })
  t.match(held.json(), { held: true, region: 'north', tags: ['a', 'b'] }, 'the attributes of deals are there as before')
})

t.test('the family that was extended stays as it was', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  t.equal((await app.inject({ method: 'POST', url: home, payload: full })).statusCode, 400)
  const made = await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 5 } })
  t.equal(made.statusCode, 201)
  t.equal(
    (await app.inject({ method: 'PUT', url: `${made.headers.location}/hold`, payload: { reason: 'a' } })).statusCode,
    200
  )
  t.equal(
    (await app.inject({ method: 'PUT', url: `${made.headers.location}/sign`, payload: { by: 'ann' } })).statusCode,
    404
  )
})

t.test('an extension of an extension, with another state and other attributes', async t => {
  const further = ours.extend({
    fields: Type.Object({ note: Type.Optional(Type.String()) }),
    operations: {
      note: {
        name: 'note',
        verb: 'note',
        participle: 'noted',
        noun: 'notes',
        action: 'NoteDeal',
        params: Type.Object({ text: Type.String() }),
        allowed: deal => deal.region === 'north',
        apply: (deal, { text }) => ({ ...deal, note: text })
      }
    },
    attributes: { fields: ['note'], read: wanted => ({ operation: 'note', params: { text: wanted.note ?? '' } }) },
    state: deal => `in the ${deal.region}`
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(further, { storage: memoryStorage(), version: 'v1' })
  const { id } = await create(app)
  t.match((await app.inject({ method: 'PATCH', url: `${home}/${id}`, payload: { note: 'hello' } })).json(), {
    note: 'hello',
    revision: 2
  })
  await app.inject({ method: 'PUT', url: `${home}/${id}/move`, payload: { region: 'south' } })
  t.match((await app.inject({ method: 'PUT', url: `${home}/${id}/note`, payload: { text: 'b' } })).json(), {
    status: 409,
    state: 'in the south',
    detail: /while the deal is in the south/
  })
})

t.test('a field that no client reads is no column of the list', async t => {
  const [tag, pin] = [Type.String({ default: '' }), Type.String({ default: '', writeOnly: true })]
  const pinned = deals.extend({ fields: Type.Object({ pin, tag }) })
  t.strictSame(pinned.definition.list?.slice(-2), ['createdAt', 'tag'])
})

t.test('clashes are errors that say which', async t => {
  const free = Type.Object({})
  const words = {
    name: 'sign',
    verb: 'sign',
    participle: 'signed',
    noun: 'signatures',
    action: 'SignDeal',
    params: free,
    apply: (deal: unknown) => deal
  }
  const table: [string, object, RegExp][] = [
    [
      'a field of deals',
      { fields: Type.Object({ price: Type.String() }) },
      /^extend "deals": the field "price" already exists$/
    ],
    [
      'an operation of deals',
      { operations: { hold: { ...words, name: 'hold' } } },
      /^extend "deals": the operation "hold" already exists$/
    ],
    [
      'a query of deals',
      { queries: { 'deals-by-name': { field: 'price' } } },
      /^extend "deals": the query "deals-by-name" already exists$/
    ],
    [
      'a word of an operation of deals',
      { operations: { sign: { ...words, verb: 'hold' } } },
      /"sign" uses the word "hold", which belongs to the operation "hold"/
    ],
    [
      'an action of deals',
      { operations: { sign: { ...words, action: 'CreateDeal' } } },
      /"sign" uses the word "CreateDeal", which belongs to creating and deleting/
    ],
    [
      'a field like a query parameter',
      { fields: Type.Object({ sort: Type.Optional(Type.String()) }) },
      /the field "sort" is named like a query parameter/
    ],
    [
      'a required field that clients cannot send',
      { fields: Type.Object({ region: Type.String() }) },
      /the field "region" needs a default, or must be optional, nullable, in create, or set by initial or derive/
    ],
    ['creation with what is no field', { create: ['regoin'] }, /"regoin", which is not a field that a client can send/],
    [
      'creation with what is sent already',
      { create: ['name'] },
      /^extend "deals": the field of create "name" already exists$/
    ],
    [
      'a query by what is no field',
      { queries: { 'deals-by-colour': { field: 'colour' } } },
      /by "colour", which is not a field/
    ],
    ['a member that is none', { feilds: free }, /^extend "deals": unknown member "feilds"\. Did you mean "fields"\?$/],
    ['another name', { name: 'offers' }, /^extend "deals": unknown member "name"/],
    ['tables', { tables: [] }, /^extend "deals": unknown member "tables"/],
    ['onMount', { onMount () {} }, /^extend "deals": unknown member "onMount"/]
  ]
  for (const [name, extension, message] of table) {
    const error = { code: /^FST_DEALBOOK_INVALID_(EXTENSION|DEFINITION)$/, message }
    t.throws(() => deals.extend(extension as never), error, name)
  }
  const firms = { fields: Type.Object({ branch: Type.String() }), create: ['age'] as const }
  t.throws(() => customers.extend(firms), { message: /"branch" needs a default/ })
})
