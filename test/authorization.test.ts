import { EventEmitter, once } from 'node:events'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { invoices } from '../examples/own-family.js'
import type { FamilyOptions, Grant, Intent } from '../lib/index.js'
import { customers, deals, memoryStorage, Problem } from '../lib/index.js'
import { everyRoute, requestsFor } from './authorization/routes.js'
import { recordingStorage } from './recording-storage.js'

type Verdict = (intent: Intent) => Grant | undefined

/** What became of one request under one verdict. */
interface Outcome {
  readonly name: string
  readonly method: string
  readonly statusCode: number
  readonly body: string
  /** What was asked of authorize and of the storage, in its order. */
  readonly events: readonly string[]
  readonly intents: readonly Intent[]
}

const throws: Verdict = () => { throw new Problem('forbidden', 'not you') }
const hides: Verdict = ({ family }) =>
  ({ where: [{ field: 'id', op: 'eq', values: [family === 'deals' ? 'nobody' : -1] }] })
const allows: Verdict = () => undefined

/** Sends requests that fit every route there is, under each verdict; the one that changes something comes last. */
async function walk () {
  const events: string[] = []
  const intents: Intent[] = []
  let verdict = allows
  const { app, routes } = await everyRoute({
    storage: recordingStorage(events),
    authorize (request: FastifyRequest, intent: Intent) {
      if (request.headers.trusted === 'yes') return undefined
      events.push('authorize')
      intents.push(intent)
      return verdict(intent)
    }
  })
  const outcomes = {
    thrown: [] as Outcome[],
    hidden: [] as Outcome[],
    allowed: [] as Outcome[],
    unasked: [] as Outcome[]
  }
  for (const { method, url } of routes) {
    // What is not allowed is known from the method alone, so there need be nothing to work on.
    events.length = 0
    const probe = await app.inject({ method: method as 'GET', url: url.replaceAll(/:\w+/g, '1') })
    if (probe.statusCode === 405) {
      outcomes.unasked.push({
        name: `${method} ${url}`,
        method,
        statusCode: 405,
        body: probe.body,
        events: events.splice(0),
        intents: []
      })
      continue
    }
    for (const request of await requestsFor(app, { method, url })) {
      const send = async (judge: Verdict): Promise<Outcome> => {
        verdict = judge
        events.length = intents.length = 0
        const { statusCode, body } = await app.inject(request)
        return { name: `${method} ${url}`, method, statusCode, body, events: [...events], intents: [...intents] }
      }
      const thrown = await send(throws)
      if (!thrown.events.includes('authorize')) {
        outcomes.unasked.push(thrown)
        continue
      }
      outcomes.thrown.push(thrown)
      outcomes.hidden.push(await send(hides))
      outcomes.allowed.push(await send(allows))
    }
  }
  await app.close()
  return { urls: new Set(routes.map(({ url }) => url)), ...outcomes }
}

const forms = [
  '/:id/hold',
  '/:id/holded',
  '/:id/holds',
  '/:id/holds/:command',
  '/:id/commands/:command',
  '/:id/commands',
  '/:id',
  '',
  '.:extension',
  '/:id/holds.:extension',
  '/:id/deletions'
]

t.test('every route', async t => {
  const { urls, unasked, thrown, hidden, allowed } = await walk()
  for (const form of forms) t.ok(urls.has(`/rest/v1/deals${form}`), `the walk comes by deals${form}`)
  for (const url of [
    '/rest/commands/:command',
    '/command/HoldDeal',
    '/command/PayInvoice',
    '/command/CreateCustomer',
    '/query/deals/:parameter',
    '/rest/v1/invoices/:id/pay'
  ]) { t.ok(urls.has(url), `the walk comes by ${url}`) }
  t.ok(allowed.length > 300, `${allowed.length} of the requests came to authorize`)

  await t.test('touches nothing where authorize is not asked', async t => {
    const wrong = unasked.filter(({ events, statusCode }) => events.length > 0 || ![204, 404, 405].includes(statusCode))
    t.strictSame(wrong, [])
  })

  await t.test('answers with the problem that authorize throws, and nothing was touched', async t => {
    t.strictSame(thrown.filter(({ method, statusCode, events, body }) => statusCode !== 403 ||
      events.some(event => event !== 'authorize') || (method !== 'HEAD' && !body.includes('not you'))), [])
  })

  await t.test('has nothing of what the conditions hide', async t => {
    t.strictSame(hidden.filter(({ events }) => events.includes('commit')), [], 'nothing is written')
    // Only a page can be without items.
    const page = /^(GET|HEAD|QUERY) \/rest\/(v1\/\w+(\/commands(\/deleted)?)?|commands)(\.:extension)?\/?$/
    t.strictSame(hidden.filter(({ name, method, statusCode, body }) => statusCode === 200
      ? !page.test(name) || (method === 'GET' && JSON.parse(body).items.length > 0)
      : statusCode !== (/Create|^POST \/rest\/v1\/\w+\/?$/.test(name) ? 403 : 404)), [])
  })

  await t.test('reads and writes only after authorize is asked', async t => {
    t.strictSame(allowed.filter(({ statusCode, events }) => events[0] !== 'authorize' || statusCode >= 300), [])
    t.strictSame(allowed.flatMap(({ intents }) => intents).filter(({ family, action, params }) =>
      !['customers', 'deals', 'invoices'].includes(family) || typeof params !== 'object' ||
      !/^(list|read|[A-Z]\w+(Deal|Invoice|Customer|Price|Date))$/.test(action)), [])
  })
})

