import t from 'tap'
import { type Storage } from '../../lib/index.js'
import { erase } from '../../lib/tools/index.js'
import { openPapers as open, papers, paperTables as tables } from './papers.js'
import { places, readRows } from './places.js'

async function work (storage: Storage, titles = ['one', 'two', 'three']): Promise<number[]> {
  const book = open(storage)
  const ids: number[] = []
  for (const title of titles) {
    const { item: { id } } = await book.create({ title }, { principal: 'zqann', key: `made-${title}` })
    await book.run('approve', id, {}, { principal: 'zqann', command: `approve-${title}` })
    await book.run('see', id, {}, { principal: 'zqann' })
    await book.run('approve', id, {}, { principal: 'bob', command: `approve-${title}` })
    await book.run('see', id, {}, { principal: 'bob' })
    ids.push(id)
  }
  await book.run('approve', ids[1] as number, {}, { principal: 'zqann' })
  return ids
}

for (const { name, make } of places) {
  t.test(name, async t => {
    const { storage, dump } = await make(t, tables)
    const ids = await work(storage)
    const before = (await readRows(storage, ['commands']))['commands'] ?? []
    const report = await erase(storage, [papers], { principal: 'zqann', by: 'dpo', batch: 3 })
    t.match(report, { items: { papers: 3 }, parked: 0 })
    const book = open(storage)
    t.match(await book.get(ids[0] as number), {
      author: 'erased', approvedBy: 'bob', seenBy: ['erased', 'bob'], line: 'one of erased'
    })
    t.match(await book.get(ids[1] as number), { author: 'erased', approvedBy: 'erased' })
    const entries = (await readRows(storage, ['commands']))['commands'] ?? []
    t.notOk(entries.some(({ principal }) => principal === 'zqann'))
    t.equal(entries.filter(({ principal }) => principal === 'bob').length,
      before.filter(({ principal }) => principal === 'bob').length)
    t.equal(entries.filter(({ action }) => action === 'ErasePaper').length, 3)
    const { items: log } = await book.log(ids[0] as number)
    t.match(log.map(({ action, principal }) => `${action} ${principal}`), [
      'CreatePaper erased', 'ApprovePaper erased', 'SeePaper erased', 'ApprovePaper bob', 'SeePaper bob',
      'ErasePaper dpo'
    ])
    t.notOk((await dump()).includes('zqann'))
    t.strictSame(await erase(storage, [papers], { principal: 'zqann' }), { items: {}, entries: {}, parked: 0 })
  })

  t.test(`${name}: what a client has sent is not its author`, async t => {
    const { storage } = await make(t, tables)
    const [, id] = await work(storage, ['one', 'zqann']) as [number, number]
    await erase(storage, [papers], { principal: 'zqann' })
    t.match(await open(storage).get(id), { title: 'zqann', author: 'erased', line: 'zqann of erased' })
  })

  t.test(`${name}: a retry is not done again`, async t => {
    const { storage } = await make(t, tables)
    const [id] = await work(storage) as [number]
    const book = open(storage)
    await erase(storage, [papers], { principal: 'zqann' })
    const before = await readRows(storage, tables.slice(0, 2))
    const again = await book.create({ title: 'one' }, { principal: 'zqann', key: 'made-one' }).catch(error => error)
    t.match(again, { code: 'id-reused' })
    const command = { principal: 'zqann', command: 'approve-one' }
    await t.rejects(book.run('approve', id, {}, command), { code: 'id-reused' })
    t.strictSame(await readRows(storage, tables.slice(0, 2)), before)
    t.match(await book.run('approve', id, {}, { principal: 'bob', command: 'approve-one' }), { replayed: true })
  })
}

t.test('a retry of a command from before rows were derived from principals is not done again', async t => {
  const [place] = places
  const { storage } = await (place as typeof places[number]).make(t, tables)
  const book = open(storage)
  const { item: { id } } = await book.create({ title: 'one' })
  const moment = '2020-01-01T00:00:00.000Z'
  const old = { family: 'papers', target: String(id), action: 'ApprovePaper', outcome: 'done', params: {}, revision: 1 }
  const item = { ...old, id: 'old-1', principal: 'zqann', createdAt: moment, updatedAt: moment }
  await storage.commit([{ type: 'insert', family: 'commands', item }])
  t.match(await book.run('approve', id, {}, { principal: 'zqann', command: 'old-1' }), { replayed: true })
  await erase(storage, [papers], { principal: 'zqann' })
  await t.rejects(book.run('approve', id, {}, { principal: 'zqann', command: 'old-1' }), { code: 'id-reused' })
})
