import t from 'tap'
import type { ParsedQuery } from '../../lib/core/query/grammar.js'
import { compileGrammar, makePageMembers } from '../../lib/core/query/grammar.js'
import { splitQuery } from '../../lib/core/query/query-string.js'
import type { Condition, Field, FieldCondition, Order } from '../../lib/index.js'

const fields: Field[] = [
  { name: 'id', kind: 'integer', optional: false },
  { name: 'age', kind: 'integer', optional: false },
  { name: 'price', kind: 'number', optional: true },
  { name: 'name', kind: 'string', optional: false },
  { name: 'held', kind: 'boolean', optional: false },
  { name: 'born', kind: 'date', optional: true },
  { name: 'seen', kind: 'date-time', optional: true },
  { name: 'status', kind: 'string', optional: false, values: ['open', 'completed'] },
  { name: 'tags', kind: 'json', optional: true },
  { name: 'made', kind: 'date-time', optional: false },
  { name: 'until', kind: 'date-time', optional: false, nullable: true },
  { name: 'code', kind: 'string', optional: false, transform: ['trim', 'toUpperCase'] }
]
const limits = {
  pageSize: 50,
  maxPageSize: 1000,
  maxSkipped: 50_000,
  maxValues: 3,
  maxPatterns: 4,
  maxPatternLength: 20,
  maxPatternSize: 100
}
const grammar = compileGrammar({ name: 'people', fields }, limits)
const largest = String(Number.MAX_SAFE_INTEGER)

function read (search: string): ParsedQuery {
  const parsed = grammar.parse(search)
  if ('flaws' in parsed) throw new Error(`${search}: ${JSON.stringify(parsed.flaws)}`)
  return parsed
}

function flaws (search: string): readonly { parameter: string, detail: string }[] {
  const parsed = grammar.parse(search)
  return 'flaws' in parsed ? parsed.flaws : []
}

const eq = (field: string, ...values: (string | number | boolean)[]): FieldCondition => ({ field, op: 'eq', values })
const ne = (field: string, ...values: (string | number | boolean)[]): FieldCondition => ({ field, op: 'ne', values })
const bound = (field: string, op: 'gt' | 'gte' | 'lt' | 'lte', value: string | number): FieldCondition =>
  ({ field, op, value })
const regex = (field: string, ...patterns: string[]): FieldCondition => ({ field, op: 'regex', patterns })
const has = (field: string, ...texts: string[]): FieldCondition => ({ field, op: 'has', texts })
const isNull = (field: string, is: boolean): FieldCondition => ({ field, op: 'null', is })
const any = (...of: FieldCondition[][]): Condition => ({ op: 'any', of })
const midnight = (day: string): string => `${day}T00:00:00.000Z`
const within = (field: string, day: string, next: string): [FieldCondition, FieldCondition] =>
  [bound(field, 'gte', midnight(day)), bound(field, 'lt', midnight(next))]

