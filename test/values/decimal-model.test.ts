import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import Fastify from 'fastify'
import t from 'tap'
import { decimal, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { isFast, runs } from '../size.js'
import { makePostgres, makeSqlite } from '../storage/small-limits.js'

const scales: Readonly<Record<string, number>> = { whole: 0, cents: 2, shares: 7, parts: 15 }
const names = Object.keys(scales)

const prices = defineFamily({
  name: 'prices',
  singular: 'price',
  fields: Type.Object({
    id: Type.Integer(),
    whole: Type.Optional(decimal({ scale: 0 })),
    cents: Type.Union([decimal({ scale: 2 }), Type.Null()]),
    shares: Type.Optional(decimal({ scale: 7 })),
    parts: Type.Optional(decimal({ scale: 15 }))
  }),
  indexes: ['cents', ['whole', 'shares'], 'parts']
})

/** Each decimal as the number of its smallest units: what text and doubles are judged by. */
type Price = { readonly id: number } & Readonly<Record<string, bigint | number | null | undefined>>

const most = 10n ** 15n - 1n
const units = fc.oneof(
  fc.bigInt({ min: -30n, max: 30n }),
  fc.bigInt({ min: -most, max: most }),
  fc.bigInt({ min: most - 3n, max: most }),
  fc.bigInt({ min: -most, max: 3n - most }),
  fc.constantFrom(0n, 10n, 100n, 990n, 1000n, 1010n, -100n, 29n, 113n, 1999n)
)

const someItems = fc.uniqueArray(fc.record({
  id: fc.integer({ min: 1, max: 40 }),
  whole: fc.option(units, { nil: undefined }),
  cents: fc.option(units),
  shares: fc.option(units, { nil: undefined }),
  parts: fc.option(units, { nil: undefined })
}) as fc.Arbitrary<Price>, { maxLength: 25, selector: ({ id }) => id })

/** Digit by digit, by no means of the package. */
function write (value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return value < 0n ? `-${text}` : text
}

const operators: Readonly<Record<string, (value: bigint, given: bigint) => boolean>> = {
  eq: (value, given) => value === given,
  gt: (value, given) => value > given,
  gte: (value, given) => value >= given,
  lt: (value, given) => value < given,
  lte: (value, given) => value <= given
}

const filter = fc.record({
  field: fc.constantFrom(...names),
  op: fc.constantFrom(...Object.keys(operators), 'ne'),
  /** A value of an item, or any. */
  index: fc.option(fc.nat()),
  units,
  isShort: fc.boolean()
})
const request = fc.record({
  // Of one name, several would be alternatives.
  filters: fc.uniqueArray(filter, { maxLength: 3, selector: ({ field, op }) => `${field} ${op}` }),
  sort: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.boolean()), { maxLength: 2, selector: ([name]) => name }),
  size: fc.integer({ min: 1, max: 6 })
})

function show (price: Price): object {
  return Object.fromEntries(Object.entries(price).flatMap(([name, value]) => value === undefined
    ? []
    : [[name, typeof value === 'bigint' ? write(value, scales[name] as number) : value]]))
}

function compare (a: Price, b: Price, name: string): number {
  const [left, right] = [a[name] ?? undefined, b[name] ?? undefined]
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined)
  return left < right ? -1 : left > right ? 1 : 0
}

const makers = {
  async memory () {
    const storage = memoryStorage()
    return { storage, dispose: () => storage.close() }
  },
  ...(isFast ? {} : { sqlite: makeSqlite, postgres: makePostgres })
}

for (const [name, make] of Object.entries(makers)) {
  t.test(`${name}: decimals are filtered, ordered and walked as exact numbers`, async t => {
    const { storage, dispose } = await make()
    const app = Fastify()
    app.register(prices, { storage })
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    await app.ready()
    await fc.assert(fc.asyncProperty(someItems, request, async (all, { filters, sort, size }) => {
      const { items: before } = await storage.find('prices', {
        where: [], order: [{ field: 'id', descending: false }], offset: 0, limit: 100, count: false
      })
      await storage.commit(before.map(({ id, revision }) =>
        ({ type: 'delete', family: 'prices', id, expected: revision })))
      await loadItems(storage, prices, all.map(show))

      const parts = filters.map(({ field, op, index, units, isShort }) => {
        const present = all[index === null ? -1 : index % Math.max(1, all.length)]?.[field]
        const given = typeof present === 'bigint' ? present : units
        const text = write(given, scales[field] as number)
        const holds = (price: Price): boolean => {
          const value = price[field]
          if (op === 'ne') return value !== given
          return typeof value === 'bigint' && (operators[op] as typeof operators['eq'] & {})(value, given)
        }
        // Zeros at the end may be left out.
        const sent = isShort ? text.replace(/(\..*?)0+$/, '$1').replace(/\.$/, '') : text
        return { written: `${field}.${op}=${sent}`, holds }
      })
      const wanted = all.filter(price => parts.every(({ holds }) => holds(price))).sort((a, b) => {
        for (const [name, down] of sort) {
          const order = compare(a, b, name)
          if (order !== 0) return down ? -order : order
        }
        return a.id - b.id
      }).map(show)
      const terms = sort.map(([name, down]) => `${down ? '-' : ''}${name}`).join()
      const search = [...parts.map(({ written }) => written), ...terms === '' ? [] : [`sort=${terms}`]]
      const start = `/prices?${[...search, `maxpagesize=${size}`].join('&')}`
      const walk = async (link: 'next' | 'prev', from: string): Promise<{ pages: object[][], last: string }> => {
        const pages: object[][] = []
        let [url, last]: (string | undefined)[] = [from, from]
        // A walk in a circle ends too.
        while (url !== undefined && pages.length < 50) {
          const page = (await app.inject(url)).json()
          pages.push(page.items)
          last = url
          url = page.links[link]
        }
        return { pages, last: last as string }
      }
      const forwards = await walk('next', start)
      deepEqual(forwards.pages.flat(), wanted, start)
      const backwards = await walk('prev', forwards.last)
      deepEqual(backwards.pages.reverse().flat(), wanted, `${start} backwards`)
      for (const price of all) {
        const { links, ...item } = (await app.inject(`/prices/${price.id}`)).json()
        deepEqual(item, show(price))
      }
    }), { numRuns: runs(250) })
    t.pass('all are as the oracle has them')
  })
}
