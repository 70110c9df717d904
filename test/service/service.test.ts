import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Problem } from '../../lib/core/problems.js'
import type { Members } from '../../lib/core/values/json.js'
import { customers } from '../../lib/customers.js'
import { deals } from '../../lib/deals/deals.js'
import { loadItems } from '../../lib/tools/index.js'
import { createDeal, dealsApp, home, readDeal, readLog } from '../deals/app.js'
import { operations, stepsTo } from '../deals/operations.js'
import { recordingStorage } from '../recording-storage.js'
import { dealAfter, openBook, refusal, testOverStorages, timeless } from './book.js'

testOverStorages(async (t, { book, storage }) => {
  const app = await dealsApp(storage)
  t.teardown(() => app.close())

  t.test('an item is created, changed, read, found and removed', async t => {
    const made = await book.create({ name: 'Tea', price: 5, completionDate: '2030-01-02' }, { principal: 'ann' })
    const { id } = made.item
    const creation = { deal: id, action: 'CreateDeal', outcome: 'done', principal: 'ann' }
    t.match(made, { changed: true, replayed: false, command: creation })
    t.match(made.item, { name: 'Tea', price: 5, completionDate: '2030-01-02', status: 'open', revision: 1 })
    const held = await book.run('hold', id, { reason: 'Papers' })
    const hold = { deal: id, action: 'HoldDeal', params: { reason: 'Papers' }, outcome: 'done' }
    t.match(held, { changed: true, replayed: false, command: hold })
    t.match(held.item, { id, held: true, holdReason: 'Papers', revision: 2, createdAt: made.item.createdAt })
    t.same(await book.get(id), held.item)
    t.same(await book.find(`id=${id}`), { items: [held.item], hasNext: false })
    const removed = await book.remove(id)
    t.match(removed, { changed: true, replayed: false, command: { action: 'DeleteDeal', revision: 3 } })
    t.notOk('item' in removed)
    await t.rejects(book.get(id), { name: 'Problem', code: 'not-found', message: `There is no deal "${id}"` })
    t.same((await book.find(`id=${id}`)).items, [])
    const { revision, ...gone } = held.item as Members
    const items = [
      made.command,
      { ...held.command, changes: { held: { from: false, to: true }, holdReason: { to: 'Papers' } } },
      { ...removed.command, changes: Object.fromEntries(Object.entries(gone).map(([name, from]) => [name, { from }])) }
    ]
    t.same(await book.log(id), { items, hasNext: false }, 'its log stays')
  })

  t.test('what the service does is what HTTP does', async t => {
    for (const { name, verb, params, before, effect } of operations) {
      const ours = await dealAfter(book, ...before)
      const theirs = await dealAfter(book, ...before)
      const { item } = await book.run(name, ours, params)
      const answer = await app.inject({ method: 'PUT', url: `${home}/${theirs}/${verb}`, payload: params })
      t.equal(answer.statusCode, 200, name)
      t.match(item, effect, name)
      const { links, ...shown } = answer.json()
      t.same(timeless(item), timeless(shown), `${name}: the same item`)
      const [ourLog, theirLog] = [(await book.log(ours)).items, (await book.log(theirs)).items]
      t.equal(ourLog.length, before.length + 2, name)
      t.same(ourLog.map(timeless), theirLog.map(timeless), `${name}: the same log`)
      for (const id of [ours, theirs]) t.same(await book.get(id), await readDeal(app, id), `${name}: read alike`)
      t.same(ourLog, await readLog(app, ours), `${name}: the log is read alike`)
    }
    const fields = { name: 'Tea', price: 5, completionDate: '2030-01-02' }
    t.same(timeless((await book.create(fields)).item), timeless(await createDeal(app, fields)), 'create')
    const [ours, theirs] = [await dealAfter(book), await dealAfter(book)]
    await book.remove(ours)
    t.equal((await app.inject({ method: 'DELETE', url: `${home}/${theirs}` })).statusCode, 204)
    t.same((await book.log(ours)).items.map(timeless), (await book.log(theirs)).items.map(timeless), 'remove')
  })

  t.test('what the state forbids is refused as by HTTP', async t => {
    const others: Readonly<Record<string, Members>> = { hold: { reason: 'b' }, cancel: { amercement: 77, reason: 'b' } }
    let count = 0
    for (const { name, verb, params: usual, states } of operations) {
      for (const [state, step] of Object.entries(stepsTo)) {
        if ((states as readonly string[]).includes(state)) continue
        const id = await dealAfter(book, ...step)
        // Other parameters than on the step there, so that there is something to change.
        const params = others[name] ?? usual
        const answer = await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload: params })
        // Completed or unheld already.
        if (answer.statusCode === 200) continue
        count++
        const problem = await refusal(book.run(name, id, params))
        const { instance, ...document } = answer.json<{ instance: string }>()
        t.ok(problem instanceof Problem)
        t.equal(problem.code, 'wrong-state')
        t.match(problem.members, { state, operation: name, allowed: Array })
        t.same(problem.document(), document, `${name} while ${state}`)
        t.equal((await book.log(id)).items.length, step.length + 1, 'which nothing keeps')
      }
    }
    t.equal(count, 13)
  })

  t.test('what is not there is not found, by any call', async t => {
    for (const id of [randomUUID(), 'a b', '', 'x'.repeat(101), ...[1, undefined, null, {}] as never[]]) {
      for (const [call, work] of Object.entries<() => Promise<unknown>>({
        get: () => book.get(id),
        run: () => book.run('unhold', id),
        remove: () => book.remove(id),
        log: () => book.log(id)
      })) await t.rejects(work(), { name: 'Problem', code: 'not-found' }, `${call} ${id}`)
    }
  })

  t.test('what no item can have as an id is not looked for', async t => {
    const events: string[] = []
    const deal = openBook(recordingStorage(events))
    const customer = customers.service({ storage: recordingStorage(events) })
    const ids = [5, '', 'a/b', undefined] as never[]
    const numbers = ['1', 1.5, 2 ** 53] as never[]
    const calls: readonly (() => Promise<unknown>)[] = [
      ...ids.flatMap(id => [() => deal.get(id), () => deal.run('unhold', id), () => deal.log(id)]),
      ...numbers.map(id => () => customer.get(id))
    ]
    for (const call of calls) await t.rejects(call(), { code: 'not-found' })
    t.strictSame(events, [])
  })

  t.test('a family that can only be read', async t => {
    await loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }, { id: 2, age: 40, children: 0 }])
    const service = customers.service({ storage })
    t.match(await service.get(1), { id: 1, age: 30, children: 2, revision: 1 })
    t.match(await service.find('min-age=35'), { items: [{ id: 2 }], hasNext: false })
    const parents = await service.find([{ field: 'children', op: 'gte', value: 2 }], { count: true })
    t.match(parents, { items: [{ id: 1 }], total: 1 })
    const unknown = { code: 'FST_DEALBOOK_UNKNOWN_OPERATION' }
    await t.rejects(service.create({ age: 1, children: 1 }), unknown)
    await t.rejects(service.remove(1), unknown)
    await t.rejects(service.log(1), unknown)
    await t.rejects(service.follow()[Symbol.asyncIterator]().next(), unknown)
    await t.rejects(service.run('hold' as never, 1, {} as never), unknown)
    t.match(await service.get(1), { revision: 1 })
  })

  t.test('a family that a host has extended', async t => {
    const ownDeals = deals.extend({
      fields: Type.Object({ region: Type.String(), approvedBy: Type.Optional(Type.String()) }),
      create: ['region'],
      operations: {
        approve: {
          name: 'approve',
          verb: 'approve',
          participle: 'approved',
          noun: 'approvals',
          action: 'ApproveDeal',
          params: Type.Object({}),
          allowed: deal => deal.approvedBy === undefined,
          apply: (deal, _params, context) => ({ ...deal, approvedBy: context.principal ?? 'nobody' })
        }
      }
    })
    // A required field is only for a family without items.
    const before = deals.service({ storage })
    for (const { id } of (await before.find()).items) await before.remove(id)
    const service = ownDeals.service({ storage })
    const incomplete = service.create({ name: 'Tea', price: 1 } as never)
    await t.rejects(incomplete, { code: 'invalid-body', errors: [{ pointer: '/region' }] })
    const { item: { id } } = await service.create({ name: 'Tea', price: 1, region: 'north' })
    const { item } = await service.run('approve', id, {}, { principal: 'ann' })
    t.match(item, { region: 'north', approvedBy: 'ann', revision: 2 }, 'it knows the principal')
    t.match(await service.run('hold', id, { reason: 'a' }), { item: { approvedBy: 'ann', held: true } })
    t.match((await service.find('region=north')).items, [{ id }])
    await t.rejects(service.run('approve', id, {}, { principal: 'bob' }), { code: 'wrong-state' })
  })
})
