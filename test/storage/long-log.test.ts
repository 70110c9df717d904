import Fastify from 'fastify'
import t from 'tap'
import type { Change } from '../../lib/index.js'
import { deals } from '../../lib/index.js'
import { home } from '../deals/app.js'
import { isLong } from '../size.js'
import { storages } from '../storages.js'

// `npm run test:long` has as many as somebody can make in five minutes who repeats himself.
const entries = isLong ? 150_000 : 2000

/** Commands that changed nothing, each under an id of its own. */
function makeEntries (target: string, from: number, count: number): Change[] {
  return Array.from({ length: count }, (_, index) => {
    const at = new Date(Date.UTC(2026, 0, 1) + from + index).toISOString()
    const item = {
      id: `e-${(from + index) * 7919 % 1_000_003}`,
      family: 'deals',
      target,
      action: 'UnholdDeal',
      outcome: 'unchanged',
      revision: 1,
      createdAt: at,
      updatedAt: at
    }
    return { type: 'insert', family: 'commands', item }
  })
}

for (const { name, make } of storages) {
  t.test(`${name}: a long log is read by pages, and as a whole in one go`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = Fastify()
    t.teardown(() => app.close())
    // However busy the machine is.
    await app.register(deals, { storage, version: 'v1', timeout: 600_000 })
    const create = { method: 'POST', url: home, payload: { name: 'Tea', price: 1 } } as const
    const { id } = (await app.inject(create)).json<{ id: string }>()
    const part = 2000
    for (let from = 0; from < entries; from += part) await storage.commit(makeEntries(id, from, part))

    const log = `${home}/${id}/commands`
    const pages = [
      log, `${log}?sort=-revision,-outcome,-createdAt,-id`, `${log}?page=20`, `${log}?count=exact`, `${home}/${id}.html`
    ]
    for (const page of pages) t.equal((await app.inject(page)).statusCode, 200, page)
    t.equal((await app.inject(`${log}?count=exact&maxpagesize=1`)).json<{ total: number }>().total, entries + 1)

    const finds = t.capture(storage, 'find', storage.find.bind(storage))
    const lines = (await app.inject(`${log}.csv`)).body.trimEnd().split('\r\n')
    t.equal(lines.length, entries + 2)
    // One pass: by key, in parts that do not become smaller.
    const { length } = finds()
    t.ok(length > 1 && length < 20 + entries / 100, `${length} reads for ${entries} entries`)
  })
}
