import t from 'tap'
import { keepMark } from '../../lib/core/data/mark.js'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import { Feed } from '../../lib/core/feed/feed.js'
import type { Position } from '../../lib/core/query/cursor.js'
import type { ParsedQuery } from '../../lib/core/query/grammar.js'
import type { Caller, Grant } from '../../lib/core/service/caller.js'
import type { FeedEntry } from '../../lib/core/service/log-reads.js'
import { Reader } from '../../lib/core/service/reader.js'
import { feedList, prunedId } from '../../lib/core/service/record.js'
import { guardStorage } from '../../lib/core/service/storage-access.js'
import { RequestDeadline } from '../../lib/core/storage/deadline.js'
import { measureAll } from '../../lib/core/values/json.js'
import type { Change, Query, Storage } from '../../lib/index.js'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { makeOld } from './old-entries.js'
import { stopClock } from './timers.js'
import { withTexts } from './with-texts.js'

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), owner: Type.String() }),
  create: ['owner'],
  edit: ['owner']
})
const tags = defineFamily({
  name: 'tags',
  singular: 'tag',
  fields: Type.Object({ id: Type.Integer(), color: Type.String() }),
  create: ['color']
})
const [note, tag] = [getFamily(notes), getFamily(tags)]

/** Writes down what is read, after it has called `before` with that. */
function record (storage: Storage) {
  const reads: string[] = []
  const hooks = { before: async (_read: string): Promise<void> => {} }
  const note = async (read: string): Promise<void> => {
    reads.push(read)
    await hooks.before(read)
  }
  const describe = (family: string, { where, order, limit }: Query): string => {
    const [first] = where
    // Their ids are left to chance.
    if (family === 'commands' && first?.op === 'eq' && first.field === 'id') return `${first.values.length} commands`
    const conditions = where.map(condition => {
      const { field, op, value, values = [value] } = condition as Record<string, unknown>
      return [field, op, values].join(' ')
    })
    return `${family}: ${conditions.join(', ')}; ${limit} ${order[0]?.descending === true ? 'down' : 'up'}`
  }
  const { findText } = storage
  const recorded: Storage = {
    ...storage,
    async find (family, query, signal) {
      await note(describe(family, query))
      return await storage.find(family, query, signal)
    },
    async get (family, id, signal) {
      await note(`${family} ${id}`)
      return await storage.get(family, id, signal)
    },
    ...(findText && {
      async findText (family, query, members, signal) {
        await note(`${members.join(' ')} of ${describe(family, query)}`)
        return await findText.call(storage, family, query, members, signal)
      }
    })
  }
  const take = (): string[] => reads.splice(0)
  return { recorded, hooks, take }
}

const anns: Grant = { where: [{ field: 'owner', op: 'eq', values: ['ann'] }] }
const all: Grant = {}
const unguarded = { isGuarded: false } as Caller

/** A feed of the notes, unless other families are named. */
function openFeed (storage: Storage, grant: Grant, families: readonly Family[] = [note]): Feed {
  const guarded = guardStorage(storage)
  return new Feed(guarded, families.map(family => {
    return { family, reader: new Reader({ family, caller: unguarded }, guarded, family === note ? grant : all) }
  }), undefined)
}

/** A log: a note of ann or bob is made for each `a` and `b`, and a tag for each `t`. */
async function fill (storage: Storage, text: string): Promise<void> {
  const [book, other] = [notes.service({ storage }), tags.service({ storage })]
  for (const each of text) {
    if (each === 't') await other.create({ color: 'red' })
    else await book.create({ owner: each === 'a' ? 'ann' : 'bob' })
  }
}

/** Deletes what is up to a position, as `prune` does. */
async function pruneTo (storage: Storage, position: number): Promise<void> {
  const { items } = await storage.find('commands', {
    where: [{ field: 'position', op: 'gte', value: 1 }, { field: 'position', op: 'lte', value: position }],
    order: [{ field: 'position', descending: false }],
    offset: 0,
    limit: 10_000,
    count: false
  })
  const entries = items.filter(({ id }) => id !== prunedId) as FeedEntry[]
  await storage.commit([
    ...entries.map(({ id, revision: expected }): Change => ({ type: 'delete', family: 'commands', id, expected })),
    keepMark(await storage.get('commands', prunedId), entries)
  ])
}

