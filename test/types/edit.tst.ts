import { Type } from '@sinclair/typebox'
import { customers, deals, defineFamily, memoryStorage } from 'fastify-dealbook'
import { describe, expect, test } from 'tstyche'

const storage = memoryStorage()
const names = { name: 'invoices', singular: 'invoice' }
const fields = Type.Object({
  id: Type.Integer(),
  number: Type.String(),
  note: Type.Optional(Type.String()),
  room: Type.Union([Type.Integer(), Type.Null()]),
  paid: Type.Boolean({ default: false })
})

describe('edit', () => {
  test('is an operation of the service, whose parameters are the fields', () => {
    const { run } = defineFamily({ ...names, fields, edit: ['number', 'note', 'room'] }).service({ storage })
    expect(run).type.toBeCallableWith('edit', 1)
    expect(run).type.toBeCallableWith('edit', 1, { number: 'a' }, { principal: 'ann' })
    expect(run).type.toBeCallableWith('edit', 1, { note: null, room: null })
    expect(run).type.not.toBeCallableWith('edit', 1, { number: null })
    expect(run).type.not.toBeCallableWith('edit', 1, { note: 7 })
    expect(run).type.not.toBeCallableWith('edit', 1, { paid: true })
    expect(run).type.not.toBeCallableWith('amend', 1)
  })

  test('stands beside the others', () => {
    const book = deals.service({ storage })
    expect(book.run).type.toBeCallableWith('edit', 'a', { name: 'b' })
    expect(book.run).type.not.toBeCallableWith('edit', 'a', { price: 5 })
    expect(book.run).type.toBeCallableWith('hold', 'a', { reason: 'b' })
    expect(customers.service({ storage }).run).type.not.toBeCallableWith('edit', 1)
  })

  test('names fields of the family', () => {
    // @ts-expect-error Type '"numbre"' is not assignable to type
    defineFamily({ ...names, fields, edit: ['numbre'] })
    // @ts-expect-error Type '"id"' is not assignable to type
    defineFamily({ ...names, fields, edit: ['id', 'number'] })
    // @ts-expect-error Type '"numbre"' is not assignable to type
    defineFamily({ ...names, fields, edit: { fields: ['numbre'] } })
    // @ts-expect-error 'name' does not exist in type
    defineFamily({ ...names, fields, edit: { fields: ['number'], name: 'amend' } })
  })

  test('has a rule that knows them', () => {
    const { run } = defineFamily({
      ...names,
      fields,
      edit: {
        fields: ['number'],
        noun: 'corrections',
        allowed (invoice) {
          expect(invoice.paid).type.toBe<boolean>()
          expect(invoice).type.not.toHaveProperty('colour')
          return !invoice.paid
        }
      }
    }).service({ storage })
    expect(run).type.toBeCallableWith('edit', 1, { number: 'a' })
    expect(run).type.not.toBeCallableWith('edit', 1, { note: 'a' })
  })

  test('is extended', () => {
    const region = Type.Object({ region: Type.Optional(Type.String()) })
    const ours = deals.extend({ fields: region, edit: ['region'] })
    const { run } = ours.service({ storage })
    expect(run).type.toBeCallableWith('edit', 'a', { name: 'b', region: null })
    expect(run).type.not.toBeCallableWith('edit', 'a', { name: null })
    const strict = ours.extend({ edit: { fields: [], allowed: deal => deal.region === 'north' } }).service({ storage })
    expect(strict.run).type.toBeCallableWith('edit', 'a', { name: 'b', region: 'c' })
    expect(deals.extend({ fields: region }).service({ storage }).run).type.toBeCallableWith('edit', 'a', { name: 'b' })
    expect(customers.extend({ edit: ['age'] }).service({ storage }).run).type.toBeCallableWith('edit', 1, { age: 5 })
    // @ts-expect-error Type '"regoin"' is not assignable to type
    deals.extend({ fields: region, edit: ['regoin'] })
  })
})
