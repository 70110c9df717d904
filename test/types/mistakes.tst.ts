import Fastify from 'fastify'
import type { Condition, Grant } from 'fastify-dealbook'
import { customers, deals, defineFamily, defineOperation, defineQuery, memoryStorage, Type } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const storage = memoryStorage()
const retire = { name: 'retire', verb: 'retire', participle: 'retired', noun: 'retirements', action: 'RetireBook' }
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
