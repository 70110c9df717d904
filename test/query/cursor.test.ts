import Fastify from 'fastify'
import t from 'tap'
import { listParts, readCursor, readOrder, toTotalOrder, writeCursor } from '../../lib/core/query/cursor.js'
import type { Field, Order } from '../../lib/index.js'
import { customers, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { customersApp } from '../customers-app.js'
import { anyStorage } from '../storages.js'

const fields: Field[] = [
  { name: 'id', kind: 'integer', optional: false },
  { name: 'age', kind: 'integer', optional: false },
  { name: 'score', kind: 'number', optional: true },
  { name: 'grade', kind: 'string', optional: false, nullable: true },
  { name: 'held', kind: 'boolean', optional: false },
  { name: 'born', kind: 'date', optional: false },
  { name: 'seen', kind: 'date-time', optional: false },
  { name: 'cost', kind: 'decimal', optional: false, scale: 2 }
]
const order: Order[] = ['age', '-score', 'grade', 'held', 'born', 'seen', 'cost', 'id']
  .map(name => ({ field: name.replace('-', ''), descending: name.startsWith('-') }))
const list = { name: 'people', fields, order }
const values: unknown[] = [30, 1.5, 'Ä"', true, '2026-01-01', '2026-01-01T00:00:00.000Z', '1.50', 7]
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const head = 'people age,-score,grade,held,born,seen,cost,id'

t.test('a place is read as it was written', async t => {
  const item = Object.fromEntries(order.map(({ field }, index) => [field, values[index]])) as { id: number }
  for (const isAfter of [true, false]) {
    const text = writeCursor(list, { isAfter, item })
    t.match(text, /^[\w-]+$/)
    t.strictSame(readCursor(list, text), { isAfter, item })
  }
  const { score, ...others } = item as Record<string, unknown>
  const absent = writeCursor(list, { isAfter: true, item: { ...others, id: 7, grade: null } })
  t.strictSame(readCursor(list, absent)?.item, { ...item, score: null, grade: null })
  const byScore = { ...list, order: order.filter(({ field }) => ['score', 'id'].includes(field)) }
  const nothing = { isAfter: true, item: { score: null, id: 7 } }
  t.strictSame(readCursor(byScore, writeCursor(byScore, { isAfter: true, item: { id: 7 } })), nothing, 'only an id')
  const long = writeCursor(list, { isAfter: true, item: { ...item, grade: 'x'.repeat(10_000) } })
  t.ok(long.length < 200)
  const short = { isAfter: true, item: { id: 7 }, isShort: true }
  t.strictSame(readCursor(list, long), short, 'of what is too long, the id')
  t.equal(writeCursor(list, short), long, 'and the link to where a page began is the same')
  const longest = 2250 - Buffer.byteLength(JSON.stringify([head, true, ...values.with(2, '')]))
  for (const [more, isWhole] of [[0, true], [1, false]] as const) {
    const whole = { ...item, grade: 'x'.repeat(longest + more) }
    const text = writeCursor(list, { isAfter: true, item: whole })
    t.equal(text.length === 3000, isWhole)
    t.strictSame(readCursor(list, text)?.item, isWhole ? whole : { id: 7 })
  }
})

t.test('pages forth and back', async t => {
  const storage = memoryStorage()
  await loadItems(storage, customers, Array.from({ length: 7 }, (_, id) => ({ id, age: id % 3, children: 0 })))
  const people = customers.service({ storage })
  const read = async (options: object) => {
    const { items, next, prev } = await people.find([], { limit: 2, sort: '-age', ...options })
    return { ids: items.map(({ id }) => id), next, prev }
  }
  const pages = [await read({})]
  for (let { next } = pages[0]!; next !== undefined; { next } = pages.at(-1)!) pages.push(await read({ after: next }))
  t.strictSame(pages.map(({ ids }) => ids), [[2, 5], [1, 4], [0, 3], [6]])
  t.equal(pages[0]?.prev, undefined)
  const back = [pages.at(-1)!]
  for (let { prev } = back[0]!; prev !== undefined; { prev } = back.at(-1)!) back.push(await read({ before: prev }))
  t.strictSame(back.map(({ ids }) => ids), pages.map(({ ids }) => ids).reverse())
  const numbered = await read({ page: 3 })
  t.strictSame([numbered.ids, (await read({ before: numbered.prev })).ids], [[0, 3], [1, 4]])
  t.equal((await read({ page: 1 })).prev, undefined)
  t.strictSame((await read({ after: back[2]?.next })).ids, [0, 3], 'forth again from a page that was read backwards')
})

t.test('what is no place in this order', async t => {
  const good: unknown[] = [head, true, ...values]
  t.ok(readCursor(list, encode(good)))
  const put = (index: number, value: unknown) => encode(good.with(index, value))
  for (const [index, ...others] of [
    [2, '9007199254740993', '-9223372036854775808'], [3, 'NaN', 'Infinity', '-Infinity'],
    [8, '-1.5', '1e+20', 'NaN', '-Infinity']
  ] as const) {
    for (const value of others) {
      t.equal(readCursor(list, put(index, value))?.item[order[index - 2]?.field as string], value, 'of a mapped table')
    }
  }
  const bad = [
    '', 'x', '====', encode(1), encode(null), encode([]), encode({}), encode(head), encode([head, true]),
    encode(good.slice(0, -1)), encode([...good, 1]), put(1, 1), put(1, 'true'),
    put(0, head.replace('people', 'persons')), put(0, head.replace('-score', 'score')),
    put(2, 2 ** 53), put(2, 1e300), put(9, -1e19),
    put(2, '30'), put(2, 1.5), put(2, null), put(3, '1'), put(4, 1), put(4, '\u0000'), put(5, 0), put(6, '2026-02-30'),
    put(6, ['2026-01-01']), put(7, '2026-01-01'), put(7, 'today'), put(7, [values[5]]), put(8, 1.5),
    put(8, 'much'), put(8, '1.'), put(2, '9223372036854775808'), put(3, '-NaN'),
    put(9, null), put(9, [7]), put(3, []), encode([head, true, ['7']]),
    encode([head, true, [7, 8]]), encode([head, true, [7], 1]), `${encode(good)}=`, ` ${encode(good)}`,
    `${encode(good)}A`, Buffer.from(JSON.stringify(good, null, 1)).toString('base64url'),
    put(4, 'x'.repeat(10_000)), Buffer.from(JSON.stringify(good)).toString('base64').replace(/$/, '+/')
  ]
  for (const text of bad) {
    t.equal(readCursor(list, text), undefined, Buffer.from(text, 'base64url').toString().slice(0, 80))
  }
})

t.test('what is beyond an item, and absent values last where the order descends', async t => {
  const item = { id: 7, age: 30, score: 1.5, grade: '12', cost: '1.50' }
  const at = (sort: string, given: object = item, isAfter = true, backwards = false) =>
    listParts(fields, toTotalOrder([readOrder(sort)], fields), {
      position: { isAfter, item: given as typeof item }, backwards
    }).parts
  const eq = (field: string, value: unknown) => ({ field, op: 'eq', values: [value] })
  const isNull = (field: string) => ({ field, op: 'null', is: true })
  const bound = (field: string, op: string, value: unknown) => ({ field, op, value })
  const [after, from] = [bound('id', 'gt', 7), bound('id', 'gte', 7)]
  t.strictSame(at('id'), [[after]])
  t.strictSame(at('-id', item, false), [[bound('id', 'lte', 7)]], 'with the item')
  t.strictSame(at('age'), [[eq('age', 30), after], [bound('age', 'gt', 30)]])
  t.strictSame(at('-age'), [[eq('age', 30), after], [bound('age', 'lt', 30)]], 'never absent')
  t.strictSame(at('-score'), [[eq('score', 1.5), after], [bound('score', 'lt', 1.5)], [isNull('score')]], 'optional')
  t.strictSame(at('-grade'), [[eq('grade', '12'), after], [bound('grade', 'lt', '12')], [isNull('grade')]], 'nullable')
  t.strictSame(at('-cost'), [[eq('cost', 1.5), after], [bound('cost', 'lt', 1.5)]], 'a decimal, as a number')
  t.strictSame(at('-grade', { id: 7, grade: null }, false), [[isNull('grade'), from]], 'nothing is below')
  t.strictSame(at('grade', item, false, true),
    [[eq('grade', '12'), bound('id', 'lt', 7)], [bound('grade', 'lt', '12')], [isNull('grade')]], 'backwards')
})

t.test('a cursor belongs to one list in one order', async t => {
  const app = await customersApp(t, { count: 30 })
  const { links } = (await app.inject('/customers?sort=-age&maxpagesize=10')).json()
  t.match(links.next, /^\/customers\?sort=-age&maxpagesize=10&after=[\w-]+$/)
  const cursor = links.next.replace(/.*after=/, '')
  for (const search of ['sort=age', 'sort=-children', '', 'sort=-age,children', 'sort=-age,-id']) {
    const answer = await app.inject(`/customers?${search}&after=${cursor}`)
    t.match(answer.json(), { status: 400, errors: [{ parameter: 'after', detail: /same sort/ }] }, search)
  }
  t.equal((await app.inject(`/customers?sort=-age&after=${cursor}&min-age=1`)).statusCode, 200, 'filters may differ')
  t.match((await app.inject(`/customers?sort=-age&after=${cursor}&page=2`)).json(), {
    errors: [{ parameter: 'after', detail: 'after cannot be combined with page' }]
  })
  t.match((await app.inject(`/customers?sort=-age&after=${cursor}&before=${cursor}`)).json(), {
    errors: [{ parameter: 'before', detail: 'before cannot be combined with after' }]
  })
  t.equal((await app.inject(`/customers?sort=-age&after=${cursor}&after=${cursor}`)).statusCode, 400, 'only once')
})

const notes = defineFamily({
  name: 'notes',
  singular: 'note',
  fields: Type.Object({ id: Type.Integer(), text: Type.String(), owner: Type.String() }),
  order: ['-text']
})

for (const { name, make } of anyStorage) {
  t.test(`${name}: texts too long for an address, and a grant`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    const where = [{ field: 'owner', op: 'eq', values: ['ann'] } as const]
    app.register(notes, { storage, authorize: () => ({ where }) })
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    await app.ready()
    const long = (id: number) => `${'ä'.repeat(5000)}${id % 3}`
    await loadItems(storage, notes, Array.from({ length: 12 }, (_, id) => ({
      id, text: long(id), owner: id % 2 === 0 ? 'ann' : 'bob'
    })))
    const ids: number[] = []
    const urls: string[] = []
    for (let url = '/notes?maxpagesize=2'; url !== undefined;) {
      const { items, links } = (await app.inject(url)).json()
      ids.push(...items.map(({ id }: { id: number }) => id))
      urls.push(url)
      url = links.next
    }
    t.strictSame(ids, [2, 8, 4, 10, 0, 6], 'the order of the family, and only what is granted')
    t.ok(urls.every(url => url.length < 300), 'short links')
    const gone = urls[1] as string
    await storage.commit([{ type: 'delete', family: 'notes', id: 8, expected: 1 }])
    t.match((await app.inject(gone)).json(), { status: 400, errors: [{ parameter: 'after', detail: /deleted item/ }] })
    // Who makes one up learns nothing of what is not for him.
    const madeUp = (id: number) => Buffer.from(JSON.stringify(['notes -text,id', true, [id]])).toString('base64url')
    const hidden = await app.inject(`/notes?after=${madeUp(1)}`)
    const absent = await app.inject(`/notes?after=${madeUp(99)}`)
    t.strictSame(hidden.json(), absent.json(), 'what is not granted is as what is not there')
  })
}

t.test('exports and cursors', async t => {
  const storage = memoryStorage()
  const app = Fastify()
  app.register(customers, { storage })
  t.teardown(() => app.close())
  await loadItems(storage, customers, Array.from({ length: 9 }, (_, id) => ({ id, age: id % 3, children: 0 })))
  const { links } = (await app.inject('/customers?maxpagesize=4')).json()
  const rest = (await app.inject(`${links.next.replace('maxpagesize=4&', '')}&format=ndjson`)).body
  t.equal(rest.trimEnd().split('\n').length, 5, 'what comes after a place')
  const cursor = links.next.replace(/.*after=/, '')
  t.match((await app.inject(`/customers.csv?before=${cursor}`)).json(), { errors: [{ parameter: 'before' }] })
  const page = await app.inject(`/customers.csv?before=${cursor}&maxpagesize=3`)
  t.equal(page.body.trimEnd().split('\n').length, 4, 'a page of it has a place for it')
})
