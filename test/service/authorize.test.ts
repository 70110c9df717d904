import { Type } from '@sinclair/typebox'
import t from 'tap'
import { Problem } from '../../lib/core/problems.js'
import type { Intent } from '../../lib/core/service/caller.js'
import type { CallOptions } from '../../lib/core/service/service.js'
import { deals } from '../../lib/deals/deals.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'
import { recordingStorage } from '../recording-storage.js'
import { makeDeal, openBook, testOverStorages } from './book.js'

t.test('authorize hears of every call before the storage does', async t => {
  const events: string[] = []
  const heard: [CallOptions, Intent][] = []
  const storage = recordingStorage(events)
  const id = await makeDeal(openBook(storage))
  let refuses = false
  const book = openBook(storage, {
    authorize (...args) {
      events.push('authorize')
      heard.push(args)
      if (refuses) throw new Problem('forbidden', 'Not you')
    }
  })
  const reader = { principal: 'ann' }
  const writer = { principal: 'ann', key: 'k' }
  const fields = { name: 'Tea', price: 5 }
  const calls: [call: () => Promise<unknown>, intent: Omit<Intent, 'family'>][] = [
    [() => book.find('status=open', reader), { action: 'list', id: undefined, params: {} }],
    [() => book.get(id, reader), { action: 'read', id, params: {} }],
    [() => book.log(id, reader), { action: 'read', id, params: {} }],
    [() => book.create(fields, writer), { action: 'CreateDeal', id: undefined, params: fields }],
    [() => book.run('hold', id, { reason: 'a' }, writer), { action: 'HoldDeal', id, params: { reason: 'a' } }],
    [() => book.remove(id, writer), { action: 'DeleteDeal', id, params: {} }]
  ]
  for (const isRefused of [true, false]) {
    refuses = isRefused
    for (const [call, intent] of calls) {
      events.length = heard.length = 0
      // The key is that of another command by now, which is told only to those who are let in.
      const outcome = await call().then(() => 'done', (problem: Problem) => problem.code)
      t.match(outcome, isRefused ? 'forbidden' : /done|id-reused/, intent.action)
      const options = ['list', 'read'].includes(intent.action) ? reader : writer
      // The item is only returned to those who may read it.
      const read = outcome === 'done' && intent.action === 'CreateDeal'
        ? [[options, { family: 'deals', action: 'read', id: String(heard[1]?.[1].id), params: {} }]]
        : []
      t.strictSame(heard, [[options, { family: 'deals', ...intent }], ...read])
      t.equal(events[0], 'authorize')
      t.equal(events.length === 1, isRefused, 'who is refused has asked nothing of the storage')
    }
  }
})

t.test('who is refused learns nothing of the fields', async t => {
  const book = openBook(memoryStorage(), { async authorize () { throw new Problem('unauthorized', 'Who are you?') } })
  for (const query of ['nonsense=1', 'name.regex=(', [{ field: 'nmae' }], null, 'fields=id']) {
    await t.rejects(book.find(query as never), { code: 'unauthorized' })
  }
  await t.rejects(book.find('', { limit: -1 }), { code: 'unauthorized' })
  await t.rejects(book.log('a', { sort: 'nonsense' }), { code: 'unauthorized' })
})

t.test('a principal that authorize gives back counts in place of the call\'s', async t => {
  const storage = memoryStorage()
  const makers = {
    ann: openBook(storage, { authorize: () => ({ principal: 'ann' }) }),
    bob: openBook(storage, { authorize: async () => ({}) }),
    cay: openBook(storage, { authorize: () => {} })
  }
  for (const [name, book] of Object.entries(makers)) {
    const { command } = await book.create({ name: 'Tea', price: 5 }, { principal: name === 'ann' ? 'eve' : name })
    t.equal(command.principal, name)
  }
  const { command } = await openBook(storage).create({ name: 'Tea', price: 5 })
  t.notOk('principal' in command, 'without any, the log has no principal')
})

