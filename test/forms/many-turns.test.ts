import Fastify from 'fastify'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'

const lists = 8
const made = { action: 'CreateDeal', params: { name: 'Tea', price: 1 } }
const invalid = { deal: 'none', action: 'HoldDeals', params: { reason: 1 } }

// Memory waits for nothing, so that only the pauses let other events in.
for (const [name, command, atomic] of [
  ['changes', made, false], ['flaws', invalid, false], ['changes in one commit', made, true]
] as const) {
  t.test(`many lists at once leave other requests their turn: ${name}`, async t => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(deals, { storage: memoryStorage(), version: 'v1' })
    const payload = { commands: Array.from({ length: 100 }, () => command), atomic }
    const send = async () => (await app.inject({ method: 'POST', url: '/rest/commands', payload })).statusCode
    const first = await send()
    const state = { isOver: false }
    const sending = Promise.all(Array.from({ length: lists }, send)).finally(() => { state.isOver = true })
    let turns = 0
    for (; !state.isOver; turns++) await new Promise(resolve => setImmediate(resolve))
    t.ok(turns > 5, `${turns} turns of the loop`)
    t.strictSame(await sending, Array.from({ length: lists }, () => first))
  })
}

t.test('of lists that arrive together, no more than two are read in a turn', async t => {
  const turns: number[] = []
  let turn = 0
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, {
    storage: memoryStorage(),
    version: 'v1',
    forms: ['commands'],
    sunset: '2100-01-01',
    // Is asked for each command. Three times are longer than a turn should be.
    clock () {
      for (const start = performance.now(); performance.now() - start < 2;);
      turns.push(turn)
      return new Date(0)
    }
  })
  await app.ready()
  turns.length = 0
  const payload = { commands: [invalid, invalid] }
  const state = { isOver: false }
  const sending = Promise.all(Array.from({ length: 5 }, async () =>
    (await app.inject({ method: 'POST', url: '/rest/commands', payload })).statusCode))
    .finally(() => { state.isOver = true })
  for (; !state.isOver; turn++) await new Promise(resolve => setImmediate(resolve))
  t.strictSame(new Set(await sending), new Set([200]))
  t.equal(turns.length, 15)
  const most = Math.max(...Array.from({ length: turn }, (_, n) => turns.filter(each => each === n).length))
  t.ok(most <= 6, `${most} of ${turns.length} in one turn`)
})
