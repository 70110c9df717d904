import Fastify from 'fastify'
import t from 'tap'
import { raceSignal, RequestDeadline } from '../../lib/core/storage/deadline.js'
import { customers, memoryStorage } from '../../lib/index.js'

const countTimers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length

const deadlines = { timeout: 60_000, explain: (why: string) => new Error(why) }

t.test('a deadline is checked as long as something listens, and no longer', async t => {
  const seen = { checks: 0 }
  const socket = { get destroyed () { seen.checks++; return false } }
  const deadline = new RequestDeadline(deadlines, { socket })
  const wait = () => new Promise(resolve => setTimeout(resolve, 200))
  await wait()
  t.equal(seen.checks, 0)
  const listeners = [() => {}, () => {}]
  for (const listener of listeners) deadline.addEventListener('abort', listener)
  while (seen.checks < 2) await wait()
  for (const listener of listeners) deadline.removeEventListener('abort', listener)
  seen.checks = 0
  await wait()
  t.equal(seen.checks, 0)
  t.equal(await raceSignal(deadline, Promise.resolve('done')), 'done')
  await new Promise(resolve => setImmediate(resolve))
  seen.checks = 0
  await wait()
  t.equal(seen.checks, 0)
})

t.test('a deadline ends what listens, and the signals that it has lent', async t => {
  const socket = { destroyed: false }
  const deadline = new RequestDeadline(deadlines, { socket })
  const { signal } = deadline
  t.ok(signal instanceof AbortSignal)
  const waiting = raceSignal(deadline, new Promise(() => {}))
  socket.destroyed = true
  await t.rejects(waiting, { message: 'gone' })
  t.match([deadline.aborted, signal.aborted, signal.reason], [true, true, { message: 'gone' }])
  const late = new RequestDeadline({ ...deadlines, timeout: 1 }, { socket: {} })
  await t.rejects(raceSignal(late, new Promise(() => {})), { message: 'late' })
  await t.rejects(late.waitForCommit(new Promise(() => {})), { message: 'unsure' })
  t.equal(late.signal.aborted, true, 'also one that is lent afterwards')
  late.renew()
  t.throws(() => { late.throwIfAborted() }, { message: 'late' })
})

t.test('a deadline that ends when it is asked is not watched any longer', async t => {
  const before = countTimers()
  const socket = { destroyed: false }
  const deadline = new RequestDeadline(deadlines, { socket })
  const listener = (): void => {}
  deadline.addEventListener('abort', listener)
  socket.destroyed = true
  t.equal(deadline.aborted, true)
  deadline.removeEventListener('abort', listener)
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