const after = (position: number): Position => ({ isAfter: true, item: { position } as never })
const before = (position: number): Position => ({ isAfter: false, item: { position } as never })

function ask (limit: number, start?: Position, descending = false, backwards = false): ParsedQuery {
  const query: Query = { where: [], order: [{ field: 'position', descending }], offset: 0, limit, count: false }
  return { query, page: 1, list: feedList, ...start && { start: { position: start, backwards } } } as never
}

const show = (position?: Position): string | undefined =>
  position && `${position.isAfter ? 'after' : 'before'} ${String(position.item['position'])}`

async function readPage (feed: Feed, parsed: ParsedQuery) {
  const { items, next, prev, follow } = await feed.findPage(parsed)
  return [items.map(({ position }) => position), show(next), show(prev), show(follow)]
}

type Expected = readonly [positions: readonly number[], next: string | undefined, prev: string | undefined, string]

t.test('pages of a log, and where it goes on', async t => {
  for (const make of [memoryStorage, () => withTexts(memoryStorage())]) {
    const storage = make()
    await fill(storage, 'atabat')
    const rows: [title: string, parsed: ParsedQuery, every: Expected, anns: Expected][] = [
      ['the first', ask(2),
        [[1, 3], 'after 3', undefined, 'after 3'], [[1, 3], 'after 3', undefined, 'after 3']],
      ['as many as there are', ask(4),
        [[1, 3, 4, 5], undefined, undefined, 'after 6'], [[1, 3, 5], undefined, undefined, 'after 6']],
      ['fewer than asked for', ask(9),
        [[1, 3, 4, 5], undefined, undefined, 'after 6'], [[1, 3, 5], undefined, undefined, 'after 6']],
      ['the next', ask(1, after(3)),
        [[4], 'after 4', 'after 3', 'after 4'], [[5], undefined, 'after 3', 'after 6']],
      ['the last', ask(2, after(3)),
        [[4, 5], undefined, 'after 3', 'after 6'], [[5], undefined, 'after 3', 'after 6']],
      ['after the end', ask(2, after(6)),
        [[], undefined, 'after 6', 'after 6'], [[], undefined, 'after 6', 'after 6']],
      ['backwards', ask(2, before(5), false, true),
        [[3, 4], 'before 5', 'before 3', 'after 6'], [[1, 3], 'before 5', undefined, 'after 6']],
      ['backwards, one', ask(1, before(5), false, true),
        [[4], 'before 5', 'before 4', 'after 6'], [[3], 'before 5', 'before 3', 'after 6']],
      ['backwards, from what is to come', ask(1, before(9), false, true),
        [[5], 'before 9', 'before 5', 'after 9'], [[5], 'before 9', 'before 5', 'after 9']],
      ['the newest', ask(2, undefined, true),
        [[5, 4], 'after 4', undefined, 'after 6'], [[5, 3], 'after 3', undefined, 'after 6']],
      ['older', ask(2, after(4), true),
        [[3, 1], undefined, 'after 4', 'after 6'], [[3, 1], undefined, 'after 4', 'after 6']],
      ['newer', ask(1, before(1), true, true),
        [[3], 'before 1', 'before 3', 'after 6'], [[3], 'before 1', 'before 3', 'after 6']]
    ]
    for (const [title, parsed, every, narrowed] of rows) {
      t.strictSame(await readPage(openFeed(storage, all), parsed), every, title)
      t.strictSame(await readPage(openFeed(storage, anns), parsed), narrowed, `${title}, of ann`)
    }
  }
})

const end = 'commands: position gte 1; 1 down'
const mark = 'commands $pruned'
const ofNotes = 'family eq notes'

t.test('pages of several families, of one of which the caller may not see all', async t => {
  const storage = memoryStorage()
  await fill(storage, 'atabat')
  const feed = openFeed(storage, anns, [note, tag])
  t.strictSame(await readPage(feed, ask(4)), [[1, 2, 3, 5], 'after 5', undefined, 'after 5'])
  t.strictSame(await readPage(feed, ask(3, after(3))), [[5, 6], undefined, 'after 3', 'after 6'])
})

