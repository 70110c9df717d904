import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import acceptsSerializer from '@fastify/accepts-serializer'
import autoload from '@fastify/autoload'
import basicAuth from '@fastify/basic-auth'
import caching from '@fastify/caching'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import httpProxy from '@fastify/http-proxy'
import jwt from '@fastify/jwt'
import multipart from '@fastify/multipart'
import rateLimit from '@fastify/rate-limit'
import responseValidation from '@fastify/response-validation'
import session from '@fastify/session'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import underPressure from '@fastify/under-pressure'
import websocket from '@fastify/websocket'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { dealbook, memoryStorage, Type } from '../../lib/index.js'

const home = '/rest/v1/deals'
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

let isWell = true
let token = ''

/** A plugin of others: how it is registered, and what is to be seen of it beside our families. */
interface Case {
  readonly register: (app: FastifyInstance, t: Test) => unknown
  /** What every request must have. */
  readonly headers?: () => Record<string, string>
  readonly check?: (t: Test, app: FastifyInstance) => Promise<void>
}

const cases: Record<string, Case> = {
  '@fastify/helmet': {
    register: app => app.register(helmet),
    async check (t, app) {
      const list = await app.inject(home)
      t.match(list.headers, { 'x-frame-options': 'SAMEORIGIN', 'content-security-policy': /default-src 'self'/ })
      const page = await app.inject({ url: home, headers: { accept: browser } })
      t.match(page.headers['content-security-policy'], /style-src 'sha256-/, 'the policy of a page is its own')
    }
  },
  '@fastify/cors': {
    register: app => app.register(cors, { origin: 'https://shop.example', methods: ['GET', 'PUT', 'POST', 'DELETE'] }),
    async check (t, app) {
      const origin = 'https://shop.example'
      const list = await app.inject({ url: home, headers: { origin } })
      t.equal(list.headers['access-control-allow-origin'], origin)
      t.match(list.headers.vary, /Accept/)
      const preflight = await app.inject({
        method: 'OPTIONS', url: home, headers: { origin, 'access-control-request-method': 'PUT' }
      })
      t.equal(preflight.statusCode, 204)
      t.match(preflight.headers['access-control-allow-methods'], /PUT/)
    }
  },
  '@fastify/compress': {
    register: app => app.register(compress, { threshold: 0 }),
    async check (t, app) {
      const list = await app.inject({ url: home, headers: { 'accept-encoding': 'gzip' } })
      t.equal(list.headers['content-encoding'], 'gzip')
      t.match(list.headers.vary, /accept-encoding/i)
    }
  },
  '@fastify/rate-limit': {
    register: app => app.register(rateLimit, { max: 20 }),
    async check (t, app) {
      let last = await app.inject(home)
      for (let n = 0; n < 30 && last.statusCode === 200; n++) last = await app.inject(home)
      t.match(last.json(), { type: 'urn:dealbook:problem:too-many-requests', status: 429 })
      t.ok(last.headers['retry-after'])
    }
  },
  '@fastify/under-pressure': {
    register: app => app.register(underPressure, { healthCheck: async () => isWell, healthCheckInterval: 5 }),
    async check (t, app) {
      isWell = false
      let answer = await app.inject(home)
      while (answer.statusCode === 200) answer = await app.inject(home)
      isWell = true
      t.match(answer.json(), { type: 'urn:dealbook:problem:other', status: 503 })
    }
  },
  '@fastify/formbody': { register: app => app.register(formbody) },
  '@fastify/multipart': {
    register: app => app.register(multipart),
    async check (t, app) {
      const headers = { 'content-type': 'multipart/form-data; boundary=x' }
      const sent = await app.inject({ method: 'POST', url: home, headers, payload: '--x--' })
      t.match(sent.json(), { type: 'urn:dealbook:problem:unsupported-media-type', status: 415 })
    }
  },
  '@fastify/session': {
    async register (app) {
      await app.register(cookie)
      await app.register(session, { secret: 's'.repeat(40), cookie: { secure: false }, saveUninitialized: false })
    }
  },
  '@fastify/jwt': {
    async register (app) {
      await app.register(jwt, { secret: 'secret' })
      app.addHook('onRequest', async request => { await request.jwtVerify() })
      await app.after()
      token = app.jwt.sign({ sub: 'ann' })
    },
    headers: () => ({ authorization: `Bearer ${token}` }),
    async check (t, app) {
      t.match((await app.inject(home)).json(), { type: 'urn:dealbook:problem:unauthorized', status: 401 })
    }
  },
  '@fastify/basic-auth': {
    async register (app) {
      await app.register(basicAuth, {
        authenticate: true,
        validate: async (user: string) => { if (user !== 'ann') throw new Error('who are you?') }
      })
      app.addHook('onRequest', app.basicAuth)
    },
    headers: () => ({ authorization: `Basic ${Buffer.from('ann:a').toString('base64')}` }),
    async check (t, app) {
      const refused = await app.inject(home)
      t.match(refused.json(), { type: 'urn:dealbook:problem:unauthorized', status: 401 })
      t.match(refused.headers['www-authenticate'], /Basic/)
    }
  },
  '@fastify/caching': {
    register: app => app.register(caching, { privacy: caching.privacy.PUBLIC, expiresIn: 300 }),
    async check (t, app) {
      t.equal((await app.inject(home)).headers['cache-control'], 'private, no-store', 'what we say holds')
    }
  },
  '@fastify/swagger': {
    register: app => app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } }),
    async check (t, app) {
      t.ok(Object.keys(app.swagger().paths ?? {}).includes(`${home}/{id}/hold`))
    }
  },
  '@fastify/swagger-ui': {
    async register (app) {
      await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
      await app.register(swaggerUi, { routePrefix: '/documentation' })
    },
    async check (t, app) {
      t.match((await app.inject('/documentation')).body, /<!DOCTYPE html>/i)
      t.match((await app.inject('/documentation/json')).body, `${home}/{id}/hold`)
    }
  },
  '@fastify/http-proxy': {
    async register (app, t) {
      const upstream = Fastify()
      t.teardown(() => upstream.close())
      upstream.get('/old', async () => 'from elsewhere')
      app.register(httpProxy, { upstream: await upstream.listen({ port: 0, host: '127.0.0.1' }), prefix: '/legacy' })
    },
    async check (t, app) {
      t.equal((await app.inject('/legacy/old')).body, 'from elsewhere')
    }
  },
  '@fastify/autoload': {
    register: app => {
      app.register(autoload, {
        dir: join(import.meta.dirname, '../mount/autoload'), options: { storage: memoryStorage() }
      })
    },
    async check (t, app) {
      t.equal((await app.inject('/crm/rest/v1/deals')).statusCode, 200)
    }
  },
  '@fastify/type-provider-typebox': {
    register (app) {
      const typed = app.setValidatorCompiler(TypeBoxValidatorCompiler).withTypeProvider<TypeBoxTypeProvider>()
      typed.get('/typed/:n', { schema: { params: Type.Object({ n: Type.Number() }) } }, async ({ params }) => params.n)
    },
    async check (t, app) {
      t.equal((await app.inject('/typed/x')).statusCode, 400)
    }
  },
  '@fastify/websocket': {
    async register (app) {
      await app.register(websocket)
      app.register(async scope => { scope.get('/live', { websocket: true }, socket => { socket.send('hello') }) })
    },
    async check (t, app) {
      const socket = await app.injectWS('/live')
      socket.terminate()
      t.pass('a socket beside our routes')
    }
  },
  '@fastify/accepts-serializer': {
    register: app => app.register(acceptsSerializer, {
      serializers: [{ regex: /^application\/yaml$/, serializer: (body: unknown) => `yaml: ${JSON.stringify(body)}` }],
      default: 'application/yaml'
    })
  },
  '@fastify/response-validation': { register: app => app.register(responseValidation) }
}

