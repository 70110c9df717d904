import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { deals, memoryStorage, Problem } from '../../lib/index.js'
import { home } from '../deals/app.js'

const secret = 'postgres://admin:tiger@10.0.0.7/deals'

interface Logged {
  readonly level: number
  readonly msg: string
  readonly err?: { readonly message: string }
}

/** Where a host's code runs before an answer of ours; each throws what the test says. */
const places = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'authorize', 'storage'] as const
type Place = typeof places[number]

/** An application that throws an error at one place, once it is told to. */
async function throwingApp (place: Place): Promise<{
  app: FastifyInstance
  id: string
  lines: Logged[]
  thrown: { error?: unknown }
}> {
  const lines: Logged[] = []
  const thrown: { error?: unknown } = {}
  const fail = () => { if ('error' in thrown) throw thrown.error }
  const app = Fastify({ logger: { level: 'error', stream: { write: line => { lines.push(JSON.parse(line)) } } } })
  if (place === 'onRequest' || place === 'preValidation' || place === 'preHandler') {
    app.addHook(place, async () => fail())
  }
  if (place === 'preParsing') app.addHook('preParsing', async () => fail())
  const storage = memoryStorage()
  const options: Partial<FamilyOptions> = {
    ...(place === 'authorize' && { authorize: fail }),
    storage: place === 'storage'
      ? () => {
          fail()
          return storage
        }
      : storage
  }
  app.register(deals, { storage, version: 'v1', ...options })
  const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'tea', price: 1 } })).json()
  return { app, id, lines, thrown }
}

/** One request of every kind. */
const requestsOf = (id: string) => [
  { method: 'GET', url: home },
  { method: 'GET', url: `${home}.csv` },
  { method: 'GET', url: `${home}/${id}` },
  { method: 'GET', url: `${home}/${id}.json` },
  { method: 'GET', url: `${home}/${id}/commands` },
  { method: 'GET', url: '/rest/commands/c1' },
  { method: 'GET', url: '/query/deals-by-status/open' },
  { method: 'POST', url: home, payload: { name: 'a', price: 1 } },
  { method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } },
  { method: 'PATCH', url: `${home}/${id}`, payload: { held: true, holdReason: 'a' } },
  { method: 'PUT', url: '/rest/commands/c1', payload: { deal: id, action: 'HoldDeal', params: { reason: 'a' } } },
  { method: 'POST', url: '/command/HoldDeal', payload: { id, reason: 'a' } },
  { method: 'DELETE', url: `${home}/${id}` }
] as const

for (const place of places) {
  t.test(`${place}: from 500 on, the status stays and the text is logged and not shown`, async t => {
    const { app, id, lines, thrown } = await throwingApp(place)
    t.teardown(() => app.close())
    for (const status of [500, 502, 503]) {
      thrown.error = Object.assign(new Error(secret), { statusCode: status, headers: { 'retry-after': '7' } })
      for (const request of requestsOf(id)) {
        lines.length = 0
        const answer = await app.inject(request)
        const name = `${status}: ${request.method} ${request.url}`
        t.equal(answer.statusCode, status, name)
        t.match(answer.json(), {
          type: `urn:dealbook:problem:${status === 500 ? 'internal' : 'other'}`,
          status,
          detail: 'An internal error occurred; it was logged'
        }, name)
        t.notMatch(answer.body + JSON.stringify(answer.headers), /tiger/, name)
        t.equal(answer.headers['retry-after'], '7', 'the headers are for clients')
        t.match(lines, [{ level: 50, err: { message: secret } }], `${name}: logged once`)
      }
    }
  })

  t.test(`${place}: below 500, the status and the text are for clients, and no code of ours is claimed`, async t => {
    const { app, id, lines, thrown } = await throwingApp(place)
    t.teardown(() => app.close())
    for (const [status, code] of [[402, 'other'], [403, 'forbidden'], [409, 'other'], [422, 'other']] as const) {
      thrown.error = Object.assign(new Error('Your account is closed'), { statusCode: status })
      for (const request of requestsOf(id)) {
        const answer = await app.inject(request)
        t.equal(answer.statusCode, status, `${request.method} ${request.url}`)
        const detail = 'Your account is closed'
        t.match(answer.json(), { type: `urn:dealbook:problem:${code}`, status, detail }, request.url)
      }
    }
    t.strictSame(lines, [])
  })
}

