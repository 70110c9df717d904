import Fastify from 'fastify'
import type { Condition, Grant } from 'fastify-dealbook'
import { customers, deals, defineFamily, defineOperation, defineQuery, memoryStorage, Type } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const storage = memoryStorage()
const retire = { name: 'retire', verb: 'retire', participle: 'retired', noun: 'retirements', action: 'RetireBook' }
const take = {
  name: 'take', verb: 'take', participle: 'taken', noun: 'takings', action: 'TakeBook', apply: <T>(item: T): T => item
}
const fields = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  pages: Type.Integer(),
  shelf: Type.String({ default: 'new' }),
  note: Type.Optional(Type.String()),
  status: Type.Union([Type.Literal('here'), Type.Literal('lent'), Type.Literal('gone')], { default: 'here' })
})
const books = defineFamily({
  name: 'books',
  singular: 'book',
  fields,
  create: ['title', 'pages', 'shelf', 'note'],
  operations: { retire: { ...retire, params: Type.Object({}), apply: book => ({ ...book, status: 'gone' }) } }
})

describe('literals need no const', () => {
  test('in apply, in each form of a function', () => {
    const params = Type.Object({ to: Type.String() })
    books.extend({
      operations: {
        lend: { ...retire, params, apply: (book, { to }) => ({ ...book, status: 'lent', note: to }) },
        block: {
          ...retire,
          params,
          apply (book) {
            if (book.pages > 3) return { ...book, status: 'here' }
            return { ...book, status: 'lent' }
          }
        },
        choose: { ...retire, params, apply: book => ({ ...book, status: book.pages > 3 ? 'here' : 'gone' }) },
        // @ts-expect-error is not assignable to type
        wrong: { ...retire, params, apply: book => ({ ...book, status: 'left' }) }
      }
    })
  })

  test('in initial', () => {
    const names = { name: 'books', singular: 'book', fields }
    defineFamily({ ...names, create: ['title', 'pages'], initial: book => ({ ...book, status: 'lent' }) })
    books.extend({ initial: book => ({ ...book, status: 'lent' }) })
    // @ts-expect-error is not assignable to type
    defineFamily({ ...names, create: ['title', 'pages'], initial: book => ({ ...book, status: 'left' }) })
    // @ts-expect-error is not assignable to type
    books.extend({ initial: book => ({ ...book, status: 'left' }) })
  })

  test('in defineOperation', () => {
    defineOperation({ ...retire, params: Type.Object({}), apply: deal => ({ ...deal, status: 'completed' }) })
    // @ts-expect-error is not assignable to type
    defineOperation({ ...retire, params: Type.Object({}), apply: deal => ({ ...deal, status: 'left' }) })
  })

  test('in derive', () => {
    const names = { name: 'books', singular: 'book', fields, create: ['title'] } as const
    defineFamily({ ...names, derive: { pages: book => book.title.length } })
    books.extend({ fields: Type.Object({ size: Type.Integer() }), derive: { size: book => book.pages } })
    // @ts-expect-error is not assignable to type 'number'
    defineFamily({ ...names, derive: { pages: book => book.title } })
    // @ts-expect-error Property 'tilte' does not exist
    defineFamily({ ...names, derive: { pages: book => book.tilte.length } })
    // @ts-expect-error 'page' does not exist in type
    defineFamily({ ...names, derive: { page: () => 1 } })
  })

  test('in remove', () => {
    const names = { name: 'pages', singular: 'page', create: ['book'], references: { book: books } } as const
    const fields = Type.Object({ id: Type.Integer(), book: Type.Integer() })
    defineFamily({
      ...names,
      fields,
      remove: {
        allowed: (page, _params, { items }) => page.book > 0 && (items.book.pages > 1 || 'The last page stays'),
        with: { book: 'book' },
        apply: (_page, _params, { items: { book } }) => ({ others: { book: { ...book, pages: book.pages - 1 } } })
      }
    })
    // @ts-expect-error Property 'bok' does not exist
    defineFamily({ ...names, fields, remove: { allowed: page => page.bok > 0 } })
    // @ts-expect-error is not assignable to type '"book"
    defineFamily({ ...names, fields, remove: { with: { book: 'bok' } } })
  })

  test('a field that initial forgets is an error', () => {
    const names = { name: 'loans', singular: 'loan' }
    const fields = Type.Object({
      id: Type.Integer(),
      book: Type.Integer(),
      reader: Type.String(),
      due: Type.Union([Type.String(), Type.Null()]),
      days: Type.Integer({ default: 14 }),
      note: Type.Optional(Type.String()),
      fee: Type.Integer()
    })
    const loans = defineFamily({
      ...names,
      fields,
      create: ['book'],
      initial (loan, { principal = 'unknown' }) {
        expect(loan).type.toBe<{
          reader?: string, note?: string, fee?: number, id: number, book: number, due: string | null, days: number
        }>()
        return { ...loan, reader: principal }
      },
      derive: { fee: loan => loan.days * 2 }
    })
    defineFamily({
      ...names,
      fields,
      create: { fields: ['book', 'reader'], with: { book: 'book' } },
      references: { book: books },
      initial: (loan, { items }) => ({ item: { ...loan, fee: items.book.pages }, others: {} })
    })
    // @ts-expect-error Property 'reader' is optional in type
    defineFamily({ ...names, fields, create: ['book'], initial: loan => ({ ...loan, fee: 1 }) })
    // @ts-expect-error Property 'fee' is optional in type
    defineFamily({ ...names, fields, create: ['book'], initial: loan => ({ ...loan, reader: 'a' }) })
    // @ts-expect-error Property 'reader' is optional in type
    defineFamily({ ...names, fields, create: ['book', 'fee'], initial: loan => loan })
    // @ts-expect-error Property 'reader' is missing in type
    defineFamily({ ...names, fields, create: ['book'], initial: ({ reader, ...loan }) => ({ ...loan, fee: 1 }) })
    defineFamily({
      ...names,
      fields,
      create: ['book'],
      // @ts-expect-error Property 'reader' is optional in type
      initial: loan => ({ item: { ...loan, fee: 1 }, others: {} })
    })
    const more = Type.Object({ shelf: Type.String(), place: Type.String() })
    loans.extend({ fields: more, create: ['shelf'], initial: loan => ({ ...loan, place: loan.shelf + loan.reader }) })
    loans.extend({ fields: more, initial: loan => ({ ...loan, shelf: 'a' }), derive: { place: loan => loan.shelf } })
    // @ts-expect-error Property 'place' is optional in type
    loans.extend({ fields: more, create: ['shelf'], initial: loan => loan })
  })

  test('an unknown field in initial is an error', () => {
    const names = { name: 'books', singular: 'book', fields }
    // @ts-expect-error is not assignable to type '"is not a field of the family"'
    defineFamily({ ...names, create: ['title', 'pages'], initial: book => ({ ...book, stauts: 'lent' }) })
    // @ts-expect-error is not assignable to type '"is not a field of the family"'
    books.extend({ initial: book => ({ ...book, stauts: 'lent' }) })
  })
})

