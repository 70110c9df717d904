import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { isLong, runs } from '../size.js'
import type { RecordedStorage } from '../storage/small-limits.js'
import { limits, makePostgres, makeSqlite } from '../storage/small-limits.js'

// The fields of a customer, and one of every other kind.
const plain = defineFamily({
  name: 'people',
  singular: 'person',
  fields: Type.Object({
    id: Type.Integer(),
    age: Type.Integer(),
    children: Type.Integer(),
    score: Type.Optional(Type.Number()),
    name: Type.String(),
    held: Type.Boolean(),
    born: Type.Optional(Type.String({ format: 'date' })),
    seen: Type.Optional(Type.String({ format: 'date-time' })),
    grade: Type.Union([Type.Integer(), Type.Null()]),
    status: Type.Union([Type.Literal('open'), Type.Literal('completed'), Type.Literal('cancelled')])
  })
})
const people = plain.extend({
  indexes: ['age', 'children', 'score', 'name', 'held', 'born', 'seen', 'grade', ['status', 'age']]
})

type Value = string | number | boolean
type Person = Record<string, Value | null | undefined> & { id: number }

// Longer than what an index has of them, some of them alike up to there.
const longTexts = ['p', 'pp', 'ppq', 'ppé', 'p\u{1f600}', 'q'].map(end => `${'p'.repeat(198)}${end}`)

const values: Record<string, fc.Arbitrary<Value>> = {
  id: fc.integer({ min: -5, max: 40 }),
  age: fc.integer({ min: 0, max: 12 }),
  children: fc.integer({ min: 0, max: 3 }),
  score: fc.constantFrom(-1.5, 0, 0.1, 1, 1e21 / 1e7, 2e-7),
  name: fc.oneof(
    fc.constantFrom(...longTexts),
    fc.constantFrom(
      '', 'a', 'ab', 'b a', 'é', '\uffee', '😀', 'a&b=c', '1+1', '%41', '__proto__', 'É A', 'яB', '\u{10428}.*'
    ),
    fc.string({ maxLength: 4 })
  ),
  held: fc.boolean(),
  born: fc.constantFrom('0001-01-01', '1999-12-31', '2000-02-29', '2026-03-31'),
  seen: fc.constantFrom('0001-01-01T00:00:00.000Z', '2026-03-30T23:59:59.999Z', '2026-03-31T00:00:00.000Z',
    '2026-03-31T12:00:00.000Z', '2026-03-31T23:59:59.999Z', '2026-04-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'),
  status: fc.constantFrom('open', 'completed', 'cancelled'),
  grade: fc.integer({ min: 0, max: 3 })
}
const names = Object.keys(values)
const ordered = ['id', 'age', 'children', 'score', 'name', 'born', 'seen', 'grade']
// What a field is compared with: its values and, of moments, whole days.
const operands: Record<string, fc.Arbitrary<Value>> = {
  ...values,
  seen: fc.oneof(
    values.seen as fc.Arbitrary<Value>,
    fc.constantFrom('0001-01-01', '2026-03-30', '2026-03-31', '2026-04-01', '9999-12-31')
  )
}

const members: Record<string, fc.Arbitrary<Value | null>> =
  { ...values, grade: fc.option(values.grade as fc.Arbitrary<Value>) }
const person = fc.record(members, {
  requiredKeys: names.filter(name => !['score', 'born', 'seen'].includes(name))
}) as fc.Arbitrary<Person>
const everyone = fc.uniqueArray(person, { maxLength: 30, selector: each => each.id })

/** One parameter: how it is written, and what it means in plain JavaScript. */
interface Filter { name: string, written: string[], holds: (person: Person) => boolean }

const compare = (a: Value, b: Value) => typeof a === 'string'
  ? Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  : Number(a) - Number(b)

// A moment is compared with a bare date by its own day.
const compareWith = (value: Value, given: Value) => {
  const isDay = typeof value === 'string' && value.endsWith('Z') && /^\d{4}-\d\d-\d\d$/.test(String(given))
  return compare(isDay ? value.slice(0, 10) : value, given)
}

const operators: Record<string, (value: Value, given: Value) => boolean> = {
  gt: (value, given) => compareWith(value, given) > 0,
  gte: (value, given) => compareWith(value, given) >= 0,
  lt: (value, given) => compareWith(value, given) < 0,
  lte: (value, given) => compareWith(value, given) <= 0,
  eq: (value, given) => compareWith(value, given) === 0,
  has: (value, given) => String(value).toLowerCase().includes(String(given).toLowerCase()),
  regex: (value, given) => new RegExp(given as string, 'u').test(String(value))
}
const signs = { gt: '>', gte: '>=', lt: '<', lte: '<=' }
const onId = { gt: 'gt', lt: 'lt', gte: 'min', lte: 'max' }
const pattern = fc.constantFrom('^a', 'b$', 'a.*b', '[0-9]{2}', '^-?[13]', 'é', '^.$', 'open|tr', '(a*)*$', '\\.')

