// An operation on a hidden item changes one that the caller may see.
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import { defineFamily, type Intent, memoryStorage, Problem, Type } from '../../lib/index.js'

const customers = defineFamily({
  name: 'customers',
  singular: 'customer',
  fields: Type.Object({ id: Type.Integer(), region: Type.String(), points: Type.Integer() }),
  create: ['region', 'points']
})

const contracts = defineFamily({
  name: 'contracts',
  singular: 'contract',
  fields: Type.Object({ id: Type.String(), region: Type.String(), customer: Type.Integer() }),
  create: ['region', 'customer'],
  references: { customer: customers },
  operations: {
    reward: {
      name: 'reward',
      verb: 'reward',
      participle: 'rewarded',
      noun: 'rewards',
      action: 'RewardContract',
      params: Type.Object({ points: Type.Integer(), why: Type.String() }),
      with: { customer: 'customer' },
      apply: (contract, { points }, { items: { customer } }) =>
        ({ item: contract, others: { customer: { ...customer, points: Number(customer['points']) + points } } })
    }
  }
})

const grants: Record<string, (intent: Intent) => object | undefined> = {
  boss: () => undefined,
  nora: () => ({ principal: 'nora', where: [{ field: 'region', op: 'eq', values: ['north'] }] }),
  clerk ({ family }) {
    if (family === 'contracts') throw new Problem('forbidden', 'No contracts')
    return { principal: 'clerk' }
  }
}

async function start (name: string) {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  const authorize = ({ headers: { role } }: FastifyRequest, intent: Intent) => grants[String(role)]?.(intent)
  app.register(customers, { storage, authorize, version: 'v1', prefix: '/crm' })
  app.register(contracts, { storage, authorize, version: 'v1', prefix: '/crm' })
  const send = async (role: string, method: 'GET' | 'POST' | 'PUT', url: string, payload?: object, accept = '*/*') =>
    await app.inject({ method, url: `/crm${url}`, headers: { role, accept }, ...payload && { payload } })
  const customer = (await send('boss', 'POST', '/rest/v1/customers', { region: 'north', points: 0 })).json().id
  const contract = (await send('boss', 'POST', '/rest/v1/contracts', { region: name, customer })).json().id
  const command = randomUUID()
  const put = await send('boss', 'PUT', `/rest/v1/contracts/${contract}/commands/${command}`,
    { action: 'RewardContract', params: { points: 3, why: 'SECRETWHY' } })
  t.equal(put.statusCode, 201)
  const log = (await send('nora', 'GET', `/rest/v1/customers/${customer}/commands`)).json().items
  return { send, contract, row: log[1].id as string }
}

t.test('neither its parameters nor its id are shown, wherever the change is', async t => {
  const { send, contract, row } = await start('south')
  const { next } = (await send('boss', 'GET', '/rest/commands?maxpagesize=1')).json().links
  const follow = String(next).replace('/crm', '').replace('maxpagesize=1&', '')
  for (const [role, isShown] of [['boss', true], ['nora', false], ['clerk', false]] as const) {
    for (const [url, ...formats] of [
      ['/rest/v1/customers/1', 'text/html'],
      ['/rest/v1/customers/1/commands', '*/*', 'text/html', 'text/csv', 'application/xml', 'application/x-ndjson'],
      [`/rest/v1/customers/1/commands/${row}`, '*/*', 'text/html'],
      [`/rest/commands/${row}`, '*/*'],
      ['/rest/v1/customers/commands', '*/*', 'text/html', 'text/csv'],
      ['/rest/commands', '*/*', 'text/html', 'application/x-ndjson'],
      [follow, '*/*'],
      ['/', 'text/html']
    ] as const) {
      for (const accept of formats) {
        const { statusCode, body } = await send(role, 'GET', url, undefined, accept)
        const what = `${role}: ${url} as ${accept}`
        t.equal(statusCode, 200, what)
        t.match(body, accept === 'text/html' ? /reward/i : /RewardContract/, what)
        t.equal(/SECRETWHY/.test(body), isShown, what)
        t.equal(body.includes(contract), isShown, what)
      }
    }
  }
})

t.test('those of an item that the caller sees are shown', async t => {
  const { send, contract } = await start('north')
  const { items } = (await send('nora', 'GET', '/rest/v1/customers/1/commands')).json()
  t.match(items[1], { params: { points: 3, why: 'SECRETWHY' }, about: { family: 'contracts', id: contract } })
})

t.test('a service with authorize shows as much', async t => {
  const storage = memoryStorage()
  const [customerBook, contractBook] = [customers.service({ storage }), contracts.service({ storage })]
  const { item: { id: customer } } = await customerBook.create({ region: 'north', points: 0 })
  const { item: { id } } = await contractBook.create({ region: 'south', customer })
  await contractBook.run('reward', id, { points: 3, why: 'SECRETWHY' })
  const about = { about: { family: 'contracts', id }, params: { points: 3, why: 'SECRETWHY' } }
  const pick = ({ about, params }: object & { about?: unknown, params?: unknown }) =>
    JSON.parse(JSON.stringify({ about, params }))
  const authorize = ({ principal = '' }, intent: Intent) => grants[principal]?.(intent)
  const guarded = customers.service({ storage, authorize })
  for (const [book, expected, principal] of [
    [customerBook, about, 'anyone'], [guarded, {}, 'nora'], [guarded, {}, 'clerk']
  ] as const) {
    t.strictSame((await book.log(customer, { principal })).items.map(pick).at(-1), expected, principal)
    const signal = AbortSignal.timeout(60_000)
    const followed: unknown[] = []
    for await (const entry of book.follow({ principal, signal })) if (followed.push(pick(entry)) === 2) break
    t.strictSame(followed.at(-1), expected, principal)
  }
})
