import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { endLongTurn, isTurnOver, passTurn } from '../../lib/core/storage/turns.js'

/** Takes more than a turn has. */
function spin (): void {
  const end = performance.now() + 20
  while (performance.now() < end);
}

t.test('all that search in one turn of the event loop share its time', async t => {
  t.notOk(isTurnOver())
  spin()
  t.ok(isTurnOver())
  t.ok(isTurnOver(), 'what comes after it has none left')
  await nextTurn()
  await nextTurn()
  t.notOk(isTurnOver(), 'the next turn has its own')
})

t.test('work that yields is finished, though others use up every turn', async t => {
  const state = { isOver: false, turns: 0 }
  const search = async () => {
    for (; !state.isOver && state.turns < 100; state.turns++) {
      spin()
      await passTurn()
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
  isTurnOver()
  spin()
  t.ok(isTurnOver())
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
  t.strictSame(order.slice(0, 6), ['turn 1', 'a', 'turn 2', 'b', 'turn 3', 'c'])
})