t.test('what filters', async t => {
  const table: [string, ...Condition[]][] = [
    [''],
    ['&&'],
    // on id
    ['gt=5', bound('id', 'gt', 5)],
    ['lt=5', bound('id', 'lt', 5)],
    ['min=5', bound('id', 'gte', 5)],
    ['max=5', bound('id', 'lte', 5)],
    ['gt=5&lt=9', bound('id', 'gt', 5), bound('id', 'lt', 9)],
    ['gt=0', bound('id', 'gt', 0)],
    ['gt=-0', bound('id', 'gt', 0)],
    ['gt=-7', bound('id', 'gt', -7)],
    // bounds of every ordered kind
    ['min-age=18', bound('age', 'gte', 18)],
    ['max-age=65', bound('age', 'lte', 65)],
    ['min-id=3', bound('id', 'gte', 3)],
    ['min-price=1.5', bound('price', 'gte', 1.5)],
    ['max-price=-2e3', bound('price', 'lte', -2000)],
    ['min-name=B', bound('name', 'gte', 'B')],
    ['max-born=2000-02-29', bound('born', 'lte', '2000-02-29')],
    ['min-seen=2026-03-31T12:00:00Z', bound('seen', 'gte', '2026-03-31T12:00:00.000Z')],
    // equal, in every kind
    ['age=30', eq('age', 30)],
    ['age=007', eq('age', 7)],
    [`age=${largest}`, eq('age', Number.MAX_SAFE_INTEGER)],
    ['price=0.1', eq('price', 0.1)],
    ['price=-0', eq('price', 0)],
    ['name=', eq('name', '')],
    ['name', eq('name', '')],
    ['name=Ann+Lee', eq('name', 'Ann Lee')],
    ['name=Ann%20Lee', eq('name', 'Ann Lee')],
    ['name=a%2Bb', eq('name', 'a+b')],
    ['name=a%26b%3Dc', eq('name', 'a&b=c')],
    ['name=a=b', eq('name', 'a=b')],
    ['name=%C3%BC', eq('name', 'ü')],
    ['name=%F0%9F%98%80', eq('name', '😀')],
    ['name=__proto__', eq('name', '__proto__')],
    ['held=true', eq('held', true)],
    ['held=false', eq('held', false)],
    ['born=2026-03-31', eq('born', '2026-03-31')],
    ['seen=2026-03-31T12:00:00.5%2B02:00', eq('seen', '2026-03-31T10:00:00.500Z')],
    ['status=open', eq('status', 'open')],
    // suffixes
    ['age.eq=30', eq('age', 30)],
    ['age.ne=30', ne('age', 30)],
    ['age.gt=30', bound('age', 'gt', 30)],
    ['age.gte=30', bound('age', 'gte', 30)],
    ['age.lt=30', bound('age', 'lt', 30)],
    ['age.lte=30', bound('age', 'lte', 30)],
    ['age.regex=^3', regex('age', '^3')],
    ['name.regex=^a.*z$', regex('name', '^a.*z$')],
    ['name.regex=a%2Bb', regex('name', 'a+b')],
    ['held.ne=true', ne('held', true)],
    ['held.regex=^t', regex('held', '^t')],
    ['status.ne=open', ne('status', 'open')],
    ['status.regex=^op', regex('status', '^op')],
    ['born.lt=2026-01-01', bound('born', 'lt', '2026-01-01')],
    ['price.ne=1', ne('price', 1)],
    ['until.null=false', isNull('until', false)],
    ['code=+ab+&code.gt=c', eq('code', 'AB'), bound('code', 'gt', 'C')],
    ['age%2Egte=30', bound('age', 'gte', 30)],
    // signs, raw and percent-encoded
    ['age>=18', bound('age', 'gte', 18)],
    ['age<=65', bound('age', 'lte', 65)],
    ['age>18', bound('age', 'gt', 18)],
    ['age<65', bound('age', 'lt', 65)],
    ['age%3E=18', bound('age', 'gte', 18)],
    ['age%3C=65', bound('age', 'lte', 65)],
    ['age%3e%3d18', bound('age', 'gte', 18)],
    ['age%3C%3D65', bound('age', 'lte', 65)],
    ['age%3E18', bound('age', 'gt', 18)],
    ['age%3C65', bound('age', 'lt', 65)],
    ['age>-1', bound('age', 'gt', -1)],
    ['age>=-1', bound('age', 'gte', -1)],
    ['id>5', bound('id', 'gt', 5)],
    ['price<1.5', bound('price', 'lt', 1.5)],
    ['born>=2026-01-01', bound('born', 'gte', '2026-01-01')],
    ['seen<2026-01-01T00:00:00Z', bound('seen', 'lt', '2026-01-01T00:00:00.000Z')],
    ['name>', bound('name', 'gt', '')],
    ['name>M', bound('name', 'gt', 'M')],
    ['name>a=b', bound('name', 'gt', 'a=b')],
    ['name>=a=b', bound('name', 'gte', 'a=b')],
    ['age>18&age<65', bound('age', 'gt', 18), bound('age', 'lt', 65)],
    // repeated: any of the values; of .ne: none of them
    ['age=30&age=40', eq('age', 30, 40)],
    ['age=30&name=a&age=40', eq('age', 30, 40), eq('name', 'a')],
    ['age.ne=30&age.ne=40', ne('age', 30, 40)],
    ['status=open&status=completed', eq('status', 'open', 'completed')],
    ['name.regex=a&name.regex=b', regex('name', 'a', 'b')],
    ['min-age=30&min-age=20', bound('age', 'gte', 20)],
    ['max-age=30&max-age=20', bound('age', 'lte', 30)],
    ['gt=5&gt=3', bound('id', 'gt', 3)],
    ['age>30&age>20', bound('age', 'gt', 20)],
    ['age>30&age%3E20', bound('age', 'gt', 20)],
    ['age>=30&age%3E%3D20', bound('age', 'gte', 20)],
    ['name.lt=b&name.lt=c', bound('name', 'lt', 'c')],
    ['price.null=true&price.null=true', isNull('price', true)],
    ['price.null=true&price.null=false', any([isNull('price', true)], [isNull('price', false)])],
    // contains
    ['name.has=Tea', has('name', 'Tea')],
    ['name.has=a.*&name.has=', has('name', 'a.*', '')],
    ['name.has=(', has('name', '(')],
    ['age.has=3', has('age', '3')],
    ['held.has=TR', has('held', 'TR')],
    // a bare date is the whole day, in every operator
    ['seen=2026-03-31', ...within('seen', '2026-03-31', '2026-04-01')],
    ['seen.eq=2024-02-28', ...within('seen', '2024-02-28', '2024-02-29')],
    ['seen.gt=2026-12-31', bound('seen', 'gte', midnight('2027-01-01'))],
    ['seen>2026-12-31', bound('seen', 'gte', midnight('2027-01-01'))],
    ['seen.gte=2026-03-31', bound('seen', 'gte', midnight('2026-03-31'))],
    ['min-seen=2026-03-31', bound('seen', 'gte', midnight('2026-03-31'))],
    ['seen.lt=2026-03-31', bound('seen', 'lt', midnight('2026-03-31'))],
    ['seen.lte=2026-03-31', bound('seen', 'lt', midnight('2026-04-01'))],
    ['max-seen=2026-03-31', bound('seen', 'lt', midnight('2026-04-01'))],
    ['seen<=9999-12-31', bound('seen', 'lt', '9999-12-31T24:00:00.000Z')],
    ['seen.lte=2026-03-31&seen.lte=2026-04-01T00:00:00Z', bound('seen', 'lte', midnight('2026-04-01'))],
    ['seen.gt=2026-03-31T23:00:00Z&seen.gt=2026-03-31', bound('seen', 'gt', '2026-03-31T23:00:00.000Z')],
    ['seen=2026-03-31&seen=2026-01-01T12:00:00Z', any(
      [eq('seen', '2026-01-01T12:00:00.000Z')], within('seen', '2026-03-31', '2026-04-01')
    )],
    ['seen.ne=2026-03-31', any(
      [isNull('seen', true)],
      [bound('seen', 'lt', midnight('2026-03-31'))],
      [bound('seen', 'gte', midnight('2026-04-01'))]
    )],
    ['seen.ne=2026-03-31&seen.ne=2026-01-01&seen.ne=2026-05-01T00:00:00Z', any(
      [isNull('seen', true)],
      [bound('seen', 'lt', midnight('2026-01-01')), ne('seen', midnight('2026-05-01'))],
      [
        bound('seen', 'gte', midnight('2026-01-02')),
        bound('seen', 'lt', midnight('2026-03-31')),
        ne('seen', midnight('2026-05-01'))
      ],
      [bound('seen', 'gte', midnight('2026-04-01')), ne('seen', midnight('2026-05-01'))]
    )],
    ['seen=2026-03-31&seen=2026-03-31', ...within('seen', '2026-03-31', '2026-04-01')],
    ['seen.gt=2026-03-31&seen.gt=2026-04-01T00:00:00Z', bound('seen', 'gte', midnight('2026-04-01'))],
    ['seen.gt=2026-04-01T00:00:00Z&seen.gt=2026-03-31', bound('seen', 'gte', midnight('2026-04-01'))],
    ['made.ne=2026-03-31', any(
      [bound('made', 'lt', midnight('2026-03-31'))],
      [bound('made', 'gte', midnight('2026-04-01'))]
    )],
    ['until.ne=2026-03-31', any(
      [isNull('until', true)],
      [bound('until', 'lt', midnight('2026-03-31'))],
      [bound('until', 'gte', midnight('2026-04-01'))]
    )],
    ['seen.regex=2026-03-31', regex('seen', '2026-03-31')],
    // groups: one of each must hold
    ['or.age.gte=60&or.price>3', any([bound('age', 'gte', 60)], [bound('price', 'gt', 3)])],
    ['or.age=1&name=a&or.age=2&or.min-price=5', eq('name', 'a'), any([eq('age', 1, 2)], [bound('price', 'gte', 5)])],
    ['or.age=1&or.id=2&or1.held=true&or1.gt=3&or27.name=x', any([eq('age', 1)], [eq('id', 2)]),
      any([eq('held', true)], [bound('id', 'gt', 3)]), eq('name', 'x')],
    ['or.age=1', eq('age', 1)],
    ['or.age%3E%3D1&or.tags.null=true', any([bound('age', 'gte', 1)], [isNull('tags', true)])],
    ['or.seen=2026-03-31&or.age=3', any(within('seen', '2026-03-31', '2026-04-01'), [eq('age', 3)])],
    ['or.seen=2026-03-31', ...within('seen', '2026-03-31', '2026-04-01')],
    ['or.name.has=a&or.name.regex=b', any([has('name', 'a')], [regex('name', 'b')])],
    ['or.age>1&or.id=3&age>2', bound('age', 'gt', 2), any([bound('age', 'gt', 1)], [eq('id', 3)])],
    ['or.age>1&or.id=3&or2.age>2&or2.id=4', any([bound('age', 'gt', 1)], [eq('id', 3)]),
      any([bound('age', 'gt', 2)], [eq('id', 4)])],
    // different names: all of them, also where they say the same
    ['age=30&age.eq=40', eq('age', 30), eq('age', 40)],
    ['age>30&age>=20', bound('age', 'gt', 30), bound('age', 'gte', 20)],
    ['age.gt=30&age>20', bound('age', 'gt', 30), bound('age', 'gt', 20)],
    ['min-age=30&age.gte=20&age>=10', bound('age', 'gte', 30), bound('age', 'gte', 20), bound('age', 'gte', 10)]
  ]
  for (const [search, ...where] of table) t.strictSame(read(search).query.where, where, search || '(nothing)')
  for (const search of ['gt=-0', 'price>-0.0']) {
    const [condition] = read(search).query.where
    t.ok(condition !== undefined && 'value' in condition && Object.is(condition.value, 0), `${search}: not negative`)
  }
})

