import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { makeChooser } from '../../lib/http/negotiate.js'
import type { Representation } from '../../lib/index.js'
import { csv, customers, deals, html, json, memoryStorage, ndjson, representations, xml } from '../../lib/index.js'
import { customersApp, people, storageOf } from '../customers-app.js'
import { createDeal, dealsApp } from '../deals/app.js'

const j = 'application/json'
const x = 'application/xml'
const h = 'text/html'
const c = 'text/csv'
const n = 'application/x-ndjson'

/** What one resource comes as, by Accept; 406 where it comes not at all. */
const accepts: readonly (readonly [accept: string | undefined, one: string | 406])[] = [
  [undefined, j],
  ['', j],
  ['*/*', j],
  [j, j],
  [x, x],
  ['text/xml', 'text/xml'],
  [h, h],
  ['APPLICATION/XML', x],
  ['application/*', j],
  // a second name of a representation comes after the first names of all
  ['text/*', h],
  // weights, whatever the order
  [`${j};q=0.5, ${x};q=0.6`, x],
  [`${j};q=0.5,${x};q=0.4`, j],
  [`${h};q=0.001, */*;q=0`, h],
  // the order of the client where the weights are equal
  [`${x}, ${j}`, x],
  // the more specific range counts for its type
  [`*/*, ${j};q=0.1`, x],
  [`*/*;q=0.1, ${h};q=0.2`, h],
  [`application/*;q=0.2, ${j};q=0.1, ${h};q=0.15`, x],
  // zero excludes
  [`${j};q=0, */*`, x],
  [`${j};q=0, application/*;q=0, */*`, h],
  ['*/*;q=0', 406],
  [`${j};q=0`, 406],
  [`${j};q=0.0, image/png`, 406],
  // parameters: a type that is asked for with one is not the type without it
  [`${j};version=2`, 406],
  [`${j};version=2, ${x};q=0.1`, x],
  [`${j};q=0.5;ext=1, ${h};q=0.4`, h],
  // what is not offered, and what is not well-formed
  ['image/png', 406],
  ['image/png, */*;q=0.1', j],
  ['json', 406],
  [`garbage, ${x}`, x],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8', h],
  // what comes after the first thousand characters is not looked at
  [`${'image/png, '.repeat(80)}${x}`, x],
  [`${'image/png, '.repeat(91)}${x}`, 406],
  [`${x};q=0.1, ${'image/png, '.repeat(91)}${j}`, x],
  [`image/${'p'.repeat(2000)}, ${x}, image/png`, 406],
  [`${c}`, 406],
  [`${c}, ${x};q=0.1`, x]
]

/** The same for a page, where it differs. */
const pageAccepts: readonly (readonly [accept: string, page: string])[] = [
  [c, c],
  [n, n],
  ['application/ndjson', 'application/ndjson'],
  [`${c};q=0.9, ${j};q=0.8`, c],
  [`${j}, ${c}`, j],
  ['text/*, text/xml;q=0, text/html;q=0', c]
]

const typeOf = (answer: { headers: Record<string, unknown> }) => String(answer.headers['content-type'])

/** Pages may have several languages. */
const variesBy = (answer: { headers: Record<string, unknown> }) =>
  typeOf(answer).startsWith(h) ? 'Accept, Accept-Language' : 'Accept'

t.test('Accept chooses among what there is', async t => {
  const app = await customersApp(t)
  for (const [accept, expected] of accepts) {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await app.inject({ method, url: '/customers/1', headers: accept === undefined ? {} : { accept } })
      t.equal(answer.statusCode, expected === 406 ? 406 : 200, `${method} ${accept}`)
      if (expected !== 406) t.equal(typeOf(answer), `${expected}; charset=utf-8`, `${method} ${accept}`)
      t.equal(answer.headers.vary, variesBy(answer), `${method} ${accept}: varies`)
    }
  }
  for (const [accept, expected] of pageAccepts) {
    const answer = await app.inject({ url: '/customers', headers: { accept } })
    t.equal(typeOf(answer), `${expected}; charset=utf-8`, accept)
    t.equal(answer.headers.vary, 'Accept', `${accept}: varies`)
  }
  const { detail } = (await app.inject({ url: '/customers/1', headers: { accept: 'image/png' } })).json<{
    detail: string
  }>()
  t.match(detail, /application\/json, application\/xml, text\/xml, text\/html$/, 'what there is, is named')
})

