import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openStorage } from '../../examples/storage-from-url.js'
import { isFast, isLong } from '../size.js'
import { places } from '../storages.js'
import { movements, productIds, products, receipts } from './documents.js'

const kills = isLong ? 20 : 1
const program = fileURLToPath(new URL('documents.js', import.meta.url))

for (const [name, makePlace] of Object.entries(places)) {
  t.test(`no document is half done after a kill, ${name}`, { skip: isFast && 'not in test:fast' }, async t => {
    const place = await makePlace(t)
    const storage = await openStorage(place)
    t.teardown(() => storage.close())
    const stock = products.service({ storage })
    await stock.runAll(productIds.map(id => ({ operation: 'create', params: { id } })), { atomic: true })
    await receipts.service({ storage }).create({})
    let before = 0
    for (let n = 0; n < kills; n++) {
      const child = spawn(process.execPath, [program, place], { stdio: ['ignore', 'pipe', 'inherit'] })
      // In the middle of the next one, or of one after it.
      for (let moved = 0; moved <= n % 3; moved++) await once(child.stdout, 'data')
      await new Promise(resolve => setTimeout(resolve, 2 * n))
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      // A commit that the server has may still be made, also without its client.
      const { times } = await settled(() => receipts.service({ storage }).get(1))
      t.ok(times > before, `${times} after kill ${n + 1}`)
      before = times
      const { items } = await stock.find('', { limit: 100 })
      t.strictSame(items.map(item => item.stock), productIds.map(() => times), 'the stock')
      const { total } = await movements.service({ storage }).find('', { limit: 1, count: true })
      t.equal(total, times * productIds.length, 'the movements')
    }
  })
}

/** The item once it stays the same. */
async function settled<T extends { readonly revision: number }> (read: () => Promise<T>): Promise<T> {
  let item = await read()
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, 100))
    const next = await read()
    if (next.revision === item.revision) return next
    item = next
  }
}
