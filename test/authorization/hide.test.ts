import type { FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { decimal, defineFamily, type Grant, type Intent, memoryStorage, Type } from '../../lib/index.js'
import { goods, makerId, makers } from './hidden-app.js'

type Rule = (intent: Intent, role: string) => Grant

const products = defineFamily({
  name: 'products',
  singular: 'product',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    cost: decimal({ scale: 2 }),
    total: Type.Optional(Type.Integer()),
    terms: Type.Optional(Type.Object({ days: Type.Integer(), margin: Type.Integer() })),
    lines: Type.Array(Type.Object({ what: Type.String(), price: Type.Integer() }), { default: [] })
  }),
  create: ['name', 'cost', 'total', 'terms', 'lines'],
  edit: ['name', 'cost', 'total', 'terms', 'lines'],
  operations: {
    rise: {
      name: 'rise',
      verb: 'rise',
      participle: 'risen',
      noun: 'rises',
      action: 'RiseProduct',
      params: Type.Object({ by: Type.Integer() }),
      apply: (product, { by }) => ({ ...product, total: (product.total ?? 0) + by })
    }
  }
})

async function start (test: { teardown (work: () => unknown): void }, rule: Rule, family = products) {
  const storage = memoryStorage()
  const app = Fastify()
  test.teardown(() => app.close())
  const authorize = ({ headers }: FastifyRequest, intent: Intent) =>
    rule(intent, String(headers['x-role'] ?? '')) as never
  app.register(makers as never, { storage, authorize })
  app.register(family as never, { storage, authorize })
  const send = async (role: string, method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object,
    more: object = {}) => {
    const headers = { 'x-role': role, ...more }
    const { statusCode, body, headers: its } =
      await app.inject({ method, url, headers, ...payload !== undefined && { payload } })
    return { status: statusCode, body: body === '' ? undefined : JSON.parse(body), headers: its }
  }
  return { app, storage, send }
}

const hiding = (...hide: string[]): Rule => (_intent, role) => role === 'boss'
  ? { principal: 'boss' }
  : { principal: 'clerk', hide: hide as never }
const made = {
  name: 'Tea',
  cost: '5.00',
  total: 7,
  terms: { days: 30, margin: 9 },
  lines: [{ what: 'leaf', price: 3 }]
}

t.test('a wrong name is a mistake of the host', async t => {
  for (const [hide, text] of [
    [['cots'], /wrong name: "cots" is not a field, nor a path in one, nor "principal". Did you mean "cost"\?/],
    [['lines.prise'], /"lines.prise" is not a field.* Did you mean "lines.price"\?/],
    [['id'], /"id" cannot be hidden/],
    [['revision'], /"revision" cannot be hidden/],
    [['updatedAt'], /"updatedAt" cannot be hidden/],
    ['cost', /"hide" must be a list of fields/],
    [[1], /"hide" must be a list of fields/],
    [undefined, /returned no names: "hide" must be a list of names/]
  ] as const) {
    const book = products.service({ storage: memoryStorage(), authorize: () => ({ hide }) as never })
    await t.rejects(book.find(), { code: 'FST_DEALBOOK_INVALID_GRANT', message: text })
  }
  const nothing = products.service({ storage: memoryStorage(), authorize: () => ({ hide: [] }) })
  t.match(await nothing.create({ name: 'a', cost: '1.00' }), { item: { cost: '1.00' } })
})

