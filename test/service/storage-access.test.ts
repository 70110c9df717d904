import t from 'tap'
import { errorCodes } from '../../lib/core/errors.js'
import { commandsShape } from '../../lib/core/family/fields.js'
import { real, useRuntime } from '../../lib/core/runtime.js'
import {
  checkHealth, checkMappedFamilies, countFailure, guardOpening, guardStorage, isStorage, makeCounters,
  makeStorageAccess, noteShapes, WriteQueue
} from '../../lib/core/service/storage-access.js'
import type { FamilyShape, Storage } from '../../lib/index.js'
import { memoryStorage, Problem } from '../../lib/index.js'

const shape = (name: string) => ({ name, fields: [], indexes: [] }) as unknown as FamilyShape
const query = { where: [], order: [], offset: 0, limit: 1, count: false }
const broken = new Error('no disk')

/** A storage that keeps which of its methods are called, and how. */
function recorded (...optional: readonly (keyof Storage)[]) {
  const calls: unknown[] = []
  const names = ['prepare', 'find', 'get', 'commit', 'close', ...optional] as const
  const storage = Object.fromEntries(names.map(name => [name, function (this: unknown, ...given: unknown[]) {
    calls.push([name, this === storage, ...given])
    return ['replica', 'seen', 'watch'].includes(name) ? storage : Promise.resolve(name)
  }])) as unknown as Storage
  return { storage, calls }
}

const optional = ['findText', 'nextId', 'confirm', 'watch', 'replica', 'seen'] as const

t.test('a guarded storage has what the storage has, and calls it as its own', async t => {
  const { storage, calls } = recorded(...optional)
  const guarded = guardStorage(storage)
  const wake = (): void => {}
  for (const [name, given, result] of [
    ['prepare', [shape('a')], 'prepare'], ['find', ['a', query, undefined], 'find'],
    ['get', ['a', 'b', undefined], 'get'], ['findText', ['a', query, ['id'], undefined], 'findText'],
    ['nextId', ['a', undefined], 'nextId'], ['confirm', ['a', 'b', undefined], 'confirm'],
    ['watch', [wake], storage], ['seen', [], storage], ['commit', [[]], undefined], ['close', [], 'close']
  ] as const) {
    const method = guarded[name] as (...given: readonly unknown[]) => unknown
    t.equal(await method(...given), result, name)
    const [called, ...more] = calls.splice(0) as unknown[][]
    t.strictSame([called?.filter(each => each !== undefined), more],
      [[name, true, ...given.filter(each => each !== undefined)], []], name)
  }
  const copy = guarded.replica?.('seen')
  t.equal(await copy?.find('a', query), 'find')
  t.strictSame(calls, [['replica', true, 'seen'], ['find', true, 'a', query, undefined]])
  t.equal(guardStorage(storage), guarded)
  for (const missing of optional) {
    const others = optional.filter(name => name !== missing)
    const { storage } = recorded(...others)
    t.strictSame(optional.filter(name => name in guardStorage(storage)), others, `without ${missing}`)
  }
})

t.test('a commit that fails is reported, to whoever asks', async t => {
  const { storage } = recorded()
  const failing = guardStorage({ ...storage, commit: async () => { throw broken } })
  const late = new Error('late')
  for (const [signal, expected] of [[undefined, { cause: broken }], [AbortSignal.abort(late), late]] as const) {
    await t.rejects(failing.commit([], signal), expected)
    const ends: unknown[] = []
    const committing = failing.commit([], signal, error => { ends.push(error) })
    t.strictSame([await committing.catch((error: unknown) => error)], ends)
    t.equal(ends.length, 1)
  }
  const ends: unknown[] = []
  await guardStorage(storage).commit([], undefined, (...given) => { ends.push(given) })
  t.strictSame(ends, [[]])
})

