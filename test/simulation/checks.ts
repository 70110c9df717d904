import t from 'tap'
import { runs } from '../size.js'
import type { Options } from './options.js'
import { plantedBugs } from './planted.js'
import { plant, simulate } from './run.js'

t.setTimeout(600_000)
// Refusals are many, and their stacks are not looked at.
Error.stackTraceLimit = 0

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
  t.ok(commits > 5 * count, `${commits} commits`)
})

t.test('a seed gives the same history again, with every step of it', async t => {
  for (const seed of [3, 14, 15]) {
    const [one, other] = [await simulate(seed, {}, true), await simulate(seed, {}, true)]
    t.ok(one.trace.length > 20, `${one.trace.length} steps`)
    t.strictSame(other, one)
    t.equal((await simulate(seed)).digest, one.digest)
  }
})

t.test('histories that once failed, or were misjudged, keep every promise', async t => {
  const failing = { processes: 3, crashes: 0, consumer: false, webhook: false, followers: 0, http: 0, failovers: 4 }
  const seeds: Readonly<Record<number, Partial<Options>>> = {
    1384: { ...failing, numberedLate: true, impatience: 0.6 },
    2656: { ...failing, numberedLate: true, impatience: 0.6 }
  }
  for (const [seed, options] of Object.entries(seeds)) {
    t.equal((await simulate(Number(seed), options)).violation, undefined, `seed ${seed}`)
  }
})

t.test('planted bugs are found', async t => {
  for (const [name, { seed, options, violation }] of Object.entries(plantedBugs)) {
    const report = await (await plant(name))(seed, options)
    t.match(report.violation, violation, name)
    t.equal((await simulate(seed, options)).violation, undefined, `without it, seed ${seed} finds nothing`)
  }
})
