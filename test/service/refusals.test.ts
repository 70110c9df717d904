import { Type } from '@sinclair/typebox'
import t from 'tap'
import { Problem } from '../../lib/core/problems.js'
import type { Members } from '../../lib/core/values/json.js'
import { deals } from '../../lib/deals/deals.js'
import { defineFamily } from '../../lib/families.js'
import { ConstraintError } from '../../lib/index.js'
import { memoryStorage } from '../../lib/storage/memory/memory-storage.js'
import { makeDeal, openBook, refusal, testOverStorages } from './book.js'

/** What no type allows, and what is sent all the same by those who use none. */
const wrong = (value: unknown) => value as never

/** A value in which each member leads back to it. */
const circle: Record<string, unknown> = {}
circle['a'] = circle
circle['b'] = circle

let deep: Members = {}
for (let depth = 0; depth < 100_000; depth++) deep = { deep }

testOverStorages(async (t, { book, storage }) => {
  t.test('malformed input names all that is wrong', async t => {
    const tea = { name: 'Tea', price: 5 }
    const creations: [fields: unknown, ...pointers: string[]][] = [
      [undefined, ''],
      [null, ''],
      ['tea', ''],
      [[], ''],
      [{}, '/name', '/price'],
      [{ ...tea, colour: 'green' }, '/colour'],
      [{ ...tea, colour: undefined }, '/colour'],
      [{ ...tea, id: 'a' }, '/id'],
      [{ ...tea, status: 'completed', revision: 2 }, '/status', '/revision'],
      [{ name: 5, price: '5' }, '/name', '/price'],
      [{ name: null, price: -1 }, '/name', '/price'],
      [{ name: undefined, price: undefined }, '/name', '/price'],
      [{ ...tea, completionDate: '2030-02-30' }, '/completionDate'],
      [{ ...tea, completionDate: new Date() }, '/completionDate'],
      [{ ...tea, price: 5n }, '/price'],
      [{ ...tea, price: NaN }, '/price'],
      [{ ...tea, price: Infinity }, '/price'],
      [{ ...tea, price: 2 ** 53 }, '/price'],
      [{ ...tea, name: 'a\u0000b' }, '/name'],
      [{ ...tea, name: '\ud800' }, '/name'],
      [{ ...tea, name: Symbol('tea') }, '/name'],
      [{ ...tea, name: () => 'tea' }, '/name'],
      [{ ...tea, 'a/b~c': 1 }, '/a~1b~0c']
    ]
    for (const [fields, ...pointers] of creations) {
      const problem = await refusal(book.create(wrong(fields)))
      t.ok(problem instanceof Problem)
      t.equal(problem.code, 'invalid-body')
      t.same(problem.errors?.map(flaw => 'pointer' in flaw && flaw.pointer), pointers)
    }
    for (const nested of [circle, deep]) {
      await t.rejects(book.create({ ...tea, name: wrong(nested) }), { name: 'Problem', code: 'invalid-body' })
    }
    const id = await makeDeal(book)
    for (const params of [null, 'a', {}, { reason: '' }, { reason: 1 }, { reason: 'a', why: 'b' }, circle, deep]) {
      await t.rejects(book.run('hold', id, wrong(params)), { name: 'Problem', code: 'invalid-body' })
    }
    t.match(await book.log(id), { items: { length: 1 } }, 'and nothing was done')
  })

  t.test('what is nested is kept as JSON has it, and refused where JSON has no such value', async t => {
    const notes = defineFamily({
      name: 'notes',
      singular: 'note',
      fields: Type.Object({ id: Type.Integer(), data: Type.Unknown() }),
      create: ['data']
    }).service({ storage })
    for (const data of [1n, () => 1, Symbol('a'), new Date(0), new Map(), new Uint8Array(2)]) {
      const refused = (pointer: string) => ({ code: 'invalid-body', errors: [{ pointer }] })
      await t.rejects(notes.create({ data }), refused('/data'))
      await t.rejects(notes.create({ data: { a: [data] } }), refused('/data/a/0'))
    }
    await t.rejects(notes.create({ data: circle }), { code: 'invalid-body' })
    await t.rejects(notes.create({ data: deep }), { code: 'invalid-body' })
    const data = { a: undefined, b: [1, undefined, { c: null }], ['__proto__']: 'd' }
    const kept = JSON.parse('{ "b": [1, null, { "c": null }], "__proto__": "d" }')
    const { item } = await notes.create({ data }, { key: 'nested' })
    t.equal(JSON.stringify((await notes.get(item.id)).data), JSON.stringify(kept))
    t.match(await notes.create({ data: kept }, { key: 'nested' }), { replayed: true }, 'what is kept alike is alike')

    const changing = { list: [1] }
    const creating = notes.create({ data: changing })
    changing.list.push(2)
    const { item: { id } } = await creating
    t.same((await notes.get(id)).data, { list: [1] }, 'it is what it was when it was handed over')
    t.same((await notes.log(id)).items[0]?.params, { data: { list: [1] } })
  })

  t.test('ids, keys and names that cannot be', async t => {
    const id = await makeDeal(book)
    const commands = ['', 'a b', 'a/b', 'ä', 'x'.repeat(101), 5, null]
    const keys = ['', 'ä', 'a\n', 'x'.repeat(256), 5, null]
    const flawed: [options: object, message: RegExp][] = [
      [{ command: 'a', key: 'b' }, /command or key/],
      ...commands.map((command): [object, RegExp] => [{ command }, /A command id has/]),
      ...keys.map((key): [object, RegExp] => [{ key }, /A key must/]),
      [{ principal: 5 }, /principal must be a string/],
      [{ principal: null }, /principal must be a string/],
      [{ principal: 'a\u0000b' }, /principal must not contain/],
      [{ principal: '\udc00' }, /principal must not contain/]
    ]
    for (const [options, message] of flawed) {
      const refused = { name: 'Problem', code: 'bad-request', message }
      await t.rejects(book.run('hold', id, { reason: 'a' }, options), refused, JSON.stringify(options))
      await t.rejects(book.remove(id, options), refused)
    }
    for (const options of [{ atomic: true }, { revision: 1 }]) {
      const creation = book.create({ name: 'Tea', price: 5 }, wrong(options))
      await t.rejects(creation, { message: `unknown option "${Object.keys(options)[0]}"` })
    }
    t.match(await book.get(id), { revision: 1 })
  })

  t.test('queries that cannot be', async t => {
    const queries: [query: unknown, options: object, parameter: string | undefined][] = [
      ['nonsense=1', {}, 'nonsense'],
      ['?status=open', {}, '?status'],
      ['price=much', {}, 'price'],
      ['name.regex=(', {}, 'name.regex'],
      ['name=%', {}, 'name=%'],
      ['fields=id', {}, 'fields'],
      ['format=json', {}, 'format'],
      ['', { limit: 0 }, 'limit'],
      ['', { limit: -1 }, 'limit'],
      ['', { limit: 1.5 }, 'limit'],
      ['', { limit: Infinity }, 'limit'],
      ['', { limit: '1&page=2' }, 'limit'],
      ['maxpagesize=0', {}, 'maxpagesize'],
      ['maxpagesize=1', { limit: 1 }, 'limit'],
      ['', { page: 0 }, 'page'],
      ['page=1', { page: 1 }, 'page'],
      ['', { page: 2 ** 52, limit: 1000 }, 'page'],
      ['', { sort: 'nonsense' }, 'sort'],
      ['', { sort: '\ud800' }, 'sort'],
      [[], { limit: 0 }, 'limit'],
      [[{ field: 'name', op: 'eq', values: Array(1001).fill('a') }], {}, 'name'],
      [null, {}, undefined],
      [5, {}, undefined],
      [{ field: 'name', op: 'eq', values: ['a'] }, {}, undefined],
      [[null], {}, undefined],
      [['name=a'], {}, undefined],
      [[{ field: 'nmae', op: 'eq', values: ['a'] }], {}, undefined],
      [[{ field: 'name', op: 'like', value: 'a' }], {}, undefined],
      [[{ field: 'held', op: 'gt', value: true }], {}, undefined],
      [[{ field: 'name', op: 'eq', values: 'a' }], {}, undefined],
      [[{ field: 'name', op: 'eq', value: 'a' }], {}, undefined],
      [[{ field: 'name', op: 'eq', values: [5] }], {}, undefined],
      [[{ field: 'price', op: 'gt', value: '5' }], {}, undefined],
      [[{ field: 'price', op: 'gt', value: undefined }], {}, undefined],
      [[{ field: 'price', op: 'gt', value: NaN }], {}, undefined],
      [[{ field: 'status', op: 'eq', values: ['opened'] }], {}, undefined],
      [[{ field: 'name', op: 'regex', patterns: 'a' }], {}, undefined],
      [[{ field: 'name', op: 'regex', patterns: ['('] }], {}, undefined],
      [[{ field: 'name', op: 'regex', patterns: ['a\u0000'] }], {}, undefined]
    ]
    for (const [query, options, parameter] of queries) {
      const problem = await refusal(book.find(wrong(query), options))
      const what = `${JSON.stringify(query)?.slice(0, 80)} ${JSON.stringify(options)}`
      t.ok(problem instanceof Problem, what)
      t.equal(problem.code, 'invalid-query', what)
      t.same(problem.errors?.map(flaw => 'parameter' in flaw && flaw.parameter), parameter && [parameter], what)
    }
    const id = await makeDeal(book)
    await t.rejects(book.log(id, { sort: 'price' }), { code: 'invalid-query', errors: [{ parameter: 'sort' }] })
    await t.rejects(book.log(id, { limit: 0 }), { code: 'invalid-query', errors: [{ parameter: 'limit' }] })
    await t.rejects(book.find('nmae=a'), { message: /Did you mean "name"/ })
    await t.rejects(book.find([{ field: 'nmae' as string, op: 'eq', values: [] }]), { message: /Did you mean "name"/ })
  })
})

