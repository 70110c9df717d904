import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { defineFamily, loadItems, memoryStorage } from '../lib/index.js'
import type { Storage } from '../lib/index.js'

// The fields of a customer, and one of every other kind.
const people = defineFamily({
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
    status: Type.Union([Type.Literal('open'), Type.Literal('completed'), Type.Literal('cancelled')])
  })
})

type Value = string | number | boolean
type Person = Record<string, Value | undefined> & { id: number }

const values: Record<string, fc.Arbitrary<Value>> = {
  id: fc.integer({ min: -5, max: 40 }),
  age: fc.integer({ min: 0, max: 12 }),
  children: fc.integer({ min: 0, max: 3 }),
  score: fc.constantFrom(-1.5, 0, 0.1, 1, 1e21 / 1e7, 2e-7),
  name: fc.oneof(fc.constantFrom('', 'a', 'ab', 'b a', 'é', '\uffee', '😀', 'a&b=c', '1+1', '%41', '__proto__'), fc.string({ maxLength: 4 })),
  held: fc.boolean(),
  born: fc.constantFrom('0001-01-01', '1999-12-31', '2000-02-29', '2026-03-31'),
  status: fc.constantFrom('open', 'completed', 'cancelled')
}
const names = Object.keys(values)
const ordered = ['id', 'age', 'children', 'score', 'name', 'born']

const person = fc.record(values, { requiredKeys: names.filter(name => name !== 'score' && name !== 'born') }) as fc.Arbitrary<Person>
const everyone = fc.uniqueArray(person, { maxLength: 30, selector: each => each.id })

/** One parameter: how it is written, and what it means in plain JavaScript. */
interface Filter { name: string, written: string[], holds: (person: Person) => boolean }

const compare = (a: Value, b: Value) => typeof a === 'string'
  ? Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  : Number(a) - Number(b)

const operators: Record<string, (value: Value, given: Value) => boolean> = {
  gt: (value, given) => compare(value, given) > 0,
  gte: (value, given) => compare(value, given) >= 0,
  lt: (value, given) => compare(value, given) < 0,
  lte: (value, given) => compare(value, given) <= 0,
  eq: (value, given) => value === given,
  regex: (value, given) => new RegExp(given as string, 'u').test(String(value))
}
const signs = { gt: '>', gte: '>=', lt: '<', lte: '<=' }
const onId = { gt: 'gt', lt: 'lt', gte: 'min', lte: 'max' }
const pattern = fc.constantFrom('^a', 'b$', 'a.*b', '[0-9]{2}', '^-?[13]', 'é', '^.$', 'open|tr', '(a*)*$', '\\.')

const filter: fc.Arbitrary<Filter> = fc.oneof(
  comparison('eq', name => [name, `${name}.eq`], names),
  comparison('gt', name => [`${name}.gt`, `${name}>`, ...name === 'id' ? [onId.gt] : []], ordered),
  comparison('gte', name => [`${name}.gte`, `${name}>=`, `min-${name}`, ...name === 'id' ? [onId.gte] : []], ordered),
  comparison('lt', name => [`${name}.lt`, `${name}<`, ...name === 'id' ? [onId.lt] : []], ordered),
  comparison('lte', name => [`${name}.lte`, `${name}<=`, `max-${name}`, ...name === 'id' ? [onId.lte] : []], ordered),
  fc.constantFrom(...names).chain(field => fc.array(values[field] as fc.Arbitrary<Value>, { minLength: 1, maxLength: 3 }).map(given => ({
    name: `${field}.ne`,
    written: given.map(value => `${field}.ne=${encodeURIComponent(value)}`),
    holds: (person: Person) => given.every(value => person[field] !== value)
  }))),
  fc.constantFrom(...names).chain(field => fc.array(pattern, { minLength: 1, maxLength: 2 }).map(given => ({
    name: `${field}.regex`,
    written: given.map(value => `${field}.regex=${encodeURIComponent(value)}`),
    holds: any(field, operators.regex as never, given)
  })))
)

