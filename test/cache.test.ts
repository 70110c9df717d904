import t from 'tap'
import { BoundedCache } from '../lib/core/cache.js'

t.test('what was used least recently falls out', async t => {
  const made: string[] = []
  const cache = new BoundedCache<string>(3)
  const get = (key: string): string => cache.get(key, key => {
    made.push(key)
    return `value of ${key}`
  })
  for (const key of ['a', 'b', 'c', 'a', 'd']) t.equal(get(key), `value of ${key}`)
  t.same(made.splice(0), ['a', 'b', 'c', 'd'])
  t.equal(cache.size, 3)
  for (const key of ['a', 'c', 'd']) get(key)
  t.same(made, [], '"a" was made first, but used again')
  get('b')
  t.same(made, ['b'])
})

t.test('a key that is too long is not kept', async t => {
  const cache = new BoundedCache<number>(3, 5)
  let made = 0
  for (const key of ['short', 'short', 'too long', 'too long']) cache.get(key, () => ++made)
  t.equal(made, 3)
  t.equal(cache.size, 1)
})

t.test('what cannot be made is not kept', async t => {
  const cache = new BoundedCache<number>(3)
  t.throws(() => cache.get('a', () => { throw new Error('no') }), { message: 'no' })
  t.equal(cache.get('a', () => 1), 1)
})
