import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { commandsShape } from '../../lib/core/family/fields.js'
import { sealErasure } from '../../lib/core/storage/chain.js'
import { linkEntry, memoryStorage, sealEntry, type Storage, type Stored } from '../../lib/index.js'
import { erase, prune, verifyLog } from '../../lib/tools/index.js'
import { buyers, families } from '../erase/people.js'
import { type StorageFixture, storages } from '../storages.js'
import { type Entry, getHead, readLog, type Tampered, testChained } from './chained.js'
import { edits, listBroken } from './edits.js'

/** A log of ten people, with an erased one in the middle. */
async function makeLog (storage: Storage): Promise<Entry[]> {
  const book = buyers.service({ storage })
  for (let n = 1; n <= 5; n++) {
    const options = { principal: 'ann', key: `k-${n}` }
    const made = await book.create({ name: `zq ${n}`, code: `code ${n}`, born: null }, options)
    await book.run('rename', made.item.id, { to: `zr ${n}`, because: `zq ${n}` }, { principal: 'bob' })
    if (n === 3) await erase(storage, families, { family: 'people', id: made.item.id })
  }
  return await readLog(storage)
}

testChained('a log is valid, and so is each of its beginnings', async (t, { storage }) => {
  t.equal((await verifyLog(storage)).head, undefined, 'an empty one')
  t.strictSame(await verifyLog(storage), { checked: 0, erased: 0 })
  const log = await makeLog(storage)
  t.strictSame(log.map(({ position }) => position), log.map((_, index) => index + 1))
  const head = await getHead(storage)
  const result = await verifyLog(storage, { batch: 3 })
  t.match(result, { checked: log.length, first: 1, head, broken: undefined })
  t.equal(result.erased, log.filter(({ erasure }) => erasure !== undefined).length)
  t.ok(result.erased >= 2)
  for (const { position, hash } of log) {
    t.equal((await verifyLog(storage, { expected: { position, hash } })).broken, undefined)
    t.match(await verifyLog(storage, { after: position }), { checked: log.length - position, broken: undefined })
  }
  const ids = new Set(log.map(({ salt }) => salt))
  t.equal(ids.size, log.length, 'each salt is its own')
}, t)

testChained('what was erased cannot be guessed', async (t, { storage }) => {
  const book = buyers.service({ storage })
  const { item: { id } } = await book.create({ name: 'zqann', code: 'zqcode', born: null })
  const [before] = await readLog(storage) as [Entry]
  await erase(storage, families, { family: 'people', id })
  const after = await readLog(storage)
  const text = JSON.stringify(after)
  t.notOk(text.includes('zqann'))
  t.notOk(text.includes(String(before['salt'])))
  t.match(after[0], { hash: before.hash, seal: before['seal'] })
}, t)

testChained('an entry is changed', async (t, { name, storage, tamper }) => {
  const log = await makeLog(storage)
  for (const [index, [what, edit]] of Object.entries(edits).entries()) {
    await t.test(what, async t => {
      let count = 0
      // In databases, this takes long.
      for (const entry of log.filter((_, at) => name === 'memory' || at % 4 === index % 4)) {
        const edited = edit(entry, log)
        const positions = listBroken(entry, edited, log)
        if (positions.length === 0) continue
        await tamper(new Map([[String(entry.id), edited]]))
        const { checked, broken } = await verifyLog(storage)
        t.equal(checked, (broken?.position ?? 0) - 1)
        t.ok(broken !== undefined && positions.includes(broken.position), `${broken?.position} of ${positions.join()}`)
        if (what === 'its position') t.match(broken, { reason: 'removed', id: undefined })
        else t.match(broken, { reason: 'changed', id: log[checked]?.id })
        await tamper(new Map([[String(entry.id), entry]]))
        count++
      }
      t.ok(count > 1, `${count} entries`)
    })
  }
  t.equal((await verifyLog(storage)).broken, undefined)
}, t)

