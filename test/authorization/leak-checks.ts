import t from 'tap'
import { plantAll } from '../planting.js'
import { plantedLeaks, unshared } from './planted-leaks.js'

const mark = '?leaking'
const run = plantAll({ mark, bugs: { ...plantedLeaks, unshared } })
const { memoryStorage } = await import(`../../lib/index.js${mark}`) as typeof import('../../lib/index.js')
const { walkAll } = await import(`./walk-all.js${mark}`) as typeof import('./walk-all.js')

// Without them, it finds none: see hidden-fields.test.ts.
t.test('the checker finds leaks that are planted', async t => {
  const missed: string[] = []
  for (const [name, { walk, role = 'clerk', found, what }] of Object.entries(plantedLeaks)) {
    const settings = { count: 0, isThorough: walk === 'names' || walk === 'writes', names: [walk] }
    const { leaks, flaws } = await run(name, () => walkAll(memoryStorage(), role, settings))
    if ([...leaks, ...flaws].some(each => found.test(each))) continue
    missed.push(`${name}: ${what}: ${leaks.length} leaks ${leaks.at(-1) ?? ''}`)
  }
  t.strictSame(missed, [])
})