const part = fc.constantFrom(
  '', 'a', 'A', 'B', 'é', 'É a', 'Я', '\u{10400}', '.*', '.', '1', '-', 'TRUE', 'OPE', 'z', '&'
)

const filter: fc.Arbitrary<Filter> = fc.oneof(
  comparison('eq', name => [name, `${name}.eq`], names),
  comparison('gt', name => [`${name}.gt`, `${name}>`, ...name === 'id' ? [onId.gt] : []], ordered),
  comparison('gte', name => [`${name}.gte`, `${name}>=`, `min-${name}`, ...name === 'id' ? [onId.gte] : []], ordered),
  comparison('lt', name => [`${name}.lt`, `${name}<`, ...name === 'id' ? [onId.lt] : []], ordered),
  comparison('lte', name => [`${name}.lte`, `${name}<=`, `max-${name}`, ...name === 'id' ? [onId.lte] : []], ordered),
  fc.constantFrom(...names).chain(field => someOf(field).map(given => ({
    name: `${field}.ne`,
    written: given.map(value => `${field}.ne=${encodeURIComponent(value)}`),
    holds: (person: Person) => !any(field, operators.eq as never, given)(person)
  }))),
  fc.constantFrom(...names).chain(field => fc.array(pattern, { minLength: 1, maxLength: 2 }).map(given => ({
    name: `${field}.regex`,
    written: given.map(value => `${field}.regex=${encodeURIComponent(value)}`),
    holds: any(field, operators.regex as never, given)
  }))),
  fc.constantFrom(...names).chain(field => fc.array(part, { minLength: 1, maxLength: 2 }).map(given => ({
    name: `${field}.has`,
    written: given.map(value => `${field}.has=${encodeURIComponent(value)}`),
    holds: any(field, operators.has as never, given)
  }))),
  fc.tuple(fc.constantFrom('score', 'born', 'seen', 'grade'), fc.boolean())
    .map(([field, is]) => makeNullFilter(field, is))
)

function makeNullFilter (field: string, is: boolean): Filter {
  return { name: `${field}.null`, written: [`${field}.null=${is}`], holds: person => isAbsent(person[field]) === is }
}

function isAbsent (value: unknown): value is null | undefined {
  return value === undefined || value === null
}

function someOf (field: string): fc.Arbitrary<Value[]> {
  return fc.array(operands[field] as fc.Arbitrary<Value>, { minLength: 1, maxLength: 3 })
}

function comparison (op: string, spellings: (field: string) => string[], fields: string[]): fc.Arbitrary<Filter> {
  return fc.constantFrom(...fields).chain(field => fc.tuple(
    fc.constantFrom(...spellings(field)),
    someOf(field),
    fc.boolean()
  // What begins with an equals sign cannot be told from <= and >=.
  ).filter(([name, given]) => !/[<>]$/.test(name) || !given.some(value => String(value).startsWith('='))
  ).map(([name, given, encoded]) => {
    const sign = Object.values(signs).some(each => name.endsWith(each))
    const start = encoded ? encodeURIComponent(name) : name
    return {
      name,
      written: given.map(value => `${start}${sign ? '' : '='}${encodeURIComponent(value)}`),
      holds: any(field, operators[op] as never, given)
    }
  }))
}

function any (field: string, holds: (value: Value, given: Value) => boolean, given: Value[]): Filter['holds'] {
  return person => {
    const value = person[field]
    return !isAbsent(value) && given.some(each => holds(value, each))
  }
}

const someFilters = (minLength: number) =>
  fc.uniqueArray(filter, { minLength, maxLength: 3, selector: each => each.name })

// A query may have five.
const countPatterns = (filters: readonly Filter[]) => filters
  .filter(({ name }) => /\.(regex|has)$/.test(name))
  .reduce((sum, { written }) => sum + written.length, 0)

const request = fc.record({
  filters: someFilters(0),
  groups: fc.array(someFilters(1), { maxLength: 2 }),
  sort: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.boolean()), { maxLength: 3, selector: ([name]) => name }),
  fields: fc.option(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })),
  page: fc.option(fc.integer({ min: 1, max: 4 })),
  size: fc.option(fc.integer({ min: 1, max: 9 })),
  count: fc.boolean()
}).filter(({ filters, groups }) => countPatterns([...filters, ...groups.flat()]) <= 5)
type Request = typeof request extends fc.Arbitrary<infer R> ? R : never

