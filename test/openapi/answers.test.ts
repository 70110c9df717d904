import swagger from '@fastify/swagger'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { Storage } from '../../lib/index.js'
import { BusyError, ConstraintError, deals, Problem, problemCodes, ReadOnlyError } from '../../lib/index.js'
import type { Route } from '../authorization/routes.js'
import { everyRoute, requestsFor } from '../authorization/routes.js'
import { bills, people } from '../family/keyed.js'
import { anyStorage } from '../storages.js'
import { codeOf, Description, findFlaws } from './unsaid.js'

type Change = (request: InjectOptions) => InjectOptions
type Code = keyof typeof problemCodes

const withHeaders = (headers: Record<string, string>): Change => request =>
  ({ ...request, headers: { ...request.headers, ...headers } })
const withQuery = (query: string): Change => request => ({ ...request, url: `${String(request.url)}?${query}` })
const withBody = (payload: string | object, type = 'application/json'): Change => request => {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  return { ...withHeaders({ 'content-type': type })(request), payload: text }
}
const html = { accept: 'text/html' }
const form = 'application/x-www-form-urlencoded'

/** What is done to a request that fits, to be answered in every way there is. */
const changes: Readonly<Record<string, Change>> = {
  nothing: request => request,
  xml: withHeaders({ accept: 'application/xml' }),
  html: withHeaders(html),
  csv: withHeaders({ accept: 'text/csv, */*;q=0.1' }),
  ndjson: withHeaders({ accept: 'application/x-ndjson, */*;q=0.1' }),
  'no such representation': withHeaders({ accept: 'image/png' }),
  'no such format': withQuery('format=nope'),
  'no such parameter': withQuery('nope=1'),
  'one member': withQuery('fields=id'),
  'nothing there': request =>
    ({ ...request, url: String(request.url).replace(/(deals|customers|invoices)\/[^/]+/, '$1/999999') }),
  'a stale tag': withHeaders({ 'if-match': '"99"' }),
  'a current tag': withHeaders({ 'if-none-match': '*' }),
  'no body wanted': withHeaders({ prefer: 'return=minimal' }),
  'a body wanted': withHeaders({ prefer: 'return=representation' }),
  'no body': ({ payload, ...request }) => request,
  'an unknown member': withBody({ nope: 1 }),
  'no JSON': withBody('{'),
  'no media type of ours': withBody('a', 'text/plain'),
  'a large body': withBody({ name: 'a'.repeat(30_000) }),
  'a form': request => {
    const members = Object.entries((request.payload ?? {}) as Record<string, string>)
    return withBody(new URLSearchParams(members).toString(), form)(withHeaders(html)(request))
  },
  'a wrong form': withBody('nope=1', form),
  'another site': request =>
    withHeaders({ 'sec-fetch-site': 'cross-site', origin: 'https://example.org' })(withBody('', form)(request)),
  'a wrong key': withHeaders({ 'idempotency-key': 'a'.repeat(300) }),
  'nobody known': withHeaders({ 'hook-refuses': '401' }),
  'nobody who may': withHeaders({ 'authorize-refuses': 'yes' })
}

/** A storage that does not do what it is asked, as long as it is told what to say instead. */
class Faulty implements Storage {
  fault: Error | undefined
  constructor (private readonly inner: Storage) {}
  prepare: Storage['prepare'] = async shape => { await this.inner.prepare(shape) }
  find: Storage['find'] = async (...query) => await this.inner.find(...query)
  get: Storage['get'] = async (...query) => await this.inner.get(...query)
  close: Storage['close'] = async () => {}
  commit: Storage['commit'] = async changes => {
    if (this.fault !== undefined) throw this.fault
    await this.inner.commit(changes)
  }
}

interface Host {
  readonly app: FastifyInstance
  readonly routes: readonly Route[]
  readonly description: Description
  readonly faulty: Faulty
  readonly seen: Set<string>
}

// Of the first host; to make one takes long, and what the storage is, it does not say.
let description: Description | undefined

