import t from 'tap'
import type { FamilyOptions, Intent } from '../../lib/index.js'
import { memoryStorage, Problem } from '../../lib/index.js'
import { ask, call, connect, crmApp, listNames } from './app.js'

type Authorize = NonNullable<FamilyOptions['authorize']>

const challenge = { headers: { 'www-authenticate': 'Bearer resource_metadata="https://example.org/meta"' } }

/** What each role may do; nobody else is known. */
const roles: Readonly<Record<string, readonly string[]>> = {
  reader: ['list', 'read'],
  clerk: ['list', 'read', 'CreateDeal', 'HoldDeal', 'UnholdDeal'],
  robot: ['HoldDeal'],
  guest: []
}

const byRole: Authorize = ({ headers: { role = '' } }, { action }) => {
  const allowed = roles[String(role)]
  if (allowed === undefined) throw new Problem('unauthorized', 'Sign in first', challenge)
  if (!allowed.includes(action)) throw new Problem('forbidden', `A ${String(role)} may not ${action}`)
  return { principal: String(role) }
}

const listedFor: Readonly<Record<string, readonly string[]>> = {
  reader: ['customers_find', 'customers_get', 'deals_find', 'deals_get', 'deals_operations', 'deals_deleted'],
  clerk: ['customers_find', 'customers_get', 'deals_find', 'deals_get', 'deals_operations', 'deals_deleted',
    'deals_create', 'deals_hold', 'deals_unhold'],
  robot: ['deals_hold'],
  guest: []
}

t.test('each caller sees and may call the tools that authorize allows', async t => {
  const storage = memoryStorage()
  const app = await crmApp({ storage, authorize: byRole })
  t.teardown(() => app.close())
  const { content: { item: { id } } } = await call(app, 'deals_create', { name: 'Tea', price: 1 }, { role: 'clerk' })
  const calls: Readonly<Record<string, object>> = {
    customers_find: {},
    deals_find: {},
    deals_get: { id },
    deals_operations: { id },
    deals_deleted: {},
    deals_create: { name: 'Coffee', price: 2 },
    deals_hold: { id, reason: 'Papers' },
    deals_unhold: { id },
    deals_delete: { id }
  }
  for (const [role, listed] of Object.entries(listedFor)) {
    t.strictSame(await listNames(app, { role }), listed, role)
    for (const [tool, args] of Object.entries(calls)) {
      const { isError = false, text } = await call(app, tool, args, { role })
      t.equal(isError, !listed.includes(tool), `${role} ${tool}`)
      if (isError) t.match(text, new RegExp(`^This is not allowed: A ${role} may not `))
    }
  }
  const { content } = await call(app, 'deals_operations', { id }, { role: 'clerk' })
  t.strictSame(content.items.map(({ name }) => name), ['hold', 'unhold'])
})

t.test('who is to sign in gets 401 with the challenge, whatever is asked', async t => {
  const app = await crmApp({ authorize: byRole })
  t.teardown(() => app.close())
  for (const [method, params] of [
    ['tools/list', {}],
    ['tools/call', { name: 'deals_find' }],
    ['tools/call', { name: 'deals_hold', arguments: { id: 'a', reason: 'x' } }]
  ] as const) {
    const { status, headers, body } = await ask(app, method, params)
    t.strictSame([status, headers['www-authenticate']], [401, challenge.headers['www-authenticate']])
    t.match(body, { id: 1, error: { message: 'Sign in first' } })
  }
  t.match(await ask(app, 'initialize', {}), { status: 200 }, 'this tells nothing')
  const client = await connect(t, app, 'auto', {})
  await t.rejects(client.listTools(), /401|nauthorized/)
  const signedIn = await connect(t, app, 'auto', { role: 'robot' })
  t.match(await signedIn.listTools(), { tools: [{ name: 'deals_hold' }] })
})

t.test('where everything is refused, a challenge counts more than other refusals', async t => {
  for (const challenged of ['list', 'CreateDeal', 'HoldDeal']) {
    const app = await crmApp({
      authorize (_request, { action }) {
        throw new Problem('forbidden', 'No', action === challenged ? challenge : {})
      }
    })
    t.teardown(() => app.close())
    t.match(await ask(app, 'tools/list'), { status: 403, headers: challenge.headers }, challenged)
  }
})

