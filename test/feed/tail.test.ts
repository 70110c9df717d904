import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { memoryStorage } from '../../lib/index.js'
import { openBook } from '../service/book.js'

t.test('followers that are at the end share their reads', async t => {
  const memory = memoryStorage()
  let reads = 0
  const book = openBook({
    ...memory,
    find (...args) {
      reads++
      return memory.find(...args)
    }
  })
  const stop = new AbortController()
  const seen = Array.from({ length: 20 }, () => 0)
  const following = Promise.all(seen.map(async (_, index) => {
    for await (const { action } of book.follow({ signal: stop.signal })) if (action === 'CreateDeal') seen[index]!++
  }))
  // Far more than are read at once.
  for (let made = 0; made < 250; made++) await book.create({ name: 'x', price: 1 })
  while (seen.some(count => count < 250)) await delay(10)
  reads = 0
  await book.create({ name: 'last', price: 1 })
  while (seen.some(count => count < 251)) await delay(10)
  await delay(50)
  t.ok(reads < 10, `${reads} reads for 20 followers`)
  stop.abort()
  await following
})
