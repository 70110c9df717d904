import { dirname } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import t from 'tap'
import { buildApp as accounts } from '../examples/accounts.js'
import { buildApp as basicAuth } from '../examples/basic-auth.js'
import { buildApp as bearerAuth } from '../examples/bearer-auth.js'
import { copyAll } from '../examples/copy.js'
import { openFile } from '../examples/customers-source.js'
import { loadFirstCustomers } from '../examples/first-customers.js'
import { completeDueDeals } from '../examples/job.js'
import { buildApp as limits } from '../examples/limits.js'
import { buildApp as metrics } from '../examples/metrics.js'
import { buildApp as ownFamily } from '../examples/own-family.js'
import { buildApp as ownOperation } from '../examples/own-operation.js'
import { describeProgress } from '../examples/progress.js'
import { forgetOldCommands } from '../examples/prune.js'
import { buildApp as purchasing } from '../examples/purchasing.js'
import { buildApp as rental } from '../examples/rental.js'
import { buildApp as secondVersion } from '../examples/second-version.js'
import { readSettings } from '../examples/settings.js'
import { explainFailure } from '../examples/start-and-stop.js'
import { openStorage } from '../examples/storage-from-url.js'
import { buildApp as tenants } from '../examples/tenants.js'
import type { Storage } from '../lib/index.js'
import { customers, deals, memoryStorage, Problem } from '../lib/index.js'
import { anyStorage, storages } from './storages.js'

type Test = { teardown (fn: () => unknown): void }

async function running<T extends FastifyInstance> (t: Test, building: T | Promise<T>): Promise<T> {
  const app = await building
  t.teardown(() => app.close())
  await app.ready()
  return app
}

const tea = { name: 'tea', price: 5 }

t.test('basic-auth', async t => {
  const app = await running(t, basicAuth())
  const as = (user: string, password: string, request: InjectOptions) =>
    app.inject({
      ...request,
      headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
    })
  const ann = (request: InjectOptions) => as('ann', 'tea for two', request)
  const bob = (request: InjectOptions) => as('bob', 'coffee to go', request)
  for (const answer of [
    await app.inject('/rest/v1/deals'),
    await as('ann', 'wrong', { url: '/rest/v1/deals' }),
    await as('eve', '', { url: '/query/deals-by-status/open' })
  ]) {
    t.match(answer.json(), { type: 'urn:dealbook:problem:unauthorized', status: 401 })
    t.match(answer.headers['content-type'], 'application/problem+json')
  }
  t.match((await app.inject('/rest/v1/deals')).headers['www-authenticate'], 'Basic realm="Dealbook"')
  const made = await ann({ method: 'POST', url: '/rest/v1/deals/', payload: { ...tea, owner: 'ann' } })
  t.equal(made.statusCode, 201)
  t.equal((await ann({ url: String(made.headers.location) })).json().owner, 'ann')
  t.equal((await bob({ url: String(made.headers.location) })).statusCode, 404)
  t.strictSame((await bob({ url: '/rest/v1/deals' })).json().items, [])
  t.equal((await bob({ method: 'POST', url: '/rest/v1/deals', payload: { ...tea, owner: 'ann' } })).statusCode, 403)
})

t.test('bearer-auth', async t => {
  const app = await running(t, bearerAuth())
  const by = (token: string, request: InjectOptions) =>
    app.inject({ ...request, headers: { authorization: `Bearer ${token}` } })
  for (const answer of [
    await app.inject('/customers'),
    await by('stolen', { url: '/customers' }),
    await by('stolen', { method: 'POST', url: '/command/CreateDeal', payload: tea })
  ]) {
    t.match(answer.json(), { status: 401, detail: 'Send a valid token' })
    t.equal(answer.headers['www-authenticate'], 'Bearer realm="Dealbook"')
  }
  t.match((await by('reader-token', { method: 'POST', url: '/rest/v1/deals', payload: tea })).json(), {
    status: 403,
    detail: 'This token may only read deals'
  })
  const made = await by('writer-token', { method: 'POST', url: '/rest/v1/deals', payload: tea })
  t.equal(made.statusCode, 201)
  t.equal((await by('reader-token', { url: String(made.headers.location) })).statusCode, 200)
  t.equal(
    (
      await by('reader-token', {
        method: 'PUT',
        url: String(made.headers.location),
        payload: { held: true, holdReason: 'a' }
      })
    ).statusCode,
    403
  )
  t.match((await by('reader-token', { url: `${made.headers.location}/commands` })).json().items, [
    { action: 'CreateDeal', principal: 'shop' }
  ])
})

