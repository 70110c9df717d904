// GET …/{id}?revision= and ?at=: an item as it was, over HTTP, on pages and by a tool.
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { defineFamily, type Grant, type Storage, Type } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { loadItems, prune } from '../../lib/tools/index.js'
import { call } from '../mcp/app.js'
import { storages } from '../storages.js'

const makers = defineFamily({
  name: 'makers',
  singular: 'maker',
  fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
  create: ['name'],
  edit: ['name']
})
const toys = defineFamily({
  name: 'toys',
  singular: 'toy',
  fields: Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    region: Type.String(),
    note: Type.Optional(Type.String()),
    maker: Type.Integer()
  }),
  references: { maker: makers },
  create: ['name', 'region', 'maker'],
  edit: ['name', 'region', 'note']
})
const fixed = defineFamily({
  name: 'fixed', singular: 'fix', fields: Type.Object({ id: Type.Integer(), name: Type.String() })
})

const regionIs = (region: string) => [{ field: 'region', op: 'eq', values: [region] }] as const

async function open (t: Test, storage: Storage, clock: { now: string }) {
  const app = Fastify()
  t.teardown(() => app.close())
  const authorize = ({ headers }: { headers: object }): Grant => {
    const region = (headers as Record<string, string>)['x-region']
    return region === undefined ? {} : { principal: region, where: regionIs(region) }
  }
  app.register(makers, { storage, prefix: '/crm' })
  app.register(toys, { storage, prefix: '/crm', authorize })
  app.register(toys.rename({ name: 'label' }), { storage, prefix: '/v2', authorize })
  app.register(fixed, { storage, prefix: '/crm' })
  app.register(mcp, { prefix: '/crm' })
  await app.ready()
  const book = toys.service({ storage, clock: () => new Date(clock.now) })
  return { app, book, get: async (url: string, headers = {}) => await app.inject({ url, headers }) }
}

