import '../process-time.js'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import { LogPart } from '../../lib/core/feed/log-part.js'
import { real, useRuntime } from '../../lib/core/runtime.js'
import type { Caller } from '../../lib/core/service/caller.js'
import type { EntryKey } from '../../lib/core/service/log-reads.js'
import { writePosition } from '../../lib/core/service/log-reads.js'
import { findEnd, findEntries, findKeys, findPruned, isPruned, refusePruned } from '../../lib/core/service/log-reads.js'
import { Reader } from '../../lib/core/service/reader.js'
import type { GuardedStorage } from '../../lib/core/service/storage-access.js'
import { choosePartSize, countFitting } from '../../lib/core/storage/pages.js'
import { measureAll } from '../../lib/core/values/json.js'
import type { Change, Condition, Id, Query, Storage, Stored } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { consume } from '../../lib/tools/index.js'
import { storages } from '../storages.js'
import { makeOld } from './old-entries.js'
import { withTexts } from './with-texts.js'

/** Counts the reads of a storage, and the items of the longest. */
function countReads (storage: Storage, measures: boolean) {
  const { findText } = storage
  const counted = { reads: 0, items: 0, most: 0 }
  const note = (items: number): void => {
    counted.reads++
    counted.items += items
    counted.most = Math.max(counted.most, items)
  }
  const own: Storage = {
    ...storage,
    async find (family, { maxLength, ...query }, signal) {
      const given = measures && maxLength !== undefined ? { ...query, maxLength } : query
      const found = await storage.find(family, given, signal)
      note(found.items.length)
      return found
    },
    ...(findText && {
      async findText (...asked) {
        const found = await findText.apply(storage, asked)
        note(found.count)
        return found
      }
    })
  }
  return { own, counted }
}

async function readAll (storage: Storage, count: number): Promise<void> {
  const stop = new AbortController()
  let seen = 0
  const handler = (): void => { if (++seen === count) stop.abort() }
  await consume(storage, { name: 'reader', families: [deals], signal: stop.signal, handler })
}

async function open (t: Test, storage: Storage) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, {
    storage,
    version: 'v1',
    authorize: () => ({ where: [{ field: 'price', op: 'eq', values: [2] }] })
  })
  return app
}

const count = 500

for (const { name, make } of storages) {
  t.test(`${name}: short entries are read in few parts`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    await deals.service({ storage }).find()
    await storage.commit(makeOld(count))
    const { own, counted } = countReads(storage, true)
    await readAll(own, count)
    t.ok(counted.reads < 20, `a consumer: ${counted.reads} reads`)

    const app = await open(t, own)
    await app.ready()
    counted.reads = 0
    const page = await app.inject(`/rest/commands?after=${writePosition(0)}`)
    t.strictSame((page.json() as { items: unknown[] }).items, [])
    t.ok(counted.reads < 20, `a page of which nothing is shown: ${counted.reads} reads`)
  })
}

t.test('from a storage that does not measure them, few are read at once', async t => {
  const storage = memoryStorage()
  await deals.service({ storage }).find()
  await storage.commit(makeOld(100))
  const { own, counted } = countReads(storage, false)
  await readAll(own, 100)
  t.equal(counted.most, 10)
})

t.test('a page skips a number of entries, in however many parts it is read', async t => {
  const storage = memoryStorage()
  const book = deals.service({ storage })
  const { item: { id } } = await book.create({ name: 'seen', price: 2 })
  const entries = makeOld(12_000) as (Change & { item: { target: string } })[]
  await storage.commit(entries.map((change, index) =>
    index % 400 > 0 ? change : { ...change, item: { ...change.item, target: String(id) } }) as Change[])
  const { own, counted } = countReads(storage, true)
  const app = await open(t, own)
  const page = await app.inject(`/rest/commands?after=${writePosition(0)}&maxpagesize=50`)
  const { items, links } = page.json<{ items: unknown[], links: { next?: string } }>()
  t.ok(items.length > 10 && items.length < 20, `${items.length} are shown`)
  t.ok(links.next !== undefined, 'the next page continues')
  // Their items are read, too.
  t.ok(counted.items < 10_000, `${counted.items} rows are read`)
})

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), owner: Type.String(), text: Type.Optional(Type.String()) }),
  create: ['owner', 'text'],
  edit: ['owner']
})
const anns = { where: [{ field: 'owner', op: 'eq', values: ['ann'] }] } as const

interface Page {
  readonly items: readonly { readonly note: number, readonly action: string }[]
  readonly links: Readonly<Record<'next' | 'prev' | 'follow', string | undefined>>
}

