import t from 'tap'
import { type Message, relay } from '../examples/relay.js'
import { deals } from '../lib/index.js'
import { storages } from './storages.js'

for (const { name, make } of storages) {
  t.test(`a relay to a broker, on ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = deals.service({ storage })
    const made = await Promise.all(['Tea', 'Rum'].map(async name => (await book.create({ name, price: 1 })).item.id))
    for (const id of made) {
      await book.run('hold', id, { reason: 'Papers' }, { command: `hold-${id}` })
      // Refused, and so no message.
      await book.run('complete', id, {}, { command: `complete-${id}` }).catch(() => {})
      await book.remove(id)
    }
    const taken: Message[] = []
    const stop = new AbortController()
    let failures = 2
    const broker = {
      async publish (message: Message) {
        if (message.headers.action === 'HoldDeal' && failures-- > 0) throw new Error('The broker is away')
        taken.push(message)
        if (taken.length === 6) stop.abort()
      }
    }
    await relay(storage, [deals], broker, stop.signal)
    for (const id of made) {
      const ours = taken.filter(({ key }) => key === `deals/${id}`)
      t.strictSame(ours.map(({ headers }) => headers.action), ['CreateDeal', 'HoldDeal', 'DeleteDeal'], 'in order')
      t.equal(ours[1]?.id, `deals/${id}/hold-${id}`)
      t.match(JSON.parse(ours[1]?.body ?? ''), { deal: id, params: { reason: 'Papers' } })
    }
    t.equal(new Set(taken.map(({ id }) => id)).size, 6, 'each has an id of its own')
    t.ok(failures <= 0)
  })
}
