import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import t from 'tap'
import { deals, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { loadItems } from '../../lib/tools/index.js'
import { customersApp, people } from '../customers-app.js'
import { runs } from '../size.js'

const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

interface Page {
  readonly items: readonly Record<string, unknown>[]
  readonly links: Readonly<Record<string, string>>
}

async function query (app: FastifyInstance, url: string, options: InjectOptions) {
  return await app.inject({ method: 'QUERY', url, ...options })
}

t.test('QUERY gives what GET gives, from a form, a JSON object, or partly in the URL', async t => {
  const app = await customersApp(t, { count: 60 })
  const parameter = fc.oneof(
    fc.tuple(fc.constantFrom('age', 'children', 'id.gt', 'age.lte', 'or.a.age'), fc.integer({ min: 0, max: 72 })),
    fc.tuple(fc.constantFrom('sort'), fc.constantFrom('age', '-age,id', 'children,-age')),
    fc.tuple(fc.constantFrom('maxpagesize', 'page'), fc.integer({ min: 1, max: 5 })),
    fc.tuple(fc.constantFrom('fields'), fc.constantFrom('id', 'id,age', 'nothing')),
    fc.tuple(fc.constantFrom('unknown', 'a&b=c', ''), fc.constantFrom('é', '1+1', '%41', ''))
  )
  const write = (list: readonly (readonly [string, unknown])[]) =>
    list.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join('&')
  await fc.assert(fc.asyncProperty(fc.array(parameter, { maxLength: 5 }), fc.nat(5), async (all, cut) => {
    const expected = await app.inject(`/customers?${write(all)}`)
    const byName: Record<string, unknown[]> = {}
    for (const [name, value] of all) (byName[name] ??= []).push(value)
    const grouped = Object.entries(byName).flatMap(([name, values]) => values.map(value => [name, value] as const))
    const inOrder = await app.inject(`/customers?${write(grouped)}`)
    const cases: [string, InjectOptions, typeof expected][] = [
      ['/customers', { headers: form, payload: write(all) }, expected],
      ['/customers', { headers: json, payload: JSON.stringify(byName) }, inOrder]
    ]
    const isStart = ([name]: readonly [string, unknown]) => name === 'page'
    if (!all.some(isStart)) {
      const [inUrl, payload] = [write(all.slice(0, cut)), write(all.slice(cut))]
      cases.push([`/customers?${inUrl}`, { headers: form, payload }, expected])
    }
    for (const [url, options, { statusCode, body }] of cases) {
      // Fastify 6 refuses it, as RFC 10008 says.
      if (options.payload === '' && !app.version.startsWith('5.')) continue
      const response = await query(app, url, options)
      t.equal(response.statusCode, statusCode, `${url} ${JSON.stringify(options)}`)
      const shown = ({ links, ...rest }: Page & { detail?: string }) => rest
      t.strictSame(shown(response.json()), shown(JSON.parse(body)))
    }
  }), { numRuns: runs(60) })
})

t.test('the links lead on with the same body', async t => {
  const app = await customersApp(t, { count: 30 })
  const all = (await app.inject('/customers?age.gte=20&sort=-age')).json<Page>().items
  for (const [headers, payload] of [
    [form, 'age.gte=20&sort=-age&maxpagesize=4&page=1'],
    [json, '{"age.gte":20,"sort":"-age","maxpagesize":4}']
  ] as const) {
    const seen: unknown[] = []
    const back: string[] = []
    for (let url: string | undefined = '/customers'; url !== undefined;) {
      const response = await query(app, url, { headers, payload })
      const { items, links } = response.json<Page>()
      seen.push(...items)
      t.equal(links.self, url)
      if (links.prev !== undefined) back.push(links.prev)
      url = links.next
    }
    t.strictSame(seen, all)
    const first = (await query(app, back[0] as string, { headers, payload })).json<Page>()
    t.strictSame(first.items, all.slice(0, 4))
  }
})

t.test('every list, its representations and its trailing slash', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage: memoryStorage(), version: 'v1' })
  const made = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea', price: 5 } })
  const { id } = made.json<{ id: string }>()
  await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: { reason: 'Papers' } })
  const lists = ['/rest/v1/deals', '/rest/v1/deals/', '/rest/commands', '/rest/v1/deals/commands',
    `/rest/v1/deals/${id}/commands`, `/rest/v1/deals/${id}/holds`]
  for (const url of lists) {
    const got = await app.inject(`${url}?fields=id&maxpagesize=1`)
    const response = await query(app, url, { headers: form, payload: 'fields=id&maxpagesize=1' })
    t.equal(response.statusCode, 200, url)
    t.strictSame(response.json<Page>().items, got.json<Page>().items, url)
    const { headers } = await app.inject({ method: 'OPTIONS', url })
    t.match(headers.allow, 'QUERY', url)
    t.equal(headers['accept-query'], 'application/x-www-form-urlencoded, application/json', url)
    t.equal(got.headers['accept-query'], headers['accept-query'], url)
  }
  const csv = await query(app, '/rest/v1/deals.csv', { headers: json, payload: { fields: ['name', 'price'] } })
  t.equal(csv.body, 'name,price\r\nTea,5\r\n')
  const html = await query(app, '/rest/v1/deals', { headers: { ...form, accept: 'text/html' }, payload: 'price=5' })
  t.match(html.body, 'Tea')
  t.equal((await query(app, `/rest/v1/deals/${id}`, { headers: form, payload: 'price=5' })).statusCode, 405)
})

