import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { findFlawInWhere } from '../../lib/core/data/open-log.js'
import {
  customers, deals, defineFamily, type FollowedCommand, memoryStorage, type Storage, Type
} from '../../lib/index.js'
import {
  addConsumer, consume, findCursor, findEntry, follow, type FollowLogOptions, listConsumers, loadItems, prune,
  removeConsumer, skipPruned
} from '../../lib/tools/index.js'
import { anyStorage } from '../storages.js'
import { until } from '../webhooks/receiver.js'
import { makeOld } from './old-entries.js'

const notes = deals.extend({ fields: Type.Object({ tag: Type.Optional(Type.String()) }) })

async function take (
  storage: Storage, count: number, options: Partial<FollowLogOptions> = {}
): Promise<FollowedCommand[]> {
  const taken: FollowedCommand[] = []
  // What does not come is missing in the result.
  const signal = AbortSignal.timeout(20_000)
  for await (const entry of follow(storage, { families: [notes], signal, ...options })) {
    if (taken.push(entry) === count) break
  }
  return taken
}

const isHold = [{ field: 'action', op: 'eq', values: ['HoldDeal'] }] as const

for (const { name, make } of anyStorage) {
  t.test(`on ${name}, follow has every family, and what changed`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = notes.service({ storage })
    const [tea, ink] = [await book.create({ name: 'Tea', price: 1 }), await book.create({ name: 'Ink', price: 2 })]
    const { command } = await book.run('hold', ink.item.id, { reason: 'Papers' }, { principal: 'ann' })
    const [first, second, held] = await take(storage, 3) as [FollowedCommand, FollowedCommand, FollowedCommand]
    t.match(held, {
      id: command.id,
      family: 'deals',
      deal: ink.item.id,
      action: 'HoldDeal',
      principal: 'ann',
      changes: { held: { from: false, to: true }, holdReason: { to: 'Papers' } }
    })
    t.notOk('changes' in first, 'it was created')
    t.ok(first.position < second.position && second.position < held.position)
    t.strictSame(await take(storage, 1, { after: second.cursor }), [held])
    t.strictSame(await take(storage, 1, { where: isHold }), [held])
    t.strictSame(await take(storage, 1, { where: [{ field: 'target', op: 'eq', values: [tea.item.id] }] }), [first])
    const renamed = notes.rename({ held: 'stopped' })
    t.match(await take(storage, 3, { families: [renamed] }), [{}, {}, { changes: { stopped: { to: true } } }])

    t.strictSame(await findEntry(storage, [customers, notes], String(held.id)), held)
    t.equal(await findEntry(storage, [customers], held.id), undefined)
    t.equal(await findEntry(storage, [notes], 'none'), undefined)

    t.equal(await findCursor(storage), held.cursor)
    t.equal(await findCursor(storage, { family: notes, id: ink.item.id }), second.cursor)
    const created = await findCursor(storage, { family: notes, id: tea.item.id })
    t.strictSame(await take(storage, 1, { after: created }), [second])
    await loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
    t.equal(await findCursor(storage, { family: customers, id: 1 }), held.cursor, 'it has no log')
    await delay(5)
    await prune(storage, { before: new Date() })
    await book.run('unhold', ink.item.id)
    await t.rejects(take(storage, 1, { after: await findCursor(storage, { family: notes, id: ink.item.id }) }),
      { code: 'pruned' })
    t.match(await take(storage, 1), [{ action: 'UnholdDeal' }])
    t.equal(await findEntry(storage, [notes], held.id), undefined)
  })

  t.test(`on ${name}, a consumer is added before it runs, skips what is gone, and is removed`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = notes.service({ storage })
    await book.create({ name: 'before', price: 1 })
    await addConsumer(storage, { name: 'mailer', from: 'now' })
    const { item: { id } } = await book.create({ name: 'Tea', price: 1 })
    await book.run('hold', id, { reason: 'Papers' })
    await addConsumer(storage, { name: 'mailer', after: await findCursor(storage) })
    t.match(await listConsumers(storage), [{ name: 'mailer', lag: 2, holder: undefined }], 'it stays')
    await delay(5)
    t.equal(await prune(storage, { before: new Date() }), 1, 'what it has passed')

    const handled: string[] = []
    const run = async (): Promise<void> => {
      const ending = new AbortController()
      await consume(storage, {
        name: 'mailer',
        families: [notes],
        where: [{ field: 'action', op: 'ne', values: ['CreateDeal'] }],
        handler: ({ action }) => { handled.push(action); ending.abort() },
        signal: ending.signal
      })
    }
    await run()
    t.strictSame(handled, ['HoldDeal'])
    await book.run('unhold', id)
    await delay(5)
    await prune(storage, { before: new Date(), ignoreConsumers: true })
    await book.run('hold', id, { reason: 'Again' })
    await t.rejects(run(), { code: 'pruned' })
    await skipPruned(storage, 'mailer')
    await run()
    t.strictSame(handled, ['HoldDeal', 'HoldDeal'])
    await removeConsumer(storage, 'mailer')
    t.strictSame(await listConsumers(storage), [])
    await removeConsumer(storage, 'mailer')
  })
}

