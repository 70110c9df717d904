import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { deals, memoryStorage } from '../../lib/index.js'

const reason = new Error('enough')

t.test('a signal that is aborted ends every call with its reason', async t => {
  const book = deals.service({ storage: memoryStorage() })
  const { item: { id } } = await book.create({ name: 'Tea', price: 1 })
  const signal = AbortSignal.abort(reason)
  const calls = {
    get: book.get(id, { signal }),
    find: book.find('', { signal }),
    log: book.log(id, { signal }),
    create: book.create({ name: 'Tea', price: 1 }, { signal }),
    run: book.run('hold', id, { reason: 'a' }, { signal }),
    remove: book.remove(id, { signal })
  }
  for (const [name, call] of Object.entries(calls)) {
    t.equal(await call.then(() => 'done', (error: unknown) => error), reason, name)
  }
  t.strictSame((await book.find()).items.map(({ revision }) => revision), [1], 'nothing was done')
  await t.rejects(book.get(id, { signal: {} as AbortSignal }), { code: 'FST_DEALBOOK_INVALID_OPTION' })
})

t.test('who waits for an item is let go, and who has begun to commit is waited for', async t => {
  const inner = memoryStorage()
  let letGo = (): void => {}
  let isHanging = false
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (isHanging) await new Promise<void>(resolve => { letGo = resolve })
      await inner.commit(changes)
    }
  }
  const book = deals.service({ storage })
  const { item: { id } } = await book.create({ name: 'Tea', price: 1 })
  isHanging = true
  const controller = new AbortController()
  const { signal } = controller
  const first = book.run('hold', id, { reason: 'a' }, { signal })
  const second = book.run('complete', id, {}, { signal })
  await new Promise(resolve => setImmediate(resolve))
  controller.abort(reason)
  t.equal(await second.catch((error: unknown) => error), reason)
  isHanging = false
  letGo()
  t.equal((await first).item?.held, true)
  t.equal((await book.get(id)).revision, 2)
})