for (const { name, make } of storages) {
  t.test(name, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const clock = { now: '2026-03-01T12:00:00.000Z' }
    const { app, book, get } = await open(t, storage, clock)
    await makers.service({ storage }).create({ name: 'Ann' })
    const { item: { id } } = await book.create({ name: 'Ball', region: 'north', maker: 1 })
    clock.now = '2026-03-03T12:00:00.000Z'
    await book.run('edit', id, { name: 'Big ball', note: 'a' })
    // A clock that is behind: revisions count.
    clock.now = '2026-03-02T12:00:00.000Z'
    await book.run('edit', id, { region: 'south' })
    const home = `/crm/toys/${id}`
    const read = async (query: string, headers = {}) => {
      const { statusCode, body } = await get(`${home}?${query}`, headers)
      const { name, revision, updatedAt, type } = JSON.parse(body) as Record<string, unknown>
      return statusCode === 200 ? [name, revision, updatedAt] : [statusCode, String(type).split(':').at(-1)]
    }

    t.test('by revision and by moment', async t => {
      const first = ['Ball', 1, '2026-03-01T12:00:00.000Z']
      const second = ['Big ball', 2, '2026-03-03T12:00:00.000Z']
      const third = ['Big ball', 3, '2026-03-02T12:00:00.000Z']
      for (const [query, expected] of [
        ['revision=1', first], ['revision=2', second], ['revision=3', third], ['revision=4', [404, 'not-found']],
        ['at=2026-03-01T11:59:59Z', [404, 'not-found']], ['at=2026-03-01T12:00:00Z', first],
        ['at=2026-03-02T13:00:00%2B01:00', third], ['at=2026-03-02T11:00:00Z', first],
        ['at=2099-01-01T00:00:00Z', third],
        ...['revision=0', 'revision=-1', 'revision=x', 'revision=1.5', 'revision=', 'at=2026-03-01', 'at=',
          'revision=1&at=2026-03-01T12:00:00Z', 'revision=1&revision=2', 'revision=1&foo=1']
          .map(query => [query, [400, 'invalid-query']])
      ] as const) t.strictSame(await read(query as string), expected, String(query))
      t.match((await get('/crm/toys/77?revision=1')).json(), { status: 404 })
      t.match((await get('/crm/fixed/1?revision=1')).json(), { status: 400, errors: [{ parameter: 'revision' }] })
      t.match((await get(`${home}.json?revision=1`)).json(), { name: 'Ball' })
    })

    t.test('in every representation, with links, fields and expand', async t => {
      const { links, note, ...item } = (await get(`${home}?revision=2`)).json()
      t.strictSame(links, {
        maker: '/crm/makers/1',
        collection: '/crm/toys',
        log: `${home}/commands`,
        self: `${home}?revision=2`,
        current: home,
        prev: `${home}?revision=1`,
        next: `${home}?revision=3`
      })
      t.match(item, { region: 'north', revision: 2 })
      t.match((await get(`${home}?revision=1&format=xml`)).body, '<name>Ball</name>')
      t.strictSame((await get(`${home}?revision=1&fields=id,name`)).json(), { id, name: 'Ball' })
      t.match((await get(`${home}?revision=1&expand=maker`)).json(), { maker: { name: 'Ann' } })
      t.match((await get(`/v2/toys/${id}?revision=1`)).json(), { label: 'Ball', revision: 1 })
      const { items } = (await get(`${home}/commands`)).json<{ items: { id: string }[] }>()
      const entry = (await get(`${home}/commands/${items[1]?.id}`)).json()
      t.match(entry, {
        changes: { name: { from: 'Ball', to: 'Big ball' }, note: { to: 'a' } },
        links: { revision: `${home}?revision=2` }
      })
      const result = await call(app, 'toys_get', { id, revision: 1 })
      t.match(result, { content: { name: 'Ball', revision: 1 } })
      t.match(await call(app, 'toys_get', { id, at: '2026-03-03T12:00:00Z' }), { content: { revision: 3 } })
      t.match(await call(app, 'toys_get', { id, at: '2026-03-02T12:59:00+01:00' }), { content: { revision: 1 } })
      const before = await call(app, 'toys_get', { id, at: '2026-01-01T00:00:00Z' })
      t.match(before, { isError: true, content: { status: 404 } })
      const unknown = await call(app, 'toys_get', { id, at: 'today' })
      t.match(unknown, { isError: true, text: /\/at: must be a date and time/ })
      t.match(await call(app, 'toys_get', { id, at: '2026-03-03T12:00:00Z', revision: 1 }), {
        isError: true, text: /not both/
      })
    })

    t.test('a tag of its own, which is not that of another revision', async t => {
      const { headers: { etag } } = await get(`${home}?revision=2`)
      t.match(etag, /^"2-json/)
      t.equal((await get(`${home}?revision=2`, { 'if-none-match': etag })).statusCode, 304)
      t.equal((await get(`${home}?revision=1`, { 'if-none-match': etag })).statusCode, 200)
      const stale = await app.inject({
        method: 'PATCH', url: home, headers: { 'if-match': etag as string }, payload: { note: 'b' }
      })
      t.equal(stale.statusCode, 412)
    })

    t.test('who may see it now, and could have seen it then', async t => {
      t.strictSame(await read('revision=3', { 'x-region': 'south' }), ['Big ball', 3, '2026-03-02T12:00:00.000Z'])
      t.strictSame(await read('revision=1', { 'x-region': 'south' }), [404, 'not-found'])
      t.strictSame(await read('revision=1', { 'x-region': 'north' }), [404, 'not-found'])
    })

    t.test('on pages', async t => {
      const see = async (url: string) => (await get(url, { accept: 'text/html' })).body
      const page = await see(`${home}?revision=1`)
      t.match(page, /This was revision 1, of/)
      t.match(page, `<a href="${home}?revision=2" rel="next">Later</a>`)
      t.match(page, `<a href="${home}">As it is now</a>`)
      t.match(page, /Ball<\/span> <span class="hint">Now: Big ball/)
      t.notMatch(page, /method="post"/)
      t.match(await see(home), `<a class="revision" href="${home}?revision=1">as it was</a>`)
      t.equal((await get(`${home}?revision=9`, { accept: 'text/html' })).statusCode, 404)
    })

    t.test('of an item that is gone', async t => {
      const south = { 'x-region': 'south' }
      const { links: { follow } } = (await get(`${home}/commands`, south)).json<{ links: { follow: string } }>()
      await book.remove(id)
      t.match((await get(follow, south)).json().items, [{ action: 'DeleteToy' }], 'its feed')
      t.equal((await get(follow, { 'x-region': 'north' })).statusCode, 404)
      t.strictSame(await read('revision=1'), ['Ball', 1, '2026-03-01T12:00:00.000Z'])
      t.strictSame(await read('revision=3', { 'x-region': 'south' }), ['Big ball', 3, '2026-03-02T12:00:00.000Z'])
      t.strictSame(await read('revision=1', { 'x-region': 'north' }), [404, 'not-found'])
      t.strictSame(await read('revision=4'), [404, 'not-found'])
      const page = (await get(`${home}?revision=2`, { accept: 'text/html' })).body
      t.match(page, /It was deleted\./)
      t.match(page, new RegExp(`href="${home}/commands"[^>]*>.*Big ball`), 'what there is still')
      t.notMatch(page, 'As it is now')
      t.notOk('current' in (await get(`${home}?revision=2`)).json().links)
      // The log has what it was, so that it follows the same rule.
      const [entry] = (await get(`${home}/commands?sort=-revision`)).json<{ items: { id: string }[] }>().items
      for (const path of ['commands', 'commands?format=html', `commands/${entry?.id}`, 'deletions', 'edits.csv']) {
        const codes = ['south', 'north'].map(async region =>
          (await get(`${home}/${path}`, { 'x-region': region })).statusCode)
        t.strictSame(await Promise.all(codes), [200, 404], path)
      }
      const byRegion = toys.service({ storage, authorize: ({ principal = '' }) => ({ where: regionIs(principal) }) })
      t.equal((await byRegion.log(id, { principal: 'south' })).items.length, 4)
      t.match(await byRegion.entry(id, entry?.id ?? '', { principal: 'south' }), { action: 'DeleteToy' })
      await t.rejects(byRegion.log(id, { principal: 'north' }), { code: 'not-found' })
      const log = (await get(`${home}/commands`, { accept: 'text/html' })).body
      t.match(log, `<a class="revision" href="${home}?revision=3">as it was</a>`)
      t.notMatch(log, `${home}?revision=4`)
    })

    t.test('as far as the log reaches', async t => {
      const moment = (day: number): string => `2026-03-0${day}T12:00:00.000Z`
      const loaded = { name: 'Top', region: 'north', maker: 1 }
      await loadItems(storage, toys, [
        { id: 8, ...loaded, createdAt: moment(1) },
        { id: 9, ...loaded, revision: 4, createdAt: moment(1), updatedAt: moment(2) }
      ])
      clock.now = moment(4)
      const codeOf = async (id: number, query: string) => {
        const { statusCode, body } = await get(`/crm/toys/${id}?${query}`)
        return statusCode === 200 ? JSON.parse(body).name : statusCode
      }
      t.strictSame([await codeOf(9, 'revision=3'), await codeOf(9, `at=${moment(1)}`)], [410, 410])
      t.strictSame([await codeOf(9, 'revision=4'), await codeOf(9, `at=${moment(3)}`)], ['Top', 'Top'])
      for (const id of [8, 9]) await book.run('edit', id, { name: 'Spin' })
      t.strictSame([await codeOf(8, 'revision=1'), await codeOf(8, `at=${moment(3)}`)], ['Top', 'Top'])
      t.strictSame([await codeOf(8, `at=${moment(5)}`), await codeOf(8, 'at=2026-02-01T00:00:00Z')], ['Spin', 404])
      t.strictSame([await codeOf(9, 'revision=4'), await codeOf(9, `at=${moment(3)}`)], [410, 410])
      t.equal(await codeOf(9, 'revision=4&fields=name'), 'Top', 'only the moment of that change is not known')
      await prune(storage, { before: moment(9) })
      t.strictSame([await codeOf(8, 'revision=1'), await codeOf(8, 'revision=2')], [410, 'Spin'])
      t.equal((await get(`${home}?revision=1`)).statusCode, 404)
    })
  })
}