t.test('an operation that there is not', async t => {
  const book = openBook(memoryStorage())
  const id = await makeDeal(book)
  const names = { hodl: ' Did you mean "hold"?', HoldDeal: '', constructor: '', create: '' }
  for (const [name, hint] of Object.entries(names)) {
    const message = `fastify-dealbook, deals: there is no operation "${name}".${hint}`
    await t.rejects(book.run(name, id), { code: 'FST_DEALBOOK_UNKNOWN_OPERATION', message }, name)
  }
})

t.test('options that cannot be', async t => {
  const storage = memoryStorage()
  const flawed: [options: unknown, message: RegExp][] = [
    [undefined, /"storage" is missing; it must be a storage, such as memoryStorage\(\)/],
    [null, /"storage" is missing/],
    [{}, /"storage" is missing/],
    [{ storage: 'memory' }, /"storage" must be a storage/],
    [{ storage: () => storage }, /"storage" must be a storage/],
    [{ storage: null }, /"storage" must be a storage/],
    ...(['prepare', 'find', 'get', 'commit', 'close'] as const).map((name): [unknown, RegExp] =>
      [{ storage: { ...storage, [name]: undefined } }, /"storage" must be a storage/]),
    [{ storage, authorize: true }, /"authorize" must be a function/],
    [{ storage, authorize: null }, /"authorize" must be a function/],
    [{ storage, authorise () {} }, /unknown option "authorise". Did you mean "authorize"\?/],
    [{ storage, pageSize: 5 }, /unknown option "pageSize"/]
  ]
  for (const [options, message] of flawed) {
    t.throws(() => deals.service(wrong(options)), { code: 'FST_DEALBOOK_INVALID_OPTION', message })
  }
})

