import { randomUUID } from 'node:crypto'
import '../process-time.js'
import Fastify from 'fastify'
import t from 'tap'
import { real, useRuntime } from '../../lib/core/runtime.js'
import type { Storage } from '../../lib/index.js'
import { checkHealth, ConflictError, deals, memoryStorage, readMetrics, Type } from '../../lib/index.js'
import { createDeal, dealsApp, home } from '../deals/app.js'
import { dealAfter, openBook, testOverStorages } from './book.js'

testOverStorages(async (t, { book, storage }) => {
  t.test('commands are counted by their outcome, from every caller', async t => {
    const id = await dealAfter(book, 'hold')
    const app = await dealsApp(storage)
    t.teardown(() => app.close())
    const before = readMetrics(storage)
    const command = randomUUID()
    await book.run('unhold', id, {}, { command })
    await book.run('unhold', id, {}, { command })
    await book.run('unhold', id)
    await app.inject({ method: 'PUT', url: `${home}/${id}/complete` })
    await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
    await app.inject({ method: 'PUT', url: `${home}/none/hold`, payload: { reason: 'a' } })
    const after = readMetrics(storage)
    const differences = Object.entries(after).map(([name, value]) => [name, value - (before[name] as number)] as const)
    t.match(Object.fromEntries(differences), {
      commands_done_total: 2,
      commands_unchanged_total: 1,
      commands_refused_total: 1,
      commands_failed_total: 0,
      replays_total: 1,
      retries_total: 0,
      writers_waiting: 0
    })
    if ('commits_total' in after) {
      t.match(Object.fromEntries(differences), { commits_total: 2, commits_waiting: 0, commits_refused_total: 0 })
      t.match(after, { heavy_reads: 0, heavy_reads_waiting: 0, heavy_reads_refused_total: 0 })
      t.ok(after.batches_total as number <= after.commits_total)
    }
    for (const [name, value] of Object.entries(after)) t.ok(/^[a-z_]+$/.test(name) && Number.isFinite(value), name)
  })

  t.test('a storage that answers is healthy', async t => {
    const health = await checkHealth(storage)
    t.match(health, { healthy: true })
    t.ok(health.duration >= 0 && !('error' in health))
  })
})

t.test('failures, retries and those that wait', async t => {
  const inner = memoryStorage()
  let next: unknown[] = []
  let release = (): void => {}
  let gate = Promise.resolve()
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      const error = next.shift()
      if (error !== undefined) throw error
      await gate
      await inner.commit(changes)
    },
    metrics: () => ({ commits_waiting: 7 })
  }
  const book = openBook(storage)
  const id = await dealAfter(book)
  next = [new ConflictError('deals', id), new ConflictError('deals', id), undefined, new Error('no disk')]
  await book.run('hold', id, { reason: 'a' })
  await t.rejects(book.run('unhold', id), { code: 'storage-unavailable' })
  await t.rejects(book.run('hold', 'none', { reason: 'a' }), { code: 'not-found' })
  const told = { commands_done_total: 2, commands_failed_total: 1, retries_total: 2, commits_waiting: 7 }
  t.match(readMetrics(storage), told)

  gate = new Promise(resolve => { release = resolve })
  const calls = ['unhold', 'hold', 'unhold'].map(name => book.run(name, id, name === 'hold' ? { reason: 'a' } : {}))
  await new Promise(resolve => setImmediate(resolve))
  t.equal(readMetrics(storage).writers_waiting, 2, 'one is at work')
  release()
  await Promise.all(calls)
  t.equal(readMetrics(storage).writers_waiting, 0)
})