describe('create takes what the family says', () => {
  const { create } = books.service({ storage })

  test('no less', () => {
    expect(create).type.toBeCallableWith({ title: 'a', pages: 1 })
    expect(create).type.toBeCallableWith({ title: 'a', pages: 1, shelf: 'b', note: 'c' })
    expect(create).type.not.toBeCallableWith({})
    expect(create).type.not.toBeCallableWith({ title: 'a' })
    expect(deals.service({ storage }).create).type.not.toBeCallableWith({})
  })

  test('no more', () => {
    expect(create).type.not.toBeCallableWith({ title: 'a', pages: 1, status: 'lent' })
    expect(create).type.not.toBeCallableWith({ id: 1, title: 'a', pages: 1 })
    expect(create).type.not.toBeCallableWith({ title: 'a', pages: 1, colour: 'red' })
  })

  test('also as an object, and extended', () => {
    const object = defineFamily({ name: 'books', singular: 'book', fields, create: { fields: ['title', 'shelf'] } })
    expect(object.service({ storage }).create).type.toBeCallableWith({ title: 'a' })
    expect(object.service({ storage }).create).type.not.toBeCallableWith({ shelf: 'a' })
    expect(object.service({ storage }).create).type.not.toBeCallableWith({ title: 'a', pages: 1 })
    const ours = books.extend({ fields: Type.Object({ isbn: Type.String() }), create: ['isbn', 'status'] })
    expect(ours.service({ storage }).create).type.toBeCallableWith({ title: 'a', pages: 1, isbn: 'b', status: 'lent' })
    expect(ours.service({ storage }).create).type.not.toBeCallableWith({ title: 'a', pages: 1 })
    // @ts-expect-error is not assignable to type
    defineFamily({ name: 'books', singular: 'book', fields, create: { fields: ['titel'] } })
  })
})