t.test('pages', async t => {
  const table: [string, { page?: number, offset?: number, limit?: number, count?: boolean, sized?: boolean }][] = [
    ['', { page: 1, offset: 0, limit: 50, count: false, sized: false }],
    ['page=1', { page: 1, offset: 0 }],
    ['page=3', { page: 3, offset: 100, limit: 50 }],
    ['page=1001', { page: 1001, offset: 50_000 }],
    ['page=3&maxpagesize=20', { page: 3, offset: 40, limit: 20, sized: true }],
    ['maxpagesize=20&page=3', { page: 3, offset: 40, limit: 20 }],
    ['maxpagesize=1000', { limit: 1000 }],
    ['maxpagesize=1001', { limit: 1000 }],
    [`maxpagesize=${largest}`, { limit: 1000 }],
    ['count=exact', { count: true }]
  ]
  for (const [search, expected] of table) {
    const { query: { offset, limit, count }, page, maxpagesize } = read(search)
    t.match({ page, offset, limit, count, sized: maxpagesize !== undefined }, expected, search || '(nothing)')
  }
})

t.test('order and members', async t => {
  const up = (field: string): Order => ({ field, descending: false })
  const down = (field: string): Order => ({ field, descending: true })
  const orders: [string, ...Order[]][] = [
    ['', up('id')],
    ['sort=age', up('age'), up('id')],
    ['sort=-age', down('age'), up('id')],
    ['sort=-age,name', down('age'), up('name'), up('id')],
    ['sort=-age%2Cid', down('age'), up('id')],
    ['sort=-id', down('id')],
    ['sort=id,age', up('id')],
    ['sort=age,-id,name', up('age'), down('id')],
    ['sort=status,held,born', up('status'), up('held'), up('born'), up('id')]
  ]
  for (const [search, ...order] of orders) t.strictSame(read(search).query.order, order, search || '(nothing)')

  const own = compileGrammar({ name: 'people', fields, order: [down('seen')] }, limits).parse('') as ParsedQuery
  t.strictSame(own.query.order, [down('seen'), up('id')], 'a family may have an order of its own')
  const priced = [...fields, { name: 'cost', kind: 'decimal', optional: false, scale: 2 } as const]
  const byCost = compileGrammar({ name: 'people', fields: priced }, limits).parse('sort=age,-cost') as ParsedQuery
  t.strictSame(byCost.query.order, [up('age'), { ...down('cost'), numeric: true }, up('id')], 'decimals by their value')

  t.equal(read('').fields, undefined)
  t.strictSame(read('fields=id,age').fields, ['id', 'age'])
  t.strictSame(read('fields=tags').fields, ['tags'], 'what cannot be filtered can still be shown')
  t.strictSame(read('format=xml').query, read('').query, 'the format is no matter of the query')
})

