import t from 'tap'
import { memoryStorage } from '../lib/storage/memory.js'

t.test('an item that was committed is found by its id', async t => {
  const storage = memoryStorage()
  await storage.prepare({ name: 'things', fields: [{ name: 'id', kind: 'integer', optional: false }], indexes: [] })
  const item = { id: 1, revision: 1, createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
  await storage.commit([{ type: 'insert', family: 'things', item }])
  t.same(await storage.get('things', 1), item)
})
