import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { findNeutral, makeDistinct } from '../../lib/core/family/neutral.js'
import { decimal, defineFamily, describe, makeValidator, memoryStorage, type Storage, Type } from '../../lib/index.js'
import { addConsumer, consume, erase, listConsumers } from '../../lib/tools/index.js'
import { makeWebhooks } from '../../lib/webhooks/webhooks.js'
import { createWebhook, quick, receive, until } from '../webhooks/receiver.js'
import { families, orders, people } from './people.js'

const text = Type.String()
const define = (fields: object, members: object): unknown => defineFamily({
  name: 'things', singular: 'thing', fields: Type.Object({ id: Type.Integer(), ...fields }), ...members
} as never)

t.test('a definition names fields and parameters that can be erased', async t => {
  const operations = {
    show: {
      name: 'show',
      verb: 'show',
      participle: 'shown',
      noun: 'shows',
      action: 'EraseThing',
      params: Type.Object({}),
      apply: (thing: object) => thing
    }
  }
  const flaws: readonly (readonly [object, object, RegExp])[] = [
    [{ name: text }, { personal: ['nmae'] }, /"nmae", which is not a field or a parameter\. Did you mean "name"/],
    [{ name: text }, { personal: ['name', 'name'] }, /"name" twice/],
    [{ name: text }, { personal: 'name' }, /list of names/],
    [{}, { personal: ['id'] }, /"id", which stays/],
    [{}, { personal: ['createdAt'] }, /belongs to the service/],
    [{ code: Type.String({ pattern: '^[A-Z]{3}$' }) }, { personal: ['code'] }, /no neutral.*optional or nullable/],
    [{ sex: Type.Union([Type.Literal('f'), Type.Literal('m')]) }, { personal: ['sex'] }, /no neutral value/],
    [{ number: Type.Integer() }, { unique: [['number']], personal: ['number'] }, /which is unique/],
    [{ other: Type.Integer() }, { references: { other: people }, personal: ['other'] }, /refers to an item/],
    [{ name: text }, { personal: ['name'], operations }, /"EraseThing", which belongs to erasing/]
  ]
  for (const [fields, members, message] of flaws) t.throws(() => define(fields, members), { message })
  t.strictSame(describe(people).personal.slice(0, 2), ['name', 'email'])
  const renamed = describe(people.rename({ name: 'called', 'phones.phone': 'number' }))
  t.strictSame(renamed.personal.filter(path => /called|phones/.test(path)), ['called', 'phones.number'])
})