t.test('what a page reads', async t => {
  const rows: [title: string, parsed: ParsedQuery, every: string[], anns: string[]][] = [
    ['the first', ask(2),
      [end, `commands: ${ofNotes}, position gte 1; 3 up`],
      [mark, end, `commands: ${ofNotes}, position gte 1; 10 up`, 'notes: id eq 1,2,3,4; 4 up', mark, '2 commands']],
    ['the whole', ask(Infinity),
      [mark, end, `commands: ${ofNotes}, position gte 1; Infinity up`, mark],
      [mark, end, `commands: ${ofNotes}, position gte 1; 10 up`, 'notes: id eq 1,2,3,4; 4 up', mark, '3 commands']],
    ['the next', ask(1, after(3)),
      [end, `commands: ${ofNotes}, position gt 3; 2 up`, mark],
      [end, `commands: ${ofNotes}, position gt 3; 10 up`, 'notes: id eq 3,4; 2 up', mark, '1 commands']],
    ['backwards', ask(1, before(5), false, true),
      [end, `commands: ${ofNotes}, position lt 5; 2 down`],
      [end, `commands: ${ofNotes}, position lt 5; 10 down`, 'notes: id eq 3,2,1; 3 up', '1 commands']],
    ['the newest', ask(1, undefined, true),
      [end, `commands: ${ofNotes}, position gte 1; 2 down`],
      [end, `commands: ${ofNotes}, position gte 1; 10 down`, 'notes: id eq 4,3,2,1; 4 up', '1 commands']]
  ]
  const storage = memoryStorage()
  await fill(storage, 'atabat')
  const { recorded, take } = record(storage)
  for (const [title, parsed, every, narrowed] of rows) {
    await openFeed(recorded, all).findPage(parsed)
    t.strictSame(take(), every, title)
    await openFeed(recorded, anns).findPage(parsed)
    t.strictSame(take(), narrowed, `${title}, of ann`)
  }
})

t.test('what is committed while a page is read', async t => {
  const rows: [title: string, parsed: ParsedQuery, positions: readonly number[], follow: string][] = [
    ['the first', ask(9), [1, 3, 4, 5, 7, 8, 9], 'after 9'],
    ['the newest', ask(9, undefined, true), [9, 8, 7, 5, 4, 3, 1], 'after 6'],
    ['backwards', ask(9, before(9), false, true), [1, 3, 4, 5, 7, 8], 'after 9']
  ]
  for (const [title, parsed, positions, follow] of rows) {
    const { recorded, hooks } = record(memoryStorage())
    await fill(recorded, 'atabat')
    hooks.before = async read => {
      if (!read.startsWith('commands: family')) return
      hooks.before = async () => {}
      await fill(recorded, 'aba')
    }
    const [shown, , , last] = await readPage(openFeed(recorded, all), parsed)
    t.strictSame([shown, last], [positions, follow], title)
  }
})

t.test('what is pruned while a page is read', async t => {
  const rows: [title: string, read: string, parsed: ParsedQuery, every: unknown, anns: unknown][] = [
    // The first page is one read, unless it is in parts.
    ['the first', 'commands: family', ask(9), [4, 5, 7], 'pruned'],
    ['in parts', 'commands: family', ask(Infinity), 'pruned', 'pruned'],
    ['after what is left', 'commands: family', ask(9, after(3)), [4, 5, 7], [5, 7]],
    ['after what is gone', 'commands: family', ask(9, after(2)), 'pruned', 'pruned'],
    ['after the end', 'commands: family', ask(9, after(8)), 'pruned', 'pruned'],
    ['backwards', 'commands: family', ask(9, before(7), false, true), [4, 5], [5]],
    ['the newest', 'commands: family', ask(9, undefined, true), [7, 5, 4], [7, 5]],
    ['what the keys were read of', '4 commands', ask(9), [1, 3, 4, 5, 7], 'pruned'],
    ['the same, of the newest', '4 commands', ask(9, undefined, true), [7, 5, 4, 3, 1], [7, 5]]
  ]
  for (const [title, start, parsed, every, narrowed] of rows) {
    for (const [grant, expected] of [[all, every], [anns, narrowed]] as const) {
      const { recorded, hooks } = record(memoryStorage())
      await fill(recorded, 'atabata')
      await pruneTo(recorded, 0)
      hooks.before = async read => {
        if (!read.startsWith(start)) return
        hooks.before = async () => {}
        await pruneTo(recorded, 3)
      }
      const reading = readPage(openFeed(recorded, grant), parsed)
      t.strictSame(await reading.then(([positions]) => positions, ({ code }) => code), expected, title)
    }
  }
})

