import { randomUUID } from 'node:crypto'
import type { Condition } from '../../lib/core/storage/storage.js'
import { deals, defineFamily, Type } from '../../lib/index.js'
import { dealAfter, makeDeal, refusal, testOverStorages } from './book.js'

testOverStorages(async (t, { book, storage }) => {
  t.test('items are found by the grammar of the query string, or by conditions', async t => {
    const run = `find ${randomUUID()}`
    for (const [index, price] of [10, 20, 20, 30, 40].entries()) {
      const id = await makeDeal(book, { name: `${run} ${index}`, price, completionDate: `2030-01-0${index + 1}` })
      if (index === 4) await book.run('hold', id, { reason: 'a' })
    }
    const ours = { field: 'name', op: 'regex', patterns: [`^${run}`] } as const
    const oursAsText = `name.regex=${encodeURIComponent(`^${run}`)}`
    const found: [what: string, string | readonly Condition[], options: object, expected: string, more?: true][] = [
      ['nothing', '', {}, '01234'],
      ['a field', 'price=20', {}, '12'],
      ['any of several', 'price=10&price=40', {}, '04'],
      ['bounds', 'min-price=20&max-price=30', {}, '123'],
      ['comparisons', 'price>20&price<=40', {}, '34'],
      ['a boolean', 'held=true', {}, '4'],
      ['a date', 'completionDate.gte=2030-01-04', {}, '34'],
      ['an order', 'sort=-price,id', {}, '43120'],
      ['an order in the options', '', { sort: '-price,name' }, '43120'],
      ['a limit', '', { limit: 2 }, '01', true],
      ['as many as there are', '', { limit: 5 }, '01234'],
      ['a page', '', { limit: 2, page: 2 }, '23', true],
      ['the last page', '', { limit: 2, page: 3 }, '4'],
      ['a page in the text', 'maxpagesize=2&page=2', {}, '23', true],
      ['a page too far', '', { limit: 2, page: 9 }, ''],
      ['everything at once', '', { limit: Number.MAX_SAFE_INTEGER }, '01234'],
      ['no conditions', [], {}, '01234'],
      ['equal', [{ field: 'price', op: 'eq', values: [20, 30] }], {}, '123'],
      ['as many values as may be', [{ field: 'price', op: 'eq', values: Array(1000).fill(20) }], {}, '12'],
      ['not equal', [{ field: 'price', op: 'ne', values: [20, 30] }], {}, '04'],
      ['none of nothing', [{ field: 'price', op: 'ne', values: [] }], {}, '01234'],
      ['any of nothing', [{ field: 'price', op: 'eq', values: [] }], {}, ''],
      ['two', [{ field: 'price', op: 'gt', value: 10 }, { field: 'held', op: 'eq', values: [false] }], {}, '123'],
      ['a pattern', [{ field: 'name', op: 'regex', patterns: ['[13]$'] }], {}, '13'],
      ['with options', [{ field: 'price', op: 'gte', value: 20 }], { sort: '-price', limit: 2 }, '43', true]
    ]
    for (const [what, query, options, expected, more = false] of found) {
      const narrowed = typeof query === 'string' ? `${query}&${oursAsText}` : [...query, ours]
      const { items, hasNext, next, prev, ...rest } = await book.find(narrowed, options)
      t.equal(items.map(({ name }) => String(name).at(-1)).join(''), expected, what)
      t.equal(hasNext, more, `${what}: more`)
      t.same(rest, {}, `${what}: not counted`)
      t.equal(next !== undefined, more, `${what}: where it goes on`)
      if (prev !== undefined && 'page' in options) {
        const back = await book.find(narrowed, { limit: 2, before: prev })
        const names = back.items.map(({ name }) => String(name).at(-1))
        t.equal(names.join(''), what === 'a page' ? '01' : '23', 'and back')
      }
    }
    const ordered = deals.extend({ order: ['-createdAt', '-id'] }).service({ storage })
    const newest = await ordered.find([ours])
    t.equal(newest.items.map(({ name }) => String(name).at(-1)).join(''), '43210', 'in the order of the family')
    const either = [ours, {
      op: 'any',
      of: [
        [{ field: 'price', op: 'gte', value: 40 }],
        [{ field: 'name', op: 'has', texts: [`${run.toUpperCase()} 0`] }]
      ]
    }] as const
    t.equal((await book.find(either)).items.map(({ price }) => price).join(), '10,40', 'alternatives')
    const open = book.find([{ op: 'any', of: [[]] }])
    await t.rejects(open, { code: 'invalid-query', message: /an alternative that is not a list/ })
    t.match(await book.find([ours], { limit: 2, count: true }), { total: 5, items: { length: 2 } })
    t.match(await book.find([ours], { limit: 2, count: false }), { total: undefined })
    for (let count = 0; count < 50; count++) await makeDeal(book)
    t.equal((await book.find()).items.length, 50, 'fifty, where nothing is said')
  })

  t.test('pages continue from items whose values are too long for a cursor', async t => {
    const notes = defineFamily({
      name: 'long-notes',
      singular: 'note',
      fields: Type.Object({ id: Type.Integer(), text: Type.String(), kind: Type.Optional(Type.String()) }),
      create: ['text', 'kind'],
      order: ['-text']
    })
    const own = notes.service({ storage })
    const texts = ['b', 'a', 'c', 'a', 'd']
    for (const [index, text] of texts.entries()) await own.create({ text: text.repeat(5000), kind: String(index % 2) })
    const read = async (query: string, options: object) => {
      const { items, next, prev, total } = await own.find(query, { limit: 2, ...options })
      return { ids: items.map(({ id }) => id), next: next as string, prev: prev as string, total }
    }
    const first = await read('', {})
    const second = await read('', { after: first.next, count: true })
    const third = await read('', { after: second.next })
    t.strictSame([first, second, third].map(({ ids }) => ids), [[5, 3], [1, 2], [4]])
    t.equal(second.total, 5, 'all are counted')
    t.ok(first.next.length < 200)
    t.strictSame((await read('', { before: third.prev })).ids, [1, 2])
    t.strictSame((await read('', { before: second.prev })).ids, [5, 3])
    t.strictSame((await read('kind=1', { after: first.next })).ids, [2, 4], 'whether it is found or not')
    await own.remove(3)
    await own.remove(1)
    for (const options of [{ after: first.next }, { before: second.prev }]) {
      const [parameter] = Object.keys(options) as ['after']
      const detail = `${parameter} refers to a deleted item; start at the first page`
      t.match(await refusal(read('', options)), { code: 'invalid-query', errors: [{ parameter, detail }] })
    }
  })

  t.test('the log is read in parts', async t => {
    const id = await dealAfter(book)
    const run = randomUUID()
    // Ids whose order is not that of the changes.
    await book.run('hold', id, { reason: 'a' }, { command: `z-${run}` })
    await book.run('unhold', id, {}, { command: `.-${run}` })
    await book.run('complete', id, {}, { command: `a-${run}` })
    const actions = async (options: object) => (await book.log(id, options)).items.map(({ action }) => action)
    t.same(await actions({}), ['CreateDeal', 'HoldDeal', 'UnholdDeal', 'CompleteDeal'])
    t.same(await actions({ sort: '-revision', limit: 2 }), ['CompleteDeal', 'UnholdDeal'])
    t.same(await actions({ limit: 3, page: 2 }), ['CompleteDeal'])
    t.match(await book.log(id, { limit: 1, count: true }), { total: 4, hasNext: true })
    await book.remove(id)
    const { items } = await book.log(id, { sort: '-revision', limit: 1 })
    t.match(items, [{ action: 'DeleteDeal', deal: id, revision: 5 }], 'also when the item is gone')
  })
})