testChained('entries are removed, exchanged and added', async (t, { name, storage, tamper }) => {
  const log = await makeLog(storage)
  const [first, second, third, fourth] = log as [Entry, Entry, Entry, Entry]
  const last = log.at(-1) as Entry
  const head = await getHead(storage)
  const check = async (
    name: string, rows: Record<string, Tampered>, broken: object | undefined, options = {}
  ): Promise<void> => {
    await tamper(new Map(Object.entries(rows)))
    t.match((await verifyLog(storage, options)).broken ?? { none: true }, broken ?? { none: true }, name)
    await tamper(new Map(Object.keys(rows).map(id => [id, log.find(entry => entry.id === id)])))
    assert.deepEqual((await verifyLog(storage, { expected: head })).broken, undefined)
  }
  await check('the first', { [first.id]: undefined }, { position: 1, reason: 'removed' })
  await check('one in the middle', { [third.id]: undefined }, { position: 3, reason: 'removed' })
  await check('two', { [second.id]: undefined, [third.id]: undefined }, { position: 2, reason: 'removed' })
  await check('two exchanged', {
    [second.id]: { ...second, position: 4 }, [fourth.id]: { ...fourth, position: 2 }
  }, { position: 2, reason: 'changed', id: fourth.id })
  await check('one is put where another was', {
    [second.id]: undefined, [third.id]: { ...third, position: 2 }
  }, { position: 2, reason: 'changed', id: third.id })
  const forged = { ...third, id: 'forged', params: { name: 'Eve' }, createdHigh: undefined, createdLow: undefined }
  await check('one more at a position', { forged }, { position: 3 })
  // It comes after the other, at least where rows are kept in their order.
  const again = { ...third, id: '~forged', createdHigh: undefined, createdLow: undefined }
  for (const batch of [1, 2, 3, 4]) {
    const reason = name === 'memory' ? 'added' : /added|changed/
    await check(`one more, read by ${batch}`, { '~forged': again }, { position: 3, reason }, { batch })
  }
  await check('one at the end', { forged: { ...forged, position: last.position + 1 } }, {
    position: last.position + 1, reason: 'changed', id: 'forged'
  })
  await check('one at the end, without a hash', {
    forged: { ...forged, position: last.position + 1, hash: undefined }
  }, { position: last.position + 1, reason: 'unchained' })
  const cut = { position: last.position, reason: 'cut' }
  await check('the end is cut off', { [last.id]: undefined }, cut, { expected: head })
  await check('nobody has kept the head', { [last.id]: undefined }, undefined)
}, t)

testChained('the log is written again from an entry on', async (t, { storage, tamper }) => {
  const log = await makeLog(storage)
  const head = await getHead(storage)
  const rows = new Map<string, Tampered>()
  let previous = log[2]?.hash
  for (const { salt, seal, erasure, ...entry } of log.slice(3)) {
    const sealed = sealEntry({ ...entry, hash: undefined, principal: 'eve' } as unknown as Stored)
    previous = linkEntry(previous, entry.position, sealed.hash)
    rows.set(String(entry.id), { ...sealed, hash: previous })
  }
  await tamper(rows)
  t.equal((await verifyLog(storage)).broken, undefined, 'nothing shows it')
  t.match((await verifyLog(storage, { expected: head })).broken, { position: head.position, reason: 'rewritten' })
  t.equal((await verifyLog(storage, { expected: log[2] && { position: 3, hash: log[2].hash } })).broken, undefined)
}, t)

testChained('what an erasure leaves is proved as it was at first', async (t, { storage, tamper }) => {
  const log = await makeLog(storage)
  const entry = log[1] as Entry
  const changes: Record<string, unknown>[] = [
    { family: 'orders' }, { target: '99' }, { action: 'LeavePerson' }, { outcome: 'refused' }, { revision: 9 },
    { createdAt: '2020-01-01T00:00:00.000Z' }, { about: { family: 'orders', id: 1 } }, { createdLow: 5 }
  ]
  for (const [index, change] of changes.entries()) {
    const item = { ...entry, ...change } as Stored
    const replaced = { type: 'replace', family: 'commands', item, expected: entry.revision } as const
    await storage.commit(sealErasure([replaced], `forged-${index}`, '2026-01-01T00:00:00.000Z'))
    t.match((await verifyLog(storage)).broken, { position: 2, reason: 'changed' }, Object.keys(change).join())
    await tamper(new Map([[String(entry.id), entry]]))
  }
  t.equal((await verifyLog(storage)).broken, undefined)
}, t)