/** Deals of several owners; the header says who asks. */
const owned = deals.extend({
  fields: Type.Object({ owner: Type.String() }),
  create: ['owner'],
  operations: {
    give: {
      name: 'give',
      verb: 'give',
      participle: 'given',
      noun: 'gifts',
      action: 'GiveDeal',
      params: Type.Object({ to: Type.String() }),
      apply: (deal, { to }) => ({ ...deal, owner: to })
    }
  }
})

async function ownedApp (
  t: { teardown (fn: () => unknown): void },
  authorize: FamilyOptions['authorize'] = byOwner
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(owned, { storage: memoryStorage(), version: 'v1', authorize })
  await app.ready()
  return app
}

const userOf = (request: FastifyRequest) => String(request.headers.user)
const byOwner = (request: FastifyRequest): Grant => ({
  principal: userOf(request),
  where: [{ field: 'owner', op: 'eq', values: [userOf(request)] }]
})

function as (app: FastifyInstance, user: string) {
  return async (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object | string,
    headers: Record<string, string> = {}
  ) => await app.inject({ method, url, headers: { user, ...headers }, ...(payload === undefined ? {} : { payload }) })
}

const home = '/rest/v1/deals'

t.test('each owner sees the own rows in every representation', async t => {
  const app = await ownedApp(t)
  const [ann, bob] = [as(app, 'ann'), as(app, 'bob')]
  const ids: Record<string, string[]> = { ann: [], bob: [] }
  for (let n = 0; n < 3; n++) {
    for (const [user, ask] of [['ann', ann], ['bob', bob]] as const) {
      const answer = await ask('POST', home, { name: `tea of ${user}`, price: n, owner: user })
      t.equal(answer.statusCode, 201)
      ids[user]?.push(answer.json().id)
    }
  }
  const hidden = ids.bob as string[]
  const pages = [
    `${home}?count=exact`,
    `${home}?maxpagesize=1`,
    `${home}.csv`,
    `${home}.ndjson`,
    `${home}.xml`,
    `${home}.html`,
    `${home}?format=csv&maxpagesize=10`,
    `${home}?owner=bob`,
    `${home}?sort=-price`,
    '/query/deals-by-status/open',
    '/query/deals-by-status/open.csv',
    '/query/deals-by-status/open?format=html'
  ]
  for (const url of pages) {
    const { body, statusCode } = await ann('GET', url)
    t.equal(statusCode, 200, url)
    t.notMatch(body, /tea of bob/, url)
    for (const id of hidden) t.notOk(body.includes(id), `${url} has nothing of ${id}`)
    if (!url.includes('owner=bob')) {
      t.ok(body.includes((ids.ann as string[])[url.includes('sort') ? 2 : 0] as string), `${url} has the own`)
    }
  }
  t.match((await ann('GET', `${home}?count=exact`)).json(), { total: 3, items: { length: 3 } })
  t.equal((await ann('GET', `/query/deals/${hidden[0]}`)).statusCode, 404)
  t.equal((await ann('GET', '/query/deals-by-name/tea%20of%20bob')).statusCode, 404)
  const page = await ann('GET', `${home}/${ids.ann?.[0]}`, undefined, { accept: 'text/html' })
  t.match(page.body, `action="${home}/${ids.ann?.[0]}/holds"`)
  t.equal((await ann('GET', `${home}/${hidden[0]}`, undefined, { accept: 'text/html' })).statusCode, 404)
})

