import swagger from '@fastify/swagger'
import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage } from '../../lib/index.js'
import { wholeDocument } from '../openapi/whole.js'
import { storages } from '../storages.js'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])

const visits = defineFamily({
  name: 'visits',
  singular: 'visit',
  fields: Type.Object({
    id: Type.Integer(),
    guest: Type.String(),
    note: nullable(Type.String({ maxLength: 2000, description: 'What to know' })),
    room: nullable(Type.Integer({ minimum: 1 })),
    meal: Type.Union([Type.Literal('half'), Type.Literal('full'), Type.Null()], { default: 'half' }),
    leftAt: nullable(Type.String({ format: 'date-time' })),
    address: nullable(Type.Object({ city: Type.String() })),
    tip: Type.Optional(Type.Number())
  }),
  create: ['guest', 'note', 'room', 'meal', 'address'],
  operations: {
    move: {
      name: 'move',
      verb: 'move',
      participle: 'moved',
      noun: 'moves',
      action: 'MoveGuest',
      params: Type.Object({
        room: nullable(Type.Integer({ minimum: 1 })),
        why: Type.Optional(nullable(Type.String()))
      }),
      changes: ['room'],
      apply: (visit, { room }) => ({ ...visit, room })
    }
  },
  attributes: {
    fields: ['room'],
    read: ({ room }) => ({ operation: 'move', params: { room } })
  }
})
const empty = { note: null, room: null, meal: null, leftAt: null, address: null }

for (const { name, make } of storages) {
  t.test(`${name}: null is a value, in every form and representation`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    app.register(visits, { storage })
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object | string, headers = {}) =>
      await app.inject({ method, url, payload, headers })
    const members = { guest: 'Ann', note: null, room: null, meal: null, address: null }
    t.match((await send('POST', '/visits', members)).json(), { id: 1, guest: 'Ann', ...empty })
    const { createdAt, updatedAt, revision, links, ...item } = (await app.inject('/visits/1')).json()
    t.strictSame(item, { id: 1, guest: 'Ann', ...empty })
    t.match((await app.inject('/visits?fields=id,note,meal')).json().items, [{ id: 1, note: null, meal: null }])

    t.match((await send('POST', '/visits', { guest: 'Bob', note: 'n', room: 7, address: { city: 'Rome' } })).json(),
      { id: 2, note: 'n', room: 7, meal: 'half', leftAt: null, address: { city: 'Rome' } })
    t.match((await send('POST', '/visits', { guest: 'Cid' })).json(), {
      status: 400,
      errors: [
        { pointer: '/note', detail: 'is required' }, { pointer: '/room' }, { pointer: '/address' }
      ]
    })
    t.match((await send('PUT', '/visits/2/move', { room: 'x' })).json(),
      { status: 400, errors: [{ pointer: '/room', detail: 'must be one of integer, null' }] })
    t.match((await send('PUT', '/visits/2/move', { room: null, why: null })).json(), { room: null, revision: 2 })
    t.match((await send('PATCH', '/visits/2', { room: 8 })).json(), { room: 8 })
    t.match((await send('PATCH', '/visits/2', { room: null })).json(), { room: null, revision: 4 })
    t.match((await send('PUT', '/visits/2', { room: null })).json(), { room: null, revision: 4 })

    const find = async (query: string) =>
      (await app.inject(`/visits?${query}`)).json().items.map(({ id }: { id: number }) => id)
    const table: Record<string, number[]> = {
      'note.null=true': [1],
      'note.null=false': [2],
      'note.null=false&note.null=true': [1, 2],
      'address.null=true': [1],
      'tip.null=true': [1, 2],
      'meal.null=true': [1],
      'meal=half': [2],
      'meal.ne=half': [1],
      'leftAt.null=false': [],
      'note.regex=null': [],
      'sort=-note': [2, 1],
      'sort=note': [1, 2]
    }
    for (const [query, expected] of Object.entries(table)) t.strictSame(await find(query), expected, query)
    t.match((await app.inject('/visits?note.null=yes')).json(),
      { status: 400, errors: [{ parameter: 'note.null', detail: 'note.null must be true or false' }] })
    t.match((await app.inject('/visits?guest.null=true')).json(),
      { status: 400, errors: [{ parameter: 'guest.null' }] })
    const { items } = await visits.service({ storage }).find([{ field: 'note', op: 'null', is: true }])
    t.strictSame(items.map(({ id }) => id), [1])

    t.equal((await app.inject('/visits.csv?fields=id,note,address')).body,
      'id,note,address\r\n1,,\r\n2,n,"{""city"":""Rome""}"\r\n')
    const nil = '<note xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>'
    t.match((await app.inject('/visits/1.xml?fields=id,note')).body, `<id>1</id>${nil}`)
    t.match((await app.inject('/visits/1.html')).body, /Note<\/dt>\s*<dd[^>]*><span class="absent">Not set</)

    const browser = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
    t.match((await send('POST', '/visits', 'guest=Dan&note=&room=&address=&meal=', browser)).json(),
      { guest: 'Dan', note: null, room: null, address: null, meal: 'half' }, 'what is left empty in a form')
    t.match((await send('POST', '/visits/3/moves', 'room=5', browser)).json(), { params: { room: 5 } })
    t.match((await send('POST', '/visits/3/moves', 'room=', browser)).json(), { params: { room: null } })
    const page = (await app.inject('/visits.html')).body
    t.match(page, /<textarea id="create-note" name="note" aria/, 'nothing that a person must fill in')
    t.match(page, /name="room"[^>]* type="text" inputmode="numeric">/)
    t.match(page, /<select id="create-meal" name="meal"><option value="">None</)
  })
}