t.test('commands that a consumer does not want cause no commit', async t => {
  const inner = memoryStorage()
  let commits = 0
  const storage: Storage = {
    ...inner,
    async commit (changes) {
      if (changes.some(({ family }) => family === 'command-consumers')) commits++
      await inner.commit(changes)
    }
  }
  const book = notes.service({ storage })
  const ending = new AbortController()
  let handled = 0
  const consuming = consume(storage, {
    name: 'mailer',
    families: [notes],
    where: isHold,
    leaseTime: 600_000,
    signal: ending.signal,
    handler: () => { handled++ }
  })
  const { item: { id } } = await book.create({ name: 'Tea', price: 1 })
  await until(() => commits > 0)
  for (let index = 0; index < 20; index++) await book.create({ name: 'Ink', price: index })
  await book.run('hold', id, { reason: 'Papers' })
  await until(() => handled > 0)
  ending.abort()
  await consuming
  t.equal(handled, 1)
  t.ok(commits <= 3, `${commits}: when it was added, after the one that it handled, and at its end`)
})

t.test('conditions and starts are checked', async t => {
  const storage = memoryStorage()
  const options = { name: 'mailer', families: [notes], handler: () => {} }
  const flaws: [where: unknown, flaw: RegExp][] = [
    ['HoldDeal', /the option "where" must be a list of conditions/],
    [[{ field: 'params', op: 'eq', values: ['x'] }], /the option "where" has conditions on "params"/],
    [[{ field: 'action', op: 'like', values: ['x'] }], /the option "where" has the operator "like"/]
  ]
  for (const [where, message] of flaws) {
    const code = 'FST_DEALBOOK_INVALID_CONSUMER'
    await t.rejects(consume(storage, { ...options, where: where as never }), { code, message })
    await t.rejects(take(storage, 1, { where: where as never }), { code, message })
  }
  const incomplete = [undefined, { name: undefined }, { families: undefined }, { families: [] }, { handler: undefined }]
  for (const wrong of incomplete) {
    const consuming = consume(storage, (wrong && { ...options, ...wrong }) as never)
    await t.rejects(consuming, { code: 'FST_DEALBOOK_INVALID_CONSUMER' })
  }
  for (const wrong of [{ after: 'x' }, { from: 'end' }, { name: '' }, { name: undefined }, { names: 'x' }]) {
    const adding = addConsumer(storage, { name: 'mailer', ...wrong as object })
    await t.rejects(adding, { code: 'FST_DEALBOOK_INVALID_CONSUMER' })
  }
  await t.rejects(skipPruned(storage, 'none'), { code: 'FST_DEALBOOK_INVALID_CONSUMER' })
  await t.rejects(take(storage, 1, { families: [{}] as never }), { code: 'FST_DEALBOOK_NO_FAMILY' })
})

t.test('conditions are on what entries of all families have', t => {
  for (const field of ['family', 'target', 'action', 'outcome', 'principal']) {
    t.equal(findFlawInWhere([{ field, op: 'eq', values: ['done'] }]), undefined, field)
  }
  t.equal(findFlawInWhere([{ field: 'createdAt', op: 'lt', value: new Date().toISOString() }]), undefined)
  for (const field of ['id', 'position', 'revision', 'params', 'changes', 'nothing']) {
    t.match(findFlawInWhere([{ field, op: 'eq', values: [1] }]), `has conditions on "${field}"`)
  }
  t.end()
})

t.test('what is read is prepared before', async t => {
  const open = () => {
    const [memory, prepared] = [memoryStorage(), [] as string[]]
    const storage: Storage = {
      ...memory,
      async prepare (shape) {
        prepared.push(shape.name)
        await memory.prepare(shape)
      }
    }
    return { storage, prepared }
  }
  const calls: [call: (storage: Storage) => Promise<unknown>, prepared: string[]][] = [
    [storage => findEntry(storage, [notes], 'none'), ['commands']],
    [storage => findCursor(storage), ['commands']],
    [storage => take(storage, 1, { signal: AbortSignal.abort() }), ['commands', 'deals']]
  ]
  for (const [call, expected] of calls) {
    const { storage, prepared } = open()
    await call(storage)
    t.strictSame(prepared, expected)
  }
})

t.test('follow begins with what is new, if told', async t => {
  const memory = memoryStorage()
  let hasBegun = false
  const storage: Storage = {
    ...memory,
    async find (family, query, signal) {
      hasBegun = true
      return await memory.find(family, query, signal)
    }
  }
  const book = notes.service({ storage: memory })
  await book.create({ name: 'old', price: 1 })
  const taking = take(storage, 1, { from: 'now' })
  await until(() => hasBegun)
  await book.create({ name: 'new', price: 1 })
  t.match(await taking, [{ params: { name: 'new' } }])
})

t.test('commands of other families are shown as these know them', async t => {
  const ships = defineFamily({
    name: 'ships',
    singular: 'ship',
    fields: Type.Object({ id: Type.Integer() }),
    operations: {
      load: {
        name: 'load',
        verb: 'load',
        participle: 'loaded',
        noun: 'loads',
        action: 'LoadShip',
        params: Type.Object({ load: Type.Integer() }),
        apply: ship => ship
      }
    }
  })
  const storage = memoryStorage()
  await findCursor(storage)
  const about = { family: 'ships', id: 1 }
  const loaded = { action: 'LoadShip', about, params: { load: 3, by: 1 } }
  await storage.commit(makeOld(1).map(change => 'item' in change
    ? { ...change, item: { ...change.item, ...loaded } }
    : change))
  for (const [families, params] of [[[notes], { load: 3, by: 1 }], [[notes, ships], { load: 3 }]] as const) {
    const [entry] = await take(storage, 1, { families })
    t.strictSame(entry?.params, params)
    t.strictSame(await findEntry(storage, families, String(entry?.id)), entry)
  }
})
