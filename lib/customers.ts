import { Type } from '@sinclair/typebox'
import { tagByRevision } from './core/family/fields.js'
import { defineFamily, defineQuery } from './families.js'

/**
 * The customers: read as pages, with filters.
 *
 * @example
 * app.register(customers, { storage, prefix: '/crm' })   // GET /crm/customers?min-age=30
 */
export const customers = defineFamily({
  name: 'customers',
  singular: 'customer',
  fields: tagByRevision(Type.Object({
    id: Type.Integer({ description: 'The id of the customer', examples: [17] }),
    // A firm has neither.
    age: Type.Optional(Type.Integer({ minimum: 0, description: 'Age in years', examples: [41] })),
    children: Type.Optional(Type.Integer({ minimum: 0, description: 'Number of children', examples: [2] }))
  })),
  title: 'id',
  list: ['id', 'age', 'children'],
  labels: {
    de: { plural: 'Kunden', singular: 'Kunde', fields: { id: 'Nummer', age: 'Alter', children: 'Kinder' } }
  },
  indexes: ['age', 'children'],
  queries: {
    'customers-by-age': defineQuery({ field: 'age' }),
    'customers-by-children': defineQuery({ field: 'children' })
  }
})