t.test('optional and nullable at once is an error, whatever it is written with', async t => {
  const schemas = {
    union: nullable(Type.String()),
    nested: nullable(nullable(Type.String())),
    types: Type.Unsafe({ type: ['string', 'null'] }),
    values: Type.Unsafe({ enum: ['a', null] }),
    nothing: Type.Null()
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const define = (field: typeof schema) => defineFamily({
      name: 'things', singular: 'thing', fields: Type.Object({ id: Type.Integer(), field }) as TObject
    })
    t.throws(() => define(Type.Optional(schema) as typeof schema), {
      code: 'FST_DEALBOOK_INVALID_DEFINITION', message: /the field "field" may be absent and may be null/
    }, name)
    t.doesNotThrow(() => define(schema))
  }
})

t.test('an id cannot be null', async t => {
  const fields = Type.Object({ id: nullable(Type.Integer()) })
  t.throws(() => defineFamily({ name: 'things', singular: 'thing', fields }), { message: /must have an id/ })
})

t.test('null in a field that takes anything: kept where it is required, absent where it is optional', async t => {
  for (const { name, make } of storages) {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const things = defineFamily({
      name: 'things',
      singular: 'thing',
      fields: Type.Object({ id: Type.Integer(), one: Type.Unknown(), two: Type.Optional(Type.Any()) }),
      create: ['one', 'two']
    })
    const service = things.service({ storage })
    await service.create({ one: null, two: null })
    const { createdAt, updatedAt, revision, ...item } = await service.get(1)
    t.strictSame(item, { id: 1, one: null }, name)
  }
})

interface Described {
  readonly parameters: readonly { readonly name: string, readonly schema: object }[]
  readonly requestBody: object
}

t.test('OpenAPI describes what may be null, and the filter for it', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  app.register(visits, { storage: memoryStorage() })
  await app.ready()
  const { paths } = wholeDocument<{ paths: Record<string, { get: Described, post: Described }> }>(app)
  const { get, post } = paths['/visits'] as { get: Described, post: Described }
  const named = new Map(get.parameters.map(({ name, schema }) => [name, schema]))
  t.match(named.get('note.null'), { type: 'boolean' })
  t.notOk(named.has('guest.null'))
  t.match(named.get('meal'), { anyOf: [{ enum: ['half', 'full'] }, {}] })
  t.match(JSON.stringify(post.requestBody), '"room":{"anyOf":[{"minimum":1,"type":"integer"},{"type":"null"}]}')
})