/** All families in all forms and, under prefixes of their own, those that can be refused in further ways. */
async function buildHost (t: Test, storage: Storage): Promise<Host> {
  const faulty = new Faulty(storage)
  const silent = new Faulty(storage)
  silent.get = async () => await new Promise(() => {})
  const authorize = (request: { headers: Record<string, unknown> }) => {
    if (request.headers['authorize-refuses'] !== undefined) throw new Problem('forbidden', 'Ask your manager')
  }
  const { app, routes } = await everyRoute({ storage, bodyLimit: 20_000, authorize }, async app => {
    if (description === undefined) {
      await app.register(swagger, {
        openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } },
        refResolver: { buildLocalReference: json => String(json.$id) }
      })
    }
    app.addHook('onRequest', async ({ headers: { 'hook-refuses': status } }) => {
      if (status === undefined) return
      const headers = { 401: { 'www-authenticate': 'Basic' }, 429: { 'retry-after': '9' } }[String(status)]
      throw Object.assign(new Error('By a hook of the host'), { statusCode: Number(status), headers })
    })
    app.register(people, { storage, prefix: '/keyed', bodyLimit: 20_000 })
    app.register(bills, { storage, prefix: '/keyed' })
    const version = 'v1'
    app.register(deals, { storage, prefix: '/strict', version, preconditions: 'required', emptyList: 'not-found' })
    app.register(deals, { storage, prefix: '/old', version, sunset: '2020-01-01', successor: '/rest/v1/deals' })
    app.register(deals, { storage: faulty, prefix: '/faulty', version })
    app.register(deals, {
      storage: silent, prefix: '/silent', version, timeout: 20, forms: ['verb'], unversioned: false
    })
  })
  t.teardown(() => app.close())
  description ??= new Description(app)
  return { app, routes, faulty, seen: new Set(), description }
}

/** Sends every request in a third of the ways there are, and gives back the statuses of the answers. */
async function walk (t: Test, { app, description, routes, seen }: Host, third: number): Promise<number[]> {
  const statuses = new Set<number>()
  // The other spellings are answered by the same.
  const described = routes.filter(route => /^\/(rest|query|command)\//.test(route.url) && !route.url.endsWith('/') &&
    description.has(route))
  for (const route of described) {
    const unsaid: string[] = []
    const ways = Object.entries(changes).filter((_, number) => (number + route.url.length) % 3 === third)
    for (const [name, change] of ways) {
      for (const request of await requestsFor(app, route)) {
        const answer = await app.inject(change(request))
        statuses.add(answer.statusCode)
        seen.add(codeOf(answer) ?? '')
        const flaw = description.findUnsaid(route, answer, name === 'one member')
        if (flaw !== '') unsaid.push(`${name}: ${flaw}`)
      }
    }
    t.strictSame(unsaid, [], `${route.method} ${route.url}`)
  }
  t.ok(described.length > 80, `${described.length} routes`)
  return [...statuses].sort()
}

