import swagger from '@fastify/swagger'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { memoryStorage } from '../../lib/index.js'
import type { Route } from '../authorization/routes.js'
import { everyRoute, requestsFor } from '../authorization/routes.js'
import { wholeDocument } from './whole.js'

interface Answer { readonly content?: Readonly<Record<string, { readonly schema: object }>> }
interface Operation { readonly responses: Readonly<Record<string, Answer>> }
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>
type Change = (request: InjectOptions) => InjectOptions

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const validators = new Map<string, ValidateFunction>()

function findFlaws (schema: object, value: unknown): string {
  const text = JSON.stringify(schema)
  const validate = validators.get(text) ?? ajv.compile(schema)
  validators.set(text, validate)
  return validate(value) ? '' : ajv.errorsText(validate.errors)
}

// Every other method is answered by 405, for which a document has no place.
function findOperation (paths: Paths, { method, url }: Route): Operation | undefined {
  // What has a suffix is only read.
  if (url.endsWith('.:extension') && method !== 'GET') return undefined
  return paths[url.replace('.:extension', '').replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
}

/** What the document does not say of an answer; empty where it says all of it. */
function findUnsaid (paths: Paths, route: Route, { statusCode, headers, body }: LightMyRequestResponse): string {
  const operation = findOperation(paths, route)
  if (operation === undefined) return `${route.url} is not described`
  const answer = operation.responses[statusCode]
  if (answer === undefined) return `${statusCode} is not described: ${body.slice(0, 200)}`
  if (body === '') return ''
  const type = String(headers['content-type']).split(';')[0] as string
  const media = answer.content?.[type]
  if (media === undefined) return `${statusCode} is not described as ${type}: ${body.slice(0, 200)}`
  return /[/+]json$/.test(type) ? findFlaws(media.schema, JSON.parse(body)) : ''
}

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
  'no such representation': withHeaders({ accept: 'image/png' }),
  'no such format': withQuery('format=nope'),
  'no such parameter': withQuery('nope=1'),
  'nothing there': request =>
    ({ ...request, url: String(request.url).replace(/(deals|customers|invoices)\/[^/]+/, '$1/999999') }),
  'a stale tag': withHeaders({ 'if-match': '"99"' }),
  'a current tag': withHeaders({ 'if-none-match': '*' }),
  'no body wanted': withHeaders({ prefer: 'return=minimal' }),
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
  'a wrong key': withHeaders({ 'idempotency-key': 'a'.repeat(300) })
}

async function buildApp (t: Test, options: Partial<FamilyOptions>) {
  const { app, routes } = await everyRoute({ storage: memoryStorage(), bodyLimit: 20_000, ...options }, async app => {
    await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } } })
  })
  t.teardown(() => app.close())
  return { app, routes, ...wholeDocument<{ paths: Paths, components: { schemas: Record<string, object> } }>(app) }
}

/** Sends every request in every way, and gives back the statuses of the answers. */
async function walk (
  t: Test,
  { app, paths, routes }: { readonly app: FastifyInstance, readonly paths: Paths, readonly routes: readonly Route[] }
): Promise<number[]> {
  const statuses = new Set<number>()
  // The other spellings are answered by the same.
  const described = routes.filter(route => !route.url.endsWith('/') && findOperation(paths, route) !== undefined)
  for (const route of described) {
    const unsaid: string[] = []
    for (const [name, change] of Object.entries(changes)) {
      for (const request of await requestsFor(app, route)) {
        const answer = await app.inject(change(request))
        statuses.add(answer.statusCode)
        const flaw = findUnsaid(paths, route, answer)
        if (flaw !== '') unsaid.push(`${name}: ${flaw}`)
      }
    }
    t.strictSame(unsaid, [], `${route.method} ${route.url}`)
  }
  t.ok(described.length > 90, `${described.length} routes`)
  return [...statuses].sort()
}

t.test('every answer is one that the document describes', async t => {
  const host = await buildApp(t, {})
  const { app, paths, components } = host
  t.strictSame(await walk(t, host), [200, 201, 204, 303, 304, 400, 403, 404, 406, 412, 413, 415])

  const home = '/rest/v1/deals'
  const check = async (t: Test, status: number, url: string, request: InjectOptions & { readonly method: string }) => {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, status, url)
    t.equal(findUnsaid(paths, { method: request.method, url }, answer), '', `${request.method} ${url}`)
  }
  await t.test('wrong states, ids used again, and what changes nothing', async t => {
    const { id } = (await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 } })).json()
    const item = `${home}/${id}`
    const hold = { method: 'POST', url: `${item}/holds`, payload: { reason: 'a' } } as const
    await check(t, 201, `${home}/:id/holds`, { ...hold, headers: { 'idempotency-key': 'k' } })
    await check(t, 200, `${home}/:id/holds`, hold)
    await check(t, 422, `${home}/:id/holds`, { ...hold, payload: { reason: 'b' }, headers: { 'idempotency-key': 'k' } })
    await check(t, 409, `${home}/:id/complete`, { method: 'PUT', url: `${item}/complete` })
    await check(t, 409, `${home}/:id`, { method: 'PUT', url: item, payload: { action: 'CompleteDeal' } })
    const command = { method: 'PUT', url: `${item}/commands/c-1`, payload: { action: 'UnholdDeal' } } as const
    await check(t, 201, `${home}/:id/commands/:command`, command)
    await check(t, 200, `${home}/:id/commands/:command`, command)
    await check(t, 422, `${home}/:id/commands/:command`, { ...command, payload: { action: 'CompleteDeal' } })
    await check(t, 201, `${home}/:id/commands/:command`, { ...command, url: `${item}/commands/c-2` })
    await check(t, 404, '/query/deals-by-name/:parameter', { method: 'GET', url: '/query/deals-by-name/nobody' })
  })

  await t.test('a method that is not there is a problem too', async t => {
    const answer = await app.inject({ method: 'DELETE', url: home })
    t.equal(answer.statusCode, 405)
    t.equal(findFlaws(components.schemas['Problem'] as object, answer.json()), '')
  })
})

t.test('a precondition that is required, and an empty list that is not found', async t => {
  const { app, paths } = await buildApp(t, { preconditions: 'required', emptyList: 'not-found' })
  const url = '/rest/v1/deals'
  const empty = await app.inject(url)
  t.equal(empty.statusCode, 404)
  t.equal(findUnsaid(paths, { method: 'GET', url }, empty), '')
  const { id } = (await app.inject({ method: 'POST', url, payload: { name: 'a', price: 1 } })).json()
  for (const [method, path] of [['PUT', '/hold'], ['POST', '/holds'], ['DELETE', '']] as const) {
    const payload = method === 'DELETE' ? {} : { payload: { reason: 'a' } }
    const answer = await app.inject({ method, url: `${url}/${id}${path}`, ...payload })
    t.equal(answer.statusCode, 428)
    t.equal(findUnsaid(paths, { method, url: `${url}/:id${path}` }, answer), '', method)
  }
})