t.test('what is refused, with the parameter and what is allowed', async t => {
  const table: [search: string, parameter: string, ...says: (string | RegExp)[]][] = [
    // pages
    ['page=0', 'page', 'must be a positive integer'],
    ['page=-1', 'page', 'must be a positive integer'],
    ['page=1.5', 'page', 'must be a positive integer'],
    ['page=', 'page', 'must be a positive integer'],
    ['page', 'page', 'must be a positive integer'],
    ['page=one', 'page', 'must be a positive integer'],
    ['page=%201', 'page', 'must be a positive integer'],
    ['page=1e3', 'page', 'must be a positive integer'],
    ['page=0x10', 'page', 'must be a positive integer'],
    ['page=١', 'page', 'must be a positive integer'],
    [`page=${largest}`, 'page', 'page may skip at most 50000 items'],
    ['page=1002', 'page', 'follow links.next'],
    ['page=99999999999999999999', 'page', 'must be a positive integer'],
    ['page=1&page=2', 'page', 'only once'],
    ['maxpagesize=0', 'maxpagesize', 'must be a positive integer'],
    ['maxpagesize=-5', 'maxpagesize', 'must be a positive integer'],
    ['count=yes', 'count', '"exact"'],
    ['count=', 'count', '"exact"'],
    ['format=json&format=xml', 'format', 'only once'],
    // values of the wrong kind
    ['age=old', 'age', 'must be an integer'],
    ['age=1.0', 'age', 'must be an integer'],
    ['age=+1', 'age', 'must be an integer'],
    ['age=', 'age', 'must be an integer'],
    ['age=9007199254740992', 'age', largest],
    ['gt=x', 'gt', 'must be an integer'],
    ['min-age=x', 'min-age', 'must be an integer'],
    ['age.gte=x', 'age.gte', 'must be an integer'],
    ['age>=x', 'age>', 'must be an integer'],
    ['age>x', 'age>x', 'must be an integer'],
    ['age>', 'age>', 'must be an integer'],
    ['age>>5', 'age>>5', 'must be an integer'],
    ['age>5=6', 'age>5', 'must be an integer'],
    ['age%3E%3D=5', 'age>=', 'must be an integer'],
    ['price=1,5', 'price', 'must be a number'],
    ['price=.5', 'price', 'must be a number'],
    ['price=Infinity', 'price', 'must be a number'],
    ['price=1e400', 'price', 'must be a number'],
    ['price=NaN', 'price', 'must be a number'],
    ['held=yes', 'held', 'true or false'],
    ['held=1', 'held', 'true or false'],
    ['born=2026-02-30', 'born', 'an existing date'],
    ['born=2026-2-3', 'born', 'an existing date'],
    ['born=0000-01-01', 'born', 'an existing date'],
    ['seen=2026-03-31T25:00:00Z', 'seen', 'a date and time'],
    ['seen=2026-03-31T12:00:00', 'seen', 'a date and time'],
    ['status=closed', 'status', 'one of open, completed'],
    ['status=Open', 'status', 'one of open, completed'],
    ['name=%00', 'name', 'U+0000'],
    // patterns
    ['name.regex=(', 'name.regex', 'RE2'],
    ['name.regex=(?=a)', 'name.regex', 'RE2'],
    ['name.regex=(a)%5C1', 'name.regex', 'RE2'],
    ['name.regex=%00', 'name.regex', 'U+0000'],
    [`name.regex=${'a'.repeat(21)}`, 'name.regex', 'at most 20 characters'],
    [`name.has=${'a'.repeat(21)}`, 'name.has', 'at most 20 characters'],
    ['name.has=%00', 'name.has', 'U+0000'],
    ['tags.has=a', 'tags.has', 'Unknown'],
    ['name.regex=a&name.has=b&age.has=c&or.name.has=d&or1.age.regex=1', 'or1.age.regex', 'one pattern too many'],
    // groups
    ['or.page=2', 'or.page', 'Unknown'],
    ['or.agee=2&or.id=1', 'or.agee', 'Did you mean "or.age"?'],
    ['or2.age=x', 'or2.age', 'must be an integer'],
    ['or.=1', 'or.', 'Unknown'],
    ['or0.age=1', 'or0.age', 'Unknown'],
    ['or01.age=1', 'or01.age', 'Unknown'],
    ['or.or.age=1', 'or.or.age', 'Unknown'],
    ['OR.age=1', 'OR.age', 'Unknown'],
    ['or.age=1&or.age=2&or.age=3&or.age=4', 'or.age', 'at most 3 times'],
    // too often
    ['age=1&age=2&age=3&age=4', 'age', 'at most 3 times'],
    ['age>1&age>2&age>3&age>4', 'age>4', 'at most 3 times'],
    // signs on what is no field
    ['min-age>5', 'min-age>5', 'Unknown'],
    ['age.gt>5', 'age.gt>5', 'Unknown'],
    ['page>5', 'page>5', 'Unknown'],
    // lists
    ['sort=', 'sort', 'not a field', 'id, age, price'],
    ['sort=agee', 'sort', '"agee"', 'Did you mean "age"?'],
    ['sort=tags', 'sort', '"tags"'],
    ['sort=--age', 'sort', '"-age"'],
    ['sort=age,age', 'sort', 'twice'],
    ['sort=age,-age', 'sort', 'twice'],
    ['sort=id,age,name,held', 'sort', 'at most 3'],
    ['sort=age&sort=id', 'sort', 'only once'],
    ['fields=id,constructor', 'fields', '"constructor"'],
    ['fields=id,,age', 'fields', '""'],
    ['fields=__proto__', 'fields', '"__proto__"'],
    ['expand=age', 'expand', 'Unknown'],
    // unknown names
    ['aeg=3', 'aeg', 'Unknown', 'Did you mean "age"?', 'id, age, price'],
    ['pages=3', 'pages', 'Did you mean "page"?', 'maxpagesize'],
    ['min-agee=3', 'min-agee', 'Did you mean "min-age"?'],
    ['age.gtee=3', 'age.gtee', 'Did you mean "age.gte"?'],
    ['Age=3', 'Age', 'Did you mean "age"?'],
    ['zzzzzzzzzz=1', 'zzzzzzzzzz', /^(?!.*Did you mean)/],
    ['=5', '', 'Unknown'],
    ['>5', '>5', 'Unknown'],
    ['tags=a', 'tags', 'Unknown'],
    ['tags>a', 'tags>a', 'Unknown'],
    // where there is no order there are no bounds
    ['held>true', 'held>true', 'Unknown'],
    ['min-held=true', 'min-held', 'Unknown'],
    ['status.gt=open', 'status.gt', 'Unknown'],
    ['min-status=open', 'min-status', 'Unknown'],
    // names that every object has
    ...[
      '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__.ne', 'constructor>5',
      'min-__proto__', '__proto__[a]', 'page[]'
    ]
      .map((name): [string, string, string] => [`${name}=1`, name, 'Unknown']),
    // percent-encoding
    ['%', '%', 'percent-encoding'],
    ['age=%zz', 'age=%zz', 'percent-encoding'],
    ['%E0%A4%A=1', '%E0%A4%A=1', 'percent-encoding'],
    ['name=%FF', 'name=%FF', 'percent-encoding'],
    ['name=%ED%A0%80', 'name=%ED%A0%80', 'percent-encoding']
  ]
  for (const [search, parameter, ...says] of table) {
    const found = flaws(search)
    t.equal(found.length, 1, `${search}: one flaw`)
    t.equal(found[0]?.parameter, parameter, `${search}: parameter`)
    for (const text of says) t.match(found[0]?.detail, text, `${search}: detail`)
  }
})

