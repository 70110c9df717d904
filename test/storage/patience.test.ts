import t from 'tap'
import { Deadlines } from '../../lib/storage/patience.js'

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