testChained('it is pruned between any two reads', async (t, { name }) => {
  let isMissed = 0
  for (let n = 1; n <= 12; n += name === 'memory' ? 1 : 4) {
    const made = storages.find(each => each.name === name)?.make({ chain: true })
    const { storage, dispose } = await made as StorageFixture
    const log = await makeLog(storage)
    while (Date.now() <= Date.parse((log.at(-1) as Entry).createdAt)) await delay(1)
    let reads = 0
    const pruning: Storage = {
      ...storage,
      async find (...given) {
        if (++reads === n) await prune(storage, { before: new Date() })
        return await storage.find(...given)
      }
    }
    const { checked, broken } = await verifyLog(pruning, { batch: 2 })
    t.equal(broken, undefined, `before read ${n}`)
    if (checked > 0 && checked < log.length) isMissed++
    await dispose()
  }
  t.ok(isMissed > 0)
}, t)

testChained('an erasure is proved by its own entry', async (t, { storage, tamper }) => {
  const log = await makeLog(storage)
  const erased = log.find(({ erasure }) => erasure !== undefined) as Entry
  const erasure = log.find(({ id }) => id === erased['erasure']) as Entry
  t.ok(erasure.position > erased.position)
  const { position } = erased
  await tamper(new Map([[String(erasure.id), undefined]]))
  t.match((await verifyLog(storage)).broken, { position, reason: 'changed' }, 'it is removed')
  const params = { ...erasure['params'] as object, [String(log[0]?.position)]: 'ab' }
  await tamper(new Map([[String(erasure.id), { ...erasure, params }]]))
  t.match((await verifyLog(storage)).broken, { position, reason: 'changed' }, 'it is changed')
  await tamper(new Map([[String(erasure.id), erasure]]))
  t.equal((await verifyLog(storage)).broken, undefined)
}, t)

testChained('pruned entries are no fault, but may not be expected', async (t, { storage, tamper }) => {
  const log = await makeLog(storage)
  const [middle, last] = [log[5], log.at(-1)] as [Entry, Entry]
  const heads = log.map(({ position, hash }) => ({ position, hash }))
  // As it would be a while later.
  const moment = '2020-01-01T00:00:00.000Z'
  t.equal(await prune(storage, { before: moment }), 0)
  while (Date.now() <= Date.parse(last.createdAt)) await delay(1)
  const all = await prune(storage, { before: new Date(), batch: 4 })
  t.equal(all, log.length)
  t.strictSame(await verifyLog(storage), { checked: 0, erased: 0, head: heads.at(-1) })
  const { item: { id } } = await buyers.service({ storage }).create({ name: 'a', code: 'a', born: null })
  const after = await verifyLog(storage, { expected: heads.at(-1) as typeof heads[number] })
  t.match(after, { checked: 1, first: last.position + 1, broken: undefined })
  t.match((await verifyLog(storage, { expected: { position: 6, hash: middle.hash } })).broken, {
    position: 6, reason: 'pruned'
  })
  t.match((await verifyLog(storage, { expected: { ...heads.at(-1) as typeof heads[number], hash: 'ab' } })).broken, {
    reason: 'rewritten'
  })
  await tamper(new Map([['forged', { ...middle, id: 'forged', createdHigh: undefined }]]))
  t.match((await verifyLog(storage)).broken, { position: 6, reason: 'added', id: 'forged' })
  await tamper(new Map([['forged', undefined]]))
  const mark = await storage.get('commands', '$pruned') as Entry
  await tamper(new Map([['$pruned', { ...mark, hash: 'ab' }]]))
  t.match((await verifyLog(storage)).broken, { position: last.position + 1, reason: 'changed' })
  await tamper(new Map([['$pruned', undefined]]))
  t.match((await verifyLog(storage)).broken, { position: 1, reason: 'removed' })
  t.ok(id)
}, t)