t.test('a named query', async t => {
  const storage = memoryStorage()
  const named = defineFamily({
    name: 'people',
    singular: 'person',
    fields: Type.Object({ id: Type.Integer(), age: Type.Integer(), children: Type.Integer() }),
    queries: { aged: { field: 'age' } }
  })
  await loadItems(storage, named, people(20))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(named, { storage })
  const got = await app.inject('/query/aged/37?fields=id')
  t.strictSame(got.json(), [{ id: 1 }])
  t.strictSame((await query(app, '/query/aged/37', { headers: json, payload: { fields: 'id' } })).json(), got.json())
})

t.test('what is refused', async t => {
  const app = await customersApp(t)
  const refused: [InjectOptions, number, RegExp][] = [
    [{}, 400, /Content-Type/],
    [{ headers: { 'content-type': 'text/plain' }, payload: 'age=1' }, 415, /urlencoded or application\/json/],
    [{ headers: form, payload: '{"age":1}' }, 415, /This is JSON/],
    [{ headers: form, payload: Buffer.from([0x61, 0xff]) }, 400, /UTF-8/],
    [{ headers: form, payload: 'age=%' }, 400, /percent-encoding/],
    [{ headers: form, payload: 'a=1&'.repeat(101) }, 400, /at most 100 parameters; this one has 101/],
    [{ headers: form, payload: 'a=1&'.repeat(200_000) }, 400, /at most 100 parameters$/],
    [{ headers: json, payload: '[]' }, 400, /must be an object/],
    [{ headers: json, payload: '{' }, 400, /JSON/],
    [{ headers: json, payload: '{"age":null}' }, 400, /\/age must be a text, a number, true or false, or a list/],
    [{ headers: json, payload: '{"a/b":[{}]}' }, 400, /\/a~1b must be a text/],
    [{ headers: json, payload: '{"agee":1}' }, 400, /Did you mean "age"/]
  ]
  for (const [options, status, detail] of refused) {
    const response = await query(app, '/customers', options)
    t.equal(response.statusCode, status, String(options.payload))
    t.match(response.json().detail, detail)
    t.equal(response.headers['accept-query'] !== undefined, status === 415)
  }
})

t.test('a page that waits, over a socket: the end of the body is not the end of the client', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(deals, { storage: memoryStorage(), version: 'v1' })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const waiting = new Promise<string>((resolve, reject) => {
    const sent = request(`${address}/rest/commands`, { method: 'QUERY', headers: { ...json, prefer: 'wait=30' } })
    sent.on('response', response => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => { text += part }).on('end', () => { resolve(text) })
    })
    sent.on('error', reject).end('{"fields":"action"}')
  })
  await delay(200)
  await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'Tea', price: 5 } })
  t.strictSame((JSON.parse(await waiting) as Page).items, [{ action: 'CreateDeal' }])
})