t.test('an export is read in parts, each of which may miss what is pruned', async t => {
  type Row = [title: string, start: Position | undefined, descending: boolean, grant: Grant, pruned: number,
    first: unknown, second: unknown, marks: number]
  const rows: Row[] = [
    ['up to what it has read', undefined, false, all, 3, [1, 3], [4, 5], 3],
    ['further', undefined, false, all, 4, [1, 3], 'pruned', 3],
    ['what comes after all of it', after(3), false, all, 5, [4, 5], [7], 2],
    ['what it has yet to read', after(3), false, all, 6, [4, 5], 'pruned', 2],
    ['before it, when nothing is left', after(7), false, all, 7, [], [], 2],
    ['from the end, anything', undefined, true, all, 7, [7, 5], [], 0],
    ['of ann, up to what it has read', undefined, false, anns, 3, [1, 3], [5, 7], 3],
    ['of ann, further', undefined, false, anns, 5, [1, 3], 'pruned', 3]
  ]
  for (const [title, start, descending, grant, pruned, first, second, marks] of rows) {
    const { recorded, take } = record(memoryStorage())
    await fill(recorded, 'atabata')
    await pruneTo(recorded, 0)
    const { query, ...parsed } = ask(2, start, descending)
    const find = openFeed(recorded, grant).makeFind({ query, ...parsed })
    let last = Number(start?.item['position'] ?? 0)
    const read = async (): Promise<unknown> => {
      const bound = descending ? [] : [{ field: 'position', op: 'gt', value: last } as const]
      const positions = await find({ ...query, where: bound })
        .then(({ items }) => items.map(({ position }) => position as number), ({ code }) => code as string)
      if (typeof positions !== 'string') last = positions.at(-1) ?? last
      return positions
    }
    take()
    t.strictSame(await read(), first, title)
    let marked = take().filter(read => read === mark).length
    await pruneTo(recorded, pruned)
    take()
    t.strictSame(await read(), second, title)
    marked += take().filter(read => read === mark).length
    t.equal(marked, marks, title)
  }
})

/** Entries of a note: of the second, which ann may not see. */
function makeEntries (count: number, target = '2', params: object = {}): (Change & { readonly item: FeedEntry })[] {
  return makeOld(count).map(change => 'item' in change
    ? { ...change, item: { ...change.item, family: 'notes', target, params } }
    : change) as never
}

t.test('a page passes over 5000 entries that the caller may not see, and an export over all', async t => {
  for (const hasTexts of [false, true]) {
    const storage = hasTexts ? withTexts(memoryStorage()) : memoryStorage()
    await fill(storage, 'ab')
    await storage.commit(makeEntries(6000))
    await fill(storage, 'a')
    const last = 6003
    const { recorded, take } = record(storage)
    const feed = openFeed(recorded, anns)
    const read = async (from: number): Promise<[positions: unknown, next: unknown, parts: number]> => {
      const [positions, next] = await readPage(feed, ask(2, after(from)))
      const parts = take().filter(read => read.includes('commands: family')).length
      return [positions, next, parts]
    }
    const [few, passed, size] = hasTexts ? [50, 5000, 100] : [51, 5010, 10]
    t.strictSame(await read(2), [[], `after ${2 + passed}`, few])
    // Of the same request, such as for a page that is read in parts.
    t.strictSame(await read(2), [[], `after ${2 + size}`, 1])
    feed.replace([...feed.families], undefined)
    t.strictSame(await read(2), [[], `after ${2 + passed}`, few])
    t.strictSame(await read(last - 9), [[last], undefined, 1])
    feed.replace([...feed.families], undefined)
    t.strictSame(await readPage(feed, ask(1, before(last), false, true)),
      [[], `before ${last}`, `before ${last - passed}`, `after ${last}`], 'backwards')
    const { items } = await feed.makeFind(ask(2, after(2)))(ask(2, after(2)).query)
    t.strictSame(items.map(({ position }) => position), [1, last])
  }
})