t.test('errors of every make', async t => {
  const { app, lines, thrown } = await throwingApp('onRequest')
  t.teardown(() => app.close())
  class UnderPressure extends Error {
    readonly code = 'FST_UNDER_PRESSURE'
    readonly statusCode = 503
  }
  const table: [thrown: unknown, status: number, code: string, detail: RegExp | string][] = [
    [new UnderPressure('Service Unavailable'), 503, 'other', /internal error/],
    // As http-errors makes them.
    [Object.assign(new Error('gone fishing'), { status: 410, expose: true }), 410, 'other', 'gone fishing'],
    [Object.assign(new Error(secret), { status: 409, statusCode: 409, expose: false }), 409, 'other', 'Conflict'],
    [Object.assign(new Error(''), { statusCode: 402 }), 402, 'other', 'Payment Required'],
    [{ statusCode: 418 }, 418, 'other', "I'm a Teapot"],
    [{ statusCode: 451, message: { secret } }, 451, 'other', 'Unavailable For Legal Reasons'],
    [{ statusCode: 444 }, 444, 'other', '444'],
    [{ statusCode: '403', message: secret }, 500, 'internal', /internal error/],
    [{ code: 'constructor', statusCode: 400, message: 'no' }, 400, 'bad-request', 'no'],
    [{ code: '__proto__', message: secret }, 500, 'internal', /internal error/],
    [secret, 500, 'internal', /internal error/],
    [new Error(secret), 500, 'internal', /internal error/],
    // A problem says what it wants to be said.
    [new Problem('storage-unavailable', 'Back at noon'), 503, 'storage-unavailable', 'Back at noon']
  ]
  for (const [error, status, code, detail] of table) {
    thrown.error = error
    lines.length = 0
    const answer = await app.inject(home)
    t.match(answer.json(), { type: `urn:dealbook:problem:${code}`, status, detail })
    t.equal(answer.statusCode, status)
    t.notMatch(answer.body, /tiger/)
    t.equal(lines.length, status < 500 ? 0 : 1, 'logged')
  }
})

t.test('headers of every make', async t => {
  const { app, thrown } = await throwingApp('onRequest')
  t.teardown(() => app.close())
  const ofBody = { 'content-encoding': 'gzip', 'Content-Type': 'text/tiger', etag: 'tiger' }
  const ofAnother = { 'Set-Cookie': ['a=tiger', 'b=tiger'], ...ofBody }
  const odd = { 'x y': 'a', 'x-none': undefined, 'x-line': 'a\nb', 'retry-after': 7 }
  const table: [headers: unknown, status: number, shown: object][] = [
    [null, 403, {}],
    [null, 503, {}],
    ['tiger', 503, {}],
    [odd, 403, { 'retry-after': '7' }],
    [odd, 503, { 'retry-after': '7' }],
    [{ 'www-authenticate': 'Bearer' }, 401, { 'www-authenticate': 'Bearer' }],
    [{ ...ofAnother, 'Retry-After': '7' }, 503, { 'retry-after': '7', 'set-cookie': undefined }],
    [{ ...ofAnother, 'Retry-After': '7' }, 401, { 'retry-after': '7', 'set-cookie': ['a=tiger', 'b=tiger'] }]
  ]
  for (const [headers, status, shown] of table) {
    thrown.error = Object.assign(new Error('no'), { statusCode: status, headers })
    const answer = await app.inject(home)
    t.match(answer.json(), { status, type: /^urn:dealbook:problem:/ })
    t.match(answer.headers, { ...shown, 'content-type': /^application\/problem\+json/ })
    t.equal(answer.headers['content-encoding'], undefined)
    t.equal(answer.headers.etag, undefined)
  }
})
