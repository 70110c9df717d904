import t from 'tap'
import type { ParsedQuery } from '../../lib/core/query/grammar.js'
import { findBounded, type FollowedPage } from '../../lib/core/service/bounded.js'
import { measureAll } from '../../lib/core/values/json.js'
import type { Problem, Stored } from '../../lib/index.js'

/** Items of these lengths, and what is asked for of them; a place is the number of an item. */
function open (...lengths: readonly number[]) {
  const items = lengths.map((length, index) => ({ id: index, text: 'x'.repeat(length) }) as unknown as Stored)
  const asked: unknown[] = []
  const find = async ({ query: { limit, offset, count }, start }: ParsedQuery): Promise<FollowedPage> => {
    const place = start?.position as number | undefined
    asked.push([place ?? 'begin', limit, ...offset > 0 ? ['offset'] : [], ...count ? ['count'] : []])
    const isBack = start?.backwards === true
    const begin = isBack ? Math.max(0, place as number - limit) : place ?? 0
    const end = isBack ? place as number : Math.min(begin + limit, items.length)
    return {
      items: items.slice(begin, end),
      total: count ? items.length : undefined,
      next: end < items.length ? end as never : undefined,
      prev: begin > 0 ? begin as never : undefined,
      follow: `after ${end}` as never
    }
  }
  return { items, asked, find }
}

interface Asked {
  readonly limit?: number
  readonly start?: number
  readonly backwards?: boolean
  readonly order?: readonly { readonly field: string, readonly descending: boolean }[]
  readonly count?: boolean
  readonly offset?: number
  readonly names?: readonly string[]
}

function parse (asked: Asked): ParsedQuery {
  const { limit = 20, start, backwards = false, order = [], count = false, offset = 0, names = [] } = asked
  return {
    query: { where: [], order, offset, limit, count },
    start: start === undefined ? undefined : { position: start, backwards },
    parameters: names.map(name => ({ name, value: '' }))
  } as never
}

const half = 1_000_000
const down = [{ field: 'id', descending: true }]

t.test('a page of items that may be long is read in parts, and ends when it is too long', async t => {
  type Row = [title: string, lengths: readonly number[], asked: Asked, reads: unknown[], page: unknown[]]
  const short = Array<number>(30).fill(1)
  const rows: Row[] = [
    ['no more than the first part', short, { limit: 10 }, [['begin', 10]], [0, 10, undefined, 10, undefined, 10]],
    ['short ones', short, { limit: 25 }, [['begin', 10], [10, 15]], [0, 25, undefined, 25, undefined, 25]],
    ['with a number, from an offset', short, { limit: 25, count: true, offset: 5 },
      [['begin', 10, 'offset', 'count'], [10, 15]], [0, 25, 30, 25, undefined, 25]],
    ['the end', short, { limit: 99 }, [['begin', 10], [10, 50]], [0, 30, undefined, undefined, undefined, 30]],
    ['from a place', short, { start: 5 }, [[5, 10], [15, 10]], [5, 25, undefined, 25, 5, 25]],
    ['backwards', short, { start: 25, backwards: true }, [[25, 10], [15, 10]], [5, 25, undefined, 25, 5, 25]],
    ['the newest first', short, { order: down }, [['begin', 10], [10, 10]], [0, 20, undefined, 20, undefined, 10]],
    ['in another order', short, { order: [{ field: 'id', descending: false }] },
      [['begin', 10], [10, 10]], [0, 20, undefined, 20, undefined, 20]],
    ['long ones', Array(30).fill(half), {}, [['begin', 10]], [0, 10, undefined, 10, undefined, 10]],
    ['long ones after short ones', [...short.slice(0, 10), ...Array(20).fill(50_000)], { limit: 30 },
      [['begin', 10], [10, 20]], [0, 30, undefined, undefined, undefined, 30]]
  ]
  for (const [title, lengths, asked, reads, page] of rows) {
    const { find, asked: read } = open(...lengths)
    const { items, total, next, prev, follow } = await findBounded(find, parse(asked), true)
    t.strictSame(read, reads, title)
    const [first, last] = [items[0]?.id as number, items.at(-1)?.id as number]
    const [begin, end, ...rest] = page
    const expected = [begin, end, ...rest.slice(0, 3), `after ${rest[3]}`]
    t.strictSame([first, last + 1, total, next, prev, follow], expected, title)
    t.equal(items.length, last + 1 - first, title)
  }
  const { find, asked } = open(...short)
  await findBounded(find, parse({ limit: 25 }), false)
  t.strictSame(asked, [['begin', 25]], 'items that are never long')
})