t.test('entries are shown as the families that they are of', async t => {
  const storage = memoryStorage()
  await fill(storage, 'atb')
  const { items: entries } = await storage.find('commands', ask(9).query) as { items: readonly FeedEntry[] }
  const rows: [families: readonly Family[], grant: Grant, params: unknown[]][] = [
    [[note, tag], all, [{ owner: 'ann' }, { color: 'red' }, { owner: 'bob' }]],
    [[tag, note], all, [{ owner: 'ann' }, { color: 'red' }, { owner: 'bob' }]],
    [[note, tag], anns, [{ owner: 'ann' }, { color: 'red' }]],
    [[tag], all, [{ color: 'red' }]],
    [[note], anns, [{ owner: 'ann' }]],
    [[], all, []]
  ]
  for (const [families, grant, params] of rows) {
    const feed = openFeed(storage, grant, families)
    t.strictSame((await feed.filter(entries)).map(({ params }) => params), params)
    const isOf = (entry: FeedEntry): boolean => families.some(({ name }) => name === entry.family)
    t.strictSame(entries.filter(feed.match([])), entries.filter(isOf))
  }
  t.strictSame(await openFeed(storage, anns).filter([]), [])
})

t.test('items of another storage are read there', async t => {
  for (const isOther of [false, true]) {
    const [here, there] = [record(memoryStorage()), record(memoryStorage())]
    const [storage, other] = [guardStorage(here.recorded), guardStorage(isOther ? there.recorded : here.recorded)]
    await fill(storage, 'at')
    if (isOther) await fill(other, 't')
    const reds: Grant = { where: [{ field: 'color', op: 'eq', values: ['red'] }] }
    const caller = { isGuarded: true, authorize: () => reds, storage: () => other } as unknown as Caller
    const source: Caller = { ...caller, other: () => ({ family: tag, caller }) }
    const families = [
      { family: note, reader: new Reader({ family: note, caller: source }, storage, all) },
      ...isOther ? [] : [{ family: tag, reader: new Reader({ family: tag, caller }, storage, reds) }]
    ]
    const { items } = await storage.find('commands', ask(9).query) as { items: readonly FeedEntry[] }
    const entries = items.map(entry => entry.family === 'tags' ? entry : { ...entry, about: { family: 'tags', id: 1 } })
    here.take()
    there.take()
    const shown = await new Feed(storage, families, undefined).filter(entries)
    t.strictSame(shown.map(({ about }) => about), isOther ? [entries[0]?.about] : [entries[0]?.about, undefined])
    // Once, although it decides what is shown and how.
    t.strictSame([here.take(), there.take()], isOther
      ? [[], ['tags: color eq red, id eq 1; 1 up']]
      : [['tags: id eq 1; 1 up'], []])
  }
})

t.test('a cursor that is none of the feed', async t => {
  const detail = 'must be a cursor of this feed, as in links.follow or the id of an event'
  await t.rejects(openFeed(memoryStorage(), all).findStart('x'), {
    code: 'bad-request', message: `The cursor ${detail}`, errors: [{ parameter: 'after', detail }]
  })
})

t.test('reads that go on have a new deadline', async t => {
  const clock = stopClock(t)
  const storage = guardStorage(memoryStorage())
  const explain = (): Error => new Error('late')
  const [own, its] = [0, 0].map(() => new RequestDeadline({ timeout: 1000, explain }, { socket: {} }))
  const family = getFamily(notes)
  const reader = new Reader({ family, caller: { ...unguarded, signal: its } }, storage, all)
  const feed = new Feed(storage, [{ family, reader }], own)
  clock.time += 600
  feed.renewTime()
  clock.time += 600
  t.strictSame([own?.aborted, its?.aborted], [false, false])
  clock.time += 600
  t.strictSame([own?.aborted, its?.aborted], [true, true])
  // A signal of any other kind has no deadline.
  new Feed(storage, [{ family, reader }], new AbortController().signal).renewTime()
})