testChained('it is checked while it is written, pruned and erased', async (t, { storage, fixture: { another } }) => {
  const log = await makeLog(storage)
  const [pruning, erasing, verifying] = another === undefined
    ? [storage, storage, storage]
    : [another(), another(), another()]
  const book = buyers.service({ storage })
  const ids = [...new Set(log.filter(({ family }) => family === 'people').map(({ target }) => Number(target)))]
  let isWorking = true
  const verify = async (): Promise<number> => {
    for (let count = 1; ; count++) {
      const isLast = !isWorking
      const { broken } = await verifyLog(verifying, { batch: 2 })
      if (broken !== undefined) return NaN
      if (isLast) return count
    }
  }
  const counting = verify()
  const each = async <T>(values: readonly T[], run: (value: T) => Promise<unknown>): Promise<void> => {
    for (const value of values) await run(value)
  }
  await Promise.all([
    each(log.slice(0, -4), ({ createdAt }) => prune(pruning, { before: createdAt, batch: 2 })),
    each(ids, id => erase(erasing, families, { family: 'people', id, batch: 2 })),
    each([...ids, ...ids, ...ids], id => book.run('raise', id, { by: 1 }))
  ])
  isWorking = false
  t.ok(await counting > 1, 'it is valid all the time')
  const { first, erased, broken } = await verifyLog(storage)
  t.ok(broken === undefined && first !== undefined && first > 1 && erased > 0, `from ${first}, ${erased} erased`)
}, t)

testChained('an erasure that is killed at any step leaves a valid log', async (t, { name }) => {
  for (let n = 1, isDone = false; !isDone; n += name === 'memory' ? 1 : 3) {
    const fixture = await storages.find(each => each.name === name)?.make({ chain: true }) as StorageFixture
    const { storage, dispose } = fixture
    const [{ target }] = (await makeLog(storage)).filter(({ family }) => family === 'people') as [Entry]
    let commits = 0
    const failing: Storage = {
      ...storage,
      async commit (changes) {
        const fails = ++commits === n
        if (!fails || n % 2 === 0) await storage.commit(changes)
        if (fails) throw new Error('killed')
      }
    }
    const options = { family: 'people', id: Number(target), batch: 1 }
    isDone = await erase(failing, families, options).then(() => true, () => false)
    t.equal((await verifyLog(storage)).broken, undefined, `killed at ${n}`)
    await erase(storage, families, options)
    const { broken, erased } = await verifyLog(storage)
    t.ok(broken === undefined && erased >= 3, `${erased} erased`)
    if (isDone) t.ok(n > 4, `${n} commits`)
    await dispose()
  }
}, t)

t.test('what is wrong with a call', async t => {
  const chained = memoryStorage({ chain: true })
  const wrong: [unknown, unknown, RegExp][] = [
    [memoryStorage(), {}, /not chained: open it with chain: true/],
    [chained, { expect: 1 }, /unknown option "expect". Did you mean "expected"\?/],
    [chained, { expected: { position: 1 } }, /expected.*hash/],
    [chained, { expected: { position: 0, hash: 'a' } }, /position/],
    [chained, { after: -1 }, /"after" must be an integer, 0 or more/],
    [chained, { batch: 0 }, /"batch" must be a positive integer/]
  ]
  for (const [storage, options, message] of wrong) {
    await t.rejects(verifyLog(storage as Storage, options as never), {
      code: 'FST_DEALBOOK_INVALID_VERIFICATION', message
    })
  }
  await chained.prepare(commandsShape)
  await t.rejects(verifyLog(chained, { signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
})
