import Fastify from 'fastify'
import t from 'tap'
import { dealbook, memoryStorage } from '../../lib/index.js'
import { createDeal, dealsApp, home } from '../deals/app.js'

t.test('what is shown is for the one who asked, and for no cache that others share', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const etag = String((await app.inject(`${home}/${id}`)).headers.etag)
  // What has no validator could only be had anew, so that there is no use in keeping it.
  for (const [status, caching, request] of [
    [200, 'private, no-store', { url: home }],
    [200, 'private, no-store', { url: home, headers: { accept: 'text/html' } }],
    [200, 'private, no-store', { url: `${home}.csv` }],
    [200, 'private, no-store', { url: `${home}?format=ndjson&maxpagesize=5` }],
    [200, 'private, no-cache', { url: `${home}/${id}` }],
    [200, 'private, no-store', { url: `${home}/${id}.html` }],
    [304, 'private, no-cache', { url: `${home}/${id}`, headers: { 'if-none-match': etag } }],
    [200, 'private, no-cache', { url: `${home}/${id}/operations` }],
    [200, 'private, no-store', { url: `${home}/${id}/commands` }],
    [200, 'private, no-store', { url: '/query/deals-by-status/open' }],
    [200, 'private, no-store', { method: 'HEAD', url: home }],
    [200, 'private, no-store', { method: 'HEAD', url: `${home}.csv` }],
    [201, 'private, no-cache', { method: 'POST', url: home, payload: { name: 'a', price: 1 } }],
    [200, 'private, no-store', { method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } }]
  ] as const) {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, status, request.url)
    t.equal(answer.headers['cache-control'], caching, request.url)
    t.equal('etag' in answer.headers, caching === 'private, no-cache', request.url)
  }
  t.equal((await app.inject(`${home}/none`)).headers['cache-control'], 'no-store')
})

t.test('commands of two clients that have one id have two tags', async t => {
  const app = await dealsApp(memoryStorage(), { authorize: ({ headers }) => ({ principal: String(headers['user']) }) })
  t.teardown(() => app.close())
  const tags: unknown[] = []
  for (const user of ['ann', 'bob']) {
    const { id } = await createDeal(app)
    const url = `${home}/${id}/commands/c1`
    const payload = { action: 'EditDeal', params: { name: user } }
    await app.inject({ method: 'PUT', url, headers: { user }, payload })
    tags.push((await app.inject({ url: '/rest/commands/c1', headers: { user } })).headers.etag)
  }
  t.ok(tags.every(tag => typeof tag === 'string') && tags[0] !== tags[1], tags.join(' '))
})

const relations = (link: unknown) => [...String(link ?? '').matchAll(/rel="(\w+)"/g)].map(([, rel]) => rel)

t.test('the Link header is never longer than clients can take', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  for (let n = 0; n < 6; n++) await createDeal(app)
  for (const [length, expected] of [
    [10, ['self', 'first', 'next', 'prev']],
    [800, ['self', 'first', 'next', 'prev']],
    [1500, ['next', 'prev']],
    [3000, ['next']],
    [5000, []],
    [14_000, []]
  ] as const) {
    for (const path of [home, '/query/deals-by-status/open']) {
      const url = `${path}?page=2&maxpagesize=2&name.ne=${'x'.repeat(length)}`
      const { statusCode, headers, body } = await app.inject(url)
      t.equal(statusCode, 200, body)
      t.strictSame(relations(headers.link), expected, `${path}, ${length}`)
      t.ok(String(headers.link ?? '').length <= 4000)
      if (path === home) t.strictSame(Object.keys(JSON.parse(body).links), ['self', 'first', 'next', 'prev'])
    }
  }
  // What may not stand in the header as it is takes three times its length there.
  const { headers } = await app.inject(`${home}?maxpagesize=2&name.ne=${'|'.repeat(1000)}`)
  t.strictSame(relations(headers.link), ['next'])
  t.ok(String(headers.link).length <= 4000)
})

t.test('a prefix with a parameter that is named like one of ours is an error at boot', async t => {
  for (const name of ['id', 'command', 'extension', 'parameter', 'word']) {
    for (const prefix of [`/:${name}`, `/crm/:${name}`, `/:tenant/:${name}`, `/t-:${name}`, `/:${name}(\\d+)`]) {
      const app = Fastify()
      app.register(dealbook, { storage: memoryStorage(), prefix, version: 'v1' })
      await t.rejects(async () => await app.ready(), {
        code: 'FST_DEALBOOK_INVALID_OPTION',
        message: `fastify-dealbook, customers: the prefix "${prefix}" has a parameter "${name}", which is reserved; ` +
          'use a name other than id, command, extension, parameter, word'
      }, prefix)
    }
    const nested = Fastify()
    nested.register(async scope => { scope.register(dealbook, { storage: memoryStorage(), version: 'v1' }) }, {
      prefix: `/:${name}`
    })
    await t.rejects(async () => await nested.ready(), /which is reserved/, `in a scope at /:${name}`)
  }
  for (const prefix of ['/:tenant', '/:ids', '/:Id', '/::id', '/id', '/:my_id']) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(dealbook, { storage: memoryStorage(), prefix, version: 'v1' })
    await app.ready()
    t.pass(prefix)
  }
})

t.test('every parameter of our routes is known to that check', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const names = new Set<string>()
  app.addHook('onRoute', ({ url }) => {
    for (const [, name] of url.matchAll(/[/.]:(\w+)/g)) names.add(name as string)
  })
  app.register(dealbook, { storage: memoryStorage(), version: 'v1' })
  await app.ready()
  t.strictSame([...names].sort(), ['command', 'extension', 'id', 'parameter', 'word'])
})
