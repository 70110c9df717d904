import { Ajv2020 } from 'ajv/dist/2020.js'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { customers, deals, decimal, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { loadItems } from '../../lib/tools/index.js'
import { ask, call, crmApp, listNames } from './app.js'

interface Listed {
  readonly name: string
  readonly inputSchema: { readonly properties: Readonly<Record<string, object>>, readonly required?: string[] }
  readonly annotations: Readonly<Record<string, unknown>>
}

async function listAll (app: Parameters<typeof ask>[0]): Promise<Map<string, Listed>> {
  const { body } = await ask(app, 'tools/list')
  return new Map((body.result?.tools as unknown as Listed[]).map(tool => [tool.name, tool]))
}

const word = (name: string) => ({ verb: name, participle: `${name}ed`, noun: `${name}s` })

const lineItems = defineFamily({
  name: 'line-items',
  singular: 'line-item',
  fields: Type.Object({
    id: Type.Integer(),
    label: Type.String({ transform: ['trim'], minLength: 1 }),
    total: decimal({ scale: 2, minimum: 0 }),
    secret: Type.Optional(Type.String({ writeOnly: true })),
    status: Type.Union([Type.Literal('new'), Type.Literal('sent')], { default: 'new' })
  }),
  create: ['label', 'total', 'secret'],
  remove: false,
  operations: {
    'send off': {
      name: 'send off',
      ...word('send-off'),
      action: 'SendOffLineItem',
      params: Type.Object({ command: Type.String(), revision: Type.Optional(Type.String()) }),
      final: true,
      apply: item => ({ ...item, status: 'sent' as const })
    }
  }
})

async function bootWith (register: (app: FastifyInstance) => void): Promise<FastifyInstance> {
  const app = Fastify()
  register(app)
  await app.ready()
  return app
}

t.test('annotations, titles and schemas', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  const tools = await listAll(app)
  const hints = (name: string) => {
    const { title, openWorldHint, ...others } = tools.get(name)?.annotations ?? {}
    return others
  }
  for (const name of ['deals_find', 'deals_get', 'deals_operations', 'customers_find', 'customers_get']) {
    t.strictSame(hints(name), { readOnlyHint: true }, name)
  }
  const writes: Readonly<Record<string, [destructive: boolean, idempotent: boolean]>> = {
    deals_create: [false, false],
    deals_hold: [false, false],
    'deals_change-price': [false, false],
    deals_edit: [false, true],
    deals_complete: [true, false],
    deals_cancel: [true, false],
    deals_delete: [true, true]
  }
  for (const [name, [destructiveHint, idempotentHint]] of Object.entries(writes)) {
    t.strictSame(hints(name), { destructiveHint, idempotentHint }, name)
  }
  t.match(tools.get('deals_cancel'), {
    title: 'Cancel a deal for an amercement',
    description: 'Cancel a deal for an amercement. It cannot be undone. Refused if the state does not allow it.',
    inputSchema: { required: ['id', 'amercement', 'reason'] }
  })
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  for (const { name, inputSchema } of tools.values()) {
    t.ok(ajv.validateSchema(inputSchema), name)
    t.match(name, /^[a-zA-Z0-9_-]{1,128}$/)
    t.match(inputSchema, { type: 'object', additionalProperties: false }, name)
  }
  const isValid = (name: string, args: object) => ajv.validate(tools.get(name)?.inputSchema ?? {}, args)
  t.ok(isValid('deals_hold', { id: 'a', reason: 'Papers', revision: 1, command: 'c-1' }))
  t.notOk(isValid('deals_hold', { id: 'a', reason: '' }))
  t.ok(isValid('deals_find', { filter: { state: 'held', 'min-price': 10, name: ['a', 'b'], 'name.regex': '^a' } }))
  t.notOk(isValid('deals_find', { filter: { 'min-price': 'a' } }))
})

