import t, { type Test } from 'tap'
import type { Feed, Passed } from '../../lib/core/feed/feed.js'
import { type Batch, followFeed } from '../../lib/core/feed/follow.js'
import { prunedId } from '../../lib/core/service/record.js'
import { guardStorage } from '../../lib/core/service/storage-access.js'
import { memoryStorage, Problem, type Stored } from '../../lib/index.js'
import { holdPauses } from './timers.js'

type Answer = Passed | Promise<Passed> | (() => Passed)

/** A feed that answers each read as it is given here, and then no more; time stands still. */
function openFeed (t: Test, ...answers: readonly Answer[]) {
  const left = [...answers]
  const state = {
    time: 10_000,
    steps: [] as string[],
    /** The position of each read, and of the last pruned entry that it does not miss. */
    reads: [] as unknown[],
    wake () {}
  }
  const storage = guardStorage({
    ...memoryStorage(),
    watch (wake) {
      state.wake = wake
      return () => {}
    },
    async get (_family, id) {
      state.steps.push(`get ${id}`)
      return id === prunedId ? { position: 7 } as unknown as Stored : undefined
    }
  })
  const feed = {
    storage,
    match: () => () => true,
    renewTime () { state.steps.push('renew time') },
    async readAfter (position: number, known: number) {
      state.reads.push([position, known])
      state.steps.push('read')
      const answer = left.shift()
      if (answer === undefined) return await new Promise(() => {})
      return typeof answer === 'function' ? answer() : await answer
    }
  } as unknown as Feed
  const pauses = holdPauses(t, 500, { elapsed: () => state.time })
  const stopping = new AbortController()
  const open = (start: number | undefined, settings: Parameters<typeof followFeed>[2]) =>
    followFeed(feed, start, { signal: stopping.signal, ...settings })
  return { open, state, pauses, stop: () => { stopping.abort() } }
}

/** What was read up to a position: an entry, or none that is seen. */
const pass = (position: number, count = 0): Passed =>
  ({ position, entries: Array(count).fill({}) as Passed['entries'] })

async function turns (): Promise<void> {
  for (let count = 0; count < 10; count++) await new Promise(resolve => { setImmediate(resolve) })
}

/** The position of the next batch, and how many entries it has; undefined if it waits. */
async function take (next: Promise<IteratorResult<Batch>>): Promise<unknown> {
  const taken = next.then(({ value }) => [value.position, value.entries.length], (error: unknown) => error)
  return await Promise.race([taken, turns()])
}

const down = (): never => { throw new Problem('storage-unavailable', 'down') }

t.test('it waits at the end until there may be more', async t => {
  const { open, stop, state, pauses } = openFeed(t, pass(1, 1), pass(1), pass(2), pass(2), pass(3, 1))
  const batches = open(0, { quietTime: 1 })
  t.strictSame(await take(batches.next()), [1, 1])
  const next = batches.next()
  t.strictSame([await take(next), state.reads.length], [undefined, 2])
  t.strictSame(pauses.times, [2 ** 31 - 1], 'the longest that a timer can be')
  state.wake()
  t.strictSame([await take(next), state.reads.length], [undefined, 4], 'what it may not see is passed over')
  await new Promise(resolve => { setTimeout(resolve, 50) })
  state.wake()
  t.strictSame(await take(next), [3, 1])
  t.strictSame(state.reads, [[0, 0], [1, 0], [1, 0], [2, 0], [2, 0]])
  stop()
})

t.test('what is committed while it reads is read at once', async t => {
  let answer = (_passed: Passed): void => {}
  const reading = new Promise<Passed>(resolve => { answer = resolve })
  const { open, stop, state, pauses } = openFeed(t, reading, pass(1), pass(2, 1))
  const batches = open(1, {})
  const next = batches.next()
  await turns()
  state.wake()
  await turns()
  t.strictSame(state.reads.length, 1)
  answer(pass(1))
  t.strictSame([await take(next), state.reads.length], [undefined, 2])
  t.strictSame(pauses.times.length, 1)
  stop()
})

t.test('an interval ends while the storage does not answer, which is not asked again', async t => {
  let answer = (_passed: Passed): void => {}
  const reading = new Promise<Passed>(resolve => { answer = resolve })
  const { open, stop, state, pauses } = openFeed(t, reading)
  const batches = open(1, { interval: 1000 })
  for (let count = 0; count < 2; count++) {
    const next = batches.next()
    t.equal(await take(next), undefined)
    t.strictSame(pauses.times, [1000])
    state.time += 1000
    pauses.end()
    t.strictSame(await take(next), [1, 0])
  }
  const next = batches.next()
  answer(pass(2, 1))
  t.strictSame([await take(next), state.reads.length], [[2, 1], 1])
  stop()
})

t.test('batches without entries are yielded after the quiet time', async t => {
  const { open, stop, state } = openFeed(t, ...[[2, 999], [3, 1], [4, 999], [5, 1]].map(([position, time]) => () => {
    state.time += time as number
    return pass(position as number)
  }))
  const batches = open(1, { interval: 9000, quietTime: 1000 })
  t.strictSame([await take(batches.next()), await take(batches.next())], [[3, 0], [5, 0]])
  stop()
})

