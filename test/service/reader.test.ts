import t from 'tap'
import { type Family, getFamily } from '../../lib/core/family/family.js'
import type { ParsedQuery } from '../../lib/core/query/grammar.js'
import type { Caller, Grant } from '../../lib/core/service/caller.js'
import { identifyCommand, nameOtherRow, nameRow } from '../../lib/core/service/command-ids.js'
import { findFrom, findPage } from '../../lib/core/service/find-page.js'
import { findReadable, isRefusal, openReader, Reader } from '../../lib/core/service/reader.js'
import { type CommandRecord } from '../../lib/core/service/record.js'
import { RequestDeadline } from '../../lib/core/storage/deadline.js'
import { pageOf } from '../../lib/core/storage/pages.js'
import type { Condition, Id, Query, Storage, Stored } from '../../lib/index.js'
import { defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'

const notesPlugin = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.String(), owner: Type.String(), size: Type.Integer() }),
  create: ['id', 'owner', 'size'],
  edit: ['owner', 'size']
})
const notes = getFamily(notesPlugin)
const renamed = getFamily(notesPlugin.rename({ size: 'length' }))
const others = getFamily(defineFamily({
  name: 'others', singular: 'other', fields: Type.Object({ id: Type.String() }), create: ['id']
}))

const anns: readonly Condition[] = [{ field: 'owner', op: 'eq', values: ['ann'] }]
const query: Query = { where: [{ field: 'id', op: 'gt', value: 'a' }], order: [], offset: 0, limit: 9, count: false }
const nobody = {} as Caller

/** A storage that keeps what it is asked. */
function recorded (items: readonly object[] = [], more: object = {}) {
  const asked: unknown[] = []
  const storage = {
    async find (family: string, query: Query) {
      asked.push([family, query.where])
      return pageOf(items as readonly Stored[], { ...query, order: [] })
    },
    async get (family: string, id: Id) {
      asked.push([family, id])
      return items.find(item => (item as Stored).id === id)
    },
    ...more
  } as unknown as Storage
  const read = (grant: Grant = {}, family: Family = notes, caller: Caller = nobody): Reader =>
    new Reader({ family, caller }, storage, grant)
  return { asked, storage, read }
}

t.test('a reader asks only for what its grant has', async t => {
  const texts: unknown[] = []
  const findText = async (...asked: unknown[]) => {
    texts.push(asked.slice(0, 3))
    return { text: '{"id":"b","size":3}', count: 1, more: false }
  }
  const items = [{ id: 'b', owner: 'ann', size: 3 }, { id: 'c', owner: 'bob', size: 4 }]
  const { asked, read } = recorded(items, { findText })
  const where = [...anns, ...query.where]
  t.match(await read({ where: anns }).findText?.(query, ['id']), { count: 1 })
  t.match(await read().findText?.(query, ['id']), { count: 1 })
  t.strictSame(texts.splice(0), [['notes', { ...query, where }, ['id']], ['notes', query, ['id']]])
  t.equal(recorded().read().findText, undefined)

  const members = ['id', 'length']
  t.strictSame(await read({ where: anns }, renamed).findMembers(query, members), [{ id: 'b', length: 3 }])
  t.strictSame(await read().findMembers(query, ['id', 'size']), [{ id: 'b', size: 3 }])
  t.strictSame(texts.splice(0),
    [['notes', { ...query, where }, ['id', 'size']], ['notes', query, ['id', 'size']]])
  t.strictSame([...await read({ where: anns }).findIds(['b', 'c'])], ['b'])
  const byId = { ...query, where: [...anns, { field: 'id', op: 'eq', values: ['b', 'c'] }], limit: 2 }
  t.strictSame(texts, [['notes', { ...byId, order: [{ field: 'id', descending: false }] }, ['id']]])

  t.match([await read({ where: anns }).get('b'), await read({ where: anns }).get('c')], [{ size: 3 }, undefined])
  t.strictSame(await read({ where: anns }, renamed).get('b'), { id: 'b', owner: 'ann', length: 3 })
  t.equal(await read({ where: anns }, renamed).get('c'), undefined)
  t.equal(asked.length, 4)
})