t.test('commands of one commit are counted when it is made', async t => {
  const inner = memoryStorage()
  let failures = 0
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (failures-- > 0) throw new Error('no disk')
      await inner.commit(changes)
    }
  }
  const book = openBook(storage)
  const id = await dealAfter(book)
  const count = () => {
    const { commands_done_total: done, commands_unchanged_total: unchanged, ...rest } = readMetrics(storage)
    return [done, unchanged, rest.commands_refused_total, rest.commands_failed_total, rest.replays_total]
  }
  const run = (operation: string, more: object = {}) => ({ operation, id, ...more })
  const hold = run('hold', { params: { reason: 'a' }, command: 'c-1' })
  const all = (...commands: readonly ReturnType<typeof run>[]) => book.runAll(commands as never, { atomic: true })
  await all(hold, run('hold', { params: { reason: 'a' } }), run('unhold'))
  t.strictSame(count(), [3, 1, 0, 0, 0])
  await all(hold)
  t.strictSame(count(), [3, 1, 0, 0, 1], 'one that was run before, where nothing is committed')
  await all(hold, run('hold', { params: { reason: 'b' } }))
  t.strictSame(count(), [4, 1, 0, 0, 2])
  const other = run('hold', { params: { reason: 'c' } })
  await t.rejects(all(run('unhold'), other, run('complete')), { code: 'wrong-state' })
  t.strictSame(count(), [4, 1, 1, 0, 2], 'one is refused, and none is done')
  await t.rejects(all(run('unhold', { revision: 1 })), { code: 'precondition-failed' })
  t.strictSame(count(), [4, 1, 1, 0, 2], 'nor is this a failure')
  failures = 1
  await t.rejects(all(run('unhold'), run('complete')), { code: 'storage-unavailable' })
  t.strictSame(count(), [4, 1, 1, 1, 2])
})

t.test('a command that others are always faster than ends', async t => {
  const inner = memoryStorage()
  let isFast = true
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (isFast) return await inner.commit(changes)
      throw new ConflictError('deals', 'a')
    }
  }
  const book = openBook(storage)
  const id = await dealAfter(book)
  isFast = false
  const times: number[] = []
  useRuntime({
    ...real,
    random: () => 1,
    setTimeout (run, time) {
      times.push(time)
      return real.setTimeout(run, 0)
    }
  })
  t.teardown(() => { useRuntime() })
  const message = 'Other clients kept changing it at the same time; nothing was done'
  await t.rejects(book.run('hold', id, { reason: 'a' }), { code: 'busy', message, headers: { 'retry-after': '1' } })
  t.match(readMetrics(storage), { retries_total: 150, commands_failed_total: 1 })
  t.strictSame(times.slice(0, 10), [6, 8, 10, 12, 14, 16, 18, 20, 20, 20], 'the pauses grow')
  t.equal(times.length, 147, 'the first attempts follow at once')
})

t.test('the host is told of changes, and of nothing else', async t => {
  const told: unknown[] = []
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals.extend({ fields: Type.Object({ pin: Type.Optional(Type.String({ writeOnly: true })) }) }), {
    storage: memoryStorage(),
    version: 'v1',
    onCommitted: ({ action, before, after }) => { told.push([action, before?.revision, after?.revision]) }
  })
  const { id } = await createDeal(app)
  const hold = ['HoldDeal', { reason: 'a' }] as const
  for (const [command, status, action, params = {}] of [
    ['c-1', 201, ...hold], ['c-2', 201, ...hold], ['c-3', 409, 'CompleteDeal'], ['c-1', 200, ...hold]
  ] as const) {
    const url = `${home}/${id}/commands/${command}`
    t.equal((await app.inject({ method: 'PUT', url, payload: { action, params } })).statusCode, status)
  }
  await app.inject({ method: 'DELETE', url: `${home}/${id}` })
  t.strictSame(told, [['CreateDeal', undefined, 1], ['HoldDeal', 1, 2], ['DeleteDeal', 2, undefined]])
})

t.test('decisions and commits are spans of the tracing of the host', async t => {
  const spans: unknown[] = []
  const inner = memoryStorage()
  let isBroken = false
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (isBroken) throw new Error('no disk')
      await inner.commit(changes)
    }
  }
  const context = {}
  let given: object | null | undefined = context
  const tracer = {
    async startActiveSpan (name: string, _options: object, parent: object, work: (span: object) => Promise<unknown>) {
      const span: unknown[] = [name, parent === context]
      spans.push(span)
      return await work({
        recordException: ({ code }: { code: string }) => { span.push(code) },
        setStatus: ({ code }: { code: number }) => { span.push(code) },
        end: () => { span.push('end') }
      })
    }
  }
  const app = Fastify()
  t.teardown(() => app.close())
  app.decorateRequest('opentelemetry', (() => ({ tracer, context: given })) as never)
  app.register(deals, { storage, version: 'v1' })
  const { id } = await createDeal(app)
  const done = [['dealbook decide', true, 'end'], ['dealbook commit', true, 'end']]
  t.strictSame(spans.splice(0), done)
  const commands = ['HoldDeal', 'UnholdDeal'].map((action, index) =>
    ({ deal: id, action, params: index === 0 ? { reason: 'a' } : {} }))
  const post = async () =>
    await app.inject({ method: 'POST', url: '/rest/commands', payload: { commands, atomic: true } })
  t.equal((await post()).statusCode, 200)
  t.strictSame(spans.splice(0), [done[0], ...done], 'of several, one commit')
  isBroken = true
  t.equal((await post()).statusCode, 503)
  const failed = ['dealbook commit', true, 'storage-unavailable', 2, 'end']
  t.strictSame(spans.splice(0), [done[0], done[0], failed])
  isBroken = false
  for (given of [undefined, null]) {
    t.equal((await post()).statusCode, 200)
    t.strictSame(spans.splice(0), [], 'a route that is not traced')
  }
})