// Few filters on few values, in the order of the id: what the planner of the SQL storages is about.
const planned: fc.Arbitrary<Request> = fc.record({
  filters: fc.uniqueArray(fc.constantFrom('age', 'children', 'held', 'status', 'name').chain(field => {
    const op = fc.constantFrom(...ordered.includes(field) ? ['eq', 'gte', 'lte'] : ['eq'])
    return fc.tuple(op, values[field] as fc.Arbitrary<Value>).map(([op, value]) => makeFilter(field, op, value))
  }), { maxLength: 3, selector: each => each.name }),
  groups: fc.constant([]),
  sort: fc.constantFrom([], [['id', true]], [['age', true]], [['children', true], ['age', false]], [['grade', true]]),
  fields: fc.constant(null),
  page: fc.option(fc.integer({ min: 1, max: 3 })),
  size: fc.integer({ min: 1, max: 6 }),
  count: fc.boolean()
})

function makeFilter (field: string, op: string, value: Value): Filter {
  const name = `${field}.${op}`
  return { name, written: [`${name}=${encodeURIComponent(value)}`], holds: any(field, operators[op] as never, [value]) }
}

// One for each way of the planner, so that none is left to chance.
const crowd = Array.from({ length: 24 }, (_, id): Person =>
  ({
    id,
    age: id > 21 ? 9 : id % 3,
    children: id % 2,
    name: `n${id}`,
    held: false,
    status: 'open',
    grade: id % 3 === 0 ? 1 : null
  }))
const examples = [
  [makeFilter('children', 'gte', 1)],
  [makeFilter('age', 'eq', 1)],
  [makeFilter('age', 'eq', 1), makeFilter('children', 'gte', 1)],
  [makeFilter('age', 'gte', 9)],
  [makeFilter('age', 'gte', 1)],
  [makeNullFilter('grade', true)],
  [makeNullFilter('grade', true), makeFilter('children', 'gte', 1)]
].flatMap(filters => [[1, 1], [1, 5], [2, 5]].map(([page, size]): [Person[], Request] =>
  [crowd, { filters, groups: [], sort: [], fields: null, page: page as number, size: size as number, count: false }]))

function write ({ filters, groups, sort, fields, page, size, count }: Request): string {
  return [
    ...filters.flatMap(({ written }) => written),
    ...groups.flatMap((group, index) =>
      group.flatMap(({ written }) => written).map(text => `or${index === 0 ? '' : index}.${text}`)),
    ...sort.length > 0 ? [`sort=${sort.map(([name, down]) => `${down ? '-' : ''}${name}`).join()}`] : [],
    ...fields !== null ? [`fields=${fields.join()}`] : [],
    ...page !== null ? [`page=${page}`] : [],
    ...size !== null ? [`maxpagesize=${size}`] : [],
    ...count ? ['count=exact'] : []
  ].join('&')
}

function naive (everyone: Person[], { filters, groups, sort }: Request): Person[] {
  return everyone
    .filter(person => filters.every(({ holds }) => holds(person)))
    .filter(person => groups.every(group => group.some(({ holds }) => holds(person))))
    .sort((a, b) => {
      for (const [name, down] of [...sort, ['id', false] as const]) {
        const [left, right] = [a[name], b[name]]
        const order = isAbsent(left) || isAbsent(right)
          ? Number(!isAbsent(left)) - Number(!isAbsent(right))
          : compare(left, right)
        if (order !== 0) return down ? -order : order
      }
      return 0
    })
}

