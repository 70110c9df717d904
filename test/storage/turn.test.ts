import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Turn } from '../../lib/storage/turn.js'

t.test('all that search in one turn of the event loop share its time', async t => {
  const first = new Turn()
  const end = performance.now() + 20
  while (performance.now() < end);
  t.ok(first.isOver)
  t.ok(new Turn().isOver, 'what comes after it has none left')
  await nextTurn()
  await nextTurn()
  t.notOk(new Turn().isOver, 'the next turn has its own')
})
