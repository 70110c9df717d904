import { Type } from '@sinclair/typebox'
import type { FamilyOptions, ItemOf, Problem, ProblemCode, Representation } from 'fastify-dealbook'
import { customers, defineFamily, loadItems, memoryStorage } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

describe('what a host declares', () => {
  test('an item has the fields of its family and what the service adds', () => {
    type Customer = ItemOf<typeof customers.definition.fields.properties>
    expect<Customer>().type.toBeAssignableTo<{ id: number, age: number, children: number }>()
    expect<Customer>().type.toBeAssignableTo<{ revision: number, updatedAt: string }>()
    expect<Customer>().type.not.toHaveProperty('name')
  })

  test('a definition needs its names and fields', () => {
    const fields = Type.Object({ id: Type.Integer() })
    expect(defineFamily).type.not.toBeCallableWith({ name: 'books', fields })
    expect(defineFamily).type.toBeCallableWith({ name: 'books', singular: 'book', fields })
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
