import Fastify from 'fastify'
import t from 'tap'
import { customers, deals, memoryStorage } from '../../lib/index.js'
import { customersApp, people, storageOf } from '../customers-app.js'

t.test('pageSize is the size where the client names none, maxPageSize the cap', async t => {
  const app = await customersApp(t, { count: 30, options: { pageSize: 7, maxPageSize: 12 } })
  const sizes: [string, number][] = [
    ['/customers', 7],
    ['/customers?maxpagesize=3', 3],
    ['/customers?maxpagesize=12', 12],
    ['/customers?maxpagesize=13', 12],
    ['/customers?maxpagesize=1000000', 12]
  ]
  for (const [url, size] of sizes) {
    const { items, pageSize } = (await app.inject(url)).json()
    t.strictSame([items.length, pageSize], [size, size], url)
  }
  const small = await customersApp(t, { count: 30, options: { maxPageSize: 5 } })
  t.equal((await small.inject('/customers')).json().pageSize, 5, 'the default is not above the cap')
  const usual = await customersApp(t, { count: 1100 })
  t.equal((await usual.inject('/customers')).json().items.length, 50)
  t.equal((await usual.inject('/customers?maxpagesize=5000')).json().items.length, 1000)
})

t.test('a page number goes so far, and the refusal says how to go on', async t => {
  const app = await customersApp(t, { count: 10 })
  t.equal((await app.inject('/customers?page=1001')).statusCode, 200)
  for (const query of ['?page=1002', '?page=52&maxpagesize=1000', '.csv?page=1002&sort=age']) {
    t.match((await app.inject(`/customers${query}`)).json(), {
      status: 400,
      errors: [{ parameter: 'page', detail: /at most 50000 items; .*links\.next/ }]
    }, query)
  }
  const large = await customersApp(t, { options: { maxPageSize: 2000 } })
  t.equal((await large.inject('/customers?page=51&maxpagesize=2000')).statusCode, 200, 'further where pages are larger')
  t.equal((await large.inject('/customers?page=52&maxpagesize=2000')).statusCode, 400)
})

t.test('maxPageSize holds for logs and for lists of /query too', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), version: 'v1', maxPageSize: 2 })
  const { id } = (await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a', price: 1 } })).json()
  for (const n of [1, 2, 3]) {
    await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a', price: n } })
    await app.inject({
      method: 'PUT',
      url: `/rest/v1/deals/${id}/change-price`,
      payload: { newPrice: n + 10, reason: 'a' }
    })
  }
  t.equal((await app.inject(`/rest/v1/deals/${id}/commands?maxpagesize=100`)).json().items.length, 2)
  t.equal((await app.inject('/query/deals-by-name/a?maxpagesize=100')).json().length, 2)
})

t.test('a parameter is repeated so often, and a list has so many fields', async t => {
  const app = await customersApp(t)
  const ages = (count: number) => `/customers?${Array.from({ length: count }, (_, n) => `age=${n}`).join('&')}`
  t.equal((await app.inject(ages(100))).statusCode, 200)
  t.match((await app.inject(ages(101))).json(), { status: 400, errors: [{ detail: /at most 100 parameters/ }] })
  t.match((await app.inject(`/customers?sort=${'age,'.repeat(100)}id`)).json(), {
    status: 400,
    errors: [{ parameter: 'sort', detail: /at most 100/ }]
  })
})

t.test('patterns have bounds', async t => {
  const app = await customersApp(t)
  const detailOf = async (query: string) => (await app.inject(`/customers?${query}`)).json().errors?.[0]
  t.equal(await detailOf(`age.regex=${'1'.repeat(200)}`), undefined)
  t.match(await detailOf(`age.regex=${'1'.repeat(201)}`), { parameter: 'age.regex', detail: /at most 200 characters/ })
  t.equal(await detailOf('age.regex=1&'.repeat(5)), undefined)
  t.match(await detailOf('age.regex=1&'.repeat(5) + 'id.regex=1'), { parameter: 'id.regex', detail: /most 5$/ })
  t.equal(await detailOf('age.regex=a{200}'), undefined)
  t.match(await detailOf('age.regex=a{201}'), { parameter: 'age.regex', detail: /its size, .*at most 200$/ })
})

t.test('bodyLimit bounds bodies, whatever the host\'s own limit is', async t => {
  const body = (bytes: number) => {
    const empty = JSON.stringify({ name: '', price: 1 }).length
    return JSON.stringify({ name: 'n'.repeat(bytes - empty), price: 1 })
  }
  for (const host of [undefined, 50, 10_000_000]) {
    for (const [bodyLimit, most] of [[200, 200], [undefined, 1_048_576]] as const) {
      const app = Fastify(host === undefined ? {} : { bodyLimit: host })
      t.teardown(() => app.close())
      app.register(deals, {
        storage: memoryStorage(),
        version: 'v1',
        forms: ['verb', 'commands'],
        ...(bodyLimit === undefined ? {} : { bodyLimit })
      })
      const send = async (payload: string, url = '/rest/v1/deals', method: 'POST' | 'PUT' = 'POST') =>
        await app.inject({ method, url, payload, headers: { 'content-type': 'application/json' } })
      const name = `the host's is ${host}, ours ${bodyLimit}`
      // The longest name is shorter than our usual limit, so there it is the name that is refused.
      t.equal((await send(body(most))).statusCode, bodyLimit === undefined ? 400 : 201, name)
      for (const [url, method] of [
        ['/rest/v1/deals', 'POST'],
        ['/command/CreateDeal/', 'POST'],
        ['/rest/commands/c1', 'PUT'],
        ['/rest/v1/deals/a/hold', 'PUT']
      ] as const) {
        const refused = await send(body(most + 1), url, method)
        t.match(refused.json(), { status: 413, type: 'urn:dealbook:problem:body-too-large' }, `${name}: ${url}`)
      }
    }
  }
})

t.test('limits that are none are boot errors', async t => {
  for (const option of ['pageSize', 'maxPageSize', 'bodyLimit'] as const) {
    for (const value of [0, -1, 1.5, '5', Infinity]) {
      await t.rejects(
        async () =>
          await Fastify()
            .register(customers, { storage: memoryStorage(), [option]: value })
            .ready(),
        { message: `fastify-dealbook, customers: the option "${option}" must be a positive integer` }
      )
    }
  }
})

t.test('mounts have their limits each for itself', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = await storageOf(people(10))
  app.register(customers, { storage, prefix: '/a', pageSize: 2 })
  app.register(customers, { storage, prefix: '/b', pageSize: 3 })
  t.strictSame(
    [(await app.inject('/a/customers')).json().pageSize, (await app.inject('/b/customers')).json().pageSize],
    [2, 3]
  )
})