function comparison (op: string, spellings: (field: string) => string[], fields: string[]): fc.Arbitrary<Filter> {
  return fc.constantFrom(...fields).chain(field => fc.tuple(
    fc.constantFrom(...spellings(field)),
    fc.array(values[field] as fc.Arbitrary<Value>, { minLength: 1, maxLength: 3 }),
    fc.boolean()
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
    return value !== undefined && given.some(each => holds(value, each))
  }
}

const request = fc.record({
  filters: fc.uniqueArray(filter, { maxLength: 3, selector: each => each.name }),
  sort: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.boolean()), { maxLength: 3, selector: ([name]) => name }),
  fields: fc.option(fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })),
  page: fc.option(fc.integer({ min: 1, max: 4 })),
  size: fc.option(fc.integer({ min: 1, max: 9 })),
  count: fc.boolean()
})
type Request = typeof request extends fc.Arbitrary<infer R> ? R : never

function write ({ filters, sort, fields, page, size, count }: Request): string {
  return [
    ...filters.flatMap(({ written }) => written),
    ...sort.length > 0 ? [`sort=${sort.map(([name, down]) => `${down ? '-' : ''}${name}`).join()}`] : [],
    ...fields !== null ? [`fields=${fields.join()}`] : [],
    ...page !== null ? [`page=${page}`] : [],
    ...size !== null ? [`maxpagesize=${size}`] : [],
    ...count ? ['count=exact'] : []
  ].join('&')
}

function naive (everyone: Person[], { filters, sort }: Request): Person[] {
  return everyone
    .filter(person => filters.every(({ holds }) => holds(person)))
    .sort((a, b) => {
      for (const [name, down] of [...sort, ['id', false] as const]) {
        const [left, right] = [a[name], b[name]]
        const order = left === undefined || right === undefined
          ? Number(left !== undefined) - Number(right !== undefined)
          : compare(left, right)
        if (order !== 0) return down ? -order : order
      }
      return 0
    })
}

t.test('queries over HTTP', async t => {
  let storage: Storage = memoryStorage()
  const app = Fastify()
  app.register(people, { storage: () => storage })
  t.teardown(() => app.close())

  await t.test('a page is what a naive filter finds, and next leads through all the rest', async t => {
    await fc.assert(fc.asyncProperty(everyone, request, async (everyone, request) => {
      storage = memoryStorage()
      await loadItems(storage, people, everyone)
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
      let next = first.links.next
      while (next !== undefined) {
        const { items, links } = JSON.parse((await app.inject(next)).body)
        crawled.push(...items)
        next = links.next
      }
      equal(crawled, shown(matching.slice((page - 1) * size)))
    }), { numRuns: 400 })
    t.pass('400 collections and queries')
  })

  await t.test('any string as a query is answered with 200 or a problem with 400', async t => {
    const word = fc.constantFrom('age', 'id', 'name', 'held', '>', '<', '=', '&', '%3E', '%3D', '.gte', '.regex', '.', 'min-', 'page', 'sort', 'fields',
      'count', 'exact', 'format', 'json', '-', ',', '+', '%', '%00', '%FF', '__proto__', 'constructor', '(', '*', '#', '?', '1', '-1', '1e999', 'ü', '\u2028')
    const text = fc.oneof(fc.array(fc.oneof(word, fc.string({ maxLength: 3 }))).map(words => words.join('')), fc.string({ unit: 'binary' }))
    await fc.assert(fc.asyncProperty(text, async search => {
      const { statusCode, headers, body } = await app.inject(`/people?${search}`)
      if (statusCode === 200) return Array.isArray(JSON.parse(body).items)
      const problem = JSON.parse(body)
      // A format that is unknown is its own refusal.
      if (statusCode === 406) return /format/.test(search)
      return statusCode === 400 && headers['content-type'] === 'application/problem+json; charset=utf-8' && problem.errors.length > 0
    }), { numRuns: 1000 })
    t.pass('1000 strings')
  })
})

function equal (actual: unknown, expected: unknown): void {
  if (JSON.stringify(sorted(actual)) !== JSON.stringify(sorted(expected))) throw new Error(`got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`)
}

// The order of members says nothing.
function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value
}
