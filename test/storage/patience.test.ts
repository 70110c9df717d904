import Fastify from 'fastify'
import t from 'tap'
import { Deadlines } from '../../lib/core/storage/patience.js'
import { customers, memoryStorage } from '../../lib/index.js'

const countTimers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length

t.test('deadlines keep a program alive as long as somebody waits, and no longer', async t => {
  const deadlines = new Deadlines(60_000, () => new Error('late'))
  const ending = { endsAt: performance.now() + 60_000, end () {} }
  const before = countTimers()
  deadlines.add(ending)
  t.equal(countTimers(), before + 1, 'while it waits')
  deadlines.delete(ending)
  t.equal(countTimers(), before, 'when it is done')
  deadlines.add(ending)
  t.equal(countTimers(), before + 1, 'and again, with the same timer')
  deadlines.delete(ending)
  t.equal(countTimers(), before)
})

t.test('a storage that is given a signal leaves nothing to wait for, either', async t => {
  const before = countTimers()
  const app = Fastify()
  t.teardown(() => app.close())
  // Not known to heed our own kind of signal, as those of hosts are.
  app.register(customers, { storage: { ...memoryStorage() } })
  t.equal((await app.inject('/customers')).statusCode, 200)
  t.equal((await app.inject('/customers/1')).statusCode, 404)
  t.equal(countTimers(), before)
})
