import Fastify from 'fastify'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'

const lists = 20
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