t.test('neutral values fit, and distinct ones differ', async t => {
  const unions = [Type.Union([Type.Literal('f'), Type.Literal('erased')]), Type.Union([Type.Object({ a: text }), text])]
  const formats = ['date', 'date-time', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid']
  const schemas = [
    text, Type.String({ maxLength: 3 }), Type.String({ minLength: 20 }), Type.String({ pattern: '^$' }),
    Type.String({ pattern: '^x', default: 'x' }), Type.Integer(), Type.Integer({ minimum: 18 }),
    Type.Number({ exclusiveMinimum: 5 }), Type.Number({ maximum: -1 }), Type.Boolean(), Type.Array(text),
    Type.Array(text, { minItems: 2 }), Type.Object({ a: text, b: Type.Optional(text) }),
    Type.Union([text, Type.Null()]),
    decimal({ scale: 2 }), decimal({ scale: 2, minimum: '1.50' }), ...unions,
    ...formats.map(format => Type.String({ format }))
  ]
  for (const schema of schemas) {
    const value = findNeutral([schema])
    t.not(value, undefined, JSON.stringify(schema))
    t.strictSame(makeValidator(schema)(value), [], JSON.stringify(value))
  }
  t.equal(findNeutral([text, Type.String({ maxLength: 3 })]), '', 'it fits all versions')
  const distinct = ['email', 'uuid', 'uri', 'hostname'].map(format => Type.String({ format }))
  const unique = [text, Type.String({ maxLength: 20 }), ...distinct]
  for (const schema of unique) {
    const values = [1, 2].map(id => findNeutral([schema], makeDistinct('things', id)))
    t.not(values[0], values[1], JSON.stringify(values))
    t.not(values[0], undefined)
  }
  t.equal(findNeutral([Type.String({ maxLength: 8 })], makeDistinct('things', 1)), undefined, 'too short to differ')
})

const makePerson = async (storage: Storage): Promise<number> => {
  const book = people.service({ storage })
  const { item } = await book.create({ name: 'zq', code: 'zq', born: null, phones: [], notes: [] })
  return item.id
}

t.test('refuses what it cannot do, and changes nothing', async t => {
  const storage = memoryStorage()
  const id = await makePerson(storage)
  const calls: readonly (readonly [unknown, unknown, RegExp])[] = [
    [families, { family: 'people', id: 99 }, /no item "99" of people, and no log/],
    [families, { family: 'people', id: 'x' }, /no item of people can have the id "x"/],
    [families, { family: 'peple', id }, /"peple" is not among "families", which are people, orders/],
    [families, { family: 'orders', id }, /"orders" declares no personal data/],
    [families, { family: 'people' }, /give "family" and "id", or "principal"/],
    [families, { family: 'people', id, principal: 'ann' }, /give "family" and "id", or "principal"/],
    [families, { family: 'people', id, by: '' }, /"by" must be a non-empty string/],
    [families, { family: 'people', id, who: 'x' }, /unknown option "who"/],
    [[], { family: 'people', id }, /"families" must be a list/]
  ]
  for (const [given, options, message] of calls) {
    await t.rejects(erase(storage, given as never, options as never), { code: 'FST_DEALBOOK_INVALID_ERASURE', message })
  }
  t.match(await people.service({ storage }).get(id), { name: 'zq', revision: 1 })
})

t.test('a consumer gets its entries first, unless it is told otherwise', async t => {
  const storage = memoryStorage()
  const id = await makePerson(storage)
  await addConsumer(storage, { name: 'mailer' })
  const options = { family: 'people', id }
  await t.rejects(erase(storage, families, options), { code: 'FST_DEALBOOK_ERASURE_HELD', message: /"mailer"/ })
  t.match(await erase(storage, families, { principal: 'ann' }), { items: {}, entries: {} })
  t.match(await people.service({ storage }).get(id), { name: 'zq', revision: 1 })
  const stop = new AbortController()
  const running = consume(storage, {
    name: 'mailer',
    families: [people, orders],
    maxAttempts: 1,
    signal: stop.signal,
    handler () { throw new Error('No mail to zq') }
  })
  const findParked = async () => (await listConsumers(storage)).flatMap(({ parked }) => parked)
  while ((await findParked()).length === 0) await delay(5)
  stop.abort()
  await running
  await t.rejects(erase(storage, families, options), { code: 'FST_DEALBOOK_ERASURE_HELD' }, 'it is set aside')
  t.match(await erase(storage, families, { ...options, ignoreConsumers: true }), { parked: 1 })
  t.match(await findParked(), [{ error: 'erased', attempts: 1 }])
  const again = await erase(storage, families, options)
  t.strictSame(again, { items: {}, entries: {}, parked: 0 }, 'its own entry is not held')
})

t.test('receivers of webhooks are told', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  app.register(people, { storage, prefix: '/crm' })
  app.register(makeWebhooks(quick), { storage, prefix: '/crm' })
  t.teardown(() => app.close())
  const { url, received } = await receive(t)
  await createWebhook(app, { url })
  const payload = { name: 'zq', code: 'zq', born: null, phones: [], notes: [] }
  const { id } = (await app.inject({ method: 'POST', url: '/crm/people', payload })).json<{ id: number }>()
  await until(() => received.length === 1, () => received)
  await erase(storage, families, { family: 'people', id, by: 'dpo', ignoreConsumers: true })
  await until(() => received.length === 2, () => received)
  t.match(received[1]?.event, { type: 'person.erased', subject: String(id), data: { params: {}, principal: 'dpo' } })
  t.notOk(JSON.stringify(received[1]).includes('zq'))
  const page = await app.inject({ url: `/crm/people/${id}`, headers: { accept: 'text/html' } })
  t.match(page.body, /Personal data erased/)
})
