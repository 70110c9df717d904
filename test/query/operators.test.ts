import { readFileSync } from 'node:fs'
import t from 'tap'
import { findFlawInConditions, listFilters, reservedNames } from '../../lib/core/query/filters.js'
import { operatorNames, operators, primitiveNames } from '../../lib/core/query/operators.js'
import type { Field } from '../../lib/core/storage/storage.js'
import { english } from '../../lib/html/texts.js'
import { de } from '../../lib/locales/de.js'

const kinds = ['integer', 'number', 'decimal', 'string', 'boolean', 'date', 'date-time', 'json'] as const
const fields = kinds.flatMap((kind): Field[] => [false, true].map(optional =>
  ({ name: `${kind}${optional ? '?' : ''}`, kind, optional, ...kind === 'decimal' && { scale: 2 } })))

// A value of each kind, a range, a truth.
const samples = ['7', '2.5', 'tea', 'true', '2026-03-31', '2026-03-31T12:00:00Z', '1,5', '2026-01-01,2026-02-01']
const limits = { maxPatternLength: 100, maxPatternSize: 100 }

for (const name of operatorNames) {
  t.test(`the operator ${name}`, async t => {
    const { suits, operand, lower, phrase, ofId } = operators[name]
    const suited = fields.filter(suits)
    t.not(suited.length, 0, 'a field that it suits')
    for (const field of suited) {
      const read = samples.flatMap(text => {
        const result = operand.read(field, text, { limits })
        return 'value' in result ? [result.value] : []
      })
      t.not(read.length, 0, `${field.kind}: an operand`)
      for (const operands of [...read.map(value => [value]), read]) {
        const alternatives = lower(field, operands)
        t.ok(alternatives.length > 0 && alternatives.every(all => all.length > 0), 'conditions')
        t.equal(findFlawInConditions([field], [{ op: 'any', of: alternatives }]), undefined, 'that storages know')
      }
    }
    t.match(phrase('Price', '5'), /^Price\b/)
    const isTranslated = de.condition('Price', name, '5') !== english.condition('Price', name, '5')
    t.ok(isTranslated || name === 'eq', 'words in German')
    t.equal(operatorNames.filter(other => operators[other].phrase('Price', '5') === phrase('Price', '5')).length, 1)
    t.ok(ofId === undefined || (reservedNames as readonly string[]).includes(ofId), 'a name that no field has')
    t.ok(readFileSync('docs/query.md', 'utf8').includes(`.${name}=`), 'docs/query.md has it')
  })
}

t.test('primitives are those of conditions in code', async t => {
  const [field = fields[0] as Field] = fields.filter(({ optional }) => optional)
  const flaw = findFlawInConditions([field], [{ field: field.name, op: 'like' as 'eq', values: [] }])
  t.equal(flaw, `the operator "like" on "${field.name}"; there are ${primitiveNames.join(', ')}`)
  for (const op of ['constructor', 'toString', '__proto__']) {
    t.match(findFlawInConditions([field], [{ field: field.name, op: op as 'eq', values: [] }]), /^the operator/, op)
  }
})

t.test('every filter of a field has a name of its own', async t => {
  const count = fields.flatMap(field => operatorNames.filter(op => operators[op].suits(field))).length
  const dotted = [...listFilters(fields).keys()].filter(name => name.includes('.'))
  t.equal(dotted.length, count)
})

t.test('what pages say of a value that is missing, or not', async t => {
  const { phrase } = operators.null
  t.strictSame([phrase('Price', 'true'), phrase('Price', 'false')], ['Price is not set', 'Price is set'])
})

t.test('what documents show of the operand', t => {
  interface Shown {
    readonly type?: string
    readonly format?: string
    readonly enum?: readonly string[]
    readonly items?: Shown
    readonly anyOf?: readonly Shown[]
  }
  const show = ({ type, format, enum: values = [], items, anyOf = [] }: Shown): string => {
    const each = anyOf.map(show).join(' or ')
    if (items !== undefined) return `list of ${show(items)}`
    return [type, format, ...values, each].filter(text => text !== undefined && text !== '').join(' ')
  }
  const bounds = (shown: string) => ({ gte: shown, lte: shown })
  const words = { eq: 'string or list of string', has: 'string or list of string' }
  const integers = { eq: 'integer or list of integer', ...bounds('integer') }
  const isNull = { null: 'boolean' }
  const rows: readonly (readonly [Omit<Field, 'name' | 'optional'> & Partial<Field>, object])[] = [
    [{ name: 'id', kind: 'string' }, words],
    [{ name: 'id', kind: 'integer' }, { ...integers, gt: 'integer', lt: 'integer' }],
    [{ kind: 'integer' }, integers],
    [{ kind: 'number', optional: true },
      { eq: 'number or list of number', ...bounds('number'), ...isNull }],
    [{ kind: 'decimal', scale: 2 },
      { eq: 'string decimal or list of string decimal', ...bounds('string decimal') }],
    [{ kind: 'string' }, words],
    [{ kind: 'string', values: ['open', 'held'] }, { eq: 'string open held or list of string open held' }],
    [{ kind: 'boolean' }, { eq: 'boolean' }],
    [{ kind: 'date', nullable: true },
      { eq: 'string date or list of string date', ...bounds('string date'), ...isNull }],
    [{ kind: 'date-time' }, bounds('string date-time or date')],
    [{ kind: 'json' }, {}],
    [{ kind: 'json', optional: true }, isNull]
  ]
  for (const [given, expected] of rows) {
    const field: Field = { name: 'price', optional: false, ...given }
    const shown = operatorNames.filter(op => operators[op].suits(field)).flatMap(op => {
      const schema = operators[op].document?.(field)
      return schema === undefined ? [] : [[op, show(schema as Shown)]]
    })
    t.strictSame(Object.fromEntries(shown), expected, JSON.stringify(given))
  }
  t.end()
})
