import { inspect } from 'node:util'
import Fastify from 'fastify'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import type { FamilyOptions, ServiceOptions } from '../../lib/index.js'
import { deals, memoryStorage } from '../../lib/index.js'
import { openBook, refusal, testOverStorages } from './book.js'

/** A clock that goes on by a second with every look at it, and ids that count. */
function makeFixed () {
  let [seconds, items, commands] = [0, 0, 0]
  return {
    clock: () => new Date(Date.UTC(2030, 0, 1, 0, 0, seconds++)),
    makeId: () => `deal-${++items}`,
    makeCommandId: () => `command-${++commands}`
  }
}

const second = (n: number) => `2030-01-01T00:00:0${n}.000Z`

testOverStorages(async (t, { storage }) => {
  const book = openBook(storage, makeFixed())
  const { item } = await book.create({ name: 'Tea', price: 1 })
  t.match(item, { id: 'deal-1', createdAt: second(0), updatedAt: second(0) })
  t.match(await book.run('hold', item.id, { reason: 'a' }), {
    item: { updatedAt: second(1) },
    command: { id: 'command-2', createdAt: second(1) }
  })
  t.match(await book.run('unhold', item.id, {}, { command: 'mine' }), { command: { id: 'mine', createdAt: second(2) } })
  t.match(await book.create({ name: 'Milk', price: 1 }), { item: { id: 'deal-2' }, command: { id: 'command-3' } })
})

t.test('by HTTP', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const { makeId, ...fixed } = makeFixed()
  app.register(deals.extend({ makeId }), { storage: memoryStorage(), version: 'v1', ...fixed })
  const home = '/rest/v1/deals'
  const page = (await app.inject(`${home}?format=html`)).body
  t.match(page, 'value="command-1"', 'the key of a form')
  t.match(page, 'min-createdAt=2030-01-01', 'the day of a link to the newest')
  const made = await app.inject({ method: 'POST', url: home, payload: { name: 'Tea', price: 1 } })
  t.equal(made.headers.location, `${home}/deal-1`)
  t.match(made.json(), { id: 'deal-1', createdAt: second(1) })
  t.match((await app.inject(`${home}/deal-1/commands`)).json().items, [{ id: 'command-2', createdAt: second(1) }])
})

t.test('a version ends by the clock', async t => {
  let now = new Date('2029-12-31T23:59:59Z')
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1', sunset: '2030-01-01', clock: () => now })
  t.equal((await app.inject('/rest/v1/deals')).statusCode, 200)
  now = new Date('2030-01-01')
  t.equal((await app.inject('/rest/v1/deals')).statusCode, 410)
  t.equal((await app.inject('/query/deals-by-status/open')).statusCode, 410)
})

t.test('an id of the option counts in place of the next integer', async t => {
  const ids = [7, 3]
  const book = invoices.service({ storage: memoryStorage(), makeId: () => ids.shift() as number })
  t.equal((await book.create({ customer: 1, total: 1 })).item.id, 7)
  t.equal((await book.create({ customer: 1, total: 1 })).item.id, 3)
})

t.test('what they give back must be usable', async t => {
  const storage = memoryStorage()
  const table: [Omit<ServiceOptions, 'storage'>, RegExp][] = [
    [{ clock: (() => '2030-01-01') as never }, /^fastify-dealbook, deals: the option "clock" did not return/],
    [{ clock: () => new Date('never') }, /the option "clock" did not return a valid Date/],
    [{ makeCommandId: () => 'a/b' }, /the option "makeCommandId" returned "a\/b"; a command id has 1 to 100 of/],
    [{ makeCommandId: (() => 7) as never }, /the option "makeCommandId" returned 7/],
    [{ makeId: () => 'a/b' }, /the option "makeId" returned 'a\/b'; an id has 1 to 100 of/],
    [{ makeId: () => '' }, /the option "makeId" returned ''/],
    [{ makeId: () => 'x'.repeat(101) }, /the option "makeId" returned/],
    [{ makeId: () => 7 }, /the option "makeId" returned 7/],
    [{ makeId: (async () => 'a') as never }, /the option "makeId" returned Promise/]
  ]
  for (const [options, message] of table) {
    const error = await refusal(openBook(storage, options).create({ name: 'a', price: 1 }))
    t.match(error, { code: 'FST_DEALBOOK_INVALID_OPTION', message })
  }
  t.same((await openBook(storage).find()).items, [], 'and nothing was done')
  for (const id of [undefined, '1', 1.5, 2 ** 53]) {
    const counted = invoices.service({ storage, makeId: (() => id) as never })
    const message = `fastify-dealbook, invoices: the option "makeId" returned ${inspect(id)}; an id is a safe integer`
    await t.rejects(counted.create({ customer: 1, total: 1 }), { code: 'FST_DEALBOOK_INVALID_OPTION', message })
  }
  for (const option of ['clock', 'makeId', 'makeCommandId'] as const) {
    const message = `fastify-dealbook, deals: the option "${option}" must be a function`
    const wrong = { storage, version: 'v1', [option]: 'text' } as unknown as FamilyOptions & { version: string }
    const { version, ...ofService } = wrong
    t.throws(() => deals.service(ofService as ServiceOptions), { message })
    if (option !== 'makeId') await t.rejects(async () => await Fastify().register(deals, wrong), { message })
  }
})