t.test('only the reason of a signal is thrown as it is', async t => {
  const late = new Error('late')
  for (const [error, aborts, expected] of [
    [late, true, late], [broken, true, { code: 'storage-unavailable', cause: broken }],
    [late, false, { code: 'storage-unavailable', cause: late }]
  ] as const) {
    const ending = new AbortController()
    const { storage } = recorded()
    const guarded = guardStorage({
      ...storage,
      async commit () {
        if (aborts) ending.abort(late)
        throw error
      }
    })
    await t.rejects(guarded.commit([], ending.signal), expected)
  }
})

t.test('a storage is prepared once for all, and again after a failure', async t => {
  const { storage, calls } = recorded()
  const shapes = [shape('a'), shape('b')]
  const access = makeStorageAccess(shapes)
  const preparing = access(storage)
  t.ok(preparing instanceof Promise)
  t.equal(access(storage), preparing)
  const guarded = await preparing
  t.equal(access(storage), guarded, 'without a promise')
  t.equal(guarded, guardStorage(storage))
  t.strictSame(calls, shapes.map(each => ['prepare', true, each]))

  const errors = [broken, broken]
  const failing: Storage = { ...recorded().storage, async prepare () { if (errors.length > 0) throw errors.pop() } }
  for (const left of [1, 0]) {
    await t.rejects(async () => await access(failing), broken)
    t.equal(errors.length, left)
  }
  t.equal(await access(failing), guardStorage(failing))
})

t.test('what is missing for all families is shown together', async t => {
  const access = makeStorageAccess([shape('deals'), shape('lines')])
  const lacking: Storage = {
    ...recorded().storage,
    async prepare () { throw new errorCodes.FST_DEALBOOK_MIGRATION_NEEDED('deals', 'CREATE TABLE deals') }
  }
  const writeMigration: Storage['writeMigration'] = async shapes => `-- ${shapes.length} tables`
  for (const [storage, message] of [
    [{ ...lacking, writeMigration }, /that deals, lines needs.*-- 2 tables/s],
    [lacking, /that deals, lines needs/]
  ] as const) {
    await t.rejects(async () => await access(storage), { code: 'FST_DEALBOOK_MIGRATION_NEEDED', message })
  }
})

t.test('what fails at opening is the fault of the host, or of the storage', async t => {
  const own = Object.assign(new Error('x'), { code: 'FST_DEALBOOK_NO_STORAGE' })
  t.equal(guardOpening('open'), 'open')
  t.equal(await guardOpening(Promise.resolve('open')), 'open')
  await t.rejects(async () => await guardOpening(Promise.reject(own)), own)
  for (const error of [broken, undefined, Object.assign(new Error('x'), { code: 'EIO' })]) {
    await t.rejects(async () => await guardOpening(Promise.reject(error)), { code: 'storage-unavailable' })
  }
})

t.test('what is a storage', async t => {
  const { storage } = recorded()
  t.equal(isStorage(storage), true)
  for (const value of [undefined, null, 'memory', {}, () => {}, Object.assign(() => {}, storage)]) {
    t.equal(isStorage(value), false, typeof value)
  }
  for (const name of Object.keys(storage)) t.equal(isStorage({ ...storage, [name]: true }), false, name)
})

t.test('settings are for families that a storage has', async t => {
  const open = (mappedFamilies?: readonly string[]) => ({ ...recorded().storage, mappedFamilies }) as Storage
  const refused = (message: RegExp) => ({ code: 'FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY', message })
  t.throws(() => checkMappedFamilies(open(['deals'])), refused(/"deals".* known families are \.$/))
  for (const [mapped, message] of [
    [undefined, undefined], [[], undefined], [['deals', 'people'], undefined], [['people'], undefined],
    [['deals', 'poeple'], /poeple.*deals, lines, people/]
  ] as const) {
    const storage = open(mapped)
    noteShapes(storage, [shape('deals'), shape('lines')])
    noteShapes(storage, [shape('people')])
    if (message === undefined) t.doesNotThrow(() => checkMappedFamilies(storage), String(mapped))
    else t.throws(() => checkMappedFamilies(storage), refused(message))
  }
})