for (const hasTexts of [true, false]) {
  t.test(`pages of a caller who may not see all, from a storage ${hasTexts ? 'with' : 'without'} texts`, async t => {
    const storage = hasTexts ? withTexts(memoryStorage()) : memoryStorage()
    const book = notes.service({ storage })
    for (const owner of 'abbaabbbabba') await book.create({ owner: owner === 'a' ? 'ann' : 'bob' })
    const app = Fastify()
    t.teardown(() => app.close())
    const none = { where: [{ ...anns.where[0], values: [] }] }
    await app.register(notes, { storage, authorize: ({ headers }) => headers['x-user'] === 'nobody' ? none : anns })
    const read = async (url: string, headers = {}) => (await app.inject({ url, headers })).json<Page>()
    const walk = async (url: string, link: 'next' | 'prev'): Promise<{ seen: number[][], last: Page }> => {
      const seen: number[][] = []
      for (let page = await read(url); ; page = await read(page.links[link] as string)) {
        seen.push(page.items.map(({ note }) => note))
        if (page.links[link] === undefined) return { seen, last: page }
      }
    }
    const first = '/rest/commands?maxpagesize=2'
    const { seen, last } = await walk(first, 'next')
    t.strictSame(seen, [[1, 4], [5, 9], [12]])
    const newest = await walk(`${first}&sort=-position`, 'next')
    t.strictSame(newest.seen, [[12, 9], [5, 4], [1]])
    t.strictSame((await walk(last.links.prev as string, 'prev')).seen, [[5, 9], [1, 4]])
    t.strictSame((await walk(newest.last.links.prev as string, 'prev')).seen, [[5, 4], [12, 9]])
    t.strictSame((await read('/rest/commands?maxpagesize=5')).links.next, undefined, 'as many as there are')
    t.strictSame((await read(`${first}&action=EditNote`)).items, [])
    t.strictSame((await read('/rest/commands', { 'x-user': 'nobody' })).items, [])
    const csv = (await app.inject('/rest/commands.csv')).body.trimEnd().split('\r\n')
    t.equal(csv.length, 6, 'a header, and five')
    const follow = (await read('/rest/commands')).links.follow as string
    await book.run('edit', 2, { owner: 'ann' })
    t.strictSame((await read(follow)).items.map(({ note, action }) => [note, action]), [[2, 'EditNote']])
    t.strictSame((await read('/rest/commands')).items.map(({ note }) => note), [1, 2, 4, 5, 9, 12, 2], 'all of it')
  })
}

t.test('a follower passes over long entries that it may not see, by their keys', async t => {
  const inner = memoryStorage()
  let length = 0
  const storage = withTexts({
    ...inner,
    async find (...asked) {
      const found = await inner.find(...asked)
      if (asked[1].maxLength !== undefined) length += JSON.stringify(found.items).length
      return found
    }
  })
  const book = notes.service({ storage })
  const text = 'x'.repeat(150_000)
  const create = async (owner: string, count = 1) => {
    for (let made = 0; made < count; made++) await book.create({ owner, text: owner === 'ann' ? 'y' : text })
  }
  await create('bob', 30)
  await create('ann')
  await create('bob', 3)
  await create('ann', 2)
  const stop = new AbortController()
  const seen: unknown[] = []
  length = 0
  for await (const { note } of notes.service({ storage, authorize: () => anns }).follow({ signal: stop.signal })) {
    seen.push(note)
    if (seen.length === 3) {
      await create('bob', 2)
      await create('ann')
    }
    if (seen.length === 4) stop.abort()
  }
  t.strictSame(seen, [31, 35, 36, 39])
  t.ok(length < 16 * text.length, `${length} characters are read`)
})

t.test('how many fit', async t => {
  for (const [lengths, maxLength, expected] of [
    [[1, 1, 1], 3, 100], [[], 3, 100], [[4, 1], 3, 1], [[1, 1, 1, 1], 3, 2], [Array(60).fill(1), 55, 50]
  ] as const) {
    t.equal(countFitting(lengths, { limit: 100, maxLength }), expected, `${lengths.length} in ${maxLength}`)
  }
})

t.test('the size of the next part', async t => {
  for (const [size, length, count, most, expected] of [
    [10, 0, 0, 50, 10], [1, 0, 0, 50, 1], [10, 1000, 10, 50, 50], [1, 100, 1, 50, 10], [10, 1000, 10, 100, 100],
    [10, 1_000_000, 10, 100, 10], [10, 10_000_000, 10, 100, 1], [100, 1000, 100, 10, 10]
  ] as const) {
    t.equal(choosePartSize(size, { length, count }, most), expected, `${size}, then ${length} / ${count}`)
  }
})