t.test('texts have the names of the version, also if the storage does not write them', async t => {
  const asked: unknown[] = []
  const byLength: Query = { ...query, where: [{ field: 'length', op: 'gt', value: 1 }], offset: 1 }
  const key = { first: { id: 'b', size: 3 }, last: { id: 'b', size: 3 } }
  for (const [found, text] of [
    [{ text: '{"id":"b","length":3}', isNamed: true }, '{"id":"b","length":3}'],
    [{ text: '{"id":"b","size":3},{"id":"c"}' }, '{"id":"b","length":3},{"id":"c"}']
  ] as const) {
    const { read } = recorded([], {
      async findText (...given: unknown[]) {
        asked.push(given)
        return { ...found, ...key, count: 1, more: false }
      }
    })
    const reader = read({ where: [{ field: 'owner', op: 'eq', values: ['ann'] }] }, renamed)
    t.match(await reader.findText?.(byLength, ['id', 'length']), {
      text, first: { id: 'b', length: 3, size: undefined }, last: { id: 'b', length: 3, size: undefined }
    })
  }
  const where = [...anns, { field: 'size', op: 'gt', value: 1 }]
  const expected = ['notes', { ...byLength, where }, ['id', 'size'], undefined, ['id', 'length']]
  t.strictSame(asked, [expected, expected])
})

t.test('a reader has the time of its request', async t => {
  let renewed = 0
  const deadline: RequestDeadline = Object.create(RequestDeadline.prototype, { renew: { value: () => { renewed++ } } })
  const { read } = recorded()
  for (const signal of [deadline, new AbortController().signal, undefined]) {
    read({}, notes, { signal } as Caller).renewTime()
    t.equal(renewed, 1)
  }
})

t.test('the log of an item is found by ids of commands, and by those that they have in it', async t => {
  const list = (...ids: readonly string[]): Condition => ({
    field: 'id',
    op: 'eq',
    values: [...ids, ...ids.map(id => nameOtherRow(id, 'notes', 'b'))]
  })
  const own = nameRow('c-1', 'ann')
  const ne = { op: 'ne' } as const
  for (const [principal, given, expected] of [
    [undefined, { field: 'id', op: 'eq', values: ['c-1'] }, list('c-1')],
    ['ann', { field: 'id', op: 'eq', values: ['c-1'] }, list(own, 'c-1')],
    ['ann', { field: 'id', op: 'ne', values: ['c-1'] }, { ...list(own, 'c-1'), ...ne }],
    ['ann', { field: 'id', op: 'gt', value: 'c-1' }, { field: 'id', op: 'gt', value: 'c-1' }],
    ['ann', { field: 'action', op: 'eq', values: ['c-1'] }, { field: 'action', op: 'eq', values: ['c-1'] }],
    ['ann', { op: 'any', of: [[{ field: 'id', op: 'eq', values: ['c-1'] }], [{ field: 'id', op: 'gt', value: 'a' }]] },
      { op: 'any', of: [[list(own, 'c-1')], [{ field: 'id', op: 'gt', value: 'a' }]] }]
  ] as readonly (readonly [string | undefined, Condition, Condition])[]) {
    const { asked, read } = recorded()
    await read(principal === undefined ? {} : { principal }).findLog('b', { ...query, where: [given] })
    const its = [
      { field: 'family', op: 'eq', values: ['notes'] }, { field: 'target', op: 'eq', values: ['b'] }
    ]
    t.strictSame(asked, [['commands', [...its, expected]]])
  }
})

const entry = (id: string, more: object = {}): CommandRecord => ({
  id,
  family: 'notes',
  target: 'b',
  action: 'EditNote',
  outcome: 'done',
  revision: 2,
  createdAt: 'x',
  updatedAt: 'x',
  ...more
})

t.test('a log outlives its item, but not for a caller with conditions', async t => {
  const gone = [entry('c-1')]
  const there = [{ id: 'b', owner: 'ann', size: 3 }]
  const missing = 'not-found'
  for (const [what, items, where, expected] of [
    ['an item', there, [], there[0]], ['one that is seen', there, anns, there[0]],
    ['one that is not seen', [{ ...there[0], owner: 'bob' }], anns, missing], ['one that is gone', gone, [], undefined],
    ['one that is gone, with conditions', gone, anns, missing], ['none', [], [], missing]
  ] as const) {
    const checking = recorded(items).read({ where }).checkLog('b')
    t.strictSame(await checking.catch(({ code }) => code), expected, what)
  }
})

