import Fastify from 'fastify'
import t from 'tap'
import { buildApp } from '../../examples/own-representation.js'
import {
  customers, deals, defineFamily, type FamilyMount, json, memoryStorage, type Representation, Type
} from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'

t.test('a representation of the host\'s own', async t => {
  const app = buildApp(await storageOf(people(3)))
  t.teardown(() => app.close())
  const type = 'application/hal+json; charset=utf-8'
  for (const request of [
    { url: '/customers.hal?maxpagesize=2' },
    { url: '/customers?maxpagesize=2&format=hal' },
    { url: '/customers?maxpagesize=2', headers: { accept: 'application/hal+json' } }
  ]) {
    const answer = await app.inject(request)
    t.equal(answer.headers['content-type'], type, request.url)
    const plain = await app.inject({ ...request, url: request.url.replace('hal', 'json'), headers: {} })
    const { items, links, ...members } = plain.json() as { items: object[], links: Record<string, string> }
    const _links = Object.fromEntries(Object.entries(answer.json()._links as Record<string, { href: string }>)
      .map(([rel, { href }]) => [rel, href.replace('hal', 'json')]))
    t.strictSame({ ...answer.json(), _links }, { ...members, _links: links, _embedded: { customers: items } })
    t.strictSame(items, people(2))
  }
  const one = await app.inject('/customers/2.hal')
  const _links = { self: { href: '/customers/2' }, collection: { href: '/customers' } }
  t.strictSame(
    [one.headers['content-type'], one.headers.etag, one.json()],
    [type, '"1-hal"', { ...people(2)[1], _links }]
  )
  t.equal(
    (await app.inject('/customers/9.hal')).headers['content-type'],
    'application/problem+json; charset=utf-8',
    'what it cannot show, another does'
  )
  t.match((await app.inject('/customers?format=html')).body, 'format=hal', 'people are led to it too')
  for (const url of ['/query/customers/2.hal', '/query/customers/2?format=hal']) {
    const list = { _links: {}, _embedded: { customers: [people(2)[1]] } }
    t.strictSame((await app.inject(url)).json(), list, 'a bare list too')
  }
})