t.test('a commit that outlasts its deadline counts by how it ended', async t => {
  const inner = memoryStorage()
  let end: ((error?: Error) => void) | undefined
  let hangs = false
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (hangs) await new Promise<void>((resolve, reject) => { end = error => { error ? reject(error) : resolve() } })
      await inner.commit(changes)
    }
  }
  const app = await dealsApp(storage, { timeout: 50 })
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const count = (): unknown[] => {
    const metrics = readMetrics(storage)
    return [metrics.commands_done_total, metrics.commands_refused_total, metrics.commands_failed_total]
  }
  const run = async (url: string, payload?: object): Promise<void> => {
    const commands = [{ deal: id, action: 'UnholdDeal' }]
    const answer = await app.inject(payload === undefined
      ? { method: 'POST', url: '/rest/commands', payload: { commands, atomic: true } }
      : { method: 'PUT', url: `${home}/${id}/${url}`, payload })
    t.equal(answer.statusCode, 503)
    t.match(answer.json(), { type: 'urn:dealbook:problem:timeout' })
  }
  const settle = async (error?: Error): Promise<void> => {
    end?.(error)
    await new Promise(resolve => setImmediate(resolve))
  }
  hangs = true
  await run('hold', { reason: 'a' })
  t.strictSame(count(), [1, 0, 0], 'it is not known yet')
  await settle()
  t.strictSame(count(), [2, 0, 0], 'it was made')
  await run(`commands/${randomUUID()}`, { action: 'CompleteDeal', params: {} })
  await settle()
  t.strictSame(count(), [2, 1, 0], 'it is held, and that was recorded')
  await run('unhold', {})
  await settle(new Error('no disk'))
  t.strictSame(count(), [2, 1, 1], 'it was not made')
  await run('unhold', {})
  await settle(new ConflictError('deals', id))
  t.strictSame(count(), [2, 1, 2], 'nor was this, and nobody is there to try again')
  await run('unhold')
  t.strictSame(count(), [2, 1, 2], 'several in one commit')
  await settle(new Error('no disk'))
  t.strictSame(count(), [2, 1, 3])
  await run('unhold')
  await settle()
  t.strictSame(count(), [3, 1, 3])
})

t.test('a storage that fails, or does not answer, is not healthy', async t => {
  const inner = memoryStorage()
  const failing: Storage = { ...inner, get: async () => { throw new Error('no disk') } }
  t.match(await checkHealth(failing), { healthy: false, error: { message: 'no disk' } })
  const unopened: Storage = { ...inner, prepare: async () => { throw new Error('no file') } }
  t.match(await checkHealth(unopened), { healthy: false, error: { message: 'no file' } })
  let answer = (): void => {}
  const silent: Storage = {
    ...inner,
    get: async () => await new Promise(resolve => { answer = () => resolve(undefined) })
  }
  t.match(await checkHealth(silent, { timeout: 20 }), { healthy: false, error: { message: 'no answer in 20 ms' } })
  answer()
  let prepared = 0
  const counted: Storage = {
    ...inner,
    async prepare (shape) {
      prepared++
      await inner.prepare(shape)
    }
  }
  t.match([await checkHealth(counted), await checkHealth(counted)], [{ healthy: true }, { healthy: true }])
  t.equal(prepared, 1, 'it is opened once, and then only asked')
})
