import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyServerOptions, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { customers, deals, memoryStorage, Problem } from '../../lib/index.js'
import { invoices } from '../family/invoices.js'

type Options = Partial<FamilyOptions> & { readonly fastify?: FastifyServerOptions }

/** Deals in two versions, customers and invoices at one prefix of a host that has a handler of its own. */
function startApp (t: { teardown (close: () => unknown): void }, { fastify = {}, ...options }: Options = {}) {
  const app = Fastify(fastify)
  t.teardown(() => app.close())
  const all = { storage: memoryStorage(), prefix: '/crm', ...options }
  app.setNotFoundHandler((_request, reply) => { reply.code(404).send({ host: true }) })
  app.register(customers, all)
  app.register(deals, { ...all, version: 'v1' })
  app.register(deals, { ...all, version: 'v2' })
  app.register(invoices, all)
  return app
}

const home = '/crm/rest/v1/deals'

const unknown: Readonly<Record<string, readonly [request: InjectOptions, detail: RegExp]>> = {
  'a version': [
    { url: '/crm/rest/v9/deals' },
    /^There is no "v9" here\. Did you mean "v1"\? There are v1, v2$/
  ],
  'a version with a slash': [{ url: '/crm/rest/latest/deals/' }, /^There is no "latest" here\. There are v1, v2$/],
  'a version and a suffix': [{ url: '/crm/rest/v9/deals.json' }, /There is no "v9"/],
  'an item of it': [{ url: '/crm/rest/v9/deals/1/commands' }, /There is no "v9"/],
  'an operation of it': [{ method: 'PUT', url: '/crm/rest/v9/deals/1/hold', payload: { reason: 'a' } }, /"v9"/],
  'a version of what has none': [
    { url: '/crm/rest/v1/customers' },
    /^There is no "customers" here\. Did you mean \/crm\/customers\? There is deals$/
  ],
  'a family without its version': [
    { url: '/crm/deals/1?page=2' },
    /^There is no "deals" here\. Did you mean \/crm\/rest\/v1\/deals or \/crm\/rest\/v2\/deals\? There are customers/
  ],
  'an operation': [
    { method: 'PUT', url: `${home}/1/hodl` },
    /^There is no "hodl" here\. Did you mean "hold"\? There are .*hold, .*commands, operations$/
  ],
  'a word': [{ url: `${home}/1/fly/` }, /^There is no "fly" here\. There are/],
  'what is deeper': [{ url: `${home}/1/holds/2/3` }, /There is no "3" here/],
  'what only reading has': [{ url: '/crm/customers/1/orders' }, /^There is no "orders" here\.$/],
  'a command': [
    { method: 'POST', url: '/crm/command/HoldDael/', payload: {} },
    /^There is no "HoldDael" here\. Did you mean "HoldDeal"\? There are HoldDeal, /
  ],
  'a command that is read': [{ url: '/crm/command/Nope' }, /There is no "Nope"/],
  'a command without a name': [
    { method: 'POST', url: '/crm/command/' },
    /nothing at this path; known paths: \/command\/HoldDeal, /
  ],
  'what is below a command': [{ method: 'POST', url: '/crm/command/HoldDeal/1' }, /There is no "1" here/],
  'a query': [{ url: '/crm/query/nope/1' }, /^There is no "nope" here\. There are customers, .*deals-by-name/],
  'a query without its parameter': [
    { url: '/crm/query/deals' },
    /^There is nothing at this path; known paths: \/query\/deals\/\{parameter\}$/
  ],
  'a query with two': [{ url: '/crm/query/deals/1/2' }, /There is no "2" here/],
  'all queries': [{ url: '/crm/query' }, /nothing at this path; known paths: \/query\/customers\/\{parameter\},/],
  'a very long word': [{ url: `/crm/query/${'x'.repeat(5000)}/1` }, /There is no "x{90}/],
  'a body of any type': [
    { method: 'POST', url: '/crm/command/Nope', headers: { 'content-type': 'text/plain' }, payload: 'a' },
    /There is no "Nope"/
  ],
  'a body that is broken': [
    { method: 'PUT', url: `${home}/1/hodl`, headers: { 'content-type': 'application/json' }, payload: '{' },
    /There is no "hodl"/
  ]
}

t.test('what is unknown under the prefix is a problem, and says what there is', async t => {
  const app = startApp(t)
  for (const [what, [request, detail]] of Object.entries(unknown)) {
    const answer = await app.inject(request)
    t.match(answer.json(), { type: 'urn:dealbook:problem:not-found', status: 404, detail }, what)
    t.strictSame([answer.statusCode, answer.headers['cache-control']], [404, 'no-store'], what)
  }
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    t.equal((await app.inject({ method, url: `${home}/1/fly` })).statusCode, 404, method)
  }
  const html = await app.inject({ url: '/crm/rest/v9/deals', headers: { accept: 'text/html' } })
  t.match(html.headers['content-type'], 'text/html')
  t.match(html.headers['content-security-policy'], "default-src 'none'")
  t.match((await app.inject('/crm/query/nope/1?format=xml')).body, '<detail>There is no ')
})

