import t from 'tap'
import { runs } from '../size.js'
import { simulate } from './run.js'

t.test('histories with fixed seeds keep every promise', async t => {
  const failures: string[] = []
  let commits = 0
  const count = runs(1000)
  for (let seed = 1; seed <= count; seed++) {
    const report = await simulate(seed)
    commits += report.commits
    if (report.violation !== undefined) failures.push(`seed ${seed}: ${report.violation}`)
  }
  t.strictSame(failures, [])
  t.ok(commits > 10 * count, `${commits} commits`)
})

t.test('a seed gives the same history again', async t => {
  for (const seed of [3, 14, 15]) {
    const [one, other] = [await simulate(seed, {}, true), await simulate(seed, {}, true)]
    t.ok(one.trace.length > 20)
    t.strictSame(other, one)
  }
})
