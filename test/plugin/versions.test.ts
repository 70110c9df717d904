import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { deals, memoryStorage } from '../../lib/index.js'
import { anyStorage } from '../storages.js'

type Test = { teardown (fn: () => unknown): void }

/** Deals of v1 on their way out and, where asked for, of v2 over the same storage. */
async function versions (
  t: Test,
  retirement: Partial<FamilyOptions>,
  second?: Partial<FamilyOptions>
): Promise<{ app: FastifyInstance, id: string }> {
  const app = Fastify()
  t.teardown(() => app.close())
  const storage = memoryStorage()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  app.register(deals, { storage, version: 'v1', ...retirement })
  if (second !== undefined) app.register(deals, { storage, version: 'v2', ...second })
  // Where a deal can be made whatever has ended.
  app.register(deals, { storage, version: 'v0', prefix: '/setup', forms: ['command'] })
  const { id } = (
    await app.inject({ method: 'POST', url: '/setup/rest/v0/deals', payload: { name: 'tea', price: 5 } })
  ).json()
  await app.inject({
    method: 'PUT',
    url: `/setup/rest/v0/deals/${id}/commands/c1`,
    payload: { action: 'HoldDeal', params: { reason: 'a' } }
  })
  return { app, id }
}

const json = { 'content-type': 'application/json' }

/** A request for every kind of route that a version has. */
const versionedRequests = (id: string): InjectOptions[] => [
  { url: '/rest/v1/deals' },
  { url: '/rest/v1/deals/' },
  { url: '/rest/v1/deals.csv' },
  { method: 'HEAD', url: '/rest/v1/deals' },
  { method: 'OPTIONS', url: '/rest/v1/deals' },
  { url: `/rest/v1/deals/${id}` },
  { url: '/rest/v1/deals/none' },
  { url: '/rest/v1/deals?nonsense=1' },
  { url: '/rest/v1/deals', headers: { accept: 'image/png' } },
  { method: 'POST', url: '/rest/v1/deals', payload: { name: 'b', price: 1 } },
  { method: 'POST', url: '/rest/v1/deals', payload: '{', headers: json },
  { method: 'POST', url: '/rest/v1/deals', payload: 'text', headers: { 'content-type': 'text/plain' } },
  { method: 'PUT', url: `/rest/v1/deals/${id}`, payload: { held: true, holdReason: 'a' } },
  { method: 'PATCH', url: `/rest/v1/deals/${id}`, payload: {} },
  { method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: { reason: 'a' } },
  { method: 'PUT', url: `/rest/v1/deals/${id}/holded`, payload: {} },
  { url: `/rest/v1/deals/${id}/holds` },
  { method: 'POST', url: `/rest/v1/deals/${id}/holds`, payload: { reason: 'a' } },
  { url: `/rest/v1/deals/${id}/holds/c1` },
  { url: `/rest/v1/deals/${id}/commands` },
  { url: `/rest/v1/deals/${id}/commands/c1` },
  { method: 'PUT', url: `/rest/v1/deals/${id}/commands/c2`, payload: { action: 'UnholdDeal' } },
  { method: 'PUT', url: `/rest/v1/deals/${id}/hlod`, payload: {} },
  { method: 'TRACE', url: '/rest/v1/deals' },
  { method: 'DELETE', url: `/rest/v1/deals/${id}/holds` }
]

const sharedRequests = (id: string): InjectOptions[] => [
  { url: `/query/deals/${id}` },
  { method: 'POST', url: '/command/HoldDeal/', payload: { id, reason: 'a' } },
  { method: 'PUT', url: '/rest/commands/c9', payload: { deal: id, action: 'HoldDeal', params: { reason: 'a' } } },
  { url: '/rest/commands/c1' }
]

const nameOf = ({ method = 'GET', url }: InjectOptions) => `${method} ${String(url)}`

t.test('a version says in every answer that it is to go', async t => {
  const { app, id } = await versions(t, {
    deprecation: '2026-01-31T10:00:00Z',
    sunset: new Date('2999-12-31T23:59:59Z'),
    successor: '/rest/v2/deals'
  })
  for (const request of [...versionedRequests(id), ...sharedRequests(id)]) {
    const { headers, statusCode } = await app.inject(request)
    t.not(statusCode, 410, nameOf(request))
    t.equal(headers.deprecation, '@1769853600', nameOf(request))
    t.equal(headers.sunset, 'Tue, 31 Dec 2999 23:59:59 GMT', nameOf(request))
    t.match(headers.link, '</rest/v2/deals>; rel="successor-version"', nameOf(request))
  }
  const { link } = (await app.inject('/rest/v1/deals?maxpagesize=1')).headers
  t.match(
    link,
    /^<\/rest\/v2\/deals>; rel="successor-version", <\/rest\/v1\/deals\?maxpagesize=1>; rel="self", /,
    'beside the links of the page'
  )
})