t.test('whether a follower reads keys first: after long entries, if it may see some only', async t => {
  const entries = makeEntries(12, '2', { text: '' }).map(({ item }) => ({ ...item, position: 1 }))
  const fitting = 1_000_000 - measureAll(entries)
  type Row = [
    title: string, short: number, long: readonly number[], grant: Grant, hasTexts: boolean, expected: number | 'keys'
  ]
  const rows: Row[] = [
    ['short ones', 0, [9, 9], anns, true, 100],
    ['a long one', 0, [200_000], anns, true, 'keys'],
    ['who may see all', 0, [200_000], all, true, 1],
    ['from a storage that cannot leave anything out', 0, [200_000], anns, false, 1],
    ['some that are long together', 10, Array(12).fill(90_000), anns, true, 'keys'],
    ['as many as are read at once', 10, [fitting, ...Array(11).fill(0)], anns, true, 10],
    ['one character more', 10, [fitting + 1, ...Array(11).fill(0)], anns, true, 'keys']
  ]
  for (const [title, short, long, grant, hasTexts, expected] of rows) {
    const { recorded, take } = record(hasTexts ? withTexts(memoryStorage()) : memoryStorage())
    await fill(recorded, 'ab')
    await recorded.commit([
      ...makeEntries(short), ...long.flatMap(length => makeEntries(1, '2', { text: 'x'.repeat(length) }))
    ])
    const feed = openFeed(recorded, grant)
    /** How many are read first, or that their keys are. */
    const read = async (position: number): Promise<number | 'keys'> => {
      take()
      await feed.readAfter(position, 0, () => true)
      const [first = ''] = take()
      return first.startsWith('id') ? 'keys' : Number(/(\d+) up$/.exec(first)?.[1])
    }
    const [begin, end] = [2 + short, 2 + short + long.length]
    if (short > 0) t.equal(await read(2), 10, title)
    t.equal(await read(begin), short > 0 ? 100 : 10, title)
    t.equal(await read(begin), expected, title)
    t.equal(await read(end), expected, `${title}, at the end`)
    t.equal(await read(end), expected, `${title}, at the end again`)
  }
})

t.test('how far a follower passes over what it may not see, by keys', async t => {
  const rows: [title: string, id: number | undefined, position: number, next: number, seen: number[]][] = [
    ['to what it may see', undefined, 3, 6, []],
    ['to the end', undefined, 8, 11, []],
    ['not at all', undefined, 6, 7, [7]],
    ['at the end', undefined, 11, 11, []],
    ['to entries of an item', 1, 3, 7, []],
    ['not at all, of an item', 1, 7, 8, [8]]
  ]
  const storage = withTexts(memoryStorage())
  await fill(storage, 'aba')
  const long = makeEntries(3, '2', { text: 'x'.repeat(400_000) })
  await storage.commit([...long, ...makeEntries(1, '3'), ...makeEntries(1, '1'), ...makeEntries(3)])
  for (const [title, id, position, next, seen] of rows) {
    const open = openFeed(storage, anns)
    const feed = new Feed(open.storage, open.families, undefined, id)
    const read = async (position: number, known = 0) => await feed.readAfter(position, known, feed.match([]))
    // Now it knows that they are long.
    await read(3)
    const { entries, position: passed } = await read(position)
    t.strictSame([passed, entries.map(({ position }) => position)], [next, seen], title)
  }
  const feed = openFeed(storage, anns)
  await feed.readAfter(3, 0, feed.match([]))
  await pruneTo(storage, 5)
  const rest: [position: number, known: number, expected: unknown][] = [
    [4, 0, 'pruned'], [4, 4, 'pruned'], [4, 5, 6], [5, 0, 6], [6, 0, 7]
  ]
  for (const [position, known, expected] of rest) {
    const reading = feed.readAfter(position, known, feed.match([]))
    t.equal(await reading.then(({ position }) => position, ({ code }) => code as string), expected)
  }
})

t.test('a follower gets what it asks for', async t => {
  const storage = memoryStorage()
  await fill(storage, 'atba')
  for (const [families, where, expected] of [
    [[note], [], [1, 3, 4]], [[tag], [], [2]], [[note, tag], [], [1, 2, 3, 4]],
    [[note, tag], [{ field: 'action', op: 'eq', values: ['CreateTag'] }], [2]]
  ] as const) {
    const feed = openFeed(storage, all, families)
    const { entries, position } = await feed.readAfter(0, 0, feed.match(where))
    t.strictSame([entries.map(({ position }) => position), position], [expected, 4])
  }
  await pruneTo(storage, 2)
  const feed = openFeed(storage, all)
  for (const [position, known, expected] of [[1, 0, 'pruned'], [0, 1, 'pruned'], [0, 2, 4], [2, 0, 4]] as const) {
    const reading = feed.readAfter(position, known, feed.match([]))
    t.equal(await reading.then(({ position }) => position, ({ code }) => code as string), expected)
  }
})
