import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { runInPhase, waitToBegin } from '../lib/core/phases.js'

const wait = (phase: 'begin' | 'read' | 'write') => new Promise<void>(resolve => { runInPhase(phase, resolve) })

/** Over its own connection, as all that arrive together. */
const begin = () => waitToBegin({})

const noteNextTurn = (notes: string[]) => new Promise<void>(resolve => setImmediate(() => setImmediate(() => {
  notes.push('next turn')
  resolve()
})))

t.test('what arrives together is begun, read and written together, in one turn', async t => {
  const notes: string[] = []
  // One has come shortly before.
  await begin()
  const serve = async (name: string) => {
    await begin()
    notes.push(`${name} begins`)
    await wait('read')
    notes.push(`${name} is found out about`)
    await wait('read')
    notes.push(`${name} is loaded`)
    await wait('write')
    notes.push(`${name} is written`)
  }
  const requests = Promise.all([serve('a'), serve('b')])
  const turn = noteNextTurn(notes)
  t.strictSame(notes, [], 'nothing before the turn has ended')
  await Promise.all([requests, turn])
  t.strictSame(notes, [
    'a begins', 'b begins',
    'a is found out about', 'b is found out about',
    'a is loaded', 'b is loaded',
    'a is written', 'b is written',
    'next turn'
  ])
})

t.test('a request that is alone begins at once', async t => {
  const clock = { now: 1e6 }
  t.intercept(performance, 'now', { value: () => clock.now })
  const [connection, other] = [{}, {}]
  await waitToBegin(connection)
  await nextTurn()
  t.equal(waitToBegin(connection), undefined, 'its client has waited for the answer before')
  t.ok(waitToBegin(other), 'another connection was used just now')
  t.ok(waitToBegin(connection))
  await waitToBegin(other)
  await nextTurn()
  t.equal(waitToBegin(other), undefined)
  t.ok(waitToBegin(undefined), 'a connection that carries several at once')
  t.ok(waitToBegin(undefined))
  await begin()
  await nextTurn()
  clock.now += 101
  t.equal(waitToBegin(connection), undefined, 'nothing has come for a while')
})

t.test('what is to be written is written at once, with all that follows from the same', async t => {
  const notes: string[] = []
  // However busy the machine is.
  t.intercept(performance, 'now', { value: () => 1e6 })
  await begin()
  await begin()
  await nextTurn()
  const turn = noteNextTurn(notes)
  await Promise.all(['a', 'b'].map(async name => {
    await Promise.resolve()
    await wait('write')
    notes.push(name)
  }))
  await turn
  t.strictSame(notes, ['a', 'b', 'next turn'])
})

t.test('who writes on and on, alone, keeps nothing from its turn', async t => {
  const state = { isOver: false, writes: 0 }
  setTimeout(() => { state.isOver = true }, 1)
  for (; !state.isOver; state.writes++) await wait('write')
  t.ok(state.writes > 0)
})

t.test('what comes too late for its phase has it in the next turn', async t => {
  const notes: string[] = []
  const late = wait('write').then(async () => {
    await wait('read')
    notes.push('read')
  })
  setImmediate(() => notes.push('end of the turn'))
  await late
  t.strictSame(notes, ['end of the turn', 'read'])
})

t.test('endless reads keep no other request from writing, or from a turn', async t => {
  const state = { reads: 0, isOver: false }
  const reading = (async () => {
    for (; !state.isOver; state.reads++) await wait('read')
  })()
  await wait('write')
  for (let turns = 0; turns < 5; turns++) await nextTurn()
  state.isOver = true
  await reading
  t.ok(state.reads > 2)
})

t.test('timers that a test has replaced hold up nothing', async t => {
  const replaced = { setImmediate: () => {}, queueMicrotask: () => {} }
  const kept = Object.keys(replaced).map(name => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const)
  const { nextTick } = process
  t.teardown(() => {
    process.nextTick = nextTick
    for (const [name, descriptor] of kept) Object.defineProperty(globalThis, name, descriptor as PropertyDescriptor)
  })
  process.nextTick = () => {}
  for (const [name, value] of Object.entries(replaced)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  await begin()
  await begin()
  await wait('read')
  await wait('write')
  t.pass('all phases came')
})