t.test('a write is checked before and after the change', async t => {
  const app = await ownedApp(t)
  const [ann, bob] = [as(app, 'ann'), as(app, 'bob')]
  t.equal(
    (await ann('POST', home, { name: 'a', price: 1, owner: 'bob' })).statusCode,
    403,
    'nothing is created that one could not see'
  )
  t.strictSame((await bob('GET', home)).json().items, [])
  const { id } = (await ann('POST', home, { name: 'a', price: 1, owner: 'ann' })).json()
  t.equal((await bob('PUT', `${home}/${id}/give`, { to: 'bob' })).statusCode, 404, 'what is not visible is not taken')
  const given = await ann('PUT', `${home}/${id}/give`, { to: 'bob' })
  t.match(given.json(), { status: 403, type: 'urn:dealbook:problem:forbidden' }, 'and no caller gives it out of sight')
  t.match((await ann('GET', `${home}/${id}`)).json(), { owner: 'ann', revision: 1 })
  t.equal(
    (await ann('PUT', `${home}/${id}/commands/c1`, { action: 'GiveDeal', params: { to: 'bob' } })).statusCode,
    403
  )
  t.equal((await ann('GET', `${home}/${id}/commands/c1`)).statusCode, 404, 'what was forbidden is not recorded')
  t.equal((await bob('DELETE', `${home}/${id}`)).statusCode, 404)
  t.equal((await ann('DELETE', `${home}/${id}`)).statusCode, 204)
  for (const url of [`${home}/${id}/commands`, `${home}/${id}/deletions`]) {
    t.equal((await ann('GET', url)).statusCode, 200, `${url}: it was hers`)
    t.equal((await bob('GET', url)).statusCode, 404, url)
  }
})

t.test('a form that is refused shows no more than the page it stands on', async t => {
  const app = await ownedApp(t)
  const { id } = (await as(app, 'bob')('POST', home, { name: 'secret', price: 1, owner: 'bob' })).json()
  const browser = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' }
  for (const url of [home, `${home}/${id}/holds`, `${home}/${id}/cancellations`]) {
    const { statusCode, body } = await as(app, 'ann')('POST', url, 'reason=', browser)
    t.equal(statusCode, 400, url)
    t.notMatch(body, 'secret', url)
    t.notMatch(body, `${id}"`, url)
  }
  const hold = await as(app, 'ann')('POST', `${home}/${id}/holds`, 'reason=a', browser)
  t.equal(hold.statusCode, 404)
  t.notMatch(hold.body, 'secret')
})

t.test('attributes are judged by the grant of the operation that they stand for', async t => {
  const seen: string[] = []
  const app = await ownedApp(t, (request, { action }) => {
    seen.push(action)
    // Everybody reads everything, and writes the own.
    return action === 'read' || action === 'list' ? { principal: 'reader' } : byOwner(request)
  })
  const { id } = (await as(app, 'bob')('POST', home, { name: 'a', price: 1, owner: 'bob' })).json()
  const wanted = { held: true, holdReason: 'mine now' }
  for (const method of ['PUT', 'PATCH'] as const) {
    seen.length = 0
    t.equal((await as(app, 'ann')(method, `${home}/${id}`, wanted)).statusCode, 404, method)
    t.strictSame(seen, ['read', 'HoldDeal'], method)
  }
  t.equal(
    (await as(app, 'ann')('PUT', `${home}/${id}`, { action: 'HoldDeal', params: { reason: 'a' } })).statusCode,
    404
  )
  t.match((await as(app, 'bob')('GET', `${home}/${id}`)).json(), { held: false, revision: 1 })
  t.equal((await as(app, 'bob')('PUT', `${home}/${id}`, wanted)).statusCode, 200)
  const log = (await as(app, 'bob')('GET', `${home}/${id}/commands`)).json().items
  t.equal(log.at(-1).principal, 'bob', 'in the name of who may do it')
})