t.test('with required command ids, every call can be repeated', async t => {
  const app = await crmApp({}, { commandIds: 'required' })
  t.teardown(() => app.close())
  for (const { name, inputSchema: { required }, annotations } of (await listAll(app)).values()) {
    if (annotations.readOnlyHint === true) continue
    t.ok(required?.includes('command') === true && annotations.idempotentHint === true, name)
  }
  t.match(await call(app, 'deals_create', { name: 'Tea', price: 1 }), { isError: true, text: /\/command: is required/ })
})

t.test('the header Idempotency-Key makes a call without a command id safe to repeat', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  const key = { 'idempotency-key': 'k-1' }
  const made = await call(app, 'deals_create', { name: 'Tea', price: 1 }, key)
  const again = await call(app, 'deals_create', { name: 'Tea', price: 1 }, { 'idempotency-key': '"k-1"' })
  t.strictSame(again.content, { ...made.content, replayed: true })
  const { id } = made.content.item
  const different = await call(app, 'deals_delete', { id }, key)
  t.match(different, { isError: true, content: { type: 'urn:dealbook:problem:id-reused' } })
  const held = await call(app, 'deals_hold', { id, reason: 'a', command: 'c-1' }, key)
  t.match(held.content, { replayed: false, command: { id: 'c-1' } }, 'a command id counts')
  const refusals = [1, 2].map(() => call(app, 'deals_complete', { id }, { 'idempotency-key': 'k-2' }))
  t.match((await Promise.all(refusals))[1], { isError: true, text: /refused before under this key/ })
  t.match(await call(app, 'deals_hold', { id, reason: 'a' }, { 'idempotency-key': 'a, b' }), {
    isError: true, content: { type: 'urn:dealbook:problem:invalid-header' }
  })
})

t.test('a family with hyphens, a name with a space, and parameters named like arguments', async t => {
  const app = await bootWith(app => {
    app.register(lineItems, { storage: memoryStorage(), prefix: '/crm' })
    app.register(mcp, { prefix: '/crm' })
  })
  t.teardown(() => app.close())
  const tools = await listAll(app)
  t.strictSame([...tools.keys()], [
    'line-items_find', 'line-items_get', 'line-items_operations', 'line-items_create', 'line-items_send-off'
  ])
  const { properties, required } = tools.get('line-items_send-off')?.inputSchema ?? { properties: {} }
  t.strictSame(Object.keys(properties), ['id', '_revision', '_command', 'command', 'revision'])
  t.strictSame(required, ['id', 'command'])
  const { anyOf } = tools.get('line-items_create')?.inputSchema.properties.total as { anyOf: object[] }
  t.strictSame(anyOf.map(each => 'type' in each && each.type), ['string', 'number'], 'a decimal may be a number')
  const made = await call(app, 'line-items_create', { label: ' Nails ', total: 1.5, secret: 'x', command: 'n-1' })
  const { item } = made.content
  t.match(item, { id: 1, label: 'Nails', total: '1.50', secret: 'x' }, 'a secret is in the answer that sets it')
  t.notMatch((await call(app, 'line-items_get', { id: 1 })).content, { secret: 'x' })
  const { content: { items: [offer] } } = await call(app, 'line-items_operations', { id: 1 })
  t.match(offer, { name: 'send off', tool: 'line-items_send-off', allowed: true })
  const args = { id: 1, command: 'by post', _command: 's-1', _revision: 1 }
  t.match((await call(app, 'line-items_send-off', args)).content, { item: { status: 'sent' }, command: { id: 's-1' } })
  t.match((await call(app, 'line-items_send-off', args)).content, { replayed: true })
})