t.test('path suffix, then format, then Accept', async t => {
  const app = await customersApp(t)
  const deal = await dealsApp(memoryStorage())
  t.teardown(() => deal.close())
  const { id } = await createDeal(deal)
  const cases: readonly (readonly [FastifyInstance, string, string | undefined, number, string])[] = [
    [app, '/customers.xml', undefined, 200, x],
    [app, '/customers.xml?format=json', h, 200, x],
    [app, '/customers?format=html', x, 200, h],
    [app, '/customers/1.html', x, 200, h],
    [app, '/customers/1.json?format=xml', x, 200, j],
    [app, '/customers.csv', undefined, 200, c],
    [app, '/customers.ndjson', undefined, 200, n],
    [app, '/customers?format=ndjson', undefined, 200, n],
    [app, '/query/customers-by-age/37.xml', undefined, 200, x],
    [app, '/query/customers-by-age/37.csv', undefined, 200, c],
    [deal, `/rest/v1/deals/${id}/commands.xml`, undefined, 200, x],
    [deal, `/rest/v1/deals/${id}/holds.csv`, undefined, 200, c],
    [deal, `/rest/v1/deals/${id}.xml`, undefined, 200, x],
    // no such suffix: there is no such resource
    [app, '/customers.pdf', undefined, 404, 'application/problem+json'],
    [app, '/customers/1.pdf', undefined, 404, 'application/problem+json'],
    [app, '/customers/1.csv', undefined, 404, 'application/problem+json'],
    [deal, `/rest/v1/deals/${id}/commands.pdf`, undefined, 404, 'application/problem+json'],
    // no such format, and a format for lists only
    [app, '/customers?format=pdf', undefined, 406, 'application/problem+json'],
    [app, '/customers/1?format=csv', undefined, 406, 'application/problem+json'],
    [app, '/customers?format=', undefined, 406, 'application/problem+json'],
    [app, '/customers?format=__proto__', undefined, 406, 'application/problem+json'],
    // problems are shown as what was asked for, as far as it can show them
    [app, '/customers?page=0', x, 400, 'application/problem+xml'],
    [app, '/customers?page=0', 'application/problem+xml', 406, 'application/problem+xml'],
    [app, '/customers?page=0', h, 400, h],
    [app, '/customers?page=0&format=xml', h, 400, 'application/problem+xml'],
    [app, '/customers.xml?page=0', undefined, 400, 'application/problem+xml'],
    [app, '/customers/99.xml', undefined, 404, 'application/problem+xml'],
    [app, '/customers.pdf', x, 404, 'application/problem+xml'],
    [app, '/customers.csv?page=0', undefined, 400, 'application/problem+json'],
    // behind more parameters than a query may have, nothing is looked for
    [app, `/customers?${'%ff&'.repeat(100)}format=xml`, undefined, 400, 'application/problem+xml'],
    [app, `/customers?${'%ff&'.repeat(101)}format=xml`, undefined, 400, 'application/problem+json'],
    [app, '/customers?page=0', 'image/png', 406, 'application/problem+json'],
    [app, '/customers/99', `${c}, ${h};q=0.5`, 404, h]
  ]
  for (const [host, url, accept, status, type] of cases) {
    const answer = await host.inject({ url, headers: accept === undefined ? {} : { accept } })
    const name = `${url.replace(id, 'ID')} ${accept ?? ''}`
    t.equal(answer.statusCode, status, name)
    t.equal(typeOf(answer), `${type}; charset=utf-8`, `${name}: type`)
    t.equal(answer.headers.vary, variesBy(answer), `${name}: varies`)
  }
})

