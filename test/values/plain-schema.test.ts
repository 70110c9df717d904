import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import t from 'tap'
import type { FamilyDefinition } from '../../lib/core/family/definition.js'
import { isPlainSchema, isPlainValue } from '../../lib/core/values/plain-schema.js'
import { findFlawInSchema } from '../../lib/core/values/validate.js'
import { customers, deals, webhooks } from '../../lib/index.js'
import { deliveries } from '../../lib/webhooks/deliveries.js'

const ajv = new Ajv({ strict: false, validateFormats: false })

function isUsable (schema: object): boolean {
  try {
    return ajv.compile({ ...schema }) !== undefined
  } catch {
    return false
  }
}

t.test('common schemas are plain, and Ajv can use them', async t => {
  for (const schema of [
    // These are checked whenever the package is loaded.
    ...[customers, deals, webhooks, deliveries].flatMap(({ definition }) => {
      const { fields, operations = {} } = definition as unknown as FamilyDefinition
      return [fields, ...Object.values(operations).map(({ params }) => params)]
    }),
    Type.Object({}),
    Type.Object({ list: Type.Array(Type.String({ pattern: '^a+$' }), { minItems: 1 }), any: Type.Unknown() }),
    Type.Object({ one: Type.Union([Type.Literal('a'), Type.Null()], { default: 'a', description: 'One' }) })
  ]) {
    t.ok(isPlainSchema(schema), JSON.stringify(schema))
    t.ok(isUsable(schema))
  }
})

t.test('a flaw is found wherever it is', async t => {
  for (const member of [
    { type: 'text' },
    { type: 'string', pattern: '(' },
    { type: 'string', minLength: -1 },
    { type: 'string', maxLength: '3' },
    { type: 'string', description: 1 },
    { type: 'integer', minimum: '1' },
    { type: 'number', minimum: Infinity },
    { enum: [] },
    { anyOf: [] },
    { anyOf: [{ type: 'text' }] },
    { type: 'array', items: { pattern: '[' } },
    { type: 'object', properties: { a: { minLength: 0.5 } } },
    { type: 'object', required: ['a', 'a'] },
    { type: 'object', required: [1] },
    { $ref: '#/nowhere' },
    { not: { type: 'text' } }
  ]) {
    const schema = { type: 'object', properties: { member } } as unknown as TSchema
    t.notOk(isPlainSchema(schema), JSON.stringify(member))
    const isFine = 'minimum' in member && member.minimum === Infinity
    if (!isFine) t.type(findFlawInSchema(schema), 'string', JSON.stringify(member))
  }
  t.equal(findFlawInSchema(Type.Object({ a: Type.Not(Type.String()) })), undefined, 'what is rare is left to Ajv')
})

t.test('flags and words need no validator', async t => {
  const words = Type.Union([Type.Literal('a'), Type.Literal('b')], { description: 'Words' })
  for (const [schema, value, expected] of [
    [Type.Boolean(), true, true],
    [Type.Boolean(), 'true', false],
    [words, 'b', true],
    [words, 'c', false],
    [Type.String(), 'a', false],
    [Type.Boolean({ const: false }), true, false],
    [Type.Union([Type.Literal(1)]), 1, false]
  ] as const) t.equal(isPlainValue(schema, value), expected, `${JSON.stringify(schema)} ${JSON.stringify(value)}`)
})