t.test('options of a call that are misspelt, or not what they must be', async t => {
  const book = deals.service({ storage: memoryStorage() })
  const tea = { name: 'Tea', price: 5 }
  const { item: { id } } = await book.create(tea)
  const flawed: [call: () => Promise<unknown>, message: RegExp][] = [
    [() => book.create(tea, wrong({ kye: 'a' })), /unknown option "kye". Did you mean "key"\?/],
    [() => book.run('hold', id, { reason: 'a' }, wrong({ comand: 'c' })), /unknown option "comand"/],
    [() => book.run('hold', id, { reason: 'a' }, wrong({ revision: '1' })), /"revision" must be an integer/],
    [() => book.remove(id, wrong({ principle: 'ann' })), /unknown option "principle". Did you mean "principal"\?/],
    [() => book.get(id, wrong({ revison: 1 })), /unknown option "revison". Did you mean "revision"\?/],
    [() => book.find('', wrong({ limt: 1 })), /unknown option "limt". Did you mean "limit"\?/],
    [() => book.log(id, wrong({ order: 'id' })), /unknown option "order"/]
  ]
  for (const [call, message] of flawed) {
    await t.rejects(call(), { code: 'FST_DEALBOOK_INVALID_OPTION', message }, String(message))
  }
  t.strictSame((await book.find()).items.length, 1)
  t.match(await book.get(id), { held: false, revision: 1 })
})