t.test('commands are found for their family, and those of the reader by its principal', async t => {
  const row = nameRow('c-1', 'ann')
  const elsewhere = { family: 'others' }
  for (const [what, record, grant, found, own] of [
    ['without a principal', entry('c-1'), {}, true, true],
    ['of a principal', entry(row, { principal: 'ann' }), { principal: 'ann' }, true, true],
    ['of a principal with conditions', entry(row, { principal: 'ann' }), { principal: 'ann', where: anns }, true, true],
    ['of another', entry('c-1', { principal: 'bob' }), { principal: 'ann' }, true, false],
    ['of one, by nobody', entry('c-1', { principal: 'bob' }), {}, true, false],
    ['of nobody, with conditions', entry('c-1'), { where: anns }, true, false],
    ['of nobody, with conditions that are none', entry('c-1'), { where: [] }, true, true],
    ['of another family', entry('c-1', elsewhere), {}, false, false]
  ] as const) {
    const { read, asked } = recorded([record])
    t.equal(await read(grant).getCommand('c-1') !== undefined, found, what)
    const rows = 'principal' in grant ? [row, 'c-1'] : ['c-1']
    t.strictSame(asked, rows.slice(0, rows.indexOf(record.id) + 1).map(id => ['commands', id]), what)
    t.equal(await read(grant).getOwnCommand('c-1') !== undefined, own, what)
  }
  const keys = ['k', 'l']
  const [first = '', second = ''] = keys.map(key => identifyCommand({ key }, undefined)?.row)
  const kept = [entry(first), entry(second, elsewhere)]
  t.strictSame([...(await recorded(kept).read().findByKeys(keys)).keys()], ['k'], 'not that of another family')
})

t.test('what an entry says of another item is shown to those who may see it', async t => {
  const params = { size: 3 }
  const about = (family: string, id = 'x') => entry('c-1', { action: 'MoveOther', about: { family, id }, params })
  const guarded = (allowed: Grant | undefined): Partial<Caller> => ({
    isGuarded: true,
    authorize () {
      if (allowed === undefined) throw new Problem('forbidden', 'Not you')
      return allowed
    }
  })
  const open = { isGuarded: false }
  const seen = { where: [{ field: 'id', op: 'ne', values: ['y'] }] } as const
  // Whether the other item is shown, the parameters of its command, and the reads of the other family.
  for (const [what, family, own, other, id, shown, hasParams, reads] of [
    ['all', 'others', open, open, 'x', true, false, 0],
    ['a program, of a known family', 'others', { ...open, isProgram: true }, open, 'x', true, false, 0],
    ['a program, of an unknown one', 'others', { ...open, isProgram: true }, undefined, 'x', true, true, 0],
    ['nobody special, of an unknown one', 'others', open, undefined, 'x', true, false, 0],
    ['guarded, of an unknown one', 'others', guarded({}), undefined, 'x', false, false, 0],
    ['who is refused', 'others', open, guarded(undefined), 'x', false, false, 0],
    ['who may see all', 'others', open, guarded({}), 'x', true, false, 0],
    ['who may see this', 'others', open, guarded(seen), 'x', true, false, 1],
    ['who may not see this', 'others', open, guarded(seen), 'y', false, false, 1],
    ['the own family', 'notes', open, undefined, 'x', true, false, 0],
    ['the own family, guarded', 'notes', guarded({}), undefined, 'x', true, false, 0]
  ] as const) {
    const { asked, storage } = recorded([{ id: 'x' }, { id: 'y' }])
    const asCaller = (caller: object) => ({ storage: () => storage, ...caller }) as unknown as Caller
    const caller = asCaller({
      ...own,
      other: (name: string) =>
        name === 'others' && other !== undefined ? { family: others, caller: asCaller(other) } : undefined
    })
    const reader = new Reader({ family: notes, caller }, storage, {})
    const [first, second, third] = await reader.show([about(family, id), entry('c-2', { params }), about(family, id)])
    t.equal(first?.about?.id, shown ? id : undefined, what)
    t.strictSame(first?.params, hasParams ? params : undefined, what)
    t.strictSame([second?.params, third], [params, first], what)
    t.strictSame(asked, Array(reads).fill(['others', [...seen.where, { field: 'id', op: 'eq', values: [id] }]]), what)
  }
  const { read } = recorded()
  const program = { isGuarded: false, isProgram: true, other: () => undefined } as unknown as Caller
  const [none] = await read({}, notes, program).show([entry('c-1', { about: { family: 'others', id: 'x' } })])
  t.notOk('params' in (none as object), 'where there are none')
})