t.test('a refusal with a challenge asks the client for a further scope', async t => {
  const app = await crmApp({ authorize: () => { throw new Problem('forbidden', 'Ask for deals:read', challenge) } })
  t.teardown(() => app.close())
  t.match(await ask(app, 'tools/call', { name: 'deals_find' }), {
    status: 403, headers: challenge.headers, body: { error: { message: 'Ask for deals:read' } }
  })
})

t.test('authorize is asked tentatively for the list, and for a call as over HTTP', async t => {
  const intents: Intent[] = []
  const app = await crmApp({ authorize: (_request, intent) => { intents.push(intent) } })
  t.teardown(() => app.close())
  await listNames(app)
  t.ok(intents.length > 10 && intents.every(({ tentative, id }) => tentative === true && id === undefined))
  t.equal(new Set(intents.map(({ family, action }) => family + action)).size, intents.length, 'each once')
  const { content: { item: { id } } } = await call(app, 'deals_create', { name: 'Tea', price: 1 })
  intents.length = 0
  await call(app, 'deals_hold', { id, reason: 'Papers' })
  const family = 'deals'
  t.strictSame(intents, [
    { family, action: 'HoldDeal', id, params: { reason: 'Papers' } },
    { family, action: 'read', id, params: {} }
  ])
})

t.test('the offers of a grant are the tools of operations', async t => {
  let asked = 0
  const app = await crmApp({
    authorize (_request, { family, action }) {
      asked++
      return family === 'deals' && action === 'list' ? { offers: ['HoldDeal'] } : {}
    }
  })
  t.teardown(() => app.close())
  const names = (await listNames(app)).filter(name => name.startsWith('deals'))
  t.strictSame(names, ['deals_find', 'deals_get', 'deals_operations', 'deals_deleted', 'deals_hold'])
  t.equal(asked, 4, 'list and read of both families')
})

t.test('what the grant hides does not exist; what may not be read is not shown', async t => {
  const storage = memoryStorage()
  const app = await crmApp({
    storage,
    authorize ({ headers: { role } }, { action }) {
      if (role === 'writer' && action === 'read') throw new Problem('forbidden', 'Not for you')
      return role === 'cheap' ? { where: [{ field: 'price', op: 'lte', value: 10 }] } : {}
    }
  })
  t.teardown(() => app.close())
  const { content: { item: { id } } } = await call(app, 'deals_create', { name: 'Tea', price: 100 })
  const cheap = { role: 'cheap' }
  t.strictSame((await call(app, 'deals_find', { count: true }, cheap)).content, { items: [], total: 0 })
  for (const [tool, args] of [['deals_get', {}], ['deals_operations', {}], ['deals_hold', { reason: 'x' }]] as const) {
    t.match(await call(app, tool, { id, ...args }, cheap), { isError: true, content: { status: 404 } }, tool)
  }
  const blind = await call(app, 'deals_hold', { id, reason: 'x' }, { role: 'writer' })
  t.strictSame(Object.keys(blind.content), ['command', 'changed', 'replayed'])
  t.match(await call(app, 'deals_find', { filter: { secret: 1 } }, { role: 'nobody' }), { isError: true })
})

t.test('where authorize itself fails, the list and the call fail, and say no more', async t => {
  const app = await crmApp({ authorize: () => { throw new TypeError('a bug') } })
  t.teardown(() => app.close())
  const list = await ask(app, 'tools/list')
  t.match(list, { status: 500, body: { error: { code: -32603, message: /internal error occurred; it was logged/ } } })
  const { isError, text } = await call(app, 'deals_find')
  t.ok(isError)
  t.match(text, /internal error occurred; it was logged/)
  t.notMatch(text, /a bug/)
})

t.test('where authorize fails for one tool, the list fails too', async t => {
  const app = await crmApp({
    authorize: (_request, { action }) => { if (action === 'HoldDeal') throw new TypeError('a bug') }
  })
  t.teardown(() => app.close())
  t.match(await ask(app, 'tools/list'), { status: 500, body: { error: { code: -32603 } } })
  t.notOk((await call(app, 'deals_find')).isError)
})

t.test('the ids of commands belong to their principal', async t => {
  const app = await crmApp({ authorize: ({ headers: { role } }) => ({ principal: String(role) }) })
  t.teardown(() => app.close())
  const args = { name: 'Tea', price: 1, command: 'c1' }
  const make = async (role: string) => (await call(app, 'deals_create', args, { role })).content
  const [first, second, again] = [await make('ann'), await make('bob'), await make('ann')]
  t.not(first.item.id, second.item.id)
  t.match(again, { item: { id: first.item.id }, replayed: true })
})
