import { Type } from '@sinclair/typebox'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { deals, defineFamily, memoryStorage } from '../../lib/index.js'
import { createDeal, dealsApp, home, type Item } from '../deals/app.js'
import { storages } from '../storages.js'

interface Page {
  readonly items: readonly (Item & { readonly name: string })[]
  readonly total?: number
  readonly links: { readonly next?: string, readonly prev?: string, readonly self: string }
}

const page = async (app: FastifyInstance, url: string): Promise<Page> => {
  const answer = await app.inject(url)
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.body}`)
  return answer.json<Page>()
}
const namesOf = ({ items }: Pick<Page, 'items'>) => items.map(({ name }) => name).sort()
const find = async (app: FastifyInstance, query: string) => namesOf(await page(app, `${home}?${query}`))
const detail = async (app: FastifyInstance, url: string) => {
  const { statusCode, body } = await app.inject(url)
  return statusCode === 400 ? JSON.parse(body).detail as string : statusCode
}

for (const { name, make } of storages) {
  t.test(`${name}: items in one of several states`, async t => {
    const { storage, dispose } = await make()
    const app = await dealsApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const steps = { hold: { reason: 'r' }, complete: {}, cancel: { amercement: 1, reason: 'r' } }
    for (const [name, ...done] of [['a'], ['b', 'hold'], ['c', 'complete'], ['d', 'cancel'], ['e', 'hold', 'cancel']]) {
      const { id } = await createDeal(app, { name })
      for (const step of done) {
        await app.inject({ method: 'PUT', url: `${home}/${id}/${step}`, payload: steps[step as keyof typeof steps] })
      }
    }
    for (const [query, ...names] of [
      ['state=open', 'a'], ['state=held', 'b'], ['state=completed', 'c'], ['state=cancelled', 'd', 'e'],
      ['state=held&state=open', 'a', 'b'], ['state=held&state=held', 'b'],
      ['state=completed&state=cancelled&state=held', 'b', 'c', 'd', 'e'],
      ['state=cancelled&name=d', 'd'], ['state=open&name=d'], ['state=held&or.name=b&or.name=a', 'b']
    ] as const) t.strictSame(await find(app, query), names, query)
    t.match(await page(app, `${home}?state=cancelled&state=open&count=exact&maxpagesize=1`), { total: 3 })
    const first = await page(app, `${home}?state=cancelled&state=open&maxpagesize=2&sort=name`)
    t.strictSame(namesOf(first), ['a', 'd'])
    t.match(first.links.next, 'state=cancelled&state=open&maxpagesize=2&sort=name&after=')
    t.strictSame(namesOf(await page(app, first.links.next as string)), ['e'], 'its links keep them')
    const book = deals.service({ storage })
    t.strictSame(namesOf(await book.find('state=held') as unknown as Page), ['b'], 'a service has them too')
    const renamed = deals.rename({ held: 'paused', name: 'title' }).service({ storage })
    t.strictSame((await renamed.find('state=held&search=B')).items.map(({ title }) => title), ['b'])
    const csv = await app.inject(`${home}?state=held&format=csv&fields=name`)
    t.equal(csv.body, 'name\r\nb\r\n')
  })

  t.test(`${name}: words in one of several fields`, async t => {
    const { storage, dispose } = await make()
    const notes = defineFamily({
      name: 'notes',
      singular: 'note',
      fields: Type.Object({ id: Type.Integer(), name: Type.String(), text: Type.Optional(Type.String()) }),
      create: ['name', 'text'],
      search: ['name', 'text']
    })
    const app = Fastify()
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    app.register(notes, { storage })
    for (const payload of [
      { name: 'Tea' }, { name: 'Green tea', text: 'From Japan' }, { name: 'Coffee', text: 'No TEA, 100%' },
      { name: 'GRÜN' }
    ]) await app.inject({ method: 'POST', url: '/notes', payload })
    for (const [search, ...names] of [
      ['tea', 'Coffee', 'Green tea', 'Tea'], ['TEA japan', 'Green tea'], ['  japan\u00a0 tea\n', 'Green tea'],
      ['coffee japan'], ['100%', 'Coffee'], ['grün', 'GRÜN'], ['.*'], ['tea tea tea', 'Coffee', 'Green tea', 'Tea'],
      ['', 'Coffee', 'GRÜN', 'Green tea', 'Tea'], ['e e e e e e e e', 'Coffee', 'Green tea', 'Tea']
    ] as const) {
      t.strictSame(namesOf(await page(app, `/notes?search=${encodeURIComponent(search)}`)), names, search)
    }
    t.strictSame(namesOf(await page(app, '/notes?search=tea&id.ne=1&or.name.has=coff&or.text.has=jap')),
      ['Coffee', 'Green tea'])
  })
}

t.test('what search and state refuse', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  t.equal(await detail(app, `${home}?state=hold`), 'state must be one of open, held, completed, cancelled')
  t.equal(await detail(app, `${home}?search=a&search=b`), 'search may be given only once')
  t.equal(await detail(app, `${home}?search=1+2+3+4+5+6+7+8+9`), 'search may have at most 8 words')
  t.equal(await detail(app, `${home}?search=${'a'.repeat(201)}`), 'search must have at most 200 characters')
  t.match(await detail(app, `${home}?search=a%00b`), /search must not contain/)
  t.equal(await detail(app, `${home}?search=${'a'.repeat(200)}+${'b'.repeat(200)}`), 200)
  t.match(await detail(app, `${home}?q=tea`), /Did you mean "search"\?/)
  t.match(await detail(app, `${home}?stat=held`), /other parameters: .*, before, state, search, time-zone;/)
  t.match(await detail(app, `${home}?or.state=held`), /Unknown parameter "or.state"/)
  const { id } = await createDeal(app)
  t.match(await detail(app, `${home}/${id}?state=held`), /This is a single resource/)
  t.match(await detail(app, `${home}/${id}/commands?state=held`), /Unknown parameter "state"/)
})

t.test('a field of the same name is meant, and what is not there is unknown', async t => {
  const fields = Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    state: Type.String(),
    search: Type.String(),
    status: Type.Union([Type.Literal('on'), Type.Literal('off')])
  })
  const lamps = defineFamily({ name: 'lamps', singular: 'lamp', fields, create: ['name', 'state', 'search', 'status'] })
  const bare = defineFamily({ name: 'bare', singular: 'one', fields: Type.Object({ id: Type.Integer() }) })
  const unsearched = defineFamily({
    name: 'quiet', singular: 'still', search: [], fields: Type.Object({ id: Type.Integer(), name: Type.String() })
  })
  const app = Fastify()
  t.teardown(() => app.close())
  for (const family of [lamps, bare, unsearched]) app.register(family, { storage: memoryStorage() })
  const payload = { name: 'a', state: 'new', search: 'high', status: 'on' }
  await app.inject({ method: 'POST', url: '/lamps', payload })
  t.strictSame(namesOf(await page(app, '/lamps?state=new&search=high')), ['a'])
  t.strictSame(namesOf(await page(app, '/lamps?state=on')), [])
  t.strictSame(namesOf(await page(app, '/lamps?search=a')), [])
  t.match(await detail(app, '/bare?state=on'), /Unknown parameter "state"/)
  t.match(await detail(app, '/bare?search=on'), /Unknown parameter "search"/)
  t.match(await detail(app, '/quiet?search=on'), /Unknown parameter "search"\. Fields/)
})

t.test('fields may be given several times', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app, { name: 'a' })
  for (const query of ['fields=name,price', 'fields=name&fields=price', 'fields=name&sort=id&fields=price']) {
    t.strictSame((await page(app, `${home}?${query}`)).items, [{ name: 'a', price: 100 }], query)
    if (query.includes('sort')) continue
    t.strictSame(Object.keys(await page(app, `${home}/${id}?${query}`)), ['name', 'price'])
  }
  t.equal(await detail(app, `${home}?fields=name&fields=name`), 'fields names "name" twice')
  t.match(await detail(app, `${home}?fields=name&fields=nam`), /"nam", which is not a field\. Did you mean/)
})

t.test('days of a time zone, in lists and in logs', async t => {
  let now = '2026-11-16T11:00:00.000Z'
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1', clock: () => new Date(now) })
  for (const [name, moment] of [
    ['late on 16', '2026-11-16T10:59:59.999Z'], ['early on 17', '2026-11-16T11:00:00.000Z'],
    ['late on 17', '2026-11-17T10:59:59.999Z'], ['early on 18', '2026-11-17T11:00:00.000Z']
  ] as const) {
    now = moment
    await createDeal(app, { name })
  }
  const zone = 'time-zone=Pacific/Auckland'
  const on17 = ['early on 17', 'late on 17']
  for (const [query, ...names] of [
    [`createdAt=2026-11-17&${zone}`, ...on17], [`${zone}&createdAt=2026-11-17`, ...on17],
    ['time-zone=pacific%2Fauckland&createdAt=2026-11-17', ...on17],
    [`min-createdAt=2026-11-17&${zone}`, 'early on 17', 'early on 18', 'late on 17'],
    [`max-createdAt=2026-11-17&${zone}`, 'early on 17', 'late on 16', 'late on 17'],
    [`createdAt>2026-11-17&${zone}`, 'early on 18'], [`createdAt<2026-11-17&${zone}`, 'late on 16'],
    [`createdAt>=2026-11-17&createdAt<=2026-11-17&${zone}`, ...on17],
    [`createdAt.ne=2026-11-17&${zone}`, 'early on 18', 'late on 16'],
    [`or.createdAt=2026-11-16&or.name=early+on+18&${zone}`, 'early on 18', 'late on 16'],
    ['createdAt=2026-11-17', 'early on 18', 'late on 17'],
    [`createdAt=2026-11-16T11:00:00Z&${zone}`, 'early on 17'],
    ['completionDate.null=true&min-completionDate=2026-01-01&time-zone=UTC']
  ] as const) t.strictSame(await find(app, query), names.toSorted(), query)

  const { items: [last] } = await page(app, `${home}?name=early+on+18`)
  const log = `${home}/${last?.id}/commands`
  t.equal((await page(app, `${log}?createdAt=2026-11-18&${zone}`)).items.length, 1)
  t.equal((await page(app, `${log}?createdAt=2026-11-17&${zone}`)).items.length, 0)
  t.equal((await page(app, `${log}?createdAt=2026-11-17`)).items.length, 1)
  t.match((await page(app, `${home}?${zone}&maxpagesize=1`)).links.next, `${zone}&maxpagesize=1&after=`)
  for (const wrong of ['Mars/Base', '%2B05:00', '']) {
    t.equal(await detail(app, `${home}?createdAt=2026-11-17&time-zone=${wrong}`),
      'time-zone must be a time zone, such as Europe/Berlin')
  }
  t.equal(await detail(app, `${home}?${zone}&${zone}`), 'time-zone may be given only once')
})

t.test('a day that a time zone left out is no day', async t => {
  const storage = memoryStorage()
  const events = defineFamily({
    name: 'events',
    singular: 'event',
    fields: Type.Object({ id: Type.Integer(), at: Type.String({ format: 'date-time' }) }),
    create: ['at'],
    queries: { 'events-by-day': { field: 'at' } }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(events, { storage })
  for (const at of ['2011-12-30T09:59:00Z', '2011-12-30T10:00:00Z', '2011-12-31T10:00:00Z']) {
    await app.inject({ method: 'POST', url: '/events', payload: { at } })
  }
  const ids = async (query: string) =>
    (await page(app, `/events?${query}&time-zone=Pacific/Apia`)).items.map(({ id }) => Number(id))
  t.strictSame(await ids('at=2011-12-30'), [])
  t.strictSame(await ids('at=2011-12-30&at=2011-12-31'), [2], 'and does not hide the next')
  t.strictSame(await ids('at.ne=2011-12-30'), [1, 2, 3])
  t.strictSame(await ids('at.ne=2011-12-30&at.ne=2011-12-29'), [2, 3])
  const list = await app.inject('/query/events-by-day/2011-12-31?time-zone=Pacific/Apia')
  t.strictSame(list.json<Item[]>().map(({ id }) => Number(id)), [2], 'a result of a query by day')
})