t.test('it is asked again what the caller may see when the interval has passed', async t => {
  const { open, stop, state } = openFeed(t, pass(1, 1), pass(2, 1), pass(3, 1))
  const batches = open(0, { interval: 1000, renew: async () => { state.steps.push('renew') } })
  const dues: unknown[] = []
  for (const time of [0, 999, 1]) {
    state.time += time
    const { value } = await batches.next()
    dues.push(value?.dueAt)
  }
  const read = ['renew time', 'read']
  t.strictSame(state.steps, [...read, ...read, 'renew', ...read])
  t.strictSame(dues, [11_000, 11_000, 12_000])
  stop()
})

t.test('what was read until then is not yielded, but read again', async t => {
  const { open, stop, state } = openFeed(t, () => {
    state.time += 1000
    return pass(1, 1)
  }, pass(2, 1))
  const batches = open(0, { interval: 1000, renew: async () => { state.steps.push('renew') } })
  t.strictSame([await take(batches.next()), await take(batches.next())], [[0, 0], [2, 1]])
  t.strictSame(state.steps, ['renew time', 'read', 'renew', 'renew time', 'read'])
  stop()
})

t.test('a pause at the end ends when it is to be asked', async t => {
  const { open, stop, state, pauses } = openFeed(t, () => {
    state.time += 600
    return pass(1, 1)
  }, pass(1))
  const batches = open(0, { interval: 2000, renew: async () => {} })
  t.strictSame(await take(batches.next()), [1, 1])
  const next = batches.next()
  t.equal(await take(next), undefined)
  t.strictSame(pauses.times, [1400])
  stop()
})

t.test('it ends at once when it is stopped, also in a pause', async t => {
  const { open, stop, state } = openFeed(t, pass(1))
  const next = open(1, {}).next()
  t.equal(await take(next), undefined)
  stop()
  t.strictSame(await Promise.race([next, turns()]), { value: undefined, done: true })
  t.equal(state.reads.length, 1)
})

t.test('which pruned entries it does not miss', async t => {
  for (const [start, known, expected] of [
    [undefined, undefined, 7], [undefined, 5, 5], [3, undefined, 3], [3, 5, 5], [3, 0, 0], [0, undefined, 0]
  ] as const) {
    const { open, stop, state } = openFeed(t, pass(4, 1), pass(5, 1))
    const batches = open(start, { known })
    for (let count = 0; count < 2; count++) await batches.next()
    t.strictSame(state.reads, [[start ?? 0, expected], [4, expected]])
    t.equal(state.steps.filter(step => step.startsWith('get')).length, expected === 7 ? 1 : 0)
    stop()
  }
})

t.test('pauses after failures grow, and end by themselves only', async t => {
  const { open, stop, state, pauses } = openFeed(t, ...Array<Answer>(7).fill(down), pass(1, 1), down, pass(2, 1))
  const counts: number[] = []
  const batches = open(0, {
    interval: 100_000,
    renew: async () => { state.steps.push('renew') },
    survives (_error, failures) {
      counts.push(failures)
      return true
    }
  })
  const times: unknown[] = []
  const skip = async (next: Promise<IteratorResult<Batch>>): Promise<void> => {
    t.equal(await take(next), undefined)
    const { reads: { length } } = state
    state.wake()
    t.equal(await take(next), undefined)
    t.equal(state.reads.length, length, 'it is not woken')
    times.push(...pauses.times)
    pauses.end()
  }
  const first = batches.next()
  for (let count = 0; count < 7; count++) await skip(first)
  t.strictSame(await take(first), [1, 1])
  t.strictSame(times, [1000, 2000, 3000, 4000, 5000, 5000, 5000])
  const second = batches.next()
  await skip(second)
  t.strictSame(await take(second), [2, 1])
  t.strictSame([counts, times.at(-1)], [[0, 1, 2, 3, 4, 5, 6, 0], 1000], 'they begin again')
  t.equal(state.steps.filter(step => step === 'renew').length, 8, 'after each, what the caller may see')
  stop()
})

t.test('a pause after a failure ends with the interval', async t => {
  const { open, stop, state, pauses } = openFeed(t, down, down)
  const batches = open(1, { interval: 700 })
  const next = batches.next()
  t.equal(await take(next), undefined)
  t.strictSame(pauses.times, [700])
  state.time += 700
  pauses.end()
  t.strictSame(await take(next), [1, 0])
  stop()
})

t.test('by default, only an outage of the storage is survived', async t => {
  const errors: [error: unknown, isSurvived: boolean][] = [
    [new Problem('storage-unavailable', 'down'), true],
    [new Problem('busy', 'busy'), true],
    [new Problem('timeout', 'late'), true],
    [new Problem('pruned', 'gone'), false],
    [Object.assign(new Error('busy'), { code: 'busy' }), false],
    [undefined, false]
  ]
  for (const [error, isSurvived] of errors) {
    const { open, stop, pauses } = openFeed(t, () => { throw error }, pass(1, 1))
    const batches = open(0, {})
    const next = batches.next()
    const failing = next.then(() => 'survived', (thrown: unknown) => [thrown])
    await turns()
    pauses.end()
    t.strictSame(await failing, isSurvived ? 'survived' : [error])
    stop()
  }
})
