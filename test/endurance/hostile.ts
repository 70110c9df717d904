import { oddStrings } from '../odd-strings.js'

/** A request that may ask for anything, but says something that is never right where it could change something. */
export interface HostileRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The same numbers from the same seed (mulberry32), so that what fails can be repeated. */
export function makeRandom (seed: number): () => number {
  let state = seed
  return () => {
    state = state + 0x6d2b79f5 | 0
    let mixed = Math.imul(state ^ state >>> 15, 1 | state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296
  }
}

const words = [
  'hold', 'holded', 'holds', 'unhold', 'complete', 'cancelled', 'price-changes', 'commands', 'deletions', 'commands/c1'
]
const names = [
  'id', 'age', 'children', 'name', 'price', 'status', 'page', 'maxpagesize', 'sort', 'fields', 'count', 'format', 'gt',
  'min-age', 'max-price', 'age.regex', 'name.regex', 'name.ne', 'age>', 'nonsense'
]
const patterns = [
  '(a+)+$', '(a|a)*b', '(?i)(\\pL\\pN?){1000}', '(.*){99}', '[^]{999}', '((((((x)*)*)*)*)*)*', '\\1', '(?=a)'
]

/** Makes hostile requests over every route of the host; `id` is of an item that is there. */
export function makeHostileRequests (seed: number, amount: number, id: string): HostileRequest[] {
  const random = makeRandom(seed)
  const choose = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const odd = oddStrings().filter(text => text.isWellFormed())
  const value = () => choose([
    () => choose(odd),
    () => choose(patterns),
    () => String(Math.floor((random() - 0.5) * 2 ** choose([4, 31, 53, 70]))),
    // No longer, or the headers are too large for any server.
    () => choose(odd).repeat(Math.ceil(random() * 50)).slice(0, 300).toWellFormed()
  ])()
  const target = () => choose([id, id, encodeURIComponent(choose(odd)).slice(0, 90), '1', '-1', '1e9', '..%2f..'])
  const paths = [
    () => '/customers', () => `/customers/${target()}`, () => `/customers.${choose(['json', 'xml', 'csv', 'zzz'])}`,
    () => '/rest/v1/deals', () => `/rest/v1/deals/${target()}`, () => `/rest/v1/deals/${target()}/${choose(words)}`,
    () => `/rest/commands/${target()}`, () => `/command/${choose(['HoldDeal', 'CreateDeal', 'DeleteDeal', 'X'])}`,
    () => `/query/${choose(['deals-by-name', 'customers-by-age', 'deals', 'x'])}/${target()}`
  ]
  const query = () => Array.from({ length: Math.floor(random() * 4) }, () =>
    `${choose(names)}=${encodeURIComponent(value())}`).join('&')
  const body = () => choose([
    () => JSON.stringify({ [choose(odd) || 'x']: value(), unwanted: value() }),
    () => JSON.stringify(Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`unwanted${n}`, n]))),
    () => '['.repeat(Math.ceil(random() * 5000)),
    () => JSON.stringify([value()]),
    () => `{"name":"a","price":1,"unwanted":${JSON.stringify(value())}}`,
    () => value() + '{',
    () => `unwanted=${encodeURIComponent(value())}&name=a&price=1`
  ])()
  const types = ['application/json', 'application/merge-patch+json', 'application/x-www-form-urlencoded', 'text/plain']
  const accepts = ['*/*', 'text/html', 'application/xml', 'text/csv', 'application/x-ndjson', 'image/png', ';;q=,']

  return Array.from({ length: amount }, () => {
    const method = choose(['GET', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    const search = query()
    const path = choose(paths)()
    const headers = { accept: choose(accepts), 'if-match': choose(['"999999"', '*', '"', '"1-json"']) }
    if (method === 'GET' || method === 'HEAD') return { method, path: `${path}?${search}`, headers }
    // Nothing to refuse stands in the path of a deletion, so it is in the query.
    const refused = method === 'DELETE' || search !== '' ? `?${search}&nonsense=1` : ''
    return { method, path: path + refused, headers: { ...headers, 'content-type': choose(types) }, body: body() }
  })
}