test('ids have the type of the family', () => {
  const book = books.service({ storage })
  expect(book.run).type.toBeCallableWith('retire', 1)
  expect(book.run).type.not.toBeCallableWith('retire', 'abc')
  expect(book.get).type.not.toBeCallableWith('abc')
  expect(book.log).type.not.toBeCallableWith('abc')
  expect(book.remove).type.not.toBeCallableWith('abc')
  expect(deals.service({ storage }).run).type.not.toBeCallableWith('unhold', 1)
  expect(deals.service({ storage }).run).type.not.toBeCallableWith('edit', 1, { name: 'a' })
})

test('an operation with wrong parameters', () => {
  const params = Type.Object({ quantity: Type.Integer(), note: Type.Optional(Type.String()) })
  const stock = defineFamily({
    name: 'stock',
    singular: 'product',
    fields,
    edit: ['title'],
    operations: { retire: { ...retire, params: Type.Object({}), apply: book => book }, take: { ...take, params } }
  })
  const book = stock.service({ storage })
  book.run('take', 1, { quantity: 1 }, { command: 'a' })
  book.run('edit', 1, { title: 'a' })
  book.run('retire', 1)
  book.run('edit', 1)
  // @ts-expect-error 'qty' does not exist in type '{ note?: string; quantity: number; }'
  book.run('take', 1, { qty: 1 })
  const sent = { qty: 1 }
  // @ts-expect-error Property 'quantity' is missing in type '{ qty: number; }'
  book.run('take', 1, sent)
  // @ts-expect-error Type 'string' is not assignable to type 'number'
  book.run('take', 1, { quantity: '1' })
  // @ts-expect-error 'titel' does not exist in type
  book.run('edit', 1, { titel: 'a' })
  // @ts-expect-error '"toke"' is not assignable to parameter of type '"retire" | "take" | "edit"'
  book.run('toke', 1, { quantity: 1 })
  // @ts-expect-error 'string' is not assignable to parameter of type 'number'
  book.run('take', 'a', { quantity: 1 })
  // @ts-expect-error Expected 3-4 arguments, but got 2
  book.run('take', 1)
  // @ts-expect-error 'qty' does not exist in type
  book.runAll([{ operation: 'take', id: 1, params: { qty: 1 } }])
})

