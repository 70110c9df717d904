import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { compileFamily } from '../../lib/core/family/compile.js'
import type { CommandRecord } from '../../lib/core/service/record.js'
import { toShown } from '../../lib/core/service/shown.js'
import { type FamilyDefinition, Type } from '../../lib/index.js'

function compile (schema: TSchema) {
  return compileFamily({
    name: 'boxes',
    singular: 'box',
    fields: Type.Object({ id: Type.Integer(), field: Type.Optional(Type.Object({ value: schema })) }),
    operations: {
      note: {
        name: 'note',
        verb: 'note',
        participle: 'noted',
        noun: 'notes',
        action: 'NoteBox',
        params: Type.Object({ value: schema }),
        apply: (box: object) => box
      }
    }
  } as unknown as FamilyDefinition)
}

const A = Type.Object({ a: Type.Integer() })
const B = Type.Object({ b: Type.Integer() })
const object = { type: 'object' }
const Tree = Type.Recursive(This => Type.Object({ a: Type.Integer(), next: Type.Optional(This) }), { $id: 'Tree' })

t.test('of what is nested, a version shows what its schemas have', t => {
  type Row = readonly [what: string, schema: TSchema, value: unknown, kept?: unknown]
  const rows: readonly Row[] = [
    ['nothing', Type.Union([A, Type.Null()]), null],
    ['a text', Type.String(), 'x'],
    ['an object', A, { a: 1 }],
    ['an object with more', A, { a: 1, b: 1 }, { a: 1 }],
    ['a list', Type.Array(A), [{ a: 1 }, { a: 2 }]],
    ['a list with more', Type.Array(A), [{ a: 1, b: 1 }, { a: 2 }], [{ a: 1 }, { a: 2 }]],
    ['a list in a list', Type.Array(Type.Array(A)), [[{ a: 1, b: 1 }]], [[{ a: 1 }]]],
    ['one of several lists', Type.Union([Type.Array(A), Type.String()]), [{ a: 1, b: 1 }], [{ a: 1 }]],
    ['a tuple', Type.Tuple([A, B]), [{ a: 1, c: 1 }, { b: 1 }], [{ a: 1 }, { b: 1 }]],
    ['a tree', Tree, { a: 1, next: { a: 2, next: { a: 3 } } }],
    ['a tree with more', Tree, { a: 1, next: { a: 2, b: 1 } }, { a: 1, next: { a: 2 } }],
    ['one of several', Type.Union([A, B]), { a: 1, b: 1, c: 1 }, { a: 1, b: 1 }],
    ['both', Type.Intersect([A, B]), { a: 1, b: 1, c: 1 }, { a: 1, b: 1 }],
    ['exactly one', Type.Unsafe({ oneOf: [A, B] }), { a: 1, b: 1, c: 1 }, { a: 1, b: 1 }],
    ['a text or an object', Type.Union([Type.String(), A]), { a: 1, b: 1 }, { a: 1 }],
    ['anything', Type.Any(), { x: 1 }],
    ['anything, or an object', Type.Union([Type.Any(), A]), { a: 1, x: 1 }],
    ['a list of anything', Type.Array(Type.Any()), [{ x: 1 }, 1]],
    ['any list', Type.Unsafe({ type: 'array' }), [{ x: 1 }]],
    ['any object', Type.Unsafe(object), { x: 1 }],
    ['any object, as it says', Type.Unsafe({ ...object, additionalProperties: true }), { x: 1 }],
    ['an object, or more', Type.Unsafe({ ...A, additionalProperties: true }), { a: 1, x: 1 }],
    ['an object, no more', Type.Unsafe({ ...A, additionalProperties: false }), { a: 1, x: 1 }, { a: 1 }],
    ['an object of others', Type.Unsafe({ ...object, additionalProperties: A }), { x: { a: 1, b: 1 } },
      { x: { a: 1 } }],
    ['by patterns', Type.Record(Type.String({ pattern: '^x' }), A), { x1: { a: 1, b: 1 }, y: { a: 1 } },
      { x1: { a: 1 } }]
  ]
  const base = { id: 'c-1', family: 'boxes', target: '1', action: 'NoteBox', outcome: 'done' }
  for (const [what, schema, value, kept = value] of rows) {
    const boxes = compile(schema)
    const make = (value: unknown) => ({ params: { value }, changes: { field: { from: { value } } } })
    const record = { ...base, ...make(value) } as unknown as CommandRecord
    const shown = toShown(boxes, record, boxes)
    t.strictSame({ ...shown }, { ...base, ...make(kept) }, what)
    t.equal(shown === record, kept === value, `${what}: as it is`)
  }
  t.end()
})

t.test('a refusal of an operation without parameters may name what the version has', t => {
  const boxes = compile(A)
  const problem = { code: 'wrong-state', detail: 'x', members: {}, errors: [{ pointer: '/a~1b', detail: 'x' }] }
  const record = { id: 'c-1', family: 'boxes', target: '1', action: 'DeleteBox', problem } as unknown as CommandRecord
  t.match(toShown(boxes, record, boxes), { problem: { errors: undefined } })
  t.end()
})