t.test('ids that clients choose, and a field named like an argument', async t => {
  const rooms = defineFamily({
    name: 'rooms',
    singular: 'room',
    fields: Type.Object({ id: Type.String({ maxLength: 20 }), search: Type.String() }),
    create: ['id', 'search']
  })
  const app = await bootWith(app => {
    app.register(mcp, { prefix: '/crm' })
    app.register(rooms, { storage: memoryStorage(), prefix: '/crm' })
  })
  t.teardown(() => app.close())
  const tools = await listAll(app)
  t.match(tools.get('rooms_create'), {
    annotations: { idempotentHint: true }, inputSchema: { required: ['id', 'search'] }
  })
  t.match((await call(app, 'rooms_create', { id: 'B.117', search: 'x' })).content, { item: { id: 'B.117' } })
  t.match(await call(app, 'rooms_create', { id: 'B.117', search: 'x' }), { isError: true, content: { status: 409 } })
  t.match((await call(app, 'rooms_find', { filter: { search: 'x' } })).content, { items: [{ id: 'B.117' }] })
  t.match(await call(app, 'rooms_find', { search: 'x' }), { isError: true, text: /\/search: is unknown/ })
  t.match(await call(app, 'rooms_delete', { id: 'B.117', revision: 7 }), { isError: true, content: { status: 412 } })
})