t.test('the owner does not wait while a reader is asked whether it may change attributes', async t => {
  const gate = new EventEmitter()
  const app = await ownedApp(t, async (request, { action }) => {
    if (action === 'read' || action === 'list' || userOf(request) === 'bob') return { principal: userOf(request) }
    gate.emit('asked')
    await once(gate, 'judged')
    throw new Problem('forbidden', 'You may only read')
  })
  const { id } = (await as(app, 'bob')('POST', home, { name: 'a', price: 1, owner: 'bob' })).json()
  const asked = once(gate, 'asked')
  const refused = as(app, 'ann')('PATCH', `${home}/${id}`, { held: true, holdReason: 'mine now' })
  await asked
  t.equal((await as(app, 'bob')('PUT', `${home}/${id}/hold`, { reason: 'a' })).statusCode, 200)
  gate.emit('judged')
  t.equal((await refused).statusCode, 403)
  t.match((await as(app, 'bob')('GET', `${home}/${id}`)).json(), { holdReason: 'a', revision: 2 })
})

t.test('replays belong to the principal that made them', async t => {
  const app = await ownedApp(t, request => ({ principal: userOf(request) }))
  const [ann, bob] = [as(app, 'ann'), as(app, 'bob')]
  const { id } = (await ann('POST', home, { name: 'a', price: 1, owner: 'ann' })).json()
  const hold = { action: 'HoldDeal', params: { reason: 'a secret reason' } }
  for (const [url, body] of [
    [`${home}/${id}/commands/c1`, hold],
    ['/rest/commands/c1', { deal: id, ...hold }]
  ] as const) {
    t.match((await ann('PUT', url, body)).statusCode, /200|201/, url)
    t.equal((await ann('PUT', url, body)).headers['idempotent-replayed'], 'true')
  }
  const guess = { action: 'HoldDeal', params: { reason: 'a guess' } }
  const first = await bob('PUT', `${home}/${id}/commands/c1`, guess)
  t.match([first.statusCode, first.headers['idempotent-replayed']], [409, undefined], 'as under an unused id')
  t.notMatch(first.body, /secret/)
  t.equal((await bob('PUT', '/rest/commands/c1', { deal: id, ...guess })).headers['idempotent-replayed'], 'true')
  t.equal((await bob('PUT', `${home}/${id}/commands/c1`, hold)).statusCode, 422, 'and now it is his')
  t.equal((await ann('PUT', `${home}/${id}/commands/c1`, hold)).headers['idempotent-replayed'], 'true')
  const key = { 'idempotency-key': 'k1' }
  const made = await ann('POST', home, { name: 'b', price: 1, owner: 'ann' }, key)
  t.equal((await ann('POST', home, { name: 'b', price: 1, owner: 'ann' }, key)).json().id, made.json().id)
  const other = await bob('POST', home, { name: 'b', price: 1, owner: 'ann' }, key)
  t.equal(other.statusCode, 201, 'a key of another principal is another key')
  t.not(other.json().id, made.json().id)
})

t.test('conditions without a principal keep replays from others too', async t => {
  const app = await ownedApp(t, request => ({ where: [{ field: 'owner', op: 'eq', values: [userOf(request)] }] }))
  const [ann, bob] = [as(app, 'ann'), as(app, 'bob')]
  const key = { 'idempotency-key': 'k1' }
  const body = { name: 'secret', price: 1, owner: 'ann' }
  const made = await ann('POST', home, body, key)
  t.equal((await ann('POST', home, body, key)).headers['idempotent-replayed'], 'true')
  const other = await bob('POST', home, body, key)
  t.equal(other.statusCode, 422)
  t.notMatch(other.body, made.json().id)
  const hold = { action: 'HoldDeal', params: { reason: 'a' } }
  t.equal((await ann('PUT', `${home}/${made.json().id}/commands/c1`, hold)).statusCode, 201)
  t.equal((await ann('PUT', `${home}/${made.json().id}/commands/c1`, hold)).statusCode, 200)
  // As under an id that nobody has used: the deal is not there for him.
  t.equal((await bob('PUT', `${home}/${made.json().id}/commands/c1`, hold)).statusCode, 404)
  t.equal((await bob('PUT', `${home}/${made.json().id}/commands/c2`, hold)).statusCode, 404)
})