t.test('all problems at once, in the order of the query', async t => {
  const found = flaws('page=0&aeg=1&age=x&age=30&sort=nme&%zz&held=maybe&name=fine')
  t.strictSame(found.map(({ parameter }) => parameter), ['page', 'aeg', 'age', 'sort', '%zz', 'held'])
})

t.test('of many unknown names, the first lists what is allowed, and the first five have hints', async t => {
  const found = flaws(Array.from('123456', digit => `age${digit}=1`).join('&')).map(({ detail }) => detail)
  t.strictSame(found.map(detail => detail.includes('Did you mean "age"?')), [true, true, true, true, true, false])
  t.strictSame(found.map(detail => detail.includes('other parameters:')), found.map((_, index) => index === 0))
})

t.test('a query has an end', async t => {
  t.equal(flaws('a=1&'.repeat(100)).length, 100, 'each of the hundred is looked at')
  t.match(flaws('a=1&'.repeat(101)), [{ detail: /at most 100 parameters; this one has 101$/ }])
  t.match(flaws('%ff&&'.repeat(5000)), [{ detail: /at most 100 parameters; this one has 5000$/ }])
  t.equal(splitQuery('%ff&'.repeat(5000)).length, 101, 'the rest is not decoded')
  t.ok(flaws(`${'x'.repeat(100_000)}=1`)[0]?.detail.length as number < 500, 'a long name is not repeated in full')
})

