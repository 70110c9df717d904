import t from 'tap'
import { deals } from '../../lib/index.js'
import { storages } from '../storages.js'

// As many as are in each other's way so often that none may count on winning soon.
const processes = 12
const changes = 3

for (const { name, make } of storages) {
  t.test(`${name}: many processes that keep changing one item, each of which gets its turn`, async t => {
    const { storage, another, dispose } = await make()
    t.teardown(dispose)
    if (another === undefined) {
      t.pass('nobody else can open it')
      return
    }
    const { id } = (await deals.service({ storage }).create({ name: 'hot', price: 0 })).item
    const books = Array.from({ length: processes }, () => deals.service({ storage: another() }))
    // Once each before, so that all of them are open when it begins.
    await Promise.all(books.map(book => book.get(id)))
    await Promise.all(books.map(async (book, n) => {
      for (let times = 1; times <= changes; times++) {
        await book.run('change-price', id, { newPrice: n * 100 + times, reason: 'haggling' })
      }
    }))
    t.equal((await books[0]?.get(id))?.revision, 1 + processes * changes)
  })
}