t.test('what has left the grant of its owner has no log and no replay for them', async t => {
  const app = await ownedApp(t, request => {
    const principal = userOf(request)
    return principal === 'admin' ? { principal } : { principal, where: [{ field: 'held', op: 'eq', values: [false] }] }
  })
  const [ann, admin] = [as(app, 'ann'), as(app, 'admin')]
  const key = { 'idempotency-key': 'k1' }
  const body = { name: 'a', price: 1, owner: 'ann' }
  const { id } = (await ann('POST', home, body, key)).json()
  t.equal((await ann('POST', home, body, key)).headers['idempotent-replayed'], 'true')
  await admin('PUT', `${home}/${id}/hold`, { reason: 'a secret reason' })
  t.match((await ann('POST', home, body, key)).json(), { status: 422, type: /:id-reused$/ })
  t.equal((await ann('GET', `${home}/${id}/commands`)).statusCode, 404)
  await admin('PUT', `${home}/${id}/unhold`)
  t.equal((await ann('POST', home, body, key)).headers['idempotent-replayed'], 'true', 'it is back')
  const edit = { action: 'EditDeal', params: { name: 'b' } }
  t.equal((await ann('PUT', `${home}/${id}/commands/c1`, edit)).statusCode, 201)
  t.equal((await ann('GET', `${home}/${id}/commands`)).statusCode, 200)
  t.equal((await ann('DELETE', `${home}/${id}`)).statusCode, 204)
  const urls = [`${home}/${id}/commands`, `${home}/${id}/commands/c1`, '/rest/commands/c1']
  const statuses = async (user: typeof ann) =>
    await Promise.all(urls.map(async url => (await user('GET', url)).statusCode))
  t.strictSame(await statuses(ann), [200, 200, 200], 'the log of what was deleted while she could see it')
  t.equal((await ann('PUT', `${home}/${id}/commands/c1`, edit)).headers['idempotent-replayed'], 'true', 'as before')
  await admin('PUT', `${home}/${id}/restore`)
  await admin('PUT', `${home}/${id}/hold`, { reason: 'a secret reason' })
  t.strictSame(await statuses(ann), [404, 404, 404])
  await admin('DELETE', `${home}/${id}`)
  t.strictSame(await statuses(ann), [404, 404, 404], 'of what was deleted later')
  t.equal((await admin('GET', `${home}/${id}/commands`)).statusCode, 200)
})

t.test('an authorize that goes by ids is not misled by a suffix', async t => {
  const mine = new Set<string>()
  const app = await ownedApp(t, (_request, { id }) => {
    if (id !== undefined && !mine.has(String(id))) throw new Problem('forbidden', 'not yours')
  })
  const made = await as(app, 'ann')('POST', home, { name: 'a', price: 1, owner: 'ann' })
  const id = String(made.headers.location).split('/').at(-1) as string
  mine.add(id)
  const command = (await as(app, 'ann')('POST', `${home}/${id}/holds`, { reason: 'a' })).json().id
  for (const url of [
    `${home}/${id}`,
    `${home}/${id}.json`,
    `${home}/${id}.xml`,
    `/rest/commands/${command}`,
    `/rest/commands/${command}.json`
  ]) { t.equal((await as(app, 'ann')('GET', url)).statusCode, 200, url) }
  mine.clear()
  for (const url of [
    `${home}/${id}`,
    `${home}/${id}.json`,
    `/rest/commands/${command}`,
    `/rest/commands/${command}.json`
  ]) { t.equal((await as(app, 'ann')('GET', url)).statusCode, 403, url) }
})

t.test('a command of a family is read though another family is forbidden', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  let refused = ''
  const authorize: FamilyOptions['authorize'] = (_request, { family }) => {
    if (family === refused) throw new Problem('forbidden', 'not this family')
  }
  app.register(deals, { storage, version: 'v1', authorize })
  app.register(invoices, { storage, version: 'v1', authorize })
  const { id } = (
    await app.inject({ method: 'POST', url: '/rest/v1/invoices', payload: { customer: 1, total: 1 } })
  ).json()
  await app.inject({
    method: 'PUT',
    url: '/rest/commands/c1',
    payload: { invoice: id, action: 'PayInvoice', params: { on: '2030-01-01' } }
  })
  refused = 'deals'
  t.equal((await app.inject('/rest/commands/c1')).statusCode, 200)
  t.equal((await app.inject('/rest/commands/none')).statusCode, 403, 'whether a forbidden family has it is not said')
  refused = 'invoices'
  t.equal((await app.inject('/rest/commands/c1')).statusCode, 403)
})