t.test('and is gone after its sunset', async t => {
  const { app, id } = await versions(t, { sunset: '2020-01-01', successor: 'https://example.org/a%20b/é' })
  for (const request of [...versionedRequests(id), ...sharedRequests(id)]) {
    const { statusCode, headers, body } = await app.inject(request)
    t.equal(statusCode, 410, nameOf(request))
    t.equal(headers.link, '<https://example.org/a%20b/%C3%A9>; rel="successor-version"', nameOf(request))
    t.equal(headers.deprecation, undefined)
    if (request.method !== 'HEAD') {
      t.match(
        JSON.parse(body),
        {
          type: 'urn:dealbook:problem:gone',
          status: 410,
          detail: 'This version ended on 2020-01-01T00:00:00.000Z; use https://example.org/a%20b/é'
        },
        nameOf(request)
      )
    }
  }
  t.match(
    (await app.inject({ url: `/rest/v1/deals/${id}`, headers: { accept: 'text/html' } })).headers['content-type'],
    'text/html'
  )
  t.equal((await app.inject(`/setup/rest/v0/deals/${id}`)).json().revision, 2, 'nothing was done')
})

t.test('the paths without a version outlive one whose successor asks for them', async t => {
  const { app, id } = await versions(t, { deprecation: '2019-01-01', sunset: '2020-01-01' }, { unversioned: true })
  for (const request of sharedRequests(id)) {
    const { statusCode, headers } = await app.inject(request)
    t.ok(statusCode < 300, `${nameOf(request)}: ${statusCode}`)
    t.equal(headers.deprecation, undefined, nameOf(request))
  }
  t.equal((await app.inject('/rest/commands/c1')).json().links.deal, `/rest/v2/deals/${id}`, 'and lead to it')
  t.equal((await app.inject('/rest/v1/deals')).statusCode, 410)
  t.equal((await app.inject('/rest/v2/deals')).headers.deprecation, undefined)
})

t.test('they end with the version that has them', async t => {
  const { app, id } = await versions(t, { sunset: '2020-01-01' }, {})
  for (const request of sharedRequests(id)) t.equal((await app.inject(request)).statusCode, 410, nameOf(request))
  t.equal((await app.inject('/rest/v2/deals')).statusCode, 200)
})

t.test('OpenAPI marks the routes of the version, and no others', async t => {
  const { app } = await versions(t, { deprecation: '2026-01-31' }, { successor: '/later' })
  await app.ready()
  const paths = Object.entries(app.swagger().paths ?? {}) as [string, Record<string, { deprecated?: boolean }>][]
  t.ok(paths.some(([path]) => path.startsWith('/rest/v1/')))
  for (const [path, methods] of paths) {
    for (const [method, { deprecated = false }] of Object.entries(methods)) {
      t.equal(deprecated, /^\/(rest\/v1|command|query)\//.test(path), `${method} ${path}`)
    }
  }
})

t.test('a version without any of this says nothing', async t => {
  const { app, id } = await versions(t, {})
  const { headers } = await app.inject(`/rest/v1/deals/${id}`)
  t.strictSame([headers.deprecation, headers.sunset, headers.link], [undefined, undefined, undefined])
})

t.test('an unknown version is not found', async t => {
  const { app, id } = await versions(t, {})
  for (const url of [
    '/rest/v9/deals',
    `/rest/v9/deals/${id}`,
    `/rest/v9/deals/${id}/hold`,
    '/rest/deals',
    '/rest/V1/deals'
  ]) {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE'] as const) {
      t.equal((await app.inject({ method, url, payload: {} })).statusCode, 404, `${method} ${url}`)
    }
  }
})

t.test('dates that are none are boot errors', async t => {
  for (const option of ['deprecation', 'sunset'] as const) {
    await t.rejects(
      async () =>
        await Fastify()
          .register(deals, { storage: memoryStorage(), version: 'v1', [option]: 'soon' })
          .ready(),
      { message: new RegExp(`"${option}" must be a date`) }
    )
  }
})

for (const { name, make } of anyStorage) {
  t.test(`a version leaves the fields of another as they are, over ${name}`, async t => {
    const wider = deals.extend({ fields: Type.Object({ region: Type.Optional(Type.String()) }), create: ['region'] })
    for (const order of [['v1', 'v2'], ['v2', 'v1']]) {
      const { storage, dispose } = await make()
      const app = Fastify()
      t.teardown(async () => { await app.close(); await dispose() })
      for (const version of order) app.register(version === 'v1' ? deals : wider, { storage, version })
      const { id } = (
        await app.inject({ method: 'POST', url: '/rest/v2/deals', payload: { name: 'a', price: 1, region: 'north' } })
      ).json()
      t.notOk('region' in (await app.inject(`/rest/v1/deals/${id}`)).json(), 'v1 does not show it')
      const held = await app.inject({ method: 'PUT', url: `/rest/v1/deals/${id}/hold`, payload: { reason: 'a' } })
      t.equal(held.statusCode, 200, held.body)
      t.notOk('region' in held.json())
      t.match(
        (await app.inject(`/rest/v2/deals/${id}`)).json(),
        { held: true, region: 'north', revision: 2 },
        order.join(' before ')
      )
      const { id: other } = (
        await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'b', price: 1 } })
      ).json()
      t.equal(
        (await app.inject({ method: 'PUT', url: `/rest/v2/deals/${other}/hold`, payload: { reason: 'a' } })).statusCode,
        200
      )
      t.equal((await app.inject('/rest/v2/deals?region=north&count=exact')).json().total, 1)
    }
  })
}
