import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import t from 'tap'
import { makeExample } from '../../lib/core/values/example.js'

const ajv = new Ajv({ strict: false, validateFormats: false })

t.test('an example is valid', async t => {
  const schemas: TSchema[] = [
    Type.Boolean(),
    Type.Integer(),
    Type.Integer({ minimum: -5 }),
    Type.Integer({ minimum: 7, multipleOf: 5 }),
    Type.Integer({ maximum: -3 }),
    Type.Integer({ exclusiveMinimum: 10 }),
    Type.Number({ exclusiveMinimum: 0, multipleOf: 0.25 }),
    Type.Number({ minimum: 0, exclusiveMaximum: 2 }),
    Type.String(),
    Type.String({ minLength: 20 }),
    Type.String({ maxLength: 3, description: 'A word' }),
    Type.String({ pattern: '^a+$', examples: ['aa'] }),
    Type.String({ pattern: '^a+$', default: 'a' }),
    Type.Union([Type.Null(), Type.Integer()]),
    Type.Unsafe({ type: ['null', 'string'] }),
    Type.Unsafe({ enum: ['a', 'b'] }),
    Type.Literal('a'),
    Type.Array(Type.Integer()),
    Type.Object({ a: Type.Integer(), b: Type.Object({ c: Type.Literal('c') }), d: Type.Optional(Type.String()) })
  ]
  for (const schema of schemas) {
    const example = makeExample(schema)
    t.not(example, undefined, JSON.stringify(schema))
    t.ok(ajv.validate(schema, example), `${JSON.stringify(schema)}: ${JSON.stringify(example)}`)
  }
})

t.test('where none is known, there is none', async t => {
  const pattern = Type.String({ pattern: '^a+$' })
  const schemas = [
    pattern,
    Type.String({ format: 'color' }),
    Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 }),
    Type.Array(pattern),
    Type.Object({ a: pattern }),
    Type.Null(),
    {}
  ]
  for (const schema of schemas) t.equal(makeExample(schema), undefined, JSON.stringify(schema))
  t.strictSame(makeExample(Type.Object({ a: Type.Optional(pattern) })), {})
})

t.test('what is given is taken', async t => {
  t.equal(makeExample(Type.String({ description: 'Why it is held' })), 'Why it is held')
  t.equal(makeExample(Type.Integer({ examples: [3], default: 4 })), 3)
  t.strictSame(makeExample(Type.Object({ a: Type.Optional(Type.Integer({ examples: [3] })) })), { a: 3 })
})

t.test('an item of nested lists is made once', async t => {
  let made = 0
  let schema: TSchema = { ...Type.Integer(), get examples () { return [++made] } }
  for (let depth = 0; depth < 5; depth++) schema = Type.Unsafe({ type: 'array', items: schema })
  t.strictSame(makeExample(schema), [[[[[1]]]]])
  t.equal(made, 1)
})