t.test('all paths under the prefix are answered, all others are left to the host', async t => {
  const app = startApp(t)
  for (const url of ['/', '/rest/v1/deals', '/customers', '/query/deals/1', '/crmx', '/crmx/deals']) {
    const answer = await app.inject(url)
    t.strictSame([answer.statusCode, answer.json()], [404, { host: true }], url)
  }
  for (const url of [
    '/crm/rest', '/crm/rest/v1', '/crm/rest/v1/orders', '/crm/rest/v1/dealsx/1', '/crm/customersx', '/crm/nope',
    '/crm/queries/deals/1', '/crm/commands/1', `/crm/rest/${'x'.repeat(200)}/orders`
  ]) {
    const answer = await app.inject(url)
    t.match([answer.statusCode, answer.json()], [404, { type: 'urn:dealbook:problem:not-found' }], url)
    const page = await app.inject({ url, headers: { accept: 'text/html' } })
    t.equal(page.statusCode, 404, url)
    t.match(page.body, '<a href="/crm/customers">Customers</a>', `${url}: with the navigation`)
  }
})

t.test('the host keeps its own routes and handlers, before and after', async t => {
  const own = async (app: FastifyInstance) => {
    app.get('/crm/rest/v0/deals', async () => 'the old version')
    app.get('/crm/rest/v1/deals/:id/pdf', async () => 'a file')
    app.get('/crm/query/own/:name', async () => 'a query')
    app.all('/crm/rest/legacy/*', async () => 'a proxy')
    app.register(async scope => {
      scope.setNotFoundHandler(async () => 'its own')
    }, { prefix: '/crm/customers' })
  }
  for (const order of ['before', 'after']) {
    const app = Fastify()
    if (order === 'before') app.register(own)
    app.register(customers, { storage: memoryStorage(), prefix: '/crm' })
    app.register(deals, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
    if (order === 'after') app.register(own)
    for (const [url, body] of [
      ['/crm/rest/v0/deals', 'the old version'],
      [`${home}/1/pdf`, 'a file'],
      ['/crm/query/own/1', 'a query'],
      ['/crm/rest/legacy/deals', 'a proxy'],
      ['/crm/customers/1/orders', 'its own']
    ] as const) t.equal((await app.inject(url)).body, body, `${url}, ${order}`)
    t.match((await app.inject(`${home}/1/fly`)).json().detail, 'There is no "fly" here')
    t.match((await app.inject('/crm/rest/v0/deals/1')).json().detail, 'There is no "v0" here')
    t.match((await app.inject('/none')).json(), { error: 'Not Found', message: /Route GET/ }, 'as Fastify says it')
    await app.close()
  }
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1' })
  app.get('/*', async () => 'a page')
  t.equal((await app.inject('/rest/v9/deals')).body, 'a page', 'a host that takes all')
  t.match((await app.inject({ method: 'PUT', url: '/rest/v9/deals/1/hold' })).json().detail, '"v9"', 'but not by PUT')
  t.equal((await app.inject('/rest/v1/deals')).statusCode, 200)
})

t.test('nothing is revealed before authorize was asked, nor past a hook', async t => {
  const app = startApp(t, {
    authorize (_request, { family, action, id }) {
      if (family === 'invoices') return
      throw new Problem('forbidden', `Not ${action} ${family}${id === undefined ? '' : ` ${id}`}`)
    }
  })
  const details = async (url: string) => (await app.inject(url)).json().detail
  t.equal(await details(`${home}/7/fly`), 'Not read deals 7')
  t.equal(await details(`${home}/a%00b/fly`), 'Not list deals')
  t.equal(await details('/crm/rest/v9/deals'), 'Not list deals')
  t.equal(await details('/crm/query/nope/1'), 'There is no "nope" here. There is invoices')
  t.equal(await details('/crm/deals'), 'There is no "deals" here. There are invoices, command, query')
  t.equal(await details('/crm/command/HoldDeal/1'), 'Not list deals')
  t.match(await details('/crm/command/Nope'), 'There are PayInvoice')

  const guarded = Fastify()
  t.teardown(() => guarded.close())
  guarded.addHook('preHandler', async () => { throw new Problem('unauthorized', 'Who are you?') })
  guarded.register(deals, { storage: memoryStorage(), version: 'v1' })
  for (const url of ['/rest/v9/deals', '/rest/v1/deals/1/fly', '/query/nope/1']) {
    t.equal((await guarded.inject(url)).json().detail, 'Who are you?', url)
  }
})

t.test('with every router option, and wherever it is mounted', async t => {
  const table: [options: Options, url: string][] = [
    [{ prefix: '' }, '/rest/v9/deals/1'],
    [{ prefix: '' }, '/customers.json/1'],
    [{ prefix: '' }, '/command/Nope'],
    [{ prefix: '/' }, '/query/nope/1'],
    [{ prefix: '/crm/' }, '/crm/rest/v1/deals/1/fly'],
    [{ prefix: '/:tenant' }, '/a/rest/v9/deals'],
    [{ fastify: { routerOptions: { ignoreTrailingSlash: true } } }, '/crm/rest/v9/deals/'],
    [{ fastify: { routerOptions: { caseSensitive: false } } }, '/crm/rest/v1/deals/1/fly'],
    [{ fastify: { routerOptions: { ignoreDuplicateSlashes: true } } }, '/crm/command/Nope'],
    [{ fastify: { rewriteUrl: ({ url = '/' }) => url.replace(/^\/api/, '/crm') } }, '/api/query/nope/1']
  ]
  for (const [options, url] of table) {
    const app = startApp(t, options)
    const answer = await app.inject(url)
    t.match(answer.json(), { type: 'urn:dealbook:problem:not-found' }, `${url}: ${answer.body}`)
    t.strictSame((await app.inject('/elsewhere')).json(), { host: true })
  }
})

t.test('what has ended says so at every path of its own', async t => {
  const app = startApp(t, { sunset: '2020-01-01', successor: '/new' })
  const answer = await app.inject(`${home}/1/fly`)
  t.strictSame([answer.statusCode, answer.headers.link], [410, '</new>; rel="successor-version"'])
})

t.test('one that leaves the shared paths to others answers only below its own', async t => {
  const app = startApp(t, { unversioned: false })
  t.match((await app.inject(`${home}/1/fly`)).json().detail, 'There is no "fly" here')
  for (const url of ['/crm/query/nope/1', '/crm/command/Nope']) {
    t.strictSame((await app.inject(url)).json(), { host: true }, url)
  }
})

t.test('methods that Fastify does not know are refused as others are', async t => {
  const app = startApp(t)
  await app.listen()
  const { port } = app.server.address() as AddressInfo
  const send = async (method: string, path: string): Promise<{ status?: number, allow?: string, body: string }> =>
    await new Promise((resolve, reject) => {
      httpRequest({ port, method, path }, answer => {
        let body = ''
        answer.setEncoding('utf8').on('data', part => { body += part })
          .on('end', () => {
            const { statusCode: status, headers: { allow } } = answer
            resolve({ ...(status && { status }), ...(allow && { allow }), body })
          })
      }).on('error', reject).end()
    })
  for (const [path, allow] of [
    [home, 'GET, HEAD, OPTIONS, POST, QUERY'],
    [`${home}/`, 'GET, HEAD, OPTIONS, POST, QUERY'],
    [`${home}.json`, 'GET, HEAD, OPTIONS, QUERY'],
    [`${home}/1`, 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    [`${home}/1/holds/`, 'GET, HEAD, OPTIONS, POST, QUERY'],
    [`${home}/1/commands/c1`, 'GET, HEAD, OPTIONS, PUT'],
    ['/crm/customers/1', 'GET, HEAD, OPTIONS'],
    ['/crm/query/deals/1', 'GET, HEAD, OPTIONS, QUERY'],
    ['/crm/command/HoldDeal', 'OPTIONS, POST'],
    ['/crm/rest/commands/c1', 'GET, HEAD, OPTIONS, PUT']
  ] as const) {
    for (const method of ['PROPFIND', 'LOCK', 'MKCOL']) {
      const answer = await send(method, path)
      t.strictSame([answer.status, answer.allow], [405, allow], `${method} ${path}: ${answer.body}`)
      t.match(JSON.parse(answer.body), { detail: `${method} is not allowed here; allowed: ${allow}` })
    }
  }
  t.equal((await send('PROPFIND', `${home}/1/fly`)).status, 404)
  t.match((await send('PROPFIND', '/none')).body, '"host":true')
  t.strictSame(app.supportedMethods.includes('PROPFIND'), false, 'and the host knows as many as before')
})