t.test('a grant that cannot be right is a fault of the host, and nothing is shown', async t => {
  type Row = [unknown, RegExp]
  const grants: Row[] = [
    [{ where: [{ field: 'ownr', op: 'ne', values: ['bob'] }] }, /conditions on "ownr", which is not a field/],
    [{ where: { field: 'owner', op: 'eq', values: ['ann'] } }, /"where" must be a list of conditions/],
    [{ principal: 'ann', where: undefined }, /"where" must be a list of conditions/],
    [{ principal: 7 }, /"principal" must be a string/],
    [{ principle: 'ann' }, /"principle"/],
    [true, /must return/],
    // A lookup that found nothing.
    [null, /returned null; to allow everything, it must return nothing/],
    [{ principal: '' }, /returned a principal that must not be empty/],
    // Alternatives are checked whole: what is wrong in one of them opens none.
    ...[
      {},
      { of: null },
      { of: { field: 'owner', op: 'eq', values: ['ann'] } },
      { of: [{ field: 'owner', op: 'eq', values: ['ann'] }] },
      { of: [[]] },
      { of: [[{ field: 'owner', op: 'eq', values: ['ann'] }], []] },
      { of: [[{ field: 'owner', op: 'eq', values: ['ann'] }], undefined] },
      // eslint-disable-next-line no-sparse-arrays
      { of: [[{ field: 'owner', op: 'eq', values: ['ann'] }], ,] },
      { of: [[undefined]] },
      { of: [[{ op: 'any', of: [] }]] },
      { of: [[{ field: 'owner', op: 'eq', values: ['ann'] }, { field: 'ownr', op: 'eq', values: ['bob'] }]] },
      { of: [[{ field: 'owner', op: 'has', texts: 'a' }]] },
      { of: [[{ field: 'owner', op: 'has', texts: [7] }]] }
    ].map((alternatives): Row => [
      { where: [{ op: 'any', ...alternatives }] },
      /returned (alternatives|an alternative|a condition on|conditions on)/
    ]),
    // What has no members of its own is no grant without limits.
    ...[[], new Map(), new Error('no'), new Date(), Object.create({ where: [] })].map((grant: unknown): Row =>
      [grant, /must return/]),
    [{ principal: 'a\0' }, /principal that must not contain/],
    ...[
      { op: 'eq', values: [undefined] },
      { op: 'ne', values: [null] },
      // eslint-disable-next-line no-sparse-arrays
      { op: 'ne', values: [,] },
      { op: 'eq', values: 'ann' },
      { op: 'eq', values: [7] },
      { op: 'ne', value: 'ann' },
      { op: 'regex', patterns: ['('] },
      { op: 'regex', patterns: 'a' },
      { op: 'is', values: ['ann'] },
      { values: ['ann'] },
      { field: ['owner'], op: 'eq', values: ['ann'] },
      undefined
    ].map((condition: object | undefined): Row => [
      { where: [condition && { field: 'owner', ...condition }] },
      /returned (a condition on|the operator "|conditions on)/
    ])
  ]
  const lines: string[] = []
  const app = Fastify({ logger: { level: 'error', stream: { write: (line: string) => { lines.push(line) } } } })
  t.teardown(() => app.close())
  let given: unknown
  app.register(owned, { storage: memoryStorage(), version: 'v1', authorize: () => given as Grant })
  for (const [grant, message] of grants) {
    given = grant
    for (const url of [home, `${home}/a`, `${home}/a/commands`, '/query/deals-by-status/open', '/rest/commands/c']) {
      lines.length = 0
      const answer = await app.inject(url)
      t.equal(answer.statusCode, 500, `${url}: ${JSON.stringify(grant)}`)
      t.match(JSON.parse(lines.join('')).err, { code: 'FST_DEALBOOK_INVALID_GRANT', message })
    }
    const made = await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 1, owner: 'ann' } })
    t.equal(made.statusCode, 500, `creation: ${JSON.stringify(grant)}`)
  }
})

t.test('customers are opened for writing by one line', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(customers.extend({ create: ['age', 'children'] }), { storage: memoryStorage() })
  const made = await app.inject({ method: 'POST', url: '/customers/', payload: { age: 30, children: 2 } })
  t.match(made.json(), { id: 1, age: 30, children: 2, revision: 1, links: { self: '/customers/1' } })
  t.equal((await app.inject({ method: 'DELETE', url: '/customers/1' })).statusCode, 204)
  t.equal(
    (await app.inject({ method: 'POST', url: '/command/CreateCustomer/', payload: { age: 30, children: 2 } })).headers
      .location,
    '/customers/2'
  )
})