t.test('the parameters are kept as they were sent, for the links', async t => {
  const { parameters } = read('age%3E=18&name=a+b&&fields=id')
  t.strictSame(parameters.map(({ raw }) => raw), ['age%3E=18', 'name=a+b', 'fields=id'])
})

t.test('a page without a count has no total', async t => {
  const links = { self: '/people?age=1&page=2', first: '/people?age=1', prev: '/people?age=1&page=1' }
  const around = { next: undefined, prev: undefined }
  const given = read('age=1&page=2')
  t.strictSame(makePageMembers('/people', given, around), { page: 2, pageSize: 50, links })
  t.strictSame(makePageMembers('/people', given, around, 0), { page: 2, pageSize: 50, total: 0, links })
})

t.test('references, and states that have conditions', async t => {
  const states = new Map([['old', { where: [bound('age', 'gt', 60)] }], ['odd', { where: undefined }]])
  const shape = { name: 'people', fields, references: ['name'], presentation: { states, search: ['name'] } }
  const grammar = compileGrammar(shape, limits)
  const parse = (search: string) => grammar.parse(search)
  t.match(grammar, { references: ['name'], states: ['old'], search: ['name'] })
  t.match(parse('expand=name&state=old'), { expand: ['name'], query: { where: [bound('age', 'gt', 60)] } })
  t.match(parse('expand=age'), { flaws: [{ detail: /which is not a field that refers to an item/ }] })
  t.match(parse('state=odd'), { flaws: [{ detail: 'state must be one of old' }] })
})