t.test('limits: 429 is a problem', async t => {
  const app = await running(t, limits(memoryStorage(), 2))
  t.equal((await app.inject('/customers')).json().pageSize, 20)
  t.equal((await app.inject('/customers')).headers['x-ratelimit-remaining'], '0')
  for (const accept of ['application/json', 'application/xml', 'text/html']) {
    const answer = await app.inject({ url: '/customers', headers: { accept } })
    t.equal(answer.statusCode, 429)
    t.match(answer.headers['retry-after'], /^\d+$/)
    t.match(answer.headers['content-type'], accept === 'text/html' ? accept : accept.replace('/', '/problem+'))
    t.match(answer.body, 'Too many requests')
  }
  t.match((await app.inject({ method: 'PUT', url: '/rest/commands/c1', payload: {} })).json(), {
    status: 429,
    title: 'Too many requests'
  })
})

t.test('tenants', async t => {
  const closed: string[] = []
  const app = await running(
    t,
    tenants(['north', 'south'], tenant => ({
      ...memoryStorage(),
      close: async () => {
        closed.push(tenant)
      }
    }))
  )
  const made = await app.inject({ method: 'POST', url: '/north/rest/v1/deals', payload: tea })
  t.match(made.headers.location, /^\/north\/rest\/v1\/deals\//)
  t.equal((await app.inject('/north/rest/v1/deals?count=exact')).json().total, 1)
  t.equal((await app.inject('/south/rest/v1/deals?count=exact')).json().total, 0)
  t.match((await app.inject('/west/customers')).json(), { status: 404, detail: 'There is no tenant "west"' })
  await app.close()
  t.strictSame(closed, ['north', 'south'], 'what was opened is closed')
})

t.test('settings of the server', async t => {
  const usual = {
    port: 3000,
    host: '127.0.0.1',
    storage: 'sqlite:./dealbook.db',
    prefix: '',
    version: 'v1',
    logLevel: 'warn',
    customers: undefined
  }
  t.strictSame(readSettings({}), usual)
  t.strictSame(readSettings({ PORT: '', BASE_URL: '', LOG_LEVEL: '', CUSTOMERS: '' }), usual, 'empty is not set')
  t.match(readSettings({ PORT: '0', BASE_URL: '/crm/eu/', LOG_LEVEL: 'trace' }), { port: 0, prefix: '/crm/eu' })
  for (const [name, value, rule] of [
    ['PORT', 'http', 'an integer from 0 to 65535'],
    ['PORT', '65536', 'an integer from 0 to 65535'],
    ['PORT', '-1', 'an integer from 0 to 65535'],
    ['PORT', '1e3', 'an integer from 0 to 65535'],
    ['BASE_URL', 'crm', 'a path that begins with a slash, such as /crm'],
    ['BASE_URL', 'https://example.org/crm', 'a path that begins with a slash, such as /crm'],
    ['BASE_URL', '/:tenant', 'a path that begins with a slash, such as /crm'],
    ['LOG_LEVEL', 'loud', 'one of fatal, error, warn, info, debug, trace, silent']
  ] as const) {
    t.throws(() => readSettings({ [name]: value }), { message: `${name} is "${value}", but must be ${rule}` })
  }
  for (const [url, message] of [
    ['floppy:a', 'STORAGE is "floppy:a", but must begin with one of memory: sqlite: postgres: postgresql:'],
    ['crm', /^STORAGE is "crm", but must begin with/],
    ['postgress://ann:sec@ret@db/crm', /^STORAGE is "postgress:\/\/…@db\/crm", but must begin with/],
    ['sqlite:', 'STORAGE is "sqlite:", but must name a file, such as sqlite:./dealbook.db'],
    ['postgres://ann:se#cret@db/crm', /^STORAGE must be a URL such as postgres:[^#]*$/]
  ] as const) await t.rejects(openStorage(url), { message })
})

t.test('progress of the server', async t => {
  for (const [count, share, elapsed, text] of [
    [0, 0, 0, '0 loaded'],
    [1000, 0.1, 1000, '1000 loaded, 10 %, 9 s left'],
    [1000, 0.999, 1000, '1000 loaded, 99 %, 1 s left'],
    [1000, 0.01, 10_000, '1000 loaded, 1 %, 17 min left'],
    [1000, 0.001, 60_000, '1000 loaded, 0 %, 17 h left'],
    [1000, 1, 5000, '1000 loaded, 100 %, 0 s left']
  ] as const) t.equal(describeProgress('loaded', count, share, elapsed), text)
})

t.test('files of customers', async t => {
  const folder = t.testdir({
    'bom.ndjson': '\ufeff{"id":1}\n\n\n{"id":2}\r\n',
    'bom.json': '\ufeff[{"id":1},{"id":2}]'
  })
  for (const [file, name] of [['bom.ndjson', 'bom.ndjson, line 4'], ['bom.json', 'bom.json, item 2']] as const) {
    const source = await openFile(`${folder}/${file}`)
    const rows: unknown[] = []
    for await (const row of source.rows) rows.push(row)
    t.strictSame(rows, [{ id: 1 }, { id: 2 }], file)
    t.equal(source.nameRow(2), name)
    t.ok(source.share() > 0.9 && source.share() <= 1, 'line ends are counted as one byte')
  }
  const broken = `${t.testdir({ 'broken.json': '[\n  { "id": 7,\n }\n]' })}/broken.json`
  t.match(explainFailure(await openFile(broken).catch(error => error)), /^broken\.json: .*JSON.*$/, 'in one line')
  await t.rejects(openFile('no/where.json'), { message: 'CUSTOMERS is "no/where.json", but there is no such file' })
  await t.rejects(openFile(dirname(broken)), { message: /^CUSTOMERS is ".*", but that is a folder$/ })
})

t.test('why the server cannot listen', async t => {
  for (const [error, text] of [
    [{ syscall: 'listen', code: 'EACCES', address: '::1', port: 80 }, /^::1:80 needs more rights: choose a PORT/],
    [{ syscall: 'getaddrinfo', code: 'ENOTFOUND', hostname: 'x' }, /^x is an unknown name: choose a different HOST/],
    [new Error('two\n  lines'), /^two lines$/],
    [new Problem('storage-unavailable', 'a', { cause: new Error('the disk is full') }), /^the disk is full$/],
    ['no error', /^no error$/]
  ] as const) t.match(explainFailure(error), text)
})

for (const { name, make } of anyStorage) {
  t.test(`first customers over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    t.capture(console, 'log', () => {})
    const rows = Array.from({ length: 2500 }, (_, index) => ({ id: 2500 - index, age: 30, children: 1 }))
    const folder = t.testdir({
      'rows.ndjson': rows.map(row => JSON.stringify(row)).join('\n'),
      'others.json': JSON.stringify(rows)
    })
    const file = `${folder}/rows.ndjson`
    const service = customers.service({ storage })
    const count = async () => (await service.find('', { count: true, limit: 1 })).total

    await t.rejects(loadFirstCustomers(storage, 'no/where.ndjson'), { message: /there is no such file/ })
    let left = 2
    const killed: Storage = {
      ...storage,
      async commit (changes) {
        if (left-- <= 0) throw new Error('killed')
        await storage.commit(changes)
      }
    }
    await t.rejects(loadFirstCustomers(killed, file), { message: 'killed' })
    t.equal(await count(), 1000, 'it was interrupted')
    await t.rejects(loadFirstCustomers(storage, `${folder}/others.json`), {
      message: /^CUSTOMERS is ".*others\.json", but .*rows\.ndjson was loaded in part: remove CUSTOMERS/
    })
    const stopping = new AbortController()
    stopping.abort(new Error('stopped'))
    await t.rejects(loadFirstCustomers(storage, file, stopping.signal), { message: 'stopped' })
    await Promise.all([loadFirstCustomers(storage, undefined), loadFirstCustomers({ ...storage }, file)])
    t.equal(await count(), 2500, 'it goes on, by two at once')
    await loadFirstCustomers(storage, `${folder}/others.json`)
    await loadFirstCustomers(storage, undefined)
    t.equal(await count(), 2500, 'what is done is not done again')
    t.match(await service.get(1), { age: 30 }, 'nor made up')
  })

  t.test(`copy from ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const lines = t.capture(console, 'log', () => {})
    await loadFirstCustomers(storage, undefined)
    const { item: { id } } = await deals.service({ storage }).create(tea)
    const target = memoryStorage()
    t.same(await copyAll(storage, target), { customers: 1000, deals: 1, loads: 0, commands: 1 })
    t.match(await deals.service({ storage: target }).get(id), { ...tea, revision: 1 })
    t.match(lines().map(({ args }) => args[0]).join('\n'), /\n1000 customers copied\n1 deals copied\n/)
    await t.rejects(copyAll(memoryStorage(), target), { code: 'FST_DEALBOOK_INVALID_COPY' })
  })

  t.test(`job over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = deals.service({ storage })
    const makeDeals = async (count: number, completionDate: string) =>
      await Promise.all(Array.from({ length: count }, () => book.create({ ...tea, completionDate })))
    const day = '2030-01-31'
    const due = await makeDeals(205, '2030-01-30')
    await makeDeals(3, day)
    const held = due[7]?.item.id as string
    await book.run('hold', held, { reason: 'Papers' })

    // Killed half way: in the middle of the second page, nothing more is written.
    let left = 150
    const killed: Storage = {
      ...storage,
      async commit (changes) {
        if (left-- <= 0) throw new Error('killed')
        await storage.commit(changes)
      }
    }
    await t.rejects(completeDueDeals(killed, day), { code: 'storage-unavailable' })
    const { total: before = 0 } = await book.find('status=completed', { count: true, limit: 1 })
    t.ok(before >= 149 && before <= 150, `${before} are completed`)

    const reports = await Promise.all([completeDueDeals(storage, day), completeDueDeals({ ...storage }, day)])
    t.equal(reports.reduce((sum, { completed }) => sum + completed, before), 204, 'started again, twice at once')
    t.same(reports.map(({ refused }) => refused), [[held], [held]])
    t.same(await completeDueDeals(storage, day), { completed: 0, refused: [held] }, 'there is nothing left to do')
    const revisions = (await book.find('status=completed', { limit: 1000 })).items.map(({ revision }) => revision)
    t.ok(revisions.length === 204 && revisions.every(revision => revision === 2), 'each was changed once')
    t.equal((await book.find(`status=open&completionDate=${day}`)).items.length, 3, 'which are not yet due')

    const [added] = await makeDeals(1, '2030-01-30')
    const id = added?.item.id as string
    const shrinking: Storage = {
      ...storage,
      async find (family, query) {
        const found = await storage.find(family, query)
        await book.remove(id, { command: 'gone' })
        return found
      }
    }
    t.same(await completeDueDeals(shrinking, day), { completed: 0, refused: [held, id] }, 'deleted after it was found')

    await book.run('unhold', held)
    t.same(await completeDueDeals(storage, day), { completed: 0, refused: [held] }, 'a refusal stands for the day')
    t.same(await completeDueDeals(storage, '2030-02-01'), { completed: 4, refused: [] }, 'and not for the next')

    // More than a page of them, which are found again and again by who does not go on.
    for (const { item } of await makeDeals(101, day)) await book.run('hold', item.id, { reason: 'Papers' })
    let reads = 0
    const watched: Storage = {
      ...storage,
      async find (family, query) {
        if (++reads > 2) throw new Error('it goes round in circles')
        return await storage.find(family, query)
      }
    }
    const { refused } = await completeDueDeals(watched, '2030-02-02')
    t.equal(new Set(refused).size, 101, 'what is held is passed over')
  })

  t.test(`metrics over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await running(t, metrics(storage))
    const { id } = (await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: tea })).json()
    await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/unhold` })
    const text = (await app.inject('/metrics')).body
    t.match(text, '# TYPE dealbook_commands_done_total counter\ndealbook_commands_done_total 1\n')
    t.match(text, 'dealbook_commands_unchanged_total 1\n')
    t.match(text, '# TYPE dealbook_writers_waiting gauge\ndealbook_writers_waiting 0\n')
    t.match(text, /^(# TYPE \w+ (counter|gauge)\n\w+ [\d.]+\n)+$/)
    const health = await app.inject('/health')
    t.strictSame([health.statusCode, health.json()], [200, { healthy: true }])
  })

  t.test(`prune over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const book = deals.service({ storage })
    const { item: { id } } = await book.create(tea)
    t.equal(await forgetOldCommands(storage, 1), 0)
    await new Promise(resolve => setTimeout(resolve, 5))
    t.equal(await forgetOldCommands(storage, 0), 1)
    t.match(await book.get(id), { revision: 1 }, 'the deal stays')
    await t.rejects(forgetOldCommands(storage, -1), { code: 'FST_DEALBOOK_INVALID_PRUNE' })
  })

  t.test(`second-version over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await running(t, secondVersion(storage))
    const json = async (request: InjectOptions | string) => (await app.inject(request)).json()
    const made = await app.inject({
      method: 'POST',
      url: '/rest/v2/deals',
      payload: { title: 'tea', price: 5 },
      headers: { 'idempotency-key': 'k' }
    })
    t.match(made.json(), { title: 'tea', links: { self: /^\/rest\/v2\/deals\// } })
    const { id } = made.json()
    const [v1, v2] = [`/rest/v1/deals/${id}`, `/rest/v2/deals/${id}`]
    t.match(await json(v1), { name: 'tea', title: undefined, revision: 1 }, 'one stored deal')
    await app.inject({ method: 'PUT', url: `${v1}/hold`, payload: { reason: 'a' } })
    t.match(await json(v2), { title: 'tea', name: undefined, held: true, revision: 2 })
    t.equal(
      (await app.inject({ method: 'PUT', url: `${v2}/commands/c1`, payload: { action: 'UnholdDeal' } })).statusCode,
      201
    )
    t.match(await json(v1), { held: false, revision: 3 })
    t.match((await json('/rest/v2/deals?title=tea&sort=-title&fields=title')).items, [{ title: 'tea' }])
    t.equal((await json('/rest/v2/deals?title.regex=^x&count=exact')).total, 0)
    t.match((await json('/rest/v1/deals?name=tea')).items, [{ name: 'tea' }])
    t.equal((await app.inject('/rest/v2/deals?name=tea')).statusCode, 400, 'v2 knows no name')
    t.equal((await app.inject({ method: 'POST', url: '/rest/v2/deals', payload: tea })).statusCode, 400)
    t.match(
      (await json(`${v1}/commands`)).items[0].params,
      { name: 'tea', price: 5 },
      'the log is in the words of who reads it'
    )
    t.match((await json(`${v2}/commands`)).items[0].params, { title: 'tea', price: 5 })
    const again = await app.inject({
      method: 'POST',
      url: '/rest/v2/deals',
      payload: { title: 'tea', price: 5 },
      headers: { 'idempotency-key': 'k' }
    })
    t.match([again.headers['idempotent-replayed'], again.json()], ['true', { id, title: 'tea' }])
    t.match((await json('/query/deals-by-name/tea')), [{ title: 'tea' }])
    const { headers } = await app.inject('/rest/v1/deals')
    t.match(headers, {
      deprecation: '@1767225600',
      sunset: 'Thu, 31 Dec 2099 00:00:00 GMT',
      link: /<\/rest\/v2\/deals>; rel="successor-version"/
    })
    t.equal((await app.inject('/rest/v2/deals')).headers.deprecation, undefined)
  })

  t.test(`purchasing over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await running(t, purchasing(storage))
    type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
    const as = (token: string) => async (method: Method, url: string, payload?: object) => {
      const headers = { authorization: `Bearer ${token}` }
      const { statusCode, body } = await app.inject({ method, url, headers, ...(payload && { payload }) })
      return { statusCode, ...JSON.parse(body || '{}') }
    }
    const [ann, bob] = [as('ann-secret'), as('bob-secret')]
    t.match(await as('eve')('GET', '/orders'), { statusCode: 401 })
    t.match(await ann('POST', '/suppliers', { name: 'Meyer' }), { statusCode: 201, id: 1 })
    for (const [id, name] of [['tea', 'Tea'], ['milk', 'Milk']]) await ann('POST', '/products', { id, name })

    const lines = [{ product: 'tea', quantity: 3, price: 19.9 }, { product: 'milk', quantity: 2, price: '0.85' }]
    t.match(await ann('POST', '/orders', { supplier: 1, lines: [...lines, { ...lines[0], product: 'rum' }] }), {
      statusCode: 400, errors: [{ pointer: '/lines/2/product' }]
    })
    t.match(await ann('POST', '/orders', { supplier: 1, lines: [{ ...lines[0], vat: 7 }] }), { statusCode: 400 })
    t.match(await ann('POST', '/orders', { supplier: 1, lines }), {
      statusCode: 201,
      id: 1,
      total: '61.40',
      requester: 'ann',
      status: 'draft',
      lines: [{ price: '19.90', received: 0 }, { price: '0.85', received: 0 }]
    })
    t.match(await ann('GET', '/orders/1?expand=lines.product'), { lines: [{ product: { id: 'tea', stock: 0 } }, {}] })
    t.match(await ann('DELETE', '/products/tea'), { statusCode: 409, family: 'orders' })
    t.match(await ann('PUT', '/orders/1/receive', { goods: [{ product: 'tea', quantity: 1 }] }), {
      statusCode: 409, detail: /It is not approved/
    })
    t.match(await ann('PUT', '/orders/1/approve', {}), { statusCode: 409, detail: /Another person must approve it/ })
    t.match(await bob('PUT', '/orders/1/approve', {}), { statusCode: 200, status: 'approved', approver: 'bob' })
    t.match(await bob('PATCH', '/orders/1', { lines: [] }), {
      statusCode: 400, errors: [{ pointer: '/lines', detail: 'must not be empty' }]
    })
    t.match(await bob('PATCH', '/orders/1', { lines: lines.slice(1) }), {
      statusCode: 409, detail: /Only drafts can be changed/
    })
    t.match(await bob('DELETE', '/orders/1'), { statusCode: 409, detail: /Only drafts can be deleted/ })

    const form = await app.inject({
      url: '/orders/1', headers: { authorization: 'Bearer ann-secret', accept: 'text/html' }
    })
    t.equal(form.statusCode, 200, form.body.slice(0, 300))
    t.match(form.body, /value="3"[^]*value="2"/, 'a form has what is missing')
    const goods = [{ product: 'tea', quantity: 2 }, { product: 'milk', quantity: 2 }]
    t.match(await bob('PUT', '/orders/1/receive', { goods }), {
      statusCode: 200, status: 'approved', lines: [{ received: 2 }, { received: 2 }], total: '61.40'
    })
    t.match(await bob('GET', '/products'), { items: [{ id: 'milk', stock: 2 }, { id: 'tea', stock: 2 }] })
    t.match(await bob('PUT', '/orders/1/receive', { goods: [{ product: 'tea', quantity: 2 }] }), {
      statusCode: 409, detail: /At most 1 of tea can still arrive/, errors: [{ pointer: '/goods/0/quantity' }]
    })
    t.match(await bob('PUT', '/orders/1/receive', { goods: [{ product: 'rum', quantity: 1 }] }), {
      statusCode: 400, errors: [{ pointer: '/goods/0/product' }]
    })
    t.match(await bob('PUT', '/orders/1/receive', { goods: [{ product: 'tea', quantity: 1 }] }), { status: 'received' })
    t.match(await bob('GET', '/receipts'), {
      items: [
        { id: 1, order: 1, receiver: 'bob', goods },
        { id: 2, order: 1, receiver: 'bob', goods: [{ product: 'tea', quantity: 1 }] }
      ]
    })
    t.match(await bob('POST', '/receipts', { order: 1, goods }), { statusCode: 403 })
    t.match(await bob('PUT', '/products/tea/withdraw', { quantity: 4 }), { statusCode: 409, detail: /only 3/ })
    t.match(await bob('PUT', '/products/tea/withdraw', { quantity: 3 }), { statusCode: 200, stock: 0 })
  })

  t.test(`rental over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    let now = '2030-05-01T08:00:00.000Z'
    const app = await running(t, rental(storage, () => new Date(now)))
    const as = (token: string) => async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) => {
      const headers = { authorization: `Bearer ${token}` }
      const { statusCode, body } = await app.inject({ method, url, headers, ...(payload && { payload }) })
      return { statusCode, ...JSON.parse(body) }
    }
    const [ann, bob] = [as('ann-secret'), as('bob-secret')]
    t.match(await as('eve')('GET', '/machines'), { statusCode: 401 })
    t.match(await ann('POST', '/machines', { name: 'Digger', rate: 19.99 }), { id: 1, rate: '19.99', branch: 'north' })
    t.match(await bob('POST', '/machines', { name: 'Digger', rate: '5' }), { id: 2, rate: '5.00', branch: 'south' })
    t.match(await ann('POST', '/machines', { name: 'Digger', rate: 1 }), { statusCode: 409 })

    const asked = { customer: 'Meyer', machine: 1, from: '2030-05-02', to: '2030-05-04' }
    const made = await ann('POST', '/rest/v1/bookings', asked)
    t.match(made, { statusCode: 201, id: 1, total: '59.97', branch: 'north', status: 'new' })
    t.match(await bob('GET', '/rest/v1/bookings/1'), { statusCode: 404 }, 'of another branch')
    t.match(await bob('POST', '/rest/v1/bookings', asked), { statusCode: 400, errors: [{ pointer: '/machine' }] })
    t.match(await ann('POST', '/rest/v1/bookings', { ...asked, from: '2030-05-04', to: '2030-05-09' }),
      { statusCode: 400, detail: '/from overlaps with booking 1' })
    t.match(await ann('POST', '/rest/v2/bookings',
      { customer: 'Huber', machine: 1, startsOn: '2030-06-02', endsOn: '2030-06-01' }),
    { statusCode: 400, errors: [{ pointer: '/endsOn', detail: 'is before the first day' }] })

    t.match(await ann('PUT', '/rest/v1/bookings/1/hand-out'), { statusCode: 409, detail: 'It begins on 2030-05-02' })
    now = '2030-05-02T08:00:00.000Z'
    t.match(await ann('PUT', '/rest/v2/bookings/1/hand-out'), { status: 'out', amount: '59.97' })
    t.match(await ann('GET', '/machines/1'), { status: 'rented', revision: 2 })
    t.match(await ann('PUT', '/machines/1/repair'), { statusCode: 409, allowed: ['edit'] })
    t.match(await ann('PUT', '/rest/v1/bookings/1/bill'), { statusCode: 409, detail: 'The machine is not back yet' })
    t.match(await ann('PUT', '/rest/v1/bookings/1/take-back', { damaged: true }), { status: 'back' })
    t.match(await ann('GET', '/machines/1'), { status: 'repair' })
    t.match(await ann('POST', '/invoices', { booking: 1, total: 1 }), { statusCode: 403 })
    const question = await app.inject({
      method: 'POST',
      url: '/rest/v2/bookings/1/bills',
      headers: {
        authorization: 'Bearer ann-secret', accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded'
      },
      payload: '_confirm=1&_key=k-1'
    })
    t.match(question.body, /This will be created<\/h2>\s*<p dir="auto">Invoice<\/p>[^]*59\.97/)
    t.match(await ann('PUT', '/rest/v2/bookings/1/bill'), { status: 'billed', invoice: 1 })
    t.match(await ann('PUT', '/rest/v2/bookings/1/bill'), { status: 'billed', invoice: 1, revision: 4 }, 'again')
    t.match(await ann('GET', '/invoices/1?expand=booking'), { total: '59.97', booking: { id: 1, customer: 'Meyer' } })
    t.match((await ann('GET', '/invoices?total>=59.9')).items, [{ id: 1 }])
    t.match((await ann('GET', '/invoices/1/commands')).items, [{ action: 'BillBooking', about: { id: 1 } }])
    t.match(await bob('GET', '/invoices'), { items: [] })
    t.match(await ann('PUT', '/invoices/1/pay'), { paid: true })
    t.match((await ann('GET', '/rest/v2/bookings?min-amount=59&startsOn=2030-05-02')).items, [{ endsOn: '2030-05-04' }])
    await ann('POST', '/rest/v1/bookings', { ...asked, from: '2030-07-01', to: '2030-07-10' })
    t.match((await ann('GET', '/rest/v2/bookings?sort=-amount')).items, [{ amount: '199.90' }, { amount: '59.97' }])
  })

  t.test(`accounts over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await running(t, accounts(storage))
    const open = async (payload: object) => (await app.inject({ method: 'POST', url: '/accounts', payload })).json()
    const [ann, bob] = [await open({ owner: 'ann', balance: 10 }), await open({ owner: 'bob', balance: 0 })]
    t.match(await open({ owner: 'eve', balance: -1 }), { status: 400 })
    const transfer = async (from: string, to: string) =>
      (await app.inject({ method: 'PUT', url: `/accounts/${from}/transfer`, payload: { to, amount: 8 } })).json()
    t.match(await transfer(ann.id, bob.id), { owner: 'ann', balance: 2, revision: 2 })
    const refused = { status: 409, detail: 'There are only 2 cents', allowed: ['transfer-money'] }
    t.match(await transfer(ann.id, bob.id), refused)
    t.match((await app.inject(`/accounts/${bob.id}`)).json(), { owner: 'bob', balance: 8, revision: 2 })
    const page = (id: string) => app.inject({ url: `/accounts/${id}`, headers: { accept: 'text/html' } })
    t.match((await page(bob.id)).body, 'Transfer money to another account')
    t.match((await page(bob.id)).body, '>Transfer money</button>', 'not "Transfer the account"')
    await app.inject({ method: 'PUT', url: `/accounts/${ann.id}/transfer`, payload: { to: bob.id, amount: 2 } })
    t.notMatch((await page(ann.id)).body, 'Transfer money to another account', 'what is empty offers none')
  })

  t.test(`own-operation over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await running(t, ownOperation(storage))
    const home = '/rest/v1/deals'
    t.match((await app.inject({ method: 'POST', url: home, payload: tea })).json(), {
      status: 400,
      errors: [{ pointer: '/region' }]
    })
    const { id } = (await app.inject({ method: 'POST', url: home, payload: { ...tea, region: 'north' } })).json()
    t.match((await app.inject({ method: 'PUT', url: `${home}/${id}/approve`, payload: { by: 'ann' } })).json(), {
      region: 'north',
      approvedBy: 'ann',
      revision: 2
    })
    t.match((await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })).json(), {
      region: 'north',
      approvedBy: 'ann',
      held: true
    })
    t.match((await app.inject({ method: 'PUT', url: `${home}/${id}/approve`, payload: { by: 'bob' } })).json(), {
      status: 409,
      operation: 'approve'
    })
    t.equal((await app.inject(`${home}?region=north&approvedBy.regex=^a&count=exact`)).json().total, 1)
  })
}

// A whole application, over each.
for (const { name, make } of storages) {
  t.test(`own-family over ${name}`, async t => {
    const { storage, dispose } = await make()
    t.teardown(dispose)
    const app = await running(t, ownFamily(storage))
    const home = '/rest/v1/invoices'
    const on = '2030-01-02'
    const paid: Record<string, (id: number) => InjectOptions> = {
      verb: id => ({ method: 'PUT', url: `${home}/${id}/pay`, payload: { on } }),
      update: id => ({ method: 'PUT', url: `${home}/${id}`, payload: { action: 'PayInvoice', params: { on } } }),
      noun: id => ({ method: 'POST', url: `${home}/${id}/payments`, payload: { on } }),
      participle: id => ({ method: 'PUT', url: `${home}/${id}/paid`, payload: { on } }),
      command: id => ({
        method: 'PUT',
        url: `${home}/${id}/commands/c${id}`,
        payload: { action: 'PayInvoice', params: { on } }
      }),
      commands: id => ({
        method: 'PUT',
        url: `/rest/commands/d${id}`,
        payload: { invoice: id, action: 'PayInvoice', params: { on } }
      }),
      action: id => ({ method: 'POST', url: '/command/PayInvoice/', payload: { id, on } }),
      form: id => ({
        method: 'POST',
        url: `${home}/${id}/payments`,
        payload: `on=${on}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
      })
    }
    let expected = 0
    for (const [form, say] of Object.entries(paid)) {
      const { id } = (await app.inject({ method: 'POST', url: home, payload: { customer: 7, total: 12.5 } })).json()
      t.equal(id, ++expected, 'integers, one after the other')
      t.ok((await app.inject(say(id))).statusCode < 400, form)
      t.match(
        (await app.inject(`${home}/${id}`)).json(),
        { customer: 7, total: 12.5, paid: true, paidOn: on, revision: 2 },
        form
      )
      t.match(
        (await app.inject(`${home}/${id}/payments`)).json().items,
        [{ invoice: id, action: 'PayInvoice', params: { on } }],
        form
      )
    }
    t.equal((await app.inject({ method: 'PUT', url: `${home}/1/pay`, payload: { on: '2031-01-01' } })).statusCode, 409)
    t.equal((await app.inject('/query/invoices-by-customer/7')).json().length, expected)
    t.equal((await app.inject(`${home}?paid=true&min-total=12&paidOn=${on}&count=exact`)).json().total, expected)
    for (const format of ['csv', 'ndjson', 'xml', 'html']) {
      t.match((await app.inject(`${home}.${format}`)).body, on, format)
    }
    t.equal((await app.inject({ method: 'DELETE', url: `${home}/1` })).statusCode, 204)
  })
}