/** What people do with our families in any host: nothing of it may look otherwise than without the plugin. */
async function walkThrough (t: Test, app: FastifyInstance, headers: Record<string, string>): Promise<void> {
  const ask = async (options: InjectOptions & { url: string }) =>
    await app.inject({ ...options, headers: { ...headers, ...options.headers } })

  const made = await ask({ method: 'POST', url: home, payload: { name: 'Tea', price: 5 } })
  t.equal(made.statusCode, 201, made.body)
  const { id } = made.json<{ id: string }>()
  const held = await ask({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'Papers' } })
  t.match(held.json(), { id, held: true, revision: 2 })
  const list = await ask({ url: home })
  t.equal(list.headers['content-type'], 'application/json; charset=utf-8')
  t.match(list.json(), { items: [{ id, held: true }], page: 1 })
  const page = await ask({ url: `${home}/${id}`, headers: { accept: browser } })
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  t.match(page.body, /^<!doctype html>[^]*Papers/i)
  const form = await ask({
    method: 'POST',
    url: `${home}/${id}/unholds`,
    headers: { accept: browser, 'content-type': 'application/x-www-form-urlencoded' },
    payload: '_revision=2'
  })
  t.equal(form.statusCode, 303, form.body)
  const xml = await ask({ url: `${home}/${id}.xml` })
  t.match(xml.body, /^<\?xml[^]*<held>false<\/held>/)
  const none = await ask({ url: `${home}/none` })
  t.match(none.json(), { type: 'urn:dealbook:problem:not-found', status: 404 })
  t.equal(none.headers['content-type'], 'application/problem+json; charset=utf-8')
}

/** The rows of the table in docs/hosting.md: the plugins, and where they are registered. */
const rows = new Map(
  [...readFileSync('docs/hosting.md', 'utf8').matchAll(/^\| (\[@[^|]*) \| ([^|]*) \|/gm)].flatMap(([, names, where]) =>
    [...(names as string).matchAll(/\[(@[^\]]+)\]/g)].map(([, name]) => [name as string, where as string] as const))
)

t.test('the table of docs/hosting.md has the plugins that are tried here', async t => {
  t.strictSame([...rows.keys()].sort(), Object.keys(cases).sort())
})

for (const [name, { register, headers = () => ({}), check }] of Object.entries(cases)) {
  t.test(name, async t => {
    const where = rows.get(name) ?? ''
    t.match(where, /^before( or after)?$/)
    for (const place of where.split(' or ')) {
      const app = Fastify()
      t.teardown(() => app.close())
      if (place === 'before') await register(app, t)
      await app.register(dealbook, { storage: memoryStorage(), version: 'v1' })
      if (place === 'after') await register(app, t)
      await app.ready()
      await t.test(`registered ${place} our families`, async t => {
        await walkThrough(t, app, headers())
        await check?.(t, app)
      })
    }
  })
}
