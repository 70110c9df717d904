import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { explainError, type FrontOptions, prepareFront } from '../../lib/index.js'

const long = 'x'.repeat(20_000_000)

function makeApp (options?: FrontOptions): FastifyInstance {
  const app = Fastify()
  app.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) => { done(null, body) })
  app.addHook('onRoute', route => {
    // A host that would validate every body.
    if (route.url === '/front') route.schema = { body: { type: 'object', required: ['never'] } }
  })
  app.register(async app => {
    prepareFront(app, options)
    app.setErrorHandler((error, request, reply) => {
      const problem = explainError(error, request)
      return reply.code(problem.statusCode).send(problem.document())
    })
    app.post('/front', async ({ body }) => ({ body }))
    app.get('/long', async (_request, reply) => await reply.type('text/plain').send(long))
    app.get('/tagged', async (_request, reply) => await reply.header('etag', '"1"').send({}))
    app.get('/public', async (_request, reply) => await reply.header('cache-control', 'public').send({}))
  })
  return app
}

t.test('a scope of a front end takes strict JSON with limits', async t => {
  const json = 'application/json'
  const cases: readonly [
    text: string, type: string, status: number, code?: string | undefined, options?: FrontOptions
  ][] = [
    ['{"a": [1, 2]}', json, 200],
    ['{"a": 1}', `${json}; charset=utf-8`, 200],
    ['{"a": 1}', 'application/vnd.api+json', 415, 'unsupported-media-type'],
    ['{"a": 1}', 'application/vnd.api+json', 200, undefined, { types: ['application/vnd.api+json'] }],
    ['{"a": 1}', json, 415, 'unsupported-media-type', { types: ['application/vnd.api+json'] }],
    ['a=1', 'application/x-www-form-urlencoded', 415, 'unsupported-media-type'],
    ['hello', 'text/plain', 415, 'unsupported-media-type'],
    ['{"a": 1, "a": 2}', json, 400, 'invalid-body'],
    ['{"a"}', json, 400, 'malformed-json'],
    ['[1, 2, 3, 4]', json, 400, 'invalid-body', { maxMembers: 3 }],
    ['[1, 2, 3]', json, 200, undefined, { maxMembers: 3 }],
    ['[[[1]]]', json, 400, 'invalid-body', { maxDepth: 2 }],
    ['[[1]]', json, 200, undefined, { maxDepth: 2 }]
  ]
  for (const [payload, type, status, code, options] of cases) {
    const app = makeApp(options)
    t.teardown(() => app.close())
    const headers = { 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/front', payload, headers })
    const { type: given } = response.json() as { type?: string }
    t.strictSame([response.statusCode, given?.split(/[:/]/).at(-1)], [status, code], `${payload} as ${type}`)
    if (status === 200) t.strictSame(response.json(), { body: JSON.parse(payload) })
  }
})

t.test('its responses are private', async t => {
  const app = makeApp()
  t.teardown(() => app.close())
  for (const [url, caching] of [
    ['/tagged', 'private, no-cache'], ['/public', 'public'], ['/long', 'private, no-store']
  ] as const) {
    const { headers } = await app.inject(url)
    t.match(headers, { 'cache-control': caching, 'x-content-type-options': 'nosniff' }, url)
  }
})

t.test('a client that does not read a long response is cut off', async t => {
  const app = makeApp({ exportTimeout: 200 })
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const [connection] = await Promise.all([
    once(app.server, 'connection'),
    once(requestHttp({ host: '127.0.0.1', port, path: '/long' }).on('error', () => {}).end(), 'response')
  ])
  // What arrives is never read.
  const [socket] = connection as [Socket]
  await new Promise(resolve => { socket.once('close', resolve) })
  t.ok(socket.destroyed)
})
