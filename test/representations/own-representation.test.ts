import Fastify from 'fastify'
import t from 'tap'
import { buildApp } from '../../examples/own-representation.js'
import { customers, json, type Representation } from '../../lib/index.js'
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
    t.match(answer.json(), { page: 1, _links: { next: { href: /after=/ } }, _embedded: { customers: people(2) } })
    t.notOk('items' in answer.json<object>())
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
  t.match(
    (await app.inject('/query/customers/2.hal')).json(),
    { _embedded: { customers: [{ id: 2 }] } },
    'a bare list too'
  )
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