t.test('what a storage is asked for entries, and whether more follow', async t => {
  const where: readonly Condition[] = [{ field: 'position', op: 'gt', value: 5 }]
  const asked: unknown[] = []
  /** A storage with these entries, which may return fewer than it is asked for. */
  const open = (count: number, isPartial?: boolean, hasTexts = false) => {
    const items = Array.from({ length: count }, (_, index) => ({ id: `${index}`, position: index + 6 })) as never[]
    return {
      async find (family: string, query: Query, signal?: AbortSignal) {
        asked.push([family, query, signal])
        return { items, ...isPartial !== undefined && { isPartial } }
      },
      ...hasTexts && {
        async findText (family: string, query: Query, members: readonly string[], signal?: AbortSignal) {
          asked.push([family, query, members, signal])
          return { text: JSON.stringify(items).slice(1, -1), count, more: false }
        }
      }
    }
  }
  const { signal } = new AbortController()
  const query = (descending: boolean) =>
    ({ where, order: [{ field: 'position', descending }], offset: 0, limit: 3, count: false })
  const maxLength = 2_000_000
  for (const [count, isPartial, isEnd, most] of [
    [2, undefined, true, 10], [3, undefined, false, 10], [2, false, true, 100], [3, false, false, 100],
    [2, true, false, 100]
  ] as const) {
    for (const find of [findEntries, findKeys]) {
      const found = await find(open(count, isPartial), where, 3, signal)
      t.match(found, { entries: { length: count }, isEnd, most }, `${count} ${isPartial}`)
      t.strictSame(asked.splice(0), [['commands', { ...query(false), maxLength }, signal]])
    }
  }
  await findEntries(open(1), where, 3, signal, true)
  t.strictSame(asked.splice(0), [['commands', { ...query(true), maxLength }, signal]])
  const members = ['id', 'revision', 'position', 'family', 'target']
  for (const [count, descending, isEnd] of [[2, false, true], [3, true, false]] as const) {
    const found = await findKeys(open(count, undefined, true), where, 3, signal, descending)
    t.match(found, { entries: { length: count }, isEnd, most: 100 })
    t.strictSame(asked.splice(0), [['commands', query(descending), members, signal]])
  }
  for (const hasTexts of [false, true]) {
    t.strictSame([await findEnd(open(0, false, hasTexts)), await findEnd(open(2, false, hasTexts))], [0, 6])
  }
})

t.test('which entries are gone', async t => {
  const none = { get: async () => undefined }
  const some = { get: async () => ({ position: 4 }) as unknown as Stored }
  t.strictSame([await findPruned(none), await findPruned(some)], [0, 4])
  for (const [storage, position, end, isGone] of [
    [none, 0, 9, false], [none, 9, 9, false], [none, 10, 9, true], [some, 3, 9, true], [some, 4, 9, false]
  ] as const) {
    const refused = await refusePruned(storage, position, end).then(() => undefined, (error: unknown) => error)
    t.equal(isPruned(refused), isGone, `${position} of ${end}`)
  }
  for (const error of [new Problem('busy', 'no'), { code: 'pruned' }, undefined]) t.notOk(isPruned(error))
})

/** Entries of the log, and the ids that a storage is asked for when it is found out which of their items are seen. */
function openPart (
  family: Family, entries: readonly object[], field: string, { texts = false, find = (id: Id): object => ({ id }) } = {}
) {
  const asked: unknown[] = []
  const answer = ({ where }: Query): object[] => {
    const { values } = where.find(({ op }) => op === 'eq') as { values: readonly Id[] }
    asked.push(values)
    return values.map(find)
  }
  const storage = {
    find: async (_family: string, query: Query) => ({ items: answer(query) }),
    ...(texts && {
      findText: async (_family: string, query: Query) => ({ text: JSON.stringify(answer(query)).slice(1, -1) })
    })
  } as unknown as GuardedStorage
  const where: readonly Condition[] = [{ field, op: 'ne', values: ['bob'] }]
  const open = (...more: readonly Condition[]): Reader =>
    new Reader({ family, caller: {} as Caller }, storage, { where: [...where, ...more] })
  return { asked, open, part: new LogPart(storage, entries as readonly EntryKey[]) }
}