t.test('a dot in the id of a command is no suffix for its writer', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const put = (body: object) =>
    app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/commands/first.xml`, payload: body })
  t.equal(typeOf(await put({ action: 'HoldDeal', params: { reason: 'r' } })), `${j}; charset=utf-8`)
  t.equal(typeOf(await put({ action: 'UnholdDeal' })), 'application/problem+json; charset=utf-8')
  const read = await app.inject(`/rest/v1/deals/${id}/commands/first.xml`)
  t.equal(typeOf(read), `${j}; charset=utf-8`, 'the whole text is the id')
  t.equal(typeOf(await app.inject(`/rest/v1/deals/${id}/commands/first.xml.html`)), `${h}; charset=utf-8`)
})

t.test('304 and 412 per representation', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const url = `/rest/v1/deals/${id}`
  for (const [format, type] of [['json', j], ['xml', x]] as const) {
    const first = await app.inject({ url, headers: { accept: type } })
    t.equal(first.headers.etag, `"1-${format}"`)
    for (const method of ['GET', 'HEAD'] as const) {
      const again = await app.inject({ method, url, headers: { accept: type, 'if-none-match': `"1-${format}"` } })
      t.strictSame(
        [again.statusCode, again.headers.vary, again.headers.etag, again.body],
        [304, 'Accept', `"1-${format}"`, ''],
        `${method} ${format}`
      )
    }
    const other = await app.inject({ url, headers: { accept: type, 'if-none-match': '"1-csv"' } })
    t.equal(other.statusCode, 200, 'another representation is another thing')
    t.equal(
      (await app.inject({ url, headers: { accept: type, 'if-match': '"2"' } })).headers.vary,
      'Accept',
      '412 varies'
    )
  }
  t.equal((await app.inject(url)).body, (await app.inject({ url, headers: { accept: '*/*' } })).body)
})

t.test('the first representation is the default, and a host chooses which there are', async t => {
  const app = await customersApp(t, { options: { representations: [xml, json] } })
  t.equal(typeOf(await app.inject('/customers')), `${x}; charset=utf-8`)
  t.equal((await app.inject('/customers.html')).statusCode, 404)
  t.equal(typeOf(await app.inject('/customers?page=0')), 'application/problem+xml; charset=utf-8', 'for problems too')

  const flawed: readonly (readonly [unknown, RegExp])[] = [
    [[], /one of which shows problems/],
    [[csv], /one of which shows problems/],
    ['json', /must be a list of representations/],
    [[...representations, html({ title: 'CRM' })], /two of them have the name "html"/],
    [[json, { ...xml, extension: 'json' }], /two of them have the extension "json"/],
    [[json, { ...xml, mediaTypes: [] }], /"xml" needs a media type/],
    [[json, { ...xml, mediaTypes: ['xml'] }], /"xml" has the media type "xml"/],
    [[json, { ...xml, name: 'x ml' }], /name "x ml"/],
    [[json, { ...xml, extension: 'x.ml' }], /extension "x.ml"/],
    [[json, { name: 'none', extension: 'none', mediaTypes: ['a/b'] }], /"none" shows nothing/]
  ]
  for (const [value, message] of flawed) {
    const host = Fastify()
    host.register(customers, { storage: memoryStorage(), representations: value as Representation[] })
    await t.rejects(async () => await host.ready(), { message }, String(message))
  }
})

t.test('Accept strings that never come again do not pile up', async t => {
  const chooser = makeChooser([json, xml, html(), csv, ndjson])
  const first = chooser.choose('one', { accept: x })
  t.equal(chooser.choose('one', { accept: x }), first, 'what comes again is not worked out again')
  const chosen = Array.from({ length: 1000 }, (_, n) => chooser.choose('one', { accept: `${x};q=0.${n}1` }).mediaType)
  t.strictSame(new Set(chosen), new Set([x]))
  t.not(chooser.choose('one', { accept: x }), first, 'it was let go in the meantime')
  const long = `${x}${', a/b;q=0.1'.repeat(500)}`
  const ofLong = chooser.choose('one', { accept: long })
  t.equal(ofLong.mediaType, x)
  t.not(chooser.choose('one', { accept: long }), ofLong, 'what is very long is not kept')
})

t.test('creation answers in the representation that was asked for', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  app.register(customers, { storage: await storageOf(people(3)) })
  await app.ready()
  for (const [accept, mark] of [
    [j, '"links":{"self":"HREF"'],
    [x, '<links><self>HREF</self>'],
    [h, '<a href="HREF">HREF</a>']
  ] as const) {
    const answer = await app.inject({
      method: 'POST',
      url: '/rest/v1/deals/',
      headers: { accept },
      payload: { name: 'Tea & "more" <b>', price: 5 }
    })
    t.equal(answer.statusCode, 201, accept)
    t.equal(typeOf(answer), `${accept}; charset=utf-8`)
    t.equal(answer.headers.vary, variesBy(answer))
    const location = answer.headers.location as string
    t.ok(answer.body.includes(mark.replaceAll('HREF', location)), `${accept}: links to what was created`)
    t.ok(answer.body.includes(`${location}/commands`), `${accept}: and to its log`)
    t.match(answer.headers.etag, /^"1-(json|xml|html)"$/)
    const noun = await app.inject({
      method: 'POST',
      url: `${location}/holds`,
      headers: { accept },
      payload: { reason: 'r' }
    })
    t.equal(noun.statusCode, 201)
    t.ok(
      noun.body.includes(mark.replaceAll('HREF', noun.headers.location as string)),
      `${accept}: an entry of a noun too`
    )
  }
  const refused = await app.inject({
    method: 'POST',
    url: '/rest/v1/deals/',
    headers: { accept: c },
    payload: { name: 'Tea', price: 5 }
  })
  t.equal(refused.statusCode, 406)
  t.equal(
    (await app.inject('/rest/v1/deals?count=exact')).json<{ total: number }>().total,
    3,
    'what cannot be answered is not done'
  )
})