t.test('which errors of the host are refusals', async t => {
  for (const [error, expected] of [
    [{ statusCode: 400 }, true], [{ statusCode: 499 }, true], [{ status: 404 }, true], [{ statusCode: 399 }, false],
    [{ statusCode: 500 }, false], [{ statusCode: 400.5 }, false], [{ statusCode: '404' }, false],
    [{ statusCode: 500, status: 404 }, false], [{ statusCode: 404, status: 500 }, true], [{ status: 500 }, false],
    [{}, false], [null, false], [undefined, false], ['404', false], [new Problem('not-found', 'x'), true]
  ] as const) {
    t.equal(isRefusal(error), expected, JSON.stringify(error))
  }
})

t.test('who may write may not always read what was written', async t => {
  const hers = { id: 'b', owner: 'ann', size: 3 } as unknown as Stored
  const his = { ...hers, owner: 'bob' }
  const may = { where: anns }
  const down = new Error('no answer')
  for (const [what, grant, item, replayed, now, expected] of [
    ['all', {}, hers, false, undefined, true], ['no conditions', { where: [] }, undefined, false, undefined, true],
    ['one that is seen', may, hers, false, undefined, true], ['one that is not', may, his, false, undefined, false],
    ['one that is gone', may, undefined, false, undefined, false],
    ['one that is not seen by now', may, hers, false, his, true],
    ['a replay', may, hers, true, hers, true], ['a replay, of another by now', may, hers, true, his, false],
    ['a replay of what was not seen', may, his, true, hers, false],
    ['a replay, gone since', may, hers, true, undefined, true],
    ['a replay without an item', may, undefined, true, hers, true],
    ['a replay without any', may, undefined, true, undefined, false],
    ['who is refused', new Problem('forbidden', 'Not you'), hers, false, undefined, false],
    ['a failure', down, hers, false, undefined, false]
  ] as const) {
    const { storage } = recorded(now === undefined ? [] : [now])
    const reports: unknown[] = []
    const intents: unknown[] = []
    const caller = {
      isGuarded: true,
      storage: () => storage,
      async authorize (intent: object) {
        intents.push(intent)
        if (grant instanceof Error) throw grant
        return grant
      },
      report: (error: unknown) => { reports.push(error) }
    } as unknown as Caller
    const written = { record: entry('c-1'), item, replayed }
    t.equal(await findReadable({ family: notes, caller }, written) === notes, expected, what)
    t.strictSame(intents, [{ family: 'notes', action: 'read', id: 'b', params: {} }], what)
    t.strictSame(reports, what === 'a failure' ? [down] : [], what)
    const { report, ...silent } = caller
    t.equal(await findReadable({ family: notes, caller: silent }, written) === notes, expected, what)
  }
  const open = { isGuarded: false, authorize () { throw down } } as unknown as Caller
  const ofOpen = await findReadable({ family: notes, caller: open },
    { record: entry('c-1'), item: hers, replayed: false })
  t.equal(ofOpen, notes)
})

t.test('a request that only shows something reads from a replica, if there are any', async t => {
  const plain = memoryStorage()
  const copy = memoryStorage()
  for (const [what, replica, shows, expected, asked] of [
    ['none', undefined, { seen: 'a' }, plain, []], ['a write', () => copy, undefined, 'own', []],
    ['one', () => copy, { seen: 'a' }, copy, ['a']],
    ['one, the first time', () => copy, { seen: undefined }, copy, [undefined]],
    ['none is ready', () => undefined, { seen: 'a' }, 'own', ['a']]
  ] as const) {
    const seen: unknown[] = []
    const storage = replica === undefined
      ? plain
      : { ...plain, replica: (its: unknown) => { seen.push(its); return replica() } }
    let shown = 0
    const caller = {
      storage: () => storage,
      shows () {
        shown++
        return shows
      }
    } as unknown as Caller
    const { storage: source } = await openReader(notes, caller, {})
    t.equal(source, expected === 'own' ? storage : expected, what)
    t.strictSame(seen, asked, what)
    t.equal(shown, replica === undefined ? 0 : 1, what)
    const { shows: _shows, ...program } = caller
    t.equal((await openReader(notes, program, {})).storage, storage, 'a program')
  }
})

