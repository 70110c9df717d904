import { setImmediate as nextTurn } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { HeavyReadQueue } from '../../lib/core/storage/turns.js'
import { BusyError, defineFamily, memoryStorage, type Query, type Storage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'

const states = ['new', 'open', 'late', 'paid']
const bills = defineFamily({
  name: 'bills',
  singular: 'bill',
  fields: Type.Object({
    id: Type.Integer(), text: Type.String(), status: Type.Union(states.map(state => Type.Literal(state)))
  }),
  create: ['text', 'status'],
  states: Object.fromEntries(states.map(state => [state, { filter: `status=${state}` }]))
})

/** A list makes many reads: each of them is heavy here, and begins when the queue lets it. */
async function serve (t: Test, queue: HeavyReadQueue, refuse: (query: Query) => boolean = () => false) {
  const memory = memoryStorage()
  await loadItems(memory, bills, Array.from({ length: 8 }, (_, index) =>
    ({ id: index + 1, text: 'x', status: states[index % 4] as string })))
  const started: Query[] = []
  const find: Storage['find'] = async (family, query, signal) => {
    if (refuse(query)) throw new BusyError('too many')
    const leave = await queue.enter(signal)
    started.push(query)
    try {
      await nextTurn()
      return await memory.find(family, query, signal)
    } finally {
      leave()
    }
  }
  const app = Fastify()
  t.teardown(() => app.close())
  // However busy the machine is. More than one page, so that states are counted by reads.
  await app.register(bills, { storage: { ...memory, find }, timeout: 600_000, pageSize: 5 })
  return { app, started }
}

async function readPages (app: FastifyInstance, count: number): Promise<number> {
  const pages = await Promise.all(Array.from({ length: count }, () =>
    app.inject({ url: '/bills', headers: { accept: 'text/html' } })))
  for (const { statusCode } of pages) if (statusCode !== 200 && statusCode !== 503) throw new Error(`${statusCode}`)
  return pages.filter(({ statusCode }) => statusCode === 200).length
}

t.test('the more pages at once, the more are refused, and none of those that have begun', async t => {
  const limits = { maxHeavyReads: 2, maxWaitingReads: 8 }
  const queue = new HeavyReadQueue(limits)
  const { app, started } = await serve(t, queue)
  t.equal(await readPages(app, 1), 1)
  const each = started.length
  t.ok(each > 5, `a page makes ${each} reads`)
  for (const count of [5, 10, 20, 60]) {
    started.length = 0
    const shown = await readPages(app, count)
    t.ok(shown >= Math.min(count, 10), `${shown} of ${count} pages are shown`)
    t.equal(started.length, shown * each, 'nothing is read for others')
    t.strictSame([queue.running, queue.waiting], [0, 0])
  }
})

t.test('what else a refused page needs is given up', async t => {
  const queue = new HeavyReadQueue({ maxHeavyReads: 1 })
  const isLast = ({ where: [first] }: Query): boolean =>
    first !== undefined && 'values' in first && first.values[0] === states.at(-1)
  const { app, started } = await serve(t, queue, isLast)
  t.equal(await readPages(app, 1), 0)
  while (queue.running > 0) await nextTurn()
  t.ok(started.length <= 3, `the list, and ${started.length - 1} of the reads after it`)
})