t.test('one that shows what can be done has a tag of its content', async t => {
  const actions: Representation = {
    name: 'actions',
    extension: 'actions',
    mediaTypes: ['application/actions+json'],
    async one ({ document, offers }) {
      const allowed = (await offers?.())?.filter(({ allowed }) => allowed)
      return JSON.stringify({ document, operations: allowed?.map(({ action }) => action) })
    }
  }
  const plain: Representation = { ...json, name: 'plain', extension: 'plain', mediaTypes: ['application/plain+json'] }
  let now = new Date('2030-01-01')
  const notes = defineFamily({
    name: 'notes',
    singular: 'note',
    fields: Type.Object({ id: Type.Integer(), text: Type.String() }),
    create: ['text'],
    operations: {
      poke: {
        name: 'poke',
        verb: 'poke',
        participle: 'poked',
        noun: 'pokes',
        action: 'PokeNote',
        params: Type.Object({}),
        allowed: (_note, _params, context) => context.now < '2030-01-02',
        apply: note => ({ ...note, text: 'b' })
      }
    }
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(notes, { storage: memoryStorage(), clock: () => now, representations: [json, actions, plain] })
  await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
  const before = await app.inject('/notes/1.actions')
  const tagged = await app.inject('/notes/1.plain')
  t.match(before.headers.etag, /^"1-actions-[\w-]{6}-[\w-]{22}"$/)
  t.notOk('last-modified' in before.headers)
  t.match(tagged.headers.etag, /^"1-plain-[\w-]{6}"$/, 'one that shows the item only has that of the revision')
  t.ok(tagged.headers['last-modified'])
  const get = (url: string, headers: object) => app.inject({ url, headers: { ...headers } })
  const headers = { 'if-none-match': String(before.headers.etag) }
  t.equal((await get('/notes/1.actions', headers)).statusCode, 304)
  t.equal((await get('/notes/1.plain', { 'if-none-match': String(tagged.headers.etag) })).statusCode, 304)
  now = new Date('2030-01-03')
  const after = await get('/notes/1.actions', headers)
  t.equal(after.statusCode, 200)
  t.not(after.body, before.body)
  t.equal((await get('/notes/1.actions', { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' })).statusCode, 200)
  t.equal((await get('/notes/1.actions', { 'if-match': '"9-actions"' })).statusCode, 412)
  const remove = { method: 'DELETE', url: '/notes/1', headers: { 'if-match': String(after.headers.etag) } } as const
  t.equal((await app.inject(remove)).statusCode, 204, 'its revision counts for writes')
})

t.test('one that cannot show a problem', async t => {
  const broken: Representation = {
    ...json,
    name: 'broken',
    extension: 'broken',
    mediaTypes: ['text/broken'],
    problemType: 'text/broken',
    problem: () => { throw new Error('secret') }
  }
  const lines: string[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  app.register(customers, { storage: await storageOf(people(1)), representations: [broken] })
  const answer = await app.inject('/customers/9')
  t.equal(answer.statusCode, 404)
  t.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.match(answer.json(), { status: 404, title: /./ })
  t.notMatch(answer.body, 'secret')
  t.match(lines.join(''), /The representation \\"broken\\" cannot show a problem/)
})

const nameOf = ({ model }: FamilyMount, action: string) =>
  String(model.actions.find(each => each.action === action)?.name)

t.test('one that responds by itself', async t => {
  const targets: object[] = []
  const own: Representation = {
    ...json,
    name: 'own',
    extension: 'own',
    mediaTypes: ['application/own'],
    async respond (target, request, reply) {
      const { mount, representation, mediaType, ...asked } = target
      targets.push(asked)
      if (target.kind === 'item') {
        const { id } = await mount.book(request).get(target.id)
        reply.header('content-type', mediaType).send(`${String(id)} at ${mount.url(target.id)}`)
        return true
      }
      if (target.kind === 'query') return false
      reply.send(target.kind)
      return true
    },
    async submit ({ mount, action, id }, { entries }, request, reply) {
      const { item } = id === undefined
        ? await mount.book(request).create(Object.fromEntries(entries))
        : await mount.book(request).run(nameOf(mount, action), id, Object.fromEntries(entries))
      reply.code(303).header('location', mount.url(item?.['id'] as number)).send()
    }
  }
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(customers, { storage: await storageOf(people(2)), prefix: '/crm', representations: [json, own] })
  app.register(deals, { storage: memoryStorage(), prefix: '/crm', version: 'v1', representations: [json, own] })
  const deal = '/crm/rest/v1/deals'
  const command = '11111111-1111-4111-8111-111111111111'
  const created = await app.inject({ method: 'POST', url: deal, payload: { name: 'Tea', price: 1 } })
  const { id } = created.json<{ id: string }>()
  for (const [url, asked] of [
    ['/crm/customers/2.own', { kind: 'item', id: 2, search: '', suffix: 'own' }],
    ['/crm/customers/2?format=own', { kind: 'item', id: 2, search: 'format=own' }],
    ['/crm/customers.own?min-age=3', { kind: 'list', search: 'min-age=3', suffix: 'own' }],
    ['/crm/?format=own', { kind: 'home', search: 'format=own' }],
    [`${deal}/${id}/operations.own`, { kind: 'operations', id, suffix: 'own' }],
    [`${deal}/${id}/commands.own`, { kind: 'log', id, noun: undefined }],
    [`${deal}/${id}/holds.own`, { kind: 'log', id, noun: 'holds' }],
    [`${deal}/${id}/holds/${command}.own`, { kind: 'entry', id, command, noun: 'holds' }],
    [`/crm/rest/commands/${command}.own`, { kind: 'command', command }],
    [`${deal}/commands.own`, { kind: 'feed', isShared: false, id: undefined }],
    ['/crm/rest/commands.own', { kind: 'feed', isShared: true, id: undefined }]
  ] as const) {
    targets.length = 0
    t.equal((await app.inject(url)).statusCode, 200, url)
    t.match(targets, [asked], url)
  }
  t.equal((await app.inject('/crm/customers/2.own')).body, '2 at /crm/customers/2')
  t.match((await app.inject('/crm/query/customers/2.own')).json(), { status: 404 }, 'there is no such thing')
  const missing = await app.inject('/crm/customers/9.own')
  t.match(missing.json(), { status: 404 }, 'a problem of the book')

  const send = async (url: string, payload: string) => await app.inject({
    method: 'POST',
    url,
    payload,
    headers: { accept: 'application/own', 'content-type': 'application/x-www-form-urlencoded' }
  })
  t.match(await send('/crm/customers', 'name=Zoe'), { statusCode: 405 }, 'customers are not written')
  t.match(await send(deal, 'name=Tea'), { statusCode: 400 })
  const held = await send(`${created.headers.location}/holds`, 'reason=Papers')
  t.match(held, { statusCode: 303, headers: { location: created.headers.location } })
  t.match((await app.inject(String(held.headers.location))).json(), { held: true })
})