const tales = getFamily(defineFamily({
  name: 'tales',
  singular: 'tale',
  fields: Type.Object({ id: Type.Integer(), owner: Type.String({ maxLength: 20 }), text: Type.String() })
}))
const tags = getFamily(defineFamily({
  name: 'tags',
  singular: 'tag',
  fields: Type.Object({ id: Type.Integer(), owner: Type.String({ maxLength: 20 }) })
}))
const named = getFamily(defineFamily({
  name: 'words', singular: 'word', fields: Type.Object({ id: Type.String(), owner: Type.String({ maxLength: 20 }) })
}))

t.test('which items that entries are about are seen is read once for all, for a second', async t => {
  let now = 5000
  useRuntime({ ...real, elapsed: () => now })
  t.teardown(() => { useRuntime() })
  const { asked, open, part } = openPart(tags, [
    { family: 'tags', target: '1' }, { family: 'tales', target: '2' }, { family: 'tags', target: 'x' },
    { family: 'tales', target: '2', about: { family: 'tags', id: 3 } }, { family: 'tags', target: '1' },
    { family: 'tags', target: '4', about: { family: 'tales', id: 5 } }
  ], 'owner', { find: id => ({ id, owner: id === 3 ? 'bob' : 'ann' }) })
  const [first, other] = [open(), open({ field: 'id', op: 'gt', value: 1 })]
  const further = open({ field: 'revision', op: 'ne', values: [9] })
  for (const [what, moment, reader, seen, count] of [
    ['the first', 5000, first, [1, 4], 1], ['another with the same fields', 5500, other, [4], 1],
    ['another with other fields', 5500, further, [1, 4], 2], ['before a second has passed', 5999, first, [1, 4], 2],
    ['after it', 6000, first, [1, 4], 3], ['not again', 6999, first, [1, 4], 3]
  ] as const) {
    now = moment
    t.strictSame([...await part.findVisible(reader)], seen, what)
    t.strictSame(asked, Array(count).fill([1, 3, 4]), what)
  }
  const { asked: none, open: openNone, part: empty } = openPart(tags, [{ family: 'tales', target: '2' }], 'owner')
  t.strictSame([...await empty.findVisible(openNone())], [])
  t.strictSame(none, [])
  const about = { family: 'words', target: 'x', about: { family: 'words', id: 'y' } }
  const words = openPart(named, [about, { family: 'tags', target: '1' }], 'owner')
  t.strictSame([...await words.part.findVisible(words.open())], ['x', 'y'])
  t.strictSame(words.asked, [['x', 'y']], 'ids that are texts')
  let failures = 1
  const broken = openPart(tags, [{ family: 'tags', target: '1' }], 'owner', {
    find (id) {
      if (failures-- > 0) throw new Error('no answer')
      return { id }
    }
  })
  await t.rejects(broken.part.findVisible(broken.open()), { message: 'no answer' })
  t.strictSame([...await broken.part.findVisible(broken.open())], [1], 'a failure is not kept')
})

t.test('items that may be long are read in small parts, unless only short fields are needed', async t => {
  const entries = (name: string) => Array.from({ length: 210 }, (_, index) => ({ family: name, target: String(index) }))
  const [few, many] = [[10, 50, 50, 50, 50], [100, 100, 10]]
  for (const [family, field, texts, sizes] of [
    [tales, 'owner', false, few], [tales, 'text', false, few], [tags, 'owner', false, many],
    [tales, 'owner', true, many], [tales, 'text', true, few], [tags, 'owner', true, many]
  ] as const) {
    const { asked, open, part } = openPart(family, entries(family.name), field, { texts })
    t.equal((await part.findVisible(open())).size, 210)
    t.strictSame((asked as unknown[][]).map(({ length }) => length), sizes, `${family.name} ${field} ${texts}`)
  }
})

t.test('items that are too long together are not kept, but asked for by each reader', async t => {
  const measure = (text: string): number => measureAll([{ id: 1, text }, { id: 2, text: '' }])
  const longest = 2_000_000 - measure('')
  for (const [length, count] of [[longest, 1], [longest + 1, 3]] as const) {
    const find = (id: Id): object => ({ id, text: id === 1 ? 'x'.repeat(length) : '' })
    const entries = [{ family: 'tales', target: '1' }, { family: 'tales', target: '2' }]
    const { asked, open, part } = openPart(tales, entries, 'text', { find })
    for (let times = 0; times < 2; times++) t.strictSame([...await part.findVisible(open())], [1, 2])
    t.equal(asked.length, count, `${length} characters`)
  }
})