t.test('which failures are counted', async t => {
  const counters = makeCounters()
  for (const [error, count] of [
    [broken, 1], [new Problem('other', 'x', { status: 499 }), 1], [new Problem('other', 'x', { status: 500 }), 2],
    [new Problem('busy', 'x'), 3], [new Problem('not-found', 'x'), 3], [undefined, 4]
  ] as const) {
    countFailure(counters, error)
    t.equal(counters.commands_failed_total, count)
  }
})

t.test('writers wait for those of the same items', async t => {
  const queue = new WriteQueue()
  const done: string[] = []
  const enter = (name: string, keys: readonly string[], signal?: AbortSignal): boolean => {
    const turn = queue.enter(keys, signal)
    turn?.then(() => { done.push(name) }, (error: unknown) => { done.push(`${name} ${String(error)}`) })
    return turn !== undefined
  }
  const settle = async (): Promise<string[]> => {
    await new Promise(resolve => { setImmediate(resolve) })
    return done.splice(0)
  }
  t.equal(enter('first', ['a', 'b']), false)
  t.equal(enter('other', ['c']), false)
  const leaving = new AbortController()
  for (const [name, keys, signal] of [
    ['one', ['b', 'd']], ['gone', ['b', 'e'], leaving.signal], ['both', ['a', 'c']]
  ] as const) t.equal(enter(name, keys, signal), true, name)
  t.strictSame([await settle(), queue.waiting], [[], 3])
  leaving.abort('left')
  t.strictSame([await settle(), queue.waiting], [['gone left'], 2])
  t.equal(enter('free', ['e']), false, 'who has left holds nothing')
  queue.leave(['a', 'b'])
  t.strictSame([await settle(), queue.waiting], [['one'], 1])
  t.equal(enter('last', ['d']), true)
  queue.leave(['c'])
  t.strictSame([await settle(), queue.waiting], [['both'], 1])
  queue.leave(['b', 'd'])
  t.strictSame([await settle(), queue.waiting], [['last'], 0])
  for (const keys of [['a', 'c'], ['d'], ['e']]) queue.leave(keys)
  t.equal(enter('again', ['a', 'b', 'c', 'd', 'e']), false)
  t.equal(enter('late', ['a'], AbortSignal.abort('left')), true)
  t.strictSame([await settle(), queue.waiting], [['late left'], 0])
})

t.test('a thousand wait, and no more', async t => {
  const queue = new WriteQueue()
  const keys = Array.from({ length: 11 }, (_, index) => [`item ${index}`])
  for (const each of keys) queue.enter(each, undefined)
  const [last = [], ...others] = keys
  const waiting = others.flatMap(each => Array.from({ length: 100 }, () => queue.enter(each, undefined)))
  t.equal(queue.waiting, 1000)
  await t.rejects(queue.enter(last, undefined) as Promise<void>, { code: 'busy' })
  for (const each of others) queue.leave(each)
  await Promise.race(waiting)
  t.equal(queue.waiting, 990)
  t.ok(queue.enter(last, undefined))
  t.equal(queue.waiting, 991)
})

t.test('health is measured, and leaves no timer', async t => {
  let [time, timers] = [1000, 0]
  useRuntime({
    ...real,
    elapsed: () => (time += 5),
    setTimeout (run, ms) {
      timers++
      return real.setTimeout(run, ms)
    },
    clear (timer) {
      timers--
      real.clear(timer)
    }
  })
  t.teardown(() => { useRuntime() })
  const storage = memoryStorage()
  t.strictSame(await checkHealth(storage), { healthy: true, duration: 5 })
  const { storage: asked, calls } = recorded()
  await checkHealth(asked)
  t.strictSame(calls, [['prepare', true, commandsShape], ['get', true, 'commands', 'health']])
  const failing = { ...storage, get: async () => { throw broken } }
  t.strictSame(await checkHealth(failing), { healthy: false, duration: 5, error: broken })
  t.equal(timers, 0)
  const silent = { ...storage, get: async () => await new Promise<never>(() => {}) }
  const error = new Error('no answer in 1 ms')
  t.strictSame(await checkHealth(silent, { timeout: 1 }), { healthy: false, duration: 5, error })
})