t.test('a list in one order only', async t => {
  const order = [{ field: 'age', descending: false }]
  const grammar = compileGrammar({ name: 'feed', fields, order, key: 'age' }, limits)
  const parse = (search: string) => grammar.parse(search)
  t.match(parse('sort=-age&min-price=1'), { query: { order: [{ field: 'age', descending: true }] } })
  t.strictSame((parse('') as ParsedQuery).query.order, order)
  t.notOk(grammar.filters.has('min-age'))
  for (const [search, detail] of [
    ['sort=id', /Allowed, separated by commas: age$/], ['fields=age', /"age", which is not a field/],
    ['age=1', /Unknown parameter "age"/], ['page=1', /Unknown parameter "page"/], ['count=exact', /Unknown/]
  ] as const) t.match(parse(search), { flaws: [{ detail }] }, search)
})

t.test('every field has the filters that suit it', async t => {
  const compared = (name: string) => [name, `${name}.eq`, `${name}.ne`, `${name}.regex`, `${name}.has`]
  const bounded = (name: string) =>
    [`min-${name}`, `max-${name}`, `${name}.gt`, `${name}.gte`, `${name}.lt`, `${name}.lte`]
  t.strictSame(new Set(grammar.filters.keys()), new Set([
    'gt', 'lt', 'min', 'max',
    ...['id', 'age', 'price', 'name', 'held', 'born', 'seen', 'status', 'made', 'until', 'code'].flatMap(compared),
    ...['id', 'age', 'price', 'name', 'born', 'seen', 'made', 'until', 'code'].flatMap(bounded),
    // What is nested is there, or is not.
    ...['price', 'born', 'seen', 'until', 'tags'].map(name => `${name}.null`)
  ]))
})
