import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { endLongTurn, Turn } from '../../lib/core/storage/turns.js'

/** Takes more than a turn has. */
function spin (): void {
  const end = performance.now() + 20
  while (performance.now() < end);
}

t.test('all that search in one turn of the event loop share its time', async t => {
  const first = new Turn()
  spin()
  t.ok(first.isOver)
  t.ok(new Turn().isOver, 'what comes after it has none left')
  await nextTurn()
  await nextTurn()
  t.notOk(new Turn().isOver, 'the next turn has its own')
})

t.test('work that yields is finished, though others use up every turn', async t => {
  const state = { isOver: false, turns: 0 }
  const search = async () => {
    const turn = new Turn()
    for (; !state.isOver && state.turns < 100; state.turns++) {
      spin()
      await turn.pass()
    }
  }
  const searches = [search(), search()]
  spin()
  for (let part = 0; part < 5; part++) await endLongTurn()
  state.isOver = true
  t.ok(state.turns < 100, `${state.turns} turns`)
  await Promise.all(searches)
})

t.test('of many who wait, each turn has one', async t => {
  const first = new Turn()
  spin()
  t.ok(first.isOver)
  const order: string[] = []
  const work = ['a', 'b', 'c'].map(async name => {
    await endLongTurn()
    order.push(name)
    spin()
  })
  for (let turn = 1; order.length < 6; turn++) {
    await nextTurn()
    order.push(`turn ${turn}`)
  }
  await Promise.all(work)
  t.strictSame(order.slice(0, 6), ['a', 'turn 1', 'b', 'turn 2', 'c', 'turn 3'])
})