describe('conditions name fields', () => {
  const app = Fastify()

  test('of find', () => {
    const book = books.service({ storage })
    book.find([{ field: 'title', op: 'eq', values: ['a'] }, { field: 'createdAt', op: 'gt', value: '2026-01-01' }])
    book.find([{ op: 'any', of: [[{ field: 'title', op: 'has', texts: ['a'] }]] }])
    book.find([{ field: 'title' as string, op: 'eq', values: ['a'] }])
    book.find([] as readonly Condition[])
    // @ts-expect-error Type '"titel"' is not assignable to type
    book.find([{ field: 'titel', op: 'eq', values: ['a'] }])
    // @ts-expect-error Type '"titel"' is not assignable to type
    book.find([{ field: 'title', op: 'eq', values: ['a'] }, { field: 'titel', op: 'eq', values: ['a'] }])
    // @ts-expect-error Type '"titel"' is not assignable to type
    book.find([{ op: 'any', of: [[{ field: 'titel', op: 'has', texts: ['a'] }]] }])
  })

  test('of a grant', () => {
    const authorize = (): Grant => ({ where: [{ field: 'any', op: 'eq', values: ['a'] }] })
    app.register(books, { storage, authorize: () => ({ where: [{ field: 'title', op: 'eq', values: ['a'] }] }) })
    app.register(books, { storage, authorize })
    app.register(books, { storage, authorize: async () => authorize() })
    books.service({ storage, authorize: async () => ({ where: [{ field: 'title', op: 'eq', values: ['a'] }] }) })
    books.service({ storage, authorize })
    app.register(books, { storage, authorize: () => ({ hide: ['title', 'title.part', 'principal'] }) })
    app.register(books, { storage, authorize: () => ({ hide: [] }) })
    books.service({ storage, authorize: async () => ({ principal: 'ann', hide: ['title'] }) })
    // @ts-expect-error The last overload gave the following error.
    app.register(books, { storage, authorize: () => ({ hide: ['titel'] }) })
    // @ts-expect-error Type '"titel"' is not assignable to type
    books.service({ storage, authorize: () => ({ hide: ['titel'] }) })
    // @ts-expect-error The last overload gave the following error.
    app.register(books, { storage, authorize: () => ({ where: [{ field: 'titel', op: 'eq', values: ['a'] }] }) })
    app.register(books, {
      storage,
      // @ts-expect-error The last overload gave the following error.
      authorize: async (request, { action }) => action === 'read'
        ? undefined
        : { principal: request.ip, where: [{ field: 'titel', op: 'eq', values: ['a'] }] }
    })
    // @ts-expect-error Type '"titel"' is not assignable to type
    books.service({ storage, authorize: () => ({ where: [{ field: 'titel', op: 'eq', values: ['a'] }] }) })
  })

  test('of a query, and attributes', () => {
    const names = { name: 'books', singular: 'book', fields }
    defineFamily({ ...names, queries: { 'books-by-title': defineQuery({ field: 'title' }) } })
    // @ts-expect-error Type '"titel"' is not assignable to type
    defineFamily({ ...names, queries: { 'books-by-title': defineQuery({ field: 'titel' }) } })
    // @ts-expect-error Type '"titel"' is not assignable to type
    defineFamily({ ...names, queries: { 'books-by-title': { field: 'titel' } } })
    // @ts-expect-error Type '"titel"' is not assignable to type
    books.extend({ queries: { 'books-by-title': defineQuery({ field: 'titel' }) } })
    const read = () => ({ operation: 'retire', params: {} })
    defineFamily({ ...names, attributes: { fields: ['title'], read } })
    // @ts-expect-error Type '"titel"' is not assignable to type
    defineFamily({ ...names, attributes: { fields: ['titel'], read } })
  })
})

describe('extend keeps the types', () => {
  test('where it adds no fields', () => {
    const ours = deals.extend({ order: ['-createdAt'] })
    const book = ours.service({ storage })
    expect<Awaited<ReturnType<typeof book.get>>['price']>().type.toBe<number>()
    expect(book.create).type.toBeCallableWith({ name: 'a', price: 1 })
    expect(book.create).type.not.toBeCallableWith({ name: 'a' })
    expect(book.run).type.toBeCallableWith('hold', 'a', { reason: 'b' })
    const other = deals.extend({ title: 'name', list: ['name'], indexes: ['price'], unique: [['name']] })
    expect(other.service({ storage }).create).type.not.toBeCallableWith({ name: 'a' })
    // @ts-expect-error Type '"-creatdAt"' is not assignable to type
    deals.extend({ order: ['-creatdAt'] })
  })
})

test('families can be registered one after another', () => {
  const app = Fastify()
  const options = { storage, version: 'v1' }
  for (const family of [customers, deals]) app.register(family, options)
  for (const family of [customers, deals, books]) {
    app.register(family, { ...options, onCommitted: ({ after }) => { console.log(after?.id) } })
  }
  // @ts-expect-error The last overload gave the following error.
  for (const family of [customers, deals]) app.register(family, { ...options, pagesize: 5 })
})