const order = [{ field: 'size', descending: false }, { field: 'id', descending: false }]
const list = { name: 'notes', fields: notes.shape.fields, order }
const numbered = (...sizes: readonly number[]) =>
  sizes.map((size, index) => ({ id: `n${index + 1}`, size, owner: 'ann' }) as unknown as Stored)

t.test('a page has as many as it should, and leads on and back', async t => {
  const items = numbered(1, 2, 3, 4, 5)
  const at = (size: number, isAfter: boolean) => ({ isAfter, item: { id: `n${size}`, size } as never })
  for (const [what, limit, start, page, expected, next, prev] of [
    ['the first', 2, undefined, 1, [1, 2], 2, undefined],
    ['all', 5, undefined, 1, [1, 2, 3, 4, 5], undefined, undefined],
    ['the second', 2, undefined, 2, [3, 4], 4, 3],
    ['after one', 2, { position: at(2, true), backwards: false }, 1, [3, 4], 4, 2],
    ['the last', 2, { position: at(3, true), backwards: false }, 1, [4, 5], undefined, 3],
    ['before one', 2, { position: at(4, false), backwards: true }, 1, [2, 3], 4, 2],
    ['back at the first', 2, { position: at(3, false), backwards: true }, 1, [1, 2], 3, undefined],
    ['more', 3, undefined, 1, [1, 2, 3], 3, undefined]
  ] as const) {
    const offset = (page - 1) * limit
    const parsed = { query: { where: [], order, offset, limit, count: true }, list, start, page, parameters: [] }
    const found = await findPage(async query => pageOf(items, query), parsed as unknown as ParsedQuery)
    t.strictSame(found.items.map(({ size }) => size), expected, what)
    t.strictSame([found.next?.item['size'], found.prev?.item['size']], [next, prev], what)
    t.equal(found.total, 5, what)
  }
})

t.test('after an item, each part is read until there are enough', async t => {
  const start = { position: { isAfter: true, item: { id: 'n1', size: 1 } as never }, backwards: false }
  const [part, total] = [[3, false], [0, true]]
  for (const [sizes, count, expected, reads] of [
    [[1, 1, 1, 1, 1, 2], true, ['n2', 'n3', 'n4'], [part, total]],
    [[1, 1, 2, 3, 4, 5], false, ['n2', 'n3', 'n4'], [part, part]],
    [[1, 2, 3], true, ['n2', 'n3'], [part, part, total]]
  ] as const) {
    const asked: unknown[] = []
    const items = numbered(...sizes)
    const find = async (query: Query) => {
      asked.push([query.limit, query.count])
      return pageOf(items, query)
    }
    const found = await findFrom(find, list, { where: [], order, offset: 0, limit: 3, count }, start)
    t.strictSame({ ...found, items: found.items.map(({ id }) => id) },
      count ? { items: expected, total: sizes.length } : { items: expected })
    t.strictSame(asked, reads)
  }
})

t.test('the item of a short cursor is read first, by its id', async t => {
  const items = numbered(1, 1, 2, 3)
  for (const [id, backwards, expected] of [
    ['n2', false, ['n3', 'n4']], ['n3', true, ['n2', 'n1']], ['gone', false, 'after'], ['gone', true, 'before']
  ] as const) {
    const asked: Query[] = []
    const find = async (query: Query) => {
      asked.push(query)
      return pageOf(items, query)
    }
    const start = { position: { isAfter: !backwards, item: { id } as never, isShort: true }, backwards }
    const finding = findFrom(find, list, { where: [], order, offset: 0, limit: 3, count: false }, start)
    const found = await finding.then(({ items }) => items.map(({ id }) => id), ({ errors }: Problem) => errors)
    t.match(found, typeof expected === 'string'
      ? [{ parameter: expected, detail: `${expected} refers to a deleted item; start at the first page` }]
      : expected)
    const where = [{ field: 'id', op: 'eq', values: [id] }]
    t.strictSame(asked[0], { where, order: [{ field: 'id', descending: false }], offset: 0, limit: 1, count: false })
  }
})
