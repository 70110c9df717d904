import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { guardStorage } from '../../lib/core/service/storage-access.js'
import { getTail } from '../../lib/core/service/tail.js'
import { memoryStorage } from '../../lib/index.js'
import { openBook } from '../service/book.js'

t.test('what the process keeps and what it must read again meet without a gap', async t => {
  const memory = memoryStorage()
  const book = openBook(memory)
  let reads = 0
  const storage = guardStorage(Object.create(memory, {
    find: {
      value: (...args: Parameters<typeof memory.find>) => {
        reads++
        return memory.find(...args)
      }
    }
  }) as typeof memory)
  await book.create({ name: 'first', price: 1 })
  const tail = getTail(storage)
  const leave = tail.follow(() => {})
  t.teardown(leave)
  // Another 1,100, of which it keeps the last 1,000.
  for (let index = 0; index < 1100; index++) await book.create({ name: 'x', price: 1 })
  const readOf = async (position: number): Promise<number> => {
    const before = reads
    const entries = await tail.readAfter(position, 3)
    t.strictSame(entries.map(entry => entry.position), [1, 2, 3].map(step => position + step).filter(n => n <= 1101))
    return reads - before
  }
  while ((await tail.readAfter(1100, 3)).length === 0) await delay(10)
  await delay(50)
  t.strictSame([await readOf(500), await readOf(1098), await readOf(1101)], [0, 0, 0], 'those are kept')
  t.equal(await readOf(1), 1)
  for (let position = 95; position < 108; position++) await readOf(position)
})
