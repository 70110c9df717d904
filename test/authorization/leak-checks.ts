import t from 'tap'
import { plantAll } from '../planting.js'
import { plantedLeaks, unshared } from './planted-leaks.js'

const mark = '?leaking'
const run = plantAll({ mark, bugs: { ...plantedLeaks, unshared } })
const { findLeaks } = await import(`./walk-all.js${mark}`) as typeof import('./walk-all.js')

t.test('the checker finds leaks that are planted', async t => {
  const missed: string[] = []
  for (const [name, { walk, role = 'clerk', found, what }] of Object.entries(plantedLeaks)) {
    const { leaks, flaws } = await run(name, () => findLeaks(walk, role))
    if ([...leaks, ...flaws].some(each => found.test(each))) continue
    missed.push(`${name}: ${what}: ${leaks.length} leaks ${leaks.at(-1) ?? ''}`)
  }
  t.strictSame(missed, [])
})

t.test('and none in the same walks without them', async t => {
  const walks = new Set(Object.values(plantedLeaks).map(({ walk, role = 'clerk' }) => `${walk} ${role}`))
  for (const each of walks) {
    const [walk, role] = each.split(' ') as Parameters<typeof findLeaks>
    const { leaks, flaws } = await findLeaks(walk, role)
    t.strictSame([...leaks, ...flaws].slice(0, 5), [], each)
  }
})