t.test('how long a page may be', async t => {
  const rest = 2_000_000 - half - measureAll(open(0, 0).items)
  for (const [more, reads] of [[0, 3], [1, 2]] as const) {
    const { items, find, asked } = open(half, rest + more, 1)
    t.equal(measureAll(items.slice(0, 2)), 2_000_000 + more)
    const page = await findBounded(find, parse({}), true, 1)
    t.strictSame([asked.length, page.items.length], [reads, reads])
  }
})

t.test('a page with a number that is too long is refused, unless nothing follows', async t => {
  const { find } = open(...Array<number>(30).fill(half))
  for (const names of [['page'], ['maxpagesize', 'page']]) {
    const refused = await findBounded(find, parse({ names }), true).catch((problem: unknown) => problem) as Problem
    const errors = [{ parameter: 'maxpagesize', detail: / 10 of them fill this page/ }]
    t.match(refused, { code: 'invalid-query', errors })
  }
  t.equal((await findBounded(find, parse({ names: ['maxpagesize'] }), true)).items.length, 10)
  const whole = open(...Array<number>(10).fill(half))
  t.equal((await findBounded(whole.find, parse({ names: ['page'] }), true)).items.length, 10)
})

t.test('items that are deleted meanwhile end a page', async t => {
  const { find, asked } = open(...Array<number>(30).fill(1))
  const page = await findBounded(async parsed => {
    const part = await find(parsed)
    return asked.length === 2 ? { ...part, items: [], next: 1 as never } : part
  }, parse({}), true)
  t.strictSame([page.items.length, page.next, asked.length], [10, 10, 2])
  const none = open()
  t.match(await findBounded(none.find, parse({}), true), { items: { length: 0 }, next: undefined })
  t.equal(none.asked.length, 1)
})

t.test('a page that is no longer than a part is one read, also if more would fit on it', async t => {
  const { items, asked, find } = open(1, 1, 1, 1)
  for (const [limit, reads] of [[2, 1], [3, 1], [4, 2]] as const) {
    asked.length = 0
    // The feed passes over a number of entries, and then ends the page.
    const findFew = async (parsed: ParsedQuery): Promise<FollowedPage> =>
      ({ ...await find(parsed), items: items.slice(0, asked.length === 1 ? 1 : parsed.query.limit), next: 1 as never })
    await findBounded(findFew, parse({ limit }), true, 3)
    t.equal(asked.length, reads, `${limit}`)
  }
})

t.test('each part is asked for like the page', async t => {
  const { find } = open(...Array<number>(30).fill(1))
  const [where, order] = [[{ field: 'id', op: 'gte', value: 0 }], [{ field: 'id', descending: false }]] as const
  const asked: unknown[] = []
  const { query, ...parsed } = parse({ names: ['a'] })
  await findBounded(async ({ query: { limit, ...query }, parameters }) => {
    asked.push([query, parameters])
    return await find({
      ...parsed,
      ...asked.length > 1 && { start: { position: 10 as never, backwards: false } },
      query: { ...query, limit }
    })
  }, { ...parsed, query: { ...query, where, order } }, true)
  t.strictSame(asked, Array(2).fill([{ where, order, offset: 0, count: false }, [{ name: 'a', value: '' }]]))
})