t.test('in an edit, what is hidden is refused if sent, and kept if not', async t => {
  const { send } = await start(t, hiding('cost', 'total', 'terms.margin', 'lines.price', 'principal'))
  t.equal((await send('boss', 'POST', '/products', made)).status, 201)
  const { body: shown, headers: { etag } } = await send('clerk', 'GET', '/products/1')
  t.match(shown, { name: 'Tea', terms: { days: 30 }, lines: [{ what: 'leaf' }] })
  t.strictSame(Object.keys(shown), ['id', 'name', 'terms', 'lines', 'revision', 'createdAt', 'updatedAt', 'links'])
  t.not(etag, (await send('boss', 'GET', '/products/1')).headers['etag'], 'validators depend on the reader')
  // What was read can be sent back.
  t.match(await send('clerk', 'PUT', '/products/1', shown), { status: 200, body: { revision: 1 } })
  t.match(await send('clerk', 'PUT', '/products/1', { ...shown, name: 'Chai' }), { status: 200, body: { revision: 2 } })
  for (const [method, url, payload, pointer] of [
    ['PUT', '/products/1', { cost: '5.00' }, '/cost'],
    ['PATCH', '/products/1', { cost: '5.00' }, '/cost'],
    ['PATCH', '/products/1', { total: null }, '/total'],
    ['PATCH', '/products/1', { terms: { days: 30, margin: 9 } }, '/terms/margin'],
    ['PATCH', '/products/1', { lines: [{ what: 'leaf', price: 3 }] }, '/lines/0/price'],
    ['PUT', '/products/1/edit', { cost: '5.00' }, '/cost'],
    ['PUT', '/products/1/edit', { cost: '6.00' }, '/cost'],
    ['PUT', '/products/1/commands/c', { action: 'EditProduct', params: { cost: '6.00' } }, '/params/cost']
  ] as const) {
    const { status, body } = await send('clerk', method, url, payload)
    t.match({ status, body }, { status: 400, body: { errors: [{ pointer, detail: /^is unknown\./ }] } },
      `${method} ${pointer}`)
    t.notMatch(body.detail, /Allowed are.*(cost|margin|price)/)
  }
  // Of a field that is shown in part, a change could not say what becomes of the rest.
  const { status, body } = await send('clerk', 'PATCH', '/products/1', { lines: [{ what: 'root' }] })
  t.equal(status, 400, JSON.stringify(body))
  t.match((await send('boss', 'GET', '/products/1')).body, { ...made, name: 'Chai', revision: 2 }, 'nothing was lost')
  const unknown = await send('clerk', 'PUT', '/products/1/edit', { zzzz: '5.00' })
  const cost = await send('clerk', 'PUT', '/products/1/edit', { cost: '5.00' })
  t.match(cost.body.errors[0].detail, /^is unknown/)
  t.match(unknown.body.errors[0].detail, /^is unknown/)
})

t.test('a creation that needs something hidden is refused, and not offered', async t => {
  const { send, storage } = await start(t, hiding('cost'))
  t.match(await send('clerk', 'POST', '/products', made),
    { status: 403, body: { detail: 'CreateProduct needs something that is hidden from you' } })
  const book = products.service({ storage, authorize: () => ({ hide: ['cost'] }) })
  t.notOk((await book.offers()).some(({ name }) => name === 'create'))
  t.equal(await book.can('create'), false)
  const open = await start(t, hiding('total'))
  t.match(await open.send('clerk', 'POST', '/products', made),
    { status: 400, body: { errors: [{ pointer: '/total' }] } })
  const { total, ...others } = made
  t.match(await open.send('clerk', 'POST', '/products', others), { status: 201 })
})

t.test('an entry that changed something hidden has no parameters that could tell it', async t => {
  const { send } = await start(t, hiding('total', 'principal'))
  await send('boss', 'POST', '/products', made, { 'idempotency-key': 'k' })
  await send('boss', 'PUT', '/products/1/rise', { by: 2 })
  await send('boss', 'PUT', '/products/1/edit', { name: 'Chai', total: 20 })
  await send('clerk', 'PUT', '/products/1/edit', { name: 'Mate' })
  const { items } = (await send('clerk', 'GET', '/products/1/commands')).body
  t.match(items, [{ params: { name: 'Tea' } }, { action: 'RiseProduct' }, { params: { name: 'Chai' } },
    { params: { name: 'Mate' } }])
  t.notMatch(JSON.stringify(items), /total|"by"|boss|clerk|principal/)
  for (const { id, links } of items) {
    t.match(await send('clerk', 'GET', `/products/1/commands/${id}`), { status: 200, body: { id } }, links)
  }
  const { items: whole } = (await send('boss', 'GET', '/products/1/commands')).body
  t.match(whole[1], { params: { by: 2 }, principal: 'boss' })
})

