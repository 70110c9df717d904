import { Type } from '@sinclair/typebox'
import t from 'tap'
import { defineFamily, memoryStorage, type Storage } from '../../lib/index.js'

const tickets = defineFamily({
  name: 'tickets',
  singular: 'ticket',
  fields: Type.Object({ id: Type.Integer(), title: Type.String() }),
  create: ['title']
})

t.test('items that another process creates while a number is chosen leave no gap', async t => {
  const shared = memoryStorage()
  const other = tickets.service({ storage: shared })
  let isFirst = true
  const storage: Storage = {
    ...shared,
    async find (family, ...rest) {
      if (family === 'commands' && isFirst) {
        isFirst = false
        for (const title of ['a', 'b']) await other.create({ title })
      }
      return await shared.find(family, ...rest)
    }
  }
  const { item } = await tickets.service({ storage }).create({ title: 'c' })
  t.equal(item.id, 3)
})
