import Fastify from 'fastify'
import t from 'tap'
import { customers, deals, defineFamily, memoryStorage, Type } from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'
import { createDeal, dealsApp, home, snapshot } from '../deals/app.js'
import { anyStorage } from '../storages.js'

const linksOf = (self: string) =>
  ({ self, collection: self.replace(/\/[^/]+$/, ''), log: `${self}/commands`, operations: `${self}/operations` })

for (const { name, make } of anyStorage) {
  t.test(`${name}: an item has links, wherever it is shown by itself`, async t => {
    const { storage, dispose } = await make()
    const app = await dealsApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const created = await app.inject({ method: 'POST', url: home, payload: { name: 'Tea', price: 5 } })
    const self = created.headers.location as string
    const links = linksOf(self)
    t.strictSame(created.json().links, links)
    for (const url of [self, `${self}/`, `${self}.json`, `${self}?format=json`]) {
      t.equal((await app.inject(url)).body, created.body, `${url}: one tag, one text`)
    }
    for (const request of [
      { method: 'PUT', url: `${self}/hold`, payload: { reason: 'a' } },
      { method: 'PUT', url: `${self}/holded`, payload: { reason: 'a' } },
      { method: 'PUT', url: self, payload: { action: 'UnholdDeal' } },
      { method: 'PATCH', url: self, payload: { name: 'Green tea' } }
    ] as const) {
      const answer = await app.inject(request)
      t.strictSame(answer.json().links, links, request.url)
      t.equal((await app.inject(self)).body, answer.body, 'as its Content-Location shows it')
    }
    t.match(
      (await app.inject(`${self}.xml`)).body,
      `<links><self>${self}</self><collection>${home}</collection><log>${links.log}</log>` +
        `<operations>${links.operations}</operations></links></deal>`
    )
    for (const url of Object.values(links)) t.equal((await app.inject(url)).statusCode, 200, url)

    const id = self.split('/').at(-1) as string
    for (const url of [home, `${home}.xml`, `${home}.csv`, `${home}.ndjson`, `/query/deals/${id}`]) {
      t.notMatch((await app.inject(url)).body, links.operations, `${url}: not in lists`)
    }
    t.strictSame((await app.inject(`${self}?fields=id,name`)).json(), { id, name: 'Green tea' }, 'only these members')
    t.notMatch((await app.inject(`${self}.html`)).body, `>${self}</a>`, 'to a person, the page leads on')
  })
}

t.test('an item may be sent back as it was read', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const url = `${home}/${id}`
  const read = async () => (await app.inject(url)).json()
  const item = await read()
  for (const method of ['PUT', 'PATCH'] as const) {
    const same = await app.inject({ method, url, payload: item })
    t.strictSame([same.statusCode, same.json()], [200, item], 'nothing changed')
  }
  const edited = await app.inject({ method: 'PUT', url, payload: { ...item, name: 'Green tea' } })
  t.strictSame([edited.statusCode, edited.json().name, edited.json().revision], [200, 'Green tea', 2])
  const some = await app.inject({ method: 'PATCH', url, payload: { links: { self: item.links.self } } })
  t.equal(some.statusCode, 200, 'what is left out stays')

  const before = await snapshot(app, id)
  for (const [links, ...pointers] of [
    [{ ...item.links, self: `${home}/other` }, '/links/self'],
    [{ ...item.links, self: null, log: 1 }, '/links/self', '/links/log'],
    [{ ...item.links, next: '/' }, '/links/next'],
    [{ 'a/b': '/' }, '/links/a~1b'],
    [{ constructor: '/' }, '/links/constructor'],
    [['/'], '/links/0'],
    [null, '/links'],
    ['/', '/links']
  ] as const) {
    for (const method of ['PUT', 'PATCH'] as const) {
      const refused = await app.inject({ method, url, payload: { name: 'Black tea', links } })
      const said = JSON.stringify(links)
      t.match(refused.json(), { status: 400, type: 'urn:dealbook:problem:invalid-body' }, said)
      t.strictSame(refused.json().errors.map(({ pointer }: { pointer: string }) => pointer), pointers, said)
    }
  }
  const refused = await app.inject({ method: 'PUT', url, payload: { action: 'UnholdDeal', links: item.links } })
  t.equal(refused.statusCode, 400, 'with an action, there is no item that is sent back')
  t.strictSame(await snapshot(app, id), before)
})