// What each way of reading looks like in the statements of a database.
const ways: Record<string, Record<string, RegExp>> = {
  sqlite: {
    'look along the key': new RegExp(`FROM "people" .*LIMIT ${limits.keyRows}\\) WHERE`),
    'look along an index': new RegExp(`INDEXED BY .*LIMIT ${limits.indexRows}\\) WHERE`),
    'along one value of an index': /FROM "people" INDEXED BY "people_age_idx" WHERE "age" = \? ORDER BY "id" LIMIT/,
    'along what is null in an index': /FROM "people" INDEXED BY "people_grade_idx" WHERE "grade" IS NULL ORDER BY "id"/,
    'the entry at which a look ends': /SELECT "age" FROM .* INDEXED BY .* ORDER BY "age" DESC LIMIT 1 OFFSET/,
    'few entries of an index': new RegExp(`INDEXED BY .*LIMIT ${limits.indexRows}\\).* ORDER BY .*LIMIT \\d+ OFFSET`),
    'all rows, along the key': /FROM "people" WHERE \(random.* \+"age" .* ORDER BY "id" LIMIT/,
    'all rows, their ids first': /"id" IN \(SELECT "id" FROM "people" WHERE \(random/,
    'texts that are searched': /dealbook_search/
  }
}

const makers: Record<string, { make: () => Promise<RecordedStorage>, numRuns: number, family?: typeof plain }> = {
  memory: {
    async make () {
      const storage = memoryStorage()
      return { storage, statements: new Set(), dispose: () => storage.close() }
    },
    numRuns: runs(200)
  },
  sqlite: { make: makeSqlite, numRuns: runs(120) },
  postgres: { make: makePostgres, numRuns: runs(120) },
  'sqlite without indexes': { make: makeSqlite, numRuns: runs(60), family: plain },
  'postgres without indexes but one': {
    make: makePostgres, numRuns: runs(60), family: plain.extend({ indexes: ['name'] })
  }
}

for (const [name, { make, numRuns, family = people }] of Object.entries(makers)) {
  t.test(`${name}: a page is what a naive filter finds, next leads through all the rest, prev back`, async t => {
    const { storage, statements, dispose } = await make()
    const app = Fastify()
    app.register(family, { storage })
    t.teardown(async () => {
      await app.close()
      await dispose()
    })

    async function read (url: string): Promise<any> {
      const { statusCode, body } = await app.inject(url)
      equal(statusCode, 200)
      return JSON.parse(body)
    }

    async function check (everyone: Person[], request: Request): Promise<void> {
      const { page, size, fields, count } = { ...request, page: request.page ?? 1, size: request.size ?? 50 }
      const matching = naive(everyone, request)
      const shown = (persons: Person[]) => persons.map(person => Object.fromEntries(Object.entries(person)
        .filter(([name, value]) => value !== undefined && (fields === null || fields.includes(name)))))

      const { statusCode, body } = await app.inject(`/people?${write(request)}`)
      const first = JSON.parse(body)
      equal(statusCode, 200)
      equal(first.items, shown(matching.slice((page - 1) * size, page * size)))
      equal([first.page, first.pageSize, first.total], [page, size, count ? matching.length : undefined])

      const crawled = [...first.items]
      let last = first
      while (last.links.next !== undefined) {
        last = await read(last.links.next)
        crawled.push(...last.items)
      }
      equal(crawled, shown(matching.slice((page - 1) * size)))

      const back = [...last.items]
      let earliest = last
      while (earliest.links.prev !== undefined) {
        earliest = await read(earliest.links.prev)
        back.unshift(...earliest.items)
      }
      equal(back, shown(matching))
      if (earliest.links.next !== undefined) {
        equal((await read(earliest.links.next)).items, back.slice(earliest.items.length, earliest.items.length + size))
      }
    }

    await fc.assert(fc.asyncProperty(everyone, fc.oneof(request, planned), async (everyone, request) => {
      await loadItems(storage, family, everyone)
      try {
        await check(everyone, request)
      } finally {
        await storage.commit(everyone.map(({ id }) => ({ type: 'delete', family: 'people', id, expected: 1 })))
      }
    }), { numRuns, examples })
    t.pass(`${numRuns} collections and queries`)

    // A few queries do not meet every way.
    for (const [way, pattern] of isLong ? Object.entries(ways[name] ?? {}) : []) {
      t.ok([...statements].some(text => pattern.test(text)), way)
    }
  })
}

t.test('any string as a query is answered with 200 or a problem with 400', async t => {
  const app = Fastify()
  app.register(people, { storage: memoryStorage() })
  t.teardown(() => app.close())
  const word = fc.constantFrom('age', 'id', 'name', 'held', '>', '<', '=', '&', '%3E', '%3D', '.gte', '.regex', '.has',
    '.', 'or.', 'or2.', 'after', 'before',
    'min-', 'page', 'sort', 'fields', 'count', 'exact', 'format', 'json', '-', ',', '+', '%', '%00', '%FF', '__proto__',
    'constructor', '(', '*', '#', '?', '1', '-1', '1e999', 'ü', '\u2028')
  const text = fc.oneof(
    fc.array(fc.oneof(word, fc.string({ maxLength: 3 }))).map(words => words.join('')),
    fc.string({ unit: 'binary' })
  )
  await fc.assert(fc.asyncProperty(text, async search => {
    const { statusCode, headers, body } = await app.inject(`/people?${search}`)
    if (statusCode === 200) return Array.isArray(JSON.parse(body).items)
    // A format that is unknown is its own refusal.
    if (statusCode === 406) return /format/.test(search)
    const isProblem = headers['content-type'] === 'application/problem+json; charset=utf-8'
    return statusCode === 400 && isProblem && JSON.parse(body).errors.length > 0
  }), { numRuns: runs(1000) })
  t.pass('any string')
})

function equal (actual: unknown, expected: unknown): void {
  if (JSON.stringify(sortMembers(actual)) === JSON.stringify(sortMembers(expected))) return
  throw new Error(`got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
}

// The order of members says nothing.
function sortMembers (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value
}