t.test('a replay is the first answer without what is hidden by now', async t => {
  let isHidden = false
  const { send } = await start(t, () => ({ principal: 'ann', ...isHidden && { hide: ['cost', 'principal'] } }))
  const key = { 'idempotency-key': 'k' }
  const first = await send('', 'POST', '/products', made, key)
  const command = { action: 'EditProduct', params: { cost: '7.00' } }
  t.match(await send('', 'PUT', '/products/1/commands/c', command),
    { status: 201, body: { params: { cost: '7.00' }, principal: 'ann' } })
  isHidden = true
  const again = await send('', 'POST', '/products', made, key)
  t.match(again, { status: 201, headers: { 'idempotent-replayed': 'true', location: '/products/1' } })
  const { cost, ...rest } = first.body
  t.strictSame(again.body, rest)
  const entry = await send('', 'PUT', '/products/1/commands/c', command)
  t.match(entry, { status: 200, body: { id: 'c', outcome: 'done', params: {} } })
  t.notMatch(JSON.stringify(entry.body), /cost|ann/)
  t.match(await send('', 'PUT', '/products/1/commands/d', command), { status: 400 }, 'a new one is refused')
})

t.test('conditions of the grant may be on what is hidden, and rules have everything', async t => {
  const where = [{ field: 'cost', op: 'gte', value: 5 }] as const
  const { send } = await start(t, (_intent, role) =>
    role === 'boss' ? {} : { hide: ['cost', 'total'], where: where as never })
  await send('boss', 'POST', '/products', made)
  await send('boss', 'POST', '/products', { ...made, cost: '4.00' })
  t.match((await send('clerk', 'GET', '/products')).body, { items: [{ id: 1 }] })
  t.equal((await send('clerk', 'GET', '/products/2')).status, 404)
  t.match(await send('clerk', 'PUT', '/products/1/rise', { by: 5 }), { status: 200, body: { id: 1, revision: 2 } })
  t.match((await send('boss', 'GET', '/products/1')).body, { total: 12 }, 'the operation had the total')
  const { items: [offer] } = (await send('clerk', 'GET', '/products/1/operations')).body
  t.match(offer, { name: 'rise', allowed: true })
})

t.test('a renamed version hides by its own names', async t => {
  const renamed = products.rename({ cost: 'price', 'lines.price': 'unit' }) as unknown as typeof products
  const { send } = await start(t, hiding('price', 'lines.unit', 'total'), renamed)
  const { cost, lines: _, ...others } = made
  const whole = { ...others, price: cost, lines: [{ what: 'leaf', unit: 3 }] }
  t.equal((await send('boss', 'POST', '/products', whole)).status, 201)
  const { body } = await send('clerk', 'GET', '/products/1')
  t.match(body, { name: 'Tea', lines: [{ what: 'leaf' }] })
  t.notMatch(JSON.stringify(body), /price|unit|total|cost/)
  t.match(await send('clerk', 'PUT', '/products/1/rise', { by: 5 }), { status: 200, body: { revision: 2 } })
  t.match(await send('clerk', 'PUT', '/products/1', { ...body, revision: 2, updatedAt: undefined, name: 'Chai' }),
    { status: 200 })
  t.match(await send('clerk', 'PUT', '/products/1/edit', { price: '5.00' }),
    { status: 400, body: { errors: [{ pointer: '/price' }] } })
  t.match((await send('boss', 'GET', '/products/1')).body, { ...whole, total: 12, name: 'Chai' })
})

t.test('a unique value that is hidden is not told', async t => {
  const hide = hiding('code')
  const { send } = await start(t, hide, goods as never)
  await send('boss', 'POST', '/makers', { id: makerId, name: 'Mill', secret: 's' })
  t.equal((await send('boss', 'POST', '/goods', { name: 'a', code: 'MARK x' })).status, 201)
  t.equal((await send('boss', 'POST', '/goods', { name: 'b' })).status, 201)
  const { status, body } = await send('clerk', 'PUT', '/goods/2/recode', { to: 'x' })
  t.match({ status, body }, {
    status: 409,
    body: { type: 'urn:dealbook:problem:taken', detail: 'The value is already taken' }
  })
  t.equal(body.errors, undefined)
})