type Sent = InjectOptions & { readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', readonly url: string }

/** Sends what a route is for, and looks whether the answer is what is expected and described. */
async function check (
  t: Test,
  { app, description, seen }: Host,
  expected: number | Code,
  url: string,
  request: Sent,
  isPart = false
): Promise<Record<string, any>> {
  const answer = await app.inject(request)
  const code = codeOf(answer)
  seen.add(code ?? '')
  const name = `${request.method} ${request.url}`
  t.equal(typeof expected === 'number' ? answer.statusCode : code, expected, `${name}: ${answer.body.slice(0, 300)}`)
  t.equal(description.findUnsaid({ method: request.method, url }, answer, isPart), '', name)
  return String(answer.headers['content-type']).startsWith('application/json') ? answer.json() : {}
}

async function makeDeal ({ app }: Host, prefix = ''): Promise<string> {
  const payload = { name: 'a', price: 1 }
  return (await app.inject({ method: 'POST', url: `${prefix}/rest/v1/deals`, payload })).json<{ id: string }>().id
}

const home = '/rest/v1/deals'

async function checkCommands (t: Test, host: Host): Promise<void> {
  const item = `${home}/${await makeDeal(host)}`
  const hold = { method: 'POST', url: `${item}/holds`, payload: { reason: 'a' } } as const
  const keyed = { ...hold, headers: { 'idempotency-key': 'k' } }
  await check(t, host, 201, `${home}/:id/holds`, keyed)
  await check(t, host, 201, `${home}/:id/holds`, keyed)
  await check(t, host, 200, `${home}/:id/holds`, hold)
  await check(t, host, 204, `${home}/:id/holds`, { ...hold, headers: { prefer: 'return=minimal' } })
  await check(t, host, 'id-reused', `${home}/:id/holds`, { ...keyed, payload: { reason: 'b' } })
  await check(t, host, 'wrong-state', `${home}/:id/complete`, { method: 'PUT', url: `${item}/complete` })
  await check(t, host, 'wrong-state', `${home}/:id`, { method: 'PUT', url: item, payload: { action: 'CompleteDeal' } })
  const path = `${home}/:id/commands/:command`
  const complete = { method: 'PUT', url: `${item}/commands/c-0`, payload: { action: 'CompleteDeal' } } as const
  await check(t, host, 'wrong-state', path, complete)
  await check(t, host, 'wrong-state', path, complete)
  const command = { method: 'PUT', url: `${item}/commands/c-1`, payload: { action: 'UnholdDeal' } } as const
  await check(t, host, 201, path, command)
  await check(t, host, 200, path, command)
  await check(t, host, 'id-reused', path, { ...command, payload: { action: 'CompleteDeal' } })
  await check(t, host, 201, path, { ...command, url: `${item}/commands/c-2` })
  await check(t, host, 'bad-request', path, { ...command, url: `${item}/commands/a%20b` })
  await check(t, host, 'precondition-failed', `${home}/:id/hold`, {
    method: 'PUT', url: `${item}/hold`, payload: { reason: 'a' }, headers: { 'if-match': '"99"' }
  })
}

async function checkReads (t: Test, host: Host): Promise<void> {
  const ids = [await makeDeal(host), await makeDeal(host)]
  const [first] = ids
  const { links } = await check(t, host, 200, home, { method: 'GET', url: `${home}?maxpagesize=1&count=exact` })
  t.match(links.next, 'after=')
  const next = await check(t, host, 200, home, { method: 'GET', url: links.next })
  t.match(next.links.prev, 'before=')
  await check(t, host, 200, home, { method: 'GET', url: next.links.prev })
  await check(t, host, 200, home, { method: 'GET', url: `${home}?fields=id,name` }, true)
  for (const accept of ['text/csv', 'application/x-ndjson']) {
    await check(t, host, 200, home, { method: 'GET', url: home, headers: { accept } })
  }
  const read = { method: 'GET', url: `${home}/${first}` } as const
  await check(t, host, 304, `${home}/:id`, { ...read, headers: { 'if-none-match': '"1-json"' } })
  await check(t, host, 'precondition-failed', `${home}/:id`, { ...read, headers: { 'if-match': '"9"' } })
  await check(t, host, 'empty-list', '/query/deals-by-name/:parameter', {
    method: 'GET', url: '/query/deals-by-name/nobody'
  })
}

async function checkKeys (t: Test, host: Host): Promise<void> {
  const make = async (name: string, payload: object): Promise<number> =>
    (await check(t, host, 201, `/keyed/${name}`, { method: 'POST', url: `/keyed/${name}`, payload }))['id']
  const boss = await make('people', { name: 'Ann' })
  const customer = await make('people', { name: 'Bob', boss })
  const bill = await make('bills', { customer, number: '1' })
  const again = { method: 'POST', url: '/keyed/people', payload: { name: 'Ann' } } as const
  await check(t, host, 'taken', '/keyed/people', again)
  await check(t, host, 'taken', '/keyed/people/:id', {
    method: 'PATCH', url: `/keyed/people/${customer}`, payload: { name: 'Ann' }
  })
  await check(t, host, 'taken', '/keyed/rest/commands/:command', {
    method: 'PUT',
    url: '/keyed/rest/commands/c-9',
    payload: { person: customer, action: 'EditPerson', params: { name: 'Ann' } }
  })
  for (const [method, path, url] of [
    ['DELETE', '/keyed/people/:id', `/keyed/people/${customer}`],
    ['POST', '/keyed/people/:id/deletions', `/keyed/people/${customer}/deletions`]
  ] as const) await check(t, host, 'in-use', path, { method, url })
  const remove = { method: 'POST', url: '/keyed/command/DeletePerson', payload: { id: customer } } as const
  await check(t, host, 'in-use', remove.url, remove)

  const expand = async (path: string, url = path) => await check(t, host, 200, `/keyed/${path}`, {
    method: 'GET', url: `/keyed/${url}`
  })
  t.match(await expand('bills', 'bills?expand=customer,payer'), { items: [{ customer: { name: 'Bob' }, payer: null }] })
  t.match(await expand('bills/:id', `bills/${bill}?expand=customer`), { customer: { name: 'Bob' } })
  t.match(await expand('query/bills/:parameter', `query/bills/${bill}?expand=customer`), [{ customer: { boss } }])
  t.match(await expand('people/:id', `people/${customer}?expand=boss`), { boss: { name: 'Ann' } })
  t.match(await expand('people', 'people'), { items: [{ name: 'Ann' }, { boss }] })

  const gone = await make('people', { name: 'Carl' })
  const lost = await make('bills', { customer: gone, number: '2' })
  for (const url of [`/keyed/bills/${lost}`, `/keyed/people/${gone}`]) await host.app.inject({ method: 'DELETE', url })
  const restore = { method: 'PUT', url: `/keyed/bills/${lost}/restore` } as const
  await check(t, host, 'missing', '/keyed/bills/:id/restore', restore)
}

async function checkHome (t: Test, host: Host): Promise<void> {
  const path = '/keyed'
  const read = { method: 'GET', url: '/keyed/' } as const
  t.match(await check(t, host, 200, path, read), { families: [{ name: 'people' }, { name: 'bills' }] })
  await check(t, host, 200, '/strict', { ...read, url: '/strict' })
  for (const headers of [{ accept: 'application/xml' }, html]) await check(t, host, 200, path, { ...read, headers })
  await check(t, host, 'not-acceptable', path, { ...read, headers: { accept: 'image/png' } })
  await check(t, host, 'invalid-query', path, { ...read, url: '/keyed/?nope=1' })
  await check(t, host, 'unauthorized', path, { ...read, headers: { 'hook-refuses': '401' } })
  await check(t, host, 'gone', '/old', { ...read, url: '/old/' })
}

async function checkHosts (t: Test, host: Host): Promise<void> {
  const id = await makeDeal(host)
  for (const [expected, headers] of [
    ['unauthorized', { 'hook-refuses': '401' }],
    ['too-many-requests', { 'hook-refuses': '429' }],
    ['other', { 'hook-refuses': '418' }],
    ['internal', { 'hook-refuses': '500' }],
    ['forbidden', { 'authorize-refuses': 'yes' }]
  ] as const) {
    await check(t, host, expected, home, { method: 'GET', url: home, headers })
    await check(t, host, expected, `${home}/:id/hold`, {
      method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' }, headers
    })
  }
  const refused = await host.app.inject({ method: 'DELETE', url: home })
  host.seen.add(codeOf(refused) ?? '')
  t.equal(codeOf(refused), 'method-not-allowed', 'for which a document has no place')
  t.equal(findFlaws(host.description.problem, refused.json()), '')
}

type Case = [path: string, request: Sent]

/** Every kind of request for an item of a mount. */
function listRequests (prefix: string, id: string): [Case, ...Case[]] {
  const list = `${prefix}${home}`
  const payload = { reason: 'a' }
  return [
    [`${list}/:id/hold`, { method: 'PUT', url: `${list}/${id}/hold`, payload }],
    [`${list}/:id/holds`, { method: 'POST', url: `${list}/${id}/holds`, payload }],
    [`${list}/:id`, { method: 'PUT', url: `${list}/${id}`, payload: { action: 'HoldDeal', params: payload } }],
    [`${list}/:id`, { method: 'PATCH', url: `${list}/${id}`, payload: { name: 'b' } }],
    [`${list}/:id/commands/:command`, {
      method: 'PUT', url: `${list}/${id}/commands/c-3`, payload: { action: 'HoldDeal', params: payload }
    }],
    [`${prefix}/rest/commands/:command`, {
      method: 'PUT', url: `${prefix}/rest/commands/c-3`, payload: { deal: id, action: 'HoldDeal', params: payload }
    }],
    [`${prefix}/command/HoldDeal`, { method: 'POST', url: `${prefix}/command/HoldDeal`, payload: { id, ...payload } }],
    [`${list}/:id`, { method: 'DELETE', url: `${list}/${id}` }]
  ]
}

async function checkMounts (t: Test, host: Host): Promise<void> {
  for (const [path, request] of listRequests('/strict', await makeDeal(host))) {
    await check(t, host, 'precondition-required', path, request)
  }
  await check(t, host, 'empty-list', `/strict${home}`, { method: 'GET', url: `/strict${home}?name=nobody` })
  const beyond = Buffer.from(JSON.stringify(['commands position', true, 999_999_999])).toString('base64url')
  await check(t, host, 'pruned', `${home}/commands`, { method: 'GET', url: `${home}/commands?after=${beyond}` })
  for (const [path, request] of listRequests('/old', 'any')) await check(t, host, 'gone', path, request)
  await check(t, host, 'gone', `/old${home}`, { method: 'GET', url: `/old${home}` })
  await check(t, host, 'gone', '/old/rest/commands/:command', { method: 'GET', url: '/old/rest/commands/c-1' })
  const [[path, request]] = listRequests('/silent', '01890a5d-ac96-774b-bcce-b302099a8057')
  await check(t, host, 'timeout', path, request)
  await check(t, host, 'timeout', `/silent${home}/:id`, { method: 'GET', url: request.url.replace('/hold', '') })
  for (const [expected, fault] of [
    ['constraint', new ConstraintError('deals', 'a', 'value', { fields: ['price'] })],
    ['read-only', new ReadOnlyError('deals')],
    ['busy', new BusyError('Too many wait')],
    ['storage-unavailable', new Error('It burns')]
  ] as const) {
    const id = await makeDeal(host, '/faulty')
    host.faulty.fault = fault
    for (const [path, request] of listRequests('/faulty', id)) await check(t, host, expected, path, request)
    const payload = { name: 'b', price: 1 }
    await check(t, host, expected, `/faulty${home}`, { method: 'POST', url: `/faulty${home}`, payload })
    host.faulty.fault = undefined
  }
}

for (const [third, { name, make }] of anyStorage.entries()) {
  t.test(`${name}: every answer is one that the document describes`, async t => {
    const { storage, dispose } = await make()
    const host = await buildHost(t, storage)
    t.teardown(dispose)
    await t.test('every route, in every form, in a third of the ways', async t => {
      const statuses = await walk(t, host, third)
      t.strictSame(statuses, [200, 201, 204, 303, 304, 400, 401, 403, 404, 406, 412, 413, 415])
    })
    await t.test('commands and replays', t => checkCommands(t, host))
    await t.test('pages, exports and validators', t => checkReads(t, host))
    await t.test('unique values, references and what they refer to', t => checkKeys(t, host))
    await t.test('homes', t => checkHome(t, host))
    await t.test('what hosts refuse', t => checkHosts(t, host))
    await t.test('mounts with other options, and storages that fail', t => checkMounts(t, host))
    t.strictSame(Object.keys(problemCodes).filter(code => !host.seen.has(code)), [], 'no code was left out')
  })
}