t.test('links are as all others are', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = await storageOf(people(3))
  app.register(customers, { storage, prefix: '/:tenant' })
  app.register(customers, { storage, prefix: '/public', publicUrl: 'https://crm.example/api/' })
  app.register(deals, { storage, version: 'v1', prefix: '/public', publicUrl: 'https://crm.example/api/' })
  const read = async (url: string) => (await app.inject({ url, headers: { host: 'evil.example' } })).json().links
  t.strictSame(await read('/a%20b/customers/1'), { self: '/a%20b/customers/1', collection: '/a%20b/customers' })
  t.strictSame(await read('/public/customers/1'), {
    self: 'https://crm.example/api/public/customers/1',
    collection: 'https://crm.example/api/public/customers'
  })
  const url = '/public/rest/v1/deals'
  const made = await app.inject({ method: 'POST', url, payload: { name: 'Tea', price: 5 } })
  const self = made.headers.location as string
  t.strictSame(made.json().links, linksOf(self))
  const path = self.replace('https://crm.example/api', '')
  t.equal((await app.inject({ method: 'PUT', url: path, payload: made.json() })).statusCode, 200)
  const links = linksOf(path)
  t.equal((await app.inject({ method: 'PUT', url: path, payload: { links } })).statusCode, 400, 'those of elsewhere')
})

t.test('no field is called links', async t => {
  t.throws(
    () => customers.extend({ fields: Type.Object({ links: Type.Optional(Type.String()) }) }),
    /the field "links" belongs to the service/
  )
})

t.test('what an item refers to is linked, where it is mounted beside it', async t => {
  const teams = defineFamily({
    name: 'teams',
    singular: 'team',
    fields: Type.Object({ id: Type.Integer(), name: Type.String() }),
    create: ['name']
  })
  const people = defineFamily({
    name: 'people',
    singular: 'person',
    fields: Type.Object({
      id: Type.Integer(), team: Type.Integer(), chief: Type.Optional(Type.Integer()), name: Type.String()
    }),
    create: ['team', 'chief', 'name'],
    edit: ['team', 'name'],
    references: { team: teams, chief: 'people' }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  app.register(teams, { storage, prefix: '/hr', version: 'v1' })
  app.register(people, { storage, prefix: '/hr' })
  app.register(people, { storage, prefix: '/alone' })
  const post = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json()
  for (const name of ['A', 'B']) await post('/hr/rest/v1/teams', { name })
  const plain = linksOf('/hr/people/1')
  t.strictSame((await post('/hr/people', { team: 1, name: 'Ann' })).links, { ...plain, team: '/hr/rest/v1/teams/1' })
  await post('/hr/people', { team: 2, chief: 1, name: 'Bob' })
  const bob = (await app.inject('/hr/people/2')).json()
  t.match(bob.links, { self: '/hr/people/2', team: '/hr/rest/v1/teams/2', chief: '/hr/people/1' })
  t.match((await app.inject('/alone/people/2')).json().links, { chief: '/alone/people/1', team: undefined })
  t.notOk('team' in (await app.inject('/alone/people/2')).json().links, 'a family that is elsewhere')
  t.match((await app.inject('/hr/people/2.xml')).body, '<team>/hr/rest/v1/teams/2</team><chief>/hr/people/1</chief>')
  // The links are those of the item as it was, also where it refers to another after it.
  const moved = await app.inject({ method: 'PUT', url: '/hr/people/2', payload: { ...bob, team: 1 } })
  t.strictSame([moved.statusCode, moved.json().links.team], [200, '/hr/rest/v1/teams/1'])
  const links = { ...bob.links, chief: '/hr/people/2' }
  const refused = await app.inject({ method: 'PUT', url: '/hr/people/2', payload: { links: { chief: links.chief } } })
  t.match(refused.json(), { status: 400, errors: [{ pointer: '/links/chief' }] })
  t.throws(
    () => people.extend({ fields: Type.Object({ log: Type.Integer() }), create: ['log'], references: { log: teams } }),
    /references has "log", which is the name of a link that every item has/
  )
})
