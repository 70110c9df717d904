import t from 'tap'
import { findJsonFlaws } from '../../lib/core/values/json.js'

t.test('pointers to many flaws under long names are short', async t => {
  const numbers = Array.from({ length: 900 }, () => 1e300)
  const name = '~/'.repeat(5000)
  for (const value of [{ [name]: numbers }, { a: { [name]: { [name]: numbers } } }]) {
    const flaws = findJsonFlaws(value)
    t.equal(flaws.length, 900)
    t.ok(flaws.every(({ pointer }) => pointer.length < 1000))
  }
  t.strictSame(findJsonFlaws({ 'a~b/c': [1, 1e300] }).map(({ pointer }) => pointer), ['/a~0b~1c/1'])
})