t.test('an operation cannot have the name of another tool', async t => {
  const operation = { ...word('find'), action: 'FindDeal', params: Type.Object({}), apply: (item: object) => item }
  const app = Fastify()
  t.teardown(() => app.close())
  const own = deals.extend({ operations: { find: { name: 'find', ...operation } as never } })
  app.register(own, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
  app.register(mcp, { prefix: '/crm' })
  await t.rejects(async () => { await app.ready() }, { message: /the tool "deals_find" exists; rename the operation/ })
})

t.test('operations may be named like the deletion and the creation that a family does not have', async t => {
  const operation = (name: string, action: string) => ({
    name, ...word(`${name}-it`), action, params: Type.Object({}), apply: (item: object) => ({ ...item, note: name })
  })
  const things = defineFamily({
    name: 'things',
    singular: 'thing',
    fields: Type.Object({ id: Type.Integer(), note: Type.String(), search: Type.String() }),
    operations: { create: operation('create', 'MakeThing'), remove: operation('remove', 'ArchiveThing') } as never
  })
  const storage = memoryStorage()
  await loadItems(storage, things, [{ id: 1, note: 'a', search: 'a' }, { id: 2, note: 'b', search: 'b' }])
  const app = await bootWith(app => {
    app.register(things, { storage, prefix: '/crm' })
    app.register(mcp, { prefix: '/crm' })
  })
  t.teardown(() => app.close())
  t.ok((await listAll(app)).has('things_remove'))
  t.match((await call(app, 'things_remove', { id: 1 })).content, { item: { note: 'remove' } })
  t.match((await call(app, 'things_create', { id: 2 })).content, { item: { note: 'create' } })
  const { content } = await call(app, 'things_find', { filter: { search: 'b' }, fields: ['id'] })
  t.strictSame(content, { items: [{ id: 2 }] }, 'a filter named like an argument')
})

t.test('of several versions, the one that has the paths without a version', async t => {
  const renamed = deals.rename({ name: 'title' })
  const boot = (first: object = {}, second: object = {}) => bootWith(app => {
    const storage = memoryStorage()
    app.register(renamed, { storage, prefix: '/crm', version: 'v10', ...first })
    app.register(deals, { storage, prefix: '/crm', version: 'v9', ...second })
    app.register(mcp, { prefix: '/crm' })
  })
  const first = await boot()
  t.teardown(() => first.close())
  t.match((await call(first, 'deals_create', { title: 'Tea', price: 1 })).content, { item: { title: 'Tea' } })
  t.match((await call(first, 'deals_find', { filter: { 'title.has': 'te' } })).content, { items: [{ title: 'Tea' }] })
  for (const [one, other] of [[{}, { unversioned: true }], [{ unversioned: false }, {}]]) {
    const second = await boot(one, other)
    t.teardown(() => second.close())
    t.match((await call(second, 'deals_create', { name: 'Tea', price: 1 })).content, { item: { name: 'Tea' } })
  }
  const ended = await boot({ sunset: '2020-01-01' })
  t.teardown(() => ended.close())
  t.strictSame(await listNames(ended), [])
  t.match(await call(ended, 'deals_find'), { isError: true, content: { status: 410 } })
})

t.test('prefixes and scopes', async t => {
  const books = new Map([['a', memoryStorage()], ['b', memoryStorage()]])
  const storage = ({ params }: { params: unknown }) =>
    books.get((params as { tenant: string }).tenant) as ReturnType<typeof memoryStorage>
  const app = await bootWith(app => {
    app.register(deals, { storage, prefix: '/t/:tenant/', version: 'v1' })
    app.register(mcp, { prefix: '/t/:tenant' })
    app.register(customers, { storage: memoryStorage() })
    app.register(mcp)
    app.register(async scope => {
      scope.addHook('onRequest', async () => { throw Object.assign(new Error('Slow down'), { statusCode: 429 }) })
      scope.register(customers, { storage: memoryStorage(), prefix: '/slow' })
      scope.register(mcp, { prefix: '/slow' })
    })
  })
  t.teardown(() => app.close())
  const at = (url: string, name: string, args: object) => ask(app, 'tools/call', { name, arguments: args }, {}, url)
  await at('/t/a/mcp', 'deals_create', { name: 'Tea', price: 1 })
  const find = async (url: string) => (await at(url, 'deals_find', {})).body.result?.structuredContent
  t.match(await find('/t/a/mcp'), { items: [{ name: 'Tea' }] })
  t.strictSame(await find('/t/b/mcp'), { items: [] })
  const root = await ask(app, 'tools/list', {}, {}, '/mcp')
  t.strictSame(root.body.result?.tools.map(({ name }) => name), ['customers_find', 'customers_get'])
  t.match(await ask(app, 'tools/list', {}, {}, '/slow/mcp'), { status: 429, body: { error: { message: 'Slow down' } } })
})

t.test('a page of long items ends before it is too long', async t => {
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
    create: ['text']
  })
  const app = await bootWith(app => {
    app.register(notes, { storage: memoryStorage(), prefix: '/crm' })
    app.register(mcp, { prefix: '/crm' })
  })
  t.teardown(() => app.close())
  for (let i = 0; i < 25; i++) await call(app, 'notes_create', { text: 'x'.repeat(200_000) })
  const ids: string[] = []
  let pages = 0
  for (let after: unknown; pages === 0 || after !== undefined; pages++) {
    const { content: { items, next } } = await call(app, 'notes_find', { after })
    ids.push(...items.map(({ id }) => id))
    after = next
  }
  t.strictSame([ids.length, new Set(ids).size], [25, 25])
  t.ok(pages > 1, `${pages} pages`)
})

t.test('limits of the mount: the size of pages, and the time of a request', async t => {
  const inner = memoryStorage()
  let hangs = false
  const storage: Storage = {
    ...inner, find: (family, query) => hangs ? new Promise(() => {}) : inner.find(family, query)
  }
  const sizes = { storage, pageSize: 1, maxPageSize: 2 }
  const app = await crmApp(sizes)
  // Only for the call that hangs: the others take as long as they need.
  const hurried = await crmApp({ ...sizes, timeout: 200 })
  t.teardown(() => Promise.all([app.close(), hurried.close()]))
  for (const name of ['a', 'b', 'c']) await call(app, 'deals_create', { name, price: 1 })
  t.equal((await call(app, 'deals_find')).content.items.length, 1)
  t.equal((await call(app, 'deals_find', { limit: 1000 })).content.items.length, 2)
  hangs = true
  t.match(await call(hurried, 'deals_find'), { isError: true, content: { type: 'urn:dealbook:problem:timeout' } })
})
