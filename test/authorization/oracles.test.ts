// What a caller could try to find out what is hidden: whether a guess is refused, or answered in another way.
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { storages } from '../storages.js'
import { startHidden } from './hidden-app.js'

async function open (t: Test, storage = memoryStorage()): Promise<FastifyInstance> {
  const app = await startHidden(storage)
  t.teardown(() => app.close())
  return app
}

type Method = 'GET' | 'POST' | 'PUT'

const by = (app: FastifyInstance, role: string) => async (
  method: Method, url: string, payload?: object, headers: Record<string, string> = {}
) => {
  const answer = await app.inject({
    method, url: `/shop${url}`, headers: { ...headers, 'x-role': role }, ...payload && { payload }
  })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}

for (const { name, make } of storages) {
  t.test(`${name}: a unique value of another item is not told`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await open(t, storage)
    const [boss, clerk] = [by(app, 'boss'), by(app, 'clerk')]
    for (const code of ['MARK one', 'MARK two']) await boss('POST', '/goods', { name: 'a', code })
    await boss('POST', '/orders', { good: 1 })
    const told = await boss('POST', '/orders/1/labels', { code: 'two' })
    t.match(told, { status: 409, body: { errors: [{ pointer: '/code' }] } })
    const command = { order: 1, action: 'LabelOrder', params: { code: 'two' } }
    const refused = { type: 'urn:dealbook:problem:taken', detail: /^The value is already taken/, errors: undefined }
    t.match(await clerk('POST', '/orders/1/labels', { code: 'two' }), { status: 409, body: refused })
    t.match(await clerk('PUT', '/orders/1/label', { code: 'two' }, { 'idempotency-key': 'k' }), { status: 409 })
    for (const atomic of [true, false]) {
      const { body } = await clerk('POST', '/rest/commands', { commands: [command], atomic })
      t.notMatch(JSON.stringify(body), /\/code/, `atomic: ${atomic}`)
    }
    t.match(await clerk('PUT', '/goods/2/recode', { to: 'one' }), { status: 409, body: refused })
    const { body: offers } = await clerk('GET', '/orders/1/operations')
    t.notMatch(JSON.stringify(offers), /MARK/)
  })
}

t.test('members that a field may have besides are hidden in its log', async t => {
  const schemas = {
    others: Type.Object({ open: Type.String(), secret: Type.Optional(Type.String()) }, { additionalProperties: true }),
    rows: Type.Array(Type.Object({ open: Type.String(), secret: Type.Optional(Type.String()) },
      { additionalProperties: Type.String() }))
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const things = defineFamily({
      name: 'things',
      singular: 'thing',
      fields: Type.Object({ id: Type.Integer(), name: Type.String(), it: schema }),
      create: ['name', 'it'],
      edit: ['name', 'it']
    })
    const storage = memoryStorage()
    const value = (text: string) => {
      const one = { open: text, secret: `MARK ${text}` }
      return (name === 'rows' ? [one, { ...one, more: 'x' }] : one) as never
    }
    const whole = things.service({ storage })
    const { item: { id } } = await whole.create({ name: 'a', it: value('a') })
    await whole.run('edit', id, { name: 'b', it: value('b') }, { command: 'c' })
    await whole.remove(id)
    await whole.restore(id)
    const book = things.service({ storage, authorize: () => ({ hide: ['it.secret'] as never }) })
    const past = await book.get(id, { revision: 1 })
    const shown = [await book.log(id), await book.entry(id, 'c'), await book.get(id), past]
    for await (const entry of book.follow()) if (shown.push(entry as never) >= 8) break
    t.notMatch(JSON.stringify(shown), /MARK/, name)
    t.match(JSON.stringify(shown), /"from":.{0,3}\{"open":"a".*"to":.{0,3}\{"open":"b"/, name)
    t.match(JSON.stringify(await whole.log(id)), /MARK/)
  }
})

t.test('a command without a principal cannot be guessed', async t => {
  const things = defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), name: Type.String(), cost: Type.Integer({ default: 0 }) }),
    create: ['name', 'cost'],
    edit: ['name', 'cost']
  })
  const storage = memoryStorage()
  const whole = things.service({ storage })
  const { item: { id } } = await whole.create({ name: 'a', cost: 5 }, { key: 'made' })
  await whole.run('edit', id, { cost: 7 }, { command: 'c' })
  const book = things.service({ storage, authorize: () => ({ hide: ['cost'] as never }) })
  const guess = async (cost: number) => [
    await book.run('edit', id, { cost }, { command: 'c' }).catch(error => error.code),
    await book.create({ name: 'a', cost }, { key: 'made' }).catch(error => error.code)
  ]
  t.strictSame(await guess(7), ['invalid-body', 'invalid-body'])
  t.strictSame(await guess(5), await guess(6))
  t.match(await whole.run('edit', id, { cost: 7 }, { command: 'c' }), { replayed: true })
})

t.test('the order of a list does not depend on what is hidden', async t => {
  const app = await open(t)
  const [boss, clerk] = [by(app, 'boss'), by(app, 'clerk')]
  for (const cost of ['MARK 3', 'MARK 1', 'MARK 2']) await boss('POST', '/goods', { name: 'a', cost })
  const listIds = async (role: typeof boss, query = ''): Promise<number[]> =>
    (await role('GET', `/goods?${query}`)).body.items.map(({ id }: { id: number }) => id)
  t.strictSame(await listIds(boss), [2, 3, 1])
  for (const query of ['', 'maxpagesize=5', 'name=a', 'sort=name', 'search=a']) {
    t.strictSame(await listIds(clerk, query), [1, 2, 3], query)
  }
  const theirs = (await boss('GET', '/goods?maxpagesize=1')).body.links.next
  const { status, body } = await clerk('GET', theirs.replace('/shop', ''))
  t.equal(status, 400, JSON.stringify(body))
  t.notMatch(JSON.stringify(body), /MARK|cost/)
  for (const query of ['search=MARK', 'search=mark+1', 'search=1']) t.strictSame(await listIds(clerk, query), [], query)
})

t.test('an item is written by its revision alone', async t => {
  const app = await open(t)
  const [boss, clerk] = [by(app, 'boss'), by(app, 'clerk')]
  await boss('POST', '/goods', { name: 'a', cost: 'MARK 1' })
  const { headers: { etag } } = await boss('GET', '/goods/1')
  await boss('PUT', '/goods/1/edit', { cost: 'MARK 2' })
  for (const stale of [String(etag), '"1"']) {
    const { status, body } = await clerk('PUT', '/goods/1/edit', { name: 'b' }, { 'if-match': stale })
    t.match({ status, body }, { status: 412 })
    t.notMatch(JSON.stringify(body), /cost|MARK/)
  }
  const { body } = await clerk('GET', '/goods/1')
  t.match(await clerk('PUT', '/goods/1', { ...body, name: 'c' }), { status: 200, body: { name: 'c', revision: 3 } })
  t.match((await boss('GET', '/goods/1')).body, { cost: 'MARK 2', name: 'c' })
})