t.test('a grant that cannot be is an error', async t => {
  // A misspelt `where` whose rule was not found.
  const misspelt = { were: undefined }
  const wrong = { where: [{ field: 'nmae' }] }
  const named = [{ who: 'ann' }, { principal: 5 }, { principal: '' }]
  for (const grant of [null, 'ann', ...named, misspelt, { where: {} }, wrong]) {
    const book = openBook(memoryStorage(), { authorize: () => grant as never })
    await t.rejects(book.find(), { code: 'FST_DEALBOOK_INVALID_GRANT' }, JSON.stringify(grant))
  }
  const nobody = openBook(memoryStorage()).create({ name: 'Tea', price: 5 }, { principal: '' })
  await t.rejects(nobody, { code: 'bad-request', message: 'principal must not be empty' })
})

t.test('an authorize that fails after a command hides its result, with a warning', async t => {
  const warnings: (Error & { code?: string })[] = []
  const note = (warning: Error): void => { warnings.push(warning) }
  process.on('warning', note)
  t.teardown(async () => process.off('warning', note))
  const book = deals.service({
    storage: memoryStorage(),
    authorize (_call, { action }) {
      if (action === 'read') throw new Error('no answer')
      return {}
    }
  })
  const { item, changed } = await book.create({ name: 'Tea', price: 5 })
  t.strictSame([item, changed], [undefined, true])
  await new Promise(resolve => { setImmediate(resolve) })
  const shown = warnings.filter(({ code }) => code === 'DEALBOOK_NOT_SHOWN').map(({ message }) => message)
  t.strictSame(shown, ['fastify-dealbook: The result of a command cannot be shown: Error: no answer'])
})

testOverStorages(async (t, { storage }) => {
  const ownedDeals = deals.extend({ fields: Type.Object({ owner: Type.String() }), create: ['owner'] })
  const all = ownedDeals.service({ storage })
  const owned = ownedDeals.service({
    storage,
    authorize: ({ principal = '' }) => ({ where: [{ field: 'owner', op: 'eq', values: [principal] }] })
  })
  const ann = { principal: 'ann' }

  t.test('what the conditions of a grant leave out is not there', async t => {
    const fields = { name: 'Tea', price: 5 }
    const { item: hers } = await owned.create({ ...fields, owner: 'ann' }, ann)
    const { item: { id } } = await all.create({ ...fields, owner: 'bob' })
    await all.run('hold', id, { reason: 'a' }, { command: 'b1', principal: 'ann' })
    const missing = { name: 'Problem', code: 'not-found' }
    await t.rejects(owned.get(id, ann), missing)
    await t.rejects(owned.log(id, ann), missing)
    await t.rejects(owned.run('unhold', id, {}, ann), missing)
    await t.rejects(owned.run('hold', id, { reason: 'a' }, { ...ann, command: 'b1' }), missing, 'nor by a replay')
    await t.rejects(owned.remove(id, ann), missing)
    const found = await owned.find('', { ...ann, count: true })
    t.same(found, { items: [hers], hasNext: false, total: 1 })
    t.same((await owned.find([{ field: 'owner', op: 'eq', values: ['bob'] }], ann)).items, [])
    await t.rejects(owned.create({ ...fields, owner: 'bob' }, ann), { code: 'forbidden' })
    t.match(await all.get(id), { owner: 'bob', held: true, revision: 2 })

    t.match(await owned.run('hold', hers.id, { reason: 'a' }, ann), { item: { held: true }, changed: true })
    t.match(await owned.get(hers.id, ann), { revision: 2 })
    t.match(await owned.log(hers.id, ann), { items: [{}, {}] })
    t.match(await owned.remove(hers.id, ann), { changed: true })
    t.match(await owned.log(hers.id, ann), { items: [{}, {}, {}] }, 'conditions hold for what is gone as it was last')
    await all.remove(id)
    await t.rejects(owned.log(id, ann), missing)
  })
})