t.test('rules of a database are refused in the words of the family, or in ours', async t => {
  const unnamed = deals.extend({ fields: Type.Object({ region: Type.Optional(Type.String()) }) })
  const named = unnamed.extend({
    constraints: {
      'deals-dear': 'It is too dear', 'deals-far': { detail: 'It is too far', pointers: ['/region', '/name'] }
    }
  })
  type Options = ConstructorParameters<typeof ConstraintError>[3]
  type Rule = ConstructorParameters<typeof ConstraintError>[2]
  const database = (reason: string) => `The database does not allow this: ${reason}. Nothing was done`
  const one = [{ pointer: '/name', detail: 'is already taken' }]
  const two = ['/name', '/region'].map((pointer, index, all) =>
    ({ pointer, detail: `is already taken, together with ${all[1 - index]}` }))
  const fields = ['name']
  const declared = true
  type Expected = readonly [code: string, message: string, errors?: unknown]
  const rows: readonly (readonly [rule: Rule, Options, Expected, members?: object])[] = [
    ['unique', { fields, declared }, ['taken', '/name is already taken. Nothing was done', one]],
    ['unique', { fields: ['name', 'region'], declared },
      ['taken', '/name is already taken, together with /region. Nothing was done', two]],
    ['reference', { fields, declared, other: 'people' }, ['invalid-body', '/name must be an existing id of people',
      [{ pointer: '/name', detail: 'must be an existing id of people' }]]],
    ['in-use', { fields, declared, other: 'bills' },
      ['in-use', 'It cannot be deleted while bills refer to it. Nothing was done'], { family: 'bills' }],
    ['unique', { fields }, ['constraint', database('/name is already taken'), one]],
    ['unique', {}, ['constraint', database('it already exists')]],
    ['required', { fields }, ['constraint', database('/name must be given'),
      [{ pointer: '/name', detail: 'must be given' }]]],
    ['required', {}, ['constraint', database('a required value is missing')]],
    ['reference', {}, ['constraint', database('it refers to something that does not exist')]],
    ['reference', { fields }, ['constraint', database('/name refers to something that does not exist'),
      [{ pointer: '/name', detail: 'refers to something that does not exist' }]]],
    ['in-use', {}, ['constraint', database('something else refers to it')]],
    ['value', {}, ['constraint', database('it has a value that is not allowed')]],
    ['value', { fields, allowed: 'must be short' }, ['constraint', database('/name must be short'),
      [{ pointer: '/name', detail: 'must be short' }]]],
    ['other', {}, ['constraint', database('a rule of the database rejects it')]],
    ['other', { constraint: 'toString' }, ['constraint', database('a rule of the database rejects it')]],
    ['other', { constraint: 'deals-dear', fields }, ['constraint', 'It is too dear']],
    ['other', { constraint: 'deals-far' }, ['constraint', 'It is too far',
      [{ pointer: '/region', detail: 'It is too far' }, { pointer: '/name', detail: 'It is too far' }]]]
  ]
  const run = async (error: unknown, family = named) =>
    await refusal(family.service({ storage: { ...memoryStorage(), commit: async () => { throw error } } })
      .create({ name: 'Tea', price: 1 }))
  for (const [rule, options, expected, members = {}] of rows) {
    const error = new ConstraintError('deals', 'd-1', rule, options)
    const problem = await run(error)
    t.strictSame([problem.code, problem.message, problem.errors, problem.members, problem.cause],
      [expected[0], expected[1], expected[2], members, error])
  }
  const bins = defineFamily({
    name: 'bins',
    singular: 'bin',
    fields: Type.Object({ id: Type.Integer(), full: Type.Boolean({ default: false }) }),
    create: [],
    constraints: { 'bins-full': 'The bin is full' }
  })
  const items = defineFamily({
    name: 'items',
    singular: 'item',
    fields: Type.Object({ id: Type.Integer(), bin: Type.Integer() }),
    references: { bin: bins },
    create: ['bin'],
    operations: {
      drop: {
        name: 'drop',
        verb: 'drop',
        participle: 'dropped',
        noun: 'drops',
        action: 'DropItem',
        params: Type.Object({}),
        with: { bin: 'bin' },
        creates: { next: bins },
        apply: (item, _params, { items: { bin } }) =>
          ({ item, others: { bin: { ...bin, full: true } }, created: { next: {} } })
      }
    }
  })
  const memory = memoryStorage()
  await bins.service({ storage: memory }).create({})
  await items.service({ storage: memory }).create({ bin: 1 })
  const full = new ConstraintError('bins', 1, 'other', { constraint: 'bins-full' })
  const storage = { ...memory, commit: async () => { throw full } }
  t.equal((await refusal(items.service({ storage }).run('drop', 1))).message, 'The bin is full', 'of another item')

  const dear = { constraint: 'deals-dear' }
  for (const [error, family] of [
    [new ConstraintError('others', 'd-1', 'other', dear), named],
    [new ConstraintError('deals', 'd-1', 'other', dear), unnamed]
  ] as const) t.equal((await run(error, family)).message, database('a rule of the database rejects it'))
})
