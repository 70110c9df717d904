import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FamilyOptions, ItemOf, Problem, ProblemCode, Representation, Static } from 'fastify-dealbook'
import dealbook, {
  customers, dealbook as named, decimal, defineFamily, memoryStorage, Type as OurType
} from 'fastify-dealbook'
import { loadItems } from 'fastify-dealbook/tools'
import { describe, expect, test } from 'tstyche'

describe('what a host declares', () => {
  test('an item has the fields of its family and what the service adds', () => {
    type Customer = ItemOf<typeof customers.definition.fields.properties>
    expect<Customer>().type.toBeAssignableTo<{ id: number, age?: number, children?: number }>()
    expect<Customer>().type.toBeAssignableTo<{ revision: number, updatedAt: string }>()
    expect<Customer>().type.not.toHaveProperty('name')
  })

  test('a decimal is a text', () => {
    const fields = Type.Object({ id: Type.Integer(), total: decimal({ scale: 2, minimum: 0 }) })
    expect<Static<typeof fields>>().type.toBe<{ id: number, total: string }>()
    expect(defineFamily).type.toBeCallableWith({ name: 'bills', singular: 'bill', fields, order: ['-total'] as const })
    expect<Static<ReturnType<typeof decimal>>>().type.toBe<string>()
    expect(decimal).type.toBeCallableWith({ scale: 0, maximum: '9.50', default: 1, title: 'Price' })
    expect(decimal).type.not.toBeCallableWith({})
    expect(decimal).type.not.toBeCallableWith({ scale: '2' })
    expect(decimal).type.not.toBeCallableWith({ scale: 2, max: 1 })
  })

  test('a definition needs its names and fields', () => {
    const fields = Type.Object({ id: Type.Integer() })
    expect(defineFamily).type.not.toBeCallableWith({ name: 'books', fields })
    expect(defineFamily).type.toBeCallableWith({ name: 'books', singular: 'book', fields })
  })

  test('an order names fields of the family, or of the service', () => {
    const fields = Type.Object({ id: Type.Integer(), title: Type.String() })
    const book = { name: 'books', singular: 'book', fields } as const
    expect(defineFamily).type.toBeCallableWith({ ...book, order: ['-createdAt', 'title', '-id'] as const })
    expect(defineFamily<typeof fields.properties>).type.not.toBeCallableWith({ ...book, order: ['titel'] as const })
  })

  test('what is unique, and what refers to others, are fields of the family', () => {
    const fields = Type.Object({ id: Type.Integer(), title: Type.String(), owner: Type.Integer() })
    const book = { name: 'books', singular: 'book', fields } as const
    const define = defineFamily<typeof fields.properties>
    expect(define).type.toBeCallableWith({ ...book, unique: [['title', 'owner']] as const })
    expect(define).type.not.toBeCallableWith({ ...book, unique: [['titel']] as const })
    expect(define).type.toBeCallableWith({ ...book, references: { owner: customers } })
    expect(define).type.toBeCallableWith({ ...book, references: { owner: 'books' } })
    expect(define).type.not.toBeCallableWith({ ...book, references: { owner: 1 } })
  })

  test('a mount needs a storage, and its options are known', () => {
    expect<FamilyOptions>().type.toBeAssignableFrom({ storage: memoryStorage() })
    expect<FamilyOptions>().type.not.toBeAssignableFrom({})
    expect<FamilyOptions>().type.not.toBeAssignableFrom({ storage: memoryStorage(), emptyList: 'nothing' })
  })

  test('items are loaded into a family of a storage', () => {
    expect(loadItems).type.toBeCallableWith(memoryStorage(), customers, [{ id: 1 }])
    expect(loadItems).type.not.toBeCallableWith(memoryStorage(), 'customers', [])
  })

  test('a representation shows what it has functions for', () => {
    const mediaTypes: [string] = ['text/plain']
    expect<Representation>().type.toBeAssignableFrom({ name: 'text', extension: 'txt', mediaTypes })
    expect<Representation>().type.not.toBeAssignableFrom({ name: 'text', extension: 'txt', mediaTypes: [] })
  })

  test('problems have one of the known codes', () => {
    expect<Problem['code']>().type.toBe<ProblemCode>()
    expect<ProblemCode>().type.not.toBeAssignableFrom('no-such-code')
  })
})

describe('the package as it is imported', () => {
  test('the default export is both families, also as a promise', () => {
    const options = { storage: memoryStorage(), version: 'v1' }
    expect(dealbook).type.toBe(named)
    const { register } = Fastify()
    expect(register).type.toBeCallableWith(import('fastify-dealbook'), options)
    expect(register).type.not.toBeCallableWith(import('fastify-dealbook'), { storage: memoryStorage() })
  })

  test('Type and Static are those that a definition takes', () => {
    const fields = OurType.Object({ id: OurType.Integer(), text: OurType.Optional(OurType.String()) })
    expect<Static<typeof fields>>().type.toBe<{ id: number, text?: string }>()
    expect(defineFamily).type.toBeCallableWith({ name: 'books', singular: 'book', fields })
  })
})
