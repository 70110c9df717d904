import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { defineFamily, memoryStorage, Type } from '../../lib/index.js'
import type { Checks, TestRequest, TestResponse } from '../deals/app.js'
import { createDeal, dealsApp, home, snapshot } from '../deals/app.js'
import { forms } from '../deals/forms.js'
import { operation } from '../deals/operations.js'

/** A request, and how it must be refused. */
interface Refusal {
  readonly request: TestRequest
  readonly status: number
  readonly code: string
  /** Where the faults are: pointers begin with a slash or are empty, all else are parameters. */
  readonly at?: readonly string[]
  readonly says?: RegExp
}

const json = { 'content-type': 'application/json' }
const unknownId = '00000000-0000-7000-8000-000000000000'

const create = (payload: object): TestRequest => ({ method: 'POST', url: `${home}/`, payload })
const createRaw = (payload: string | Buffer, headers: Record<string, string> = json): TestRequest => ({
  method: 'POST',
  url: `${home}/`,
  payload,
  headers
})
const body = (request: TestRequest, ...at: string[]): Refusal => ({ request, status: 400, code: 'invalid-body', at })
const malformed = (payload: string | Buffer): Refusal => ({
  request: createRaw(payload),
  status: 400,
  code: 'malformed-json'
})
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

/** Bodies that no creation takes. */
const creations: Readonly<Record<string, Refusal>> = {
  'an unknown member': { ...body(create({ name: 'a', price: 1, prices: 2 }), '/prices'), says: /Did you mean "price"/ },
  'a missing member': body(create({ name: 'a' }), '/price'),
  'several faults, all named': body(create({ name: 1, price: '12', color: 'red' }), '/color', '/name', '/price'),
  'a number as text': body(create({ name: 'a', price: '12' }), '/price'),
  'a number for text': body(create({ name: 12, price: 12 }), '/name'),
  'null for a number': body(create({ name: 'a', price: null }), '/price'),
  'null for an optional member': body(create({ name: 'a', price: 1, completionDate: null }), '/completionDate'),
  'true for a number': body(create({ name: 'a', price: true }), '/price'),
  'an array for text': body(create({ name: ['a'], price: 1 }), '/name'),
  'an object for text': body(create({ name: {}, price: 1 }), '/name'),
  'empty text': body(create({ name: '', price: 1 }), '/name'),
  'text that is too long': body(create({ name: 'a'.repeat(1001), price: 1 }), '/name'),
  'a negative price': body(create({ name: 'a', price: -1 }), '/price'),
  "an id, which is the service's": body(create({ name: 'a', price: 1, id: 'mine' }), '/id'),
  'a status': body(create({ name: 'a', price: 1, status: 'completed' }), '/status'),
  'a revision': body(create({ name: 'a', price: 1, revision: 7 }), '/revision'),
  'a time': body(create({ name: 'a', price: 1, createdAt: '2026-01-01T00:00:00.000Z' }), '/createdAt'),
  'a hold': body(create({ name: 'a', price: 1, held: true, holdReason: 'b' }), '/held', '/holdReason'),
  'a number above 2^53 - 1': body(createRaw('{"name":"a","price":9007199254740992}'), '/price'),
  'a number below -(2^53 - 1)': body(createRaw('{"name":"a","price":-9007199254740992}'), '/price'),
  'a number beyond all doubles': body(createRaw('{"name":"a","price":1e400}'), '/price'),
  'U+0000': body(createRaw('{"name":"a\\u0000","price":1}'), '/name'),
  'a lone high surrogate': body(createRaw('{"name":"\\ud800","price":1}'), '/name'),
  'a lone low surrogate': body(createRaw('{"name":"\\udc00b","price":1}'), '/name'),
  'U+0000 in a name': body(createRaw('{"name":"a","price":1,"\\u0000":1}'), ''),
  'a day that is not': body(create({ name: 'a', price: 1, completionDate: '2027-02-29' }), '/completionDate'),
  'a day of another spelling': body(create({ name: 'a', price: 1, completionDate: '2027-3-1' }), '/completionDate'),
  'a moment for a day': body(
    create({ name: 'a', price: 1, completionDate: '2027-03-01T00:00:00Z' }),
    '/completionDate'
  ),
  'the year 0': body(create({ name: 'a', price: 1, completionDate: '0000-01-01' }), '/completionDate'),
  'an array': body(createRaw('[]'), ''),
  'an array of one': body(createRaw('[{"name":"a","price":1}]'), ''),
  null: body(createRaw('null'), ''),
  text: body(createRaw('"name"'), ''),
  'a number': body(createRaw('12'), ''),
  false: body(createRaw('false'), ''),
  'deep nesting': body(createRaw(`{"name":${nested(100)},"price":1}`), `/name${'/0'.repeat(19)}`),
  'very deep nesting': { request: createRaw(nested(100_000)), status: 400, code: 'invalid-body' },
  // In brackets, or it would be the prototype of this table and never be tried.
  ['__proto__']: body(createRaw('{"name":"a","price":1,"__proto__":{"status":"completed"}}'), '/__proto__'),
  constructor: body(createRaw('{"name":"a","price":1,"constructor":{"prototype":{}}}'), '/constructor'),
  'only __proto__': body(createRaw('{"__proto__":{"name":"a","price":1}}'), '/__proto__', '/name', '/price'),
  'a name with a slash and a tilde': body(create({ name: 'a', price: 1, 'a/b~c': 1 }), '/a~1b~0c'),
  'no body': body({ method: 'POST', url: `${home}/` }, '/name', '/price'),
  'an empty body': body(createRaw(''), '/name', '/price'),
  'half an object': malformed('{"name":"a"'),
  'two values': malformed('{} {}'),
  'a comma too much': malformed('{"name":"a","price":1,}'),
  NaN: malformed('{"name":"a","price":NaN}'),
  'single quotes': malformed("{'name':'a','price':1}"),
  'no quotes': malformed('{name: "a", price: 1}'),
  'a byte order mark': malformed('\ufeff{"name":"a","price":1}'),
  'invalid UTF-8': malformed(Buffer.from('7b226e616d65223a22ff222c227072696365223a317d', 'hex')),
  'UTF-16': malformed(Buffer.from('{"name":"a","price":1}', 'utf16le')),
  'only spaces': malformed('  '),
  'a body that is too large': {
    request: create({ name: 'a'.repeat(1_100_000), price: 1 }),
    status: 413,
    code: 'body-too-large'
  },
  'another media type': {
    request: createRaw('<deal/>', { 'content-type': 'application/xml' }),
    status: 415,
    code: 'unsupported-media-type'
  },
  'two media types': {
    request: createRaw('{}', { 'content-type': 'application/json, text/plain' }),
    status: 415,
    code: 'unsupported-media-type'
  },
  'JSON that is said to be a form': {
    request: createRaw('{"name":"a","price":1}', { 'content-type': 'application/x-www-form-urlencoded' }),
    status: 415,
    code: 'unsupported-media-type',
    says: /content-type: application\/json/
  },
  'a malformed media type': {
    request: createRaw('{}', { 'content-type': 'json' }),
    status: 415,
    code: 'unsupported-media-type'
  },
  'a type that begins like JSON': {
    request: createRaw('{"name":"a","price":1}', { 'content-type': 'application/jsonp' }),
    status: 415,
    code: 'unsupported-media-type'
  },
  'no media type': { request: createRaw('{"name":"a","price":1}', {}), status: 415, code: 'unsupported-media-type' },
  'a representation that there is not': {
    request: { ...create({ name: 'a', price: 1 }), headers: { accept: 'image/png' } },
    status: 406,
    code: 'not-acceptable'
  },
  'a format that there is not': {
    request: { ...create({ name: 'a', price: 1 }), url: `${home}/?format=png` },
    status: 406,
    code: 'not-acceptable',
    at: ['format']
  },
  'a query': {
    request: { ...create({ name: 'a', price: 1 }), url: `${home}/?page=1&format=json` },
    status: 400,
    code: 'invalid-query',
    at: ['page']
  },
  'a query that is not encoded': {
    request: { ...create({ name: 'a', price: 1 }), url: `${home}/?%zz=1` },
    status: 400,
    code: 'invalid-query',
    at: ['%zz=1']
  },
  'two formats': {
    request: { ...create({ name: 'a', price: 1 }), url: `${home}/?format=json&format=json` },
    status: 400,
    code: 'invalid-query',
    at: ['format']
  },
  ...Object.fromEntries(Object.entries({
    empty: '',
    'empty, quoted': '""',
    long: 'k'.repeat(256),
    'of two headers': 'a, b',
    'of two headers, quoted': '"a", "b"',
    'half quoted': '"a',
    'with a wrong escape': '"a\\b"',
    'with a character that cannot be printed': 'a\tb',
    'not in ASCII': 'ä'
  }).map(([name, key]): [string, Refusal] => [`an Idempotency-Key that is ${name}`, {
    request: { ...create({ name: 'a', price: 1 }), headers: { 'idempotency-key': key } },
    status: 400,
    code: 'invalid-header'
  }]))
}

/** Requests on a deal that is open, at revision 1. */
const changes = (id: string): Readonly<Record<string, Refusal>> => {
  const deal = `${home}/${id}`
  const put = (url: string, payload?: object): TestRequest => ({
    method: 'PUT',
    url,
    ...(payload === undefined ? {} : { payload })
  })
  const hold = put(`${deal}/hold`, { reason: 'a' })
  const stale = (headers: Record<string, string>, says = /revision 1$/): Refusal => ({
    request: { ...hold, headers },
    status: 412,
    code: 'precondition-failed',
    says
  })
  const wrongMethod = (method: 'PUT' | 'POST' | 'PATCH' | 'DELETE', url: string): Refusal => ({
    request: { method, url, payload: { reason: 'a' } },
    status: 405,
    code: 'method-not-allowed'
  })
  return {
    'a verb without its parameter': body(put(`${deal}/hold`), '/reason'),
    'a participle with an unknown parameter': body(put(`${deal}/holded`, { reason: 'a', because: 'b' }), '/because'),
    'a noun with a wrong parameter': body(
      { method: 'POST', url: `${deal}/cancellations`, payload: { amercement: '1', reason: 'a' } },
      '/amercement'
    ),
    'a verb without parameters, given one': body(put(`${deal}/unhold`, { reason: 'a' }), '/reason'),
    'a verb, given its id': body(put(`${deal}/hold`, { id, reason: 'a' }), '/id'),
    'a verb, given an array': body(put(`${deal}/hold`, ['a']), ''),
    'a day that is not': body(
      put(`${deal}/change-completion-date`, { newDate: '2026-02-30', amercement: 0, whyChanged: 'a' }),
      '/newDate'
    ),
    'an update with an unknown action': {
      ...body(put(deal, { action: 'HoldDeel', params: { reason: 'a' } }), '/action'),
      says: /Did you mean "HoldDeal"/
    },
    'an update with the action of creation': body(
      put(deal, { action: 'CreateDeal', params: { name: 'a', price: 1 } }),
      '/action'
    ),
    'an update with an action that objects inherit': body(put(deal, { action: 'constructor' }), '/action'),
    'an update without parameters': body(put(deal, { action: 'HoldDeal' }), '/params/reason'),
    'an update with wrong parameters': body(
      put(deal, { action: 'CancelDeal', params: { amercement: -1, reason: '' } }),
      '/params/amercement',
      '/params/reason'
    ),
    'an update with parameters beside params': body(put(deal, { action: 'HoldDeal', reason: 'a' }), '/reason'),
    'an update with an array as params': body(put(deal, { action: 'UnholdDeal', params: [] }), '/params'),
    'an update with null as params': body(put(deal, { action: 'UnholdDeal', params: null }), '/params'),
    'an update that is attributes too': body(
      put(deal, { action: 'HoldDeal', params: { reason: 'a' }, held: true }),
      '/held'
    ),
    'an action that is no text': body(put(deal, { action: 1 }), '/action'),
    'attributes that are unknown': body(put(deal, { hold: true }), '/hold'),
    'attributes of a wrong type': body(put(deal, { held: 'true', holdReason: 1 }), '/held', '/holdReason'),
    'held without a reason': body(put(deal, { held: true }), '/holdReason'),
    'a reason without held': body(put(deal, { holdReason: 'a' }), '/holdReason'),
    'a price as an attribute': { ...body(put(deal, { price: 7 }), '/price'), says: /change-price/ },
    'a status as an attribute': { ...body(put(deal, { status: 'completed' }), '/status'), says: /complete or cancel/ },
    'a time as an attribute': {
      ...body(put(deal, { updatedAt: '2026-01-01T12:00:00.000Z' }), '/updatedAt'),
      says: /cannot be changed/
    },
    'attributes of two operations': {
      ...body(put(deal, { name: 'b', held: true, holdReason: 'a' }), '/held', '/holdReason', '/name'),
      says: /held is changed by the operation hold, and a different member by edit; send two requests/
    },
    'an edit of nothing that can be edited': body(put(`${deal}/edit`, { price: 7 }), '/price'),
    'an edit that takes away what must be there': body(put(`${deal}/edit`, { name: null }), '/name'),
    'an edit in params': body(put(deal, { action: 'EditDeal', params: { name: '' } }), '/params/name'),
    'another id': body(put(deal, { id: unknownId }), '/id'),
    'another revision': body(put(deal, { revision: 2, held: true, holdReason: 'a' }), '/revision'),
    'null in a PUT': body(put(deal, { holdReason: null }), '/holdReason'),
    'null for what cannot go': body({ method: 'PATCH', url: deal, payload: { name: null } }, '/name'),
    'a patch with an action': body({ method: 'PATCH', url: deal, payload: { action: 'HoldDeal' } }, '/action'),
    'a command without an action': body(put(`${deal}/commands/c1`, { params: {} }), '/action'),
    'a command with wrong parameters': body(
      put(`${deal}/commands/c1`, { action: 'HoldDeal', params: { reason: 1 } }),
      '/params/reason'
    ),
    'a command in a deal that names a deal': body(
      put(`${deal}/commands/c1`, { deal: id, action: 'HoldDeal', params: { reason: 'a' } }),
      '/deal'
    ),
    'a command that names no deal': body(put('/rest/commands/c1', { action: 'HoldDeal', params: { reason: 'a' } }), ''),
    'a command whose deal is a number': body(put('/rest/commands/c1', { deal: 1, action: 'UnholdDeal' }), '/deal'),
    'a command id with a space': {
      request: put(`${deal}/commands/a%20b`, { action: 'HoldDeal', params: { reason: 'a' } }),
      status: 400,
      code: 'bad-request',
      at: ['command_id']
    },
    'a command id with a slash': {
      request: put('/rest/commands/a%2Fb', { deal: id, action: 'HoldDeal', params: { reason: 'a' } }),
      status: 400,
      code: 'bad-request',
      at: ['command_id']
    },
    'a command id with a line break': {
      request: put(`${deal}/commands/a%0D%0Ab`, { action: 'HoldDeal', params: { reason: 'a' } }),
      status: 400,
      code: 'bad-request',
      at: ['command_id']
    },
    'a command by POST without an id': body(
      { method: 'POST', url: '/command/HoldDeal/', payload: { reason: 'a' } },
      '/id'
    ),
    'a command by POST with a number for an id': body(
      { method: 'POST', url: '/command/HoldDeal/', payload: { id: 1, reason: 'a' } },
      '/id'
    ),
    'a command by POST on nothing': {
      request: { method: 'POST', url: '/command/HoldDeal/', payload: { id: 'no such', reason: 'a' } },
      status: 404,
      code: 'not-found'
    },
    'a deletion with a body': body({ method: 'DELETE', url: deal, payload: { reason: 'a' } }, '/reason'),
    'a deletion of what is not there': {
      request: { method: 'DELETE', url: `${home}/${unknownId}` },
      status: 404,
      code: 'not-found'
    },
    'a deletion by POST of what is not there': {
      request: { method: 'POST', url: '/command/DeleteDeal/', payload: { id: unknownId } },
      status: 404,
      code: 'not-found'
    },
    'an id that cannot be one': { request: put(`${home}/a%00b/hold`, { reason: 'a' }), status: 404, code: 'not-found' },
    'a way out': { request: put(`${home}/..%2f..%2fcustomers/hold`, { reason: 'a' }), status: 404, code: 'not-found' },
    'an operation that there is not': {
      request: put(`${deal}/hodl`, { reason: 'a' }),
      status: 404,
      code: 'not-found',
      says: /There is no "hodl" here/
    },
    'a word that is nearly one': {
      request: { method: 'POST', url: `${deal}/hold-s/`, payload: { reason: 'a' } },
      status: 404,
      code: 'not-found',
      says: /Did you mean "hold/
    },
    'a command that is not there': {
      request: { method: 'GET', url: `${deal}/commands/none` },
      status: 404,
      code: 'not-found'
    },
    'a shared command that is not there': {
      request: { method: 'GET', url: '/rest/commands/none' },
      status: 404,
      code: 'not-found'
    },
    'a verb by POST': wrongMethod('POST', `${deal}/hold`),
    'a noun by PUT': wrongMethod('PUT', `${deal}/holds`),
    'the collection by PUT': wrongMethod('PUT', home),
    'the collection by DELETE': wrongMethod('DELETE', `${home}/`),
    'a command by DELETE': wrongMethod('DELETE', `${deal}/commands/c1`),
    'a command by POST': wrongMethod('POST', '/rest/commands/c1'),
    'an action by PUT': wrongMethod('PUT', '/command/HoldDeal/'),
    'another revision in If-Match': stale({ 'if-match': '"2"' }),
    'another revision of a representation': stale({ 'if-match': '"2-json", "3-xml"' }),
    'a weak tag': stale({ 'if-match': 'W/"1-json"' }, /revision 1\. In If-Match a weak tag .* W\/, such as "1"$/),
    'a weak tag and another': stale({ 'if-match': 'W/"1", "2"' }),
    'a bare number': stale({ 'if-match': '1' }, /If-Match: 1 is not valid: an .* is in quotes, such as "1"$/),
    'a bare tag': stale({ 'if-match': '1-json' }, /If-Match: 1-json is not valid: .* such as "1"$/),
    'a weak number': stale({ 'if-match': 'W/1' }, /If-Match: W\/1 is not valid: .* such as "1"$/),
    'other quotes': stale({ 'if-match': "'1'" }, /If-Match: '1' is not valid: .* such as "1"$/),
    'a malformed list': stale({ 'if-match': '"1" "1"' }, /If-Match: "1" "1" is not valid: /),
    'a bare number in If-None-Match': stale({ 'if-none-match': '7' }, /If-None-Match: 7 is not valid: .* such as "1"$/),
    'a date before the deal': stale({ 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }),
    'If-None-Match for any': stale({ 'if-none-match': '*' }),
    'a stale If-Match before attributes that differ': {
      request: { ...put(deal, { price: 7, held: true, holdReason: 'a' }), headers: { 'if-match': '"9"' } },
      status: 412,
      code: 'precondition-failed'
    },
    'a stale If-Match before attributes that do not': {
      request: { ...put(deal, {}), headers: { 'if-match': '"9"' } },
      status: 412,
      code: 'precondition-failed'
    },
    'a stale If-Match of a deletion': {
      request: { method: 'DELETE', url: deal, headers: { 'if-match': '"9"' } },
      status: 412,
      code: 'precondition-failed'
    },
    'a stale If-Match of a command': {
      request: {
        ...put('/rest/commands/c1', { deal: id, action: 'HoldDeal', params: { reason: 'a' } }),
        headers: { 'if-match': '"9"' }
      },
      status: 412,
      code: 'precondition-failed'
    },
    'a page of another site, without a body': {
      request: {
        method: 'POST',
        url: `${deal}/completions`,
        headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      },
      status: 403,
      code: 'cross-site'
    },
    'a page of another site, in an old browser': {
      request: { method: 'POST', url: `${deal}/completions`, headers: { origin: 'https://evil.example' } },
      status: 403,
      code: 'cross-site'
    },
    'a page without an origin': {
      request: { method: 'POST', url: `${deal}/completions`, headers: { origin: 'null' } },
      status: 403,
      code: 'cross-site'
    },
    'a page of a sister site': {
      request: {
        method: 'POST',
        url: `${deal}/completions`,
        headers: { origin: 'https://sister.localhost', 'sec-fetch-site': 'same-site' }
      },
      status: 403,
      code: 'cross-site'
    }
  }
}

t.test('bodies that create nothing', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  let before = await snapshot(app, id)
  for (const [name, refusal] of Object.entries(creations)) {
    await t.test(name, async t => {
      await refused(t, app, id, refusal, before)
      // What is invalid is never recorded: the key is free for the corrected request.
      if (refusal.request.headers?.['idempotency-key'] !== undefined) return
      const key = { 'idempotency-key': JSON.stringify(`key ${name}`) }
      const headers = { ...refusal.request.headers, ...key }
      await refused(t, app, id, { ...refusal, request: { ...refusal.request, headers } }, before)
      const corrected = await app.inject({ ...create({ name: 'Corrected', price: 1 }), headers: key })
      before = await snapshot(app, id)
      t.equal(corrected.statusCode, 201)
      t.equal(corrected.headers['idempotent-replayed'], undefined)
    })
  }
})

t.test('requests that change nothing', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  for (const [name, refusal] of Object.entries(changes(id))) {
    await t.test(name, async t => { await refused(t, app, id, refusal, before) })
  }
  t.test('a deal that is not there, in every form', async t => {
    for (const form of forms) {
      const request = form.request(operation('hold'), unknownId, 'c1') as TestRequest
      await refused(t, app, id, { request, status: 404, code: 'not-found', says: new RegExp(unknownId) }, before)
    }
    t.equal((await app.inject('/rest/commands/c1')).statusCode, 404, 'the command is not recorded')
  })
})

t.test('a method that is not allowed names those that are', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  for (const [url, allow] of [
    [home, 'GET, HEAD, OPTIONS, POST, QUERY'],
    [`${home}/`, 'GET, HEAD, OPTIONS, POST, QUERY'],
    [`${home}/${id}`, 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    [`${home}/${id}/hold`, 'OPTIONS, PUT'],
    [`${home}/${id}/holded`, 'OPTIONS, PUT'],
    [`${home}/${id}/holds`, 'GET, HEAD, OPTIONS, POST, QUERY'],
    [`${home}/${id}/holds/c1`, 'GET, HEAD, OPTIONS'],
    [`${home}/${id}/commands`, 'GET, HEAD, OPTIONS, QUERY'],
    [`${home}/${id}/commands/c1`, 'GET, HEAD, OPTIONS, PUT'],
    ['/rest/commands/c1', 'GET, HEAD, OPTIONS, PUT'],
    ['/command/HoldDeal/', 'OPTIONS, POST'],
    ['/command/CreateDeal', 'OPTIONS, POST'],
    [`/query/deals/${id}`, 'GET, HEAD, OPTIONS, QUERY']
  ] as const) {
    const answer = await app.inject({ method: 'TRACE' as 'GET', url })
    t.equal(answer.statusCode, 405, url)
    t.equal(answer.headers.allow, allow, url)
    t.equal((await app.inject({ method: 'OPTIONS', url })).headers.allow, allow, url)
  }
})

t.test('a page of another site', async t => {
  const app = await dealsApp(memoryStorage(), { trustedOrigins: ['https://good.example'] })
  const post = async (headers: Record<string, string>): Promise<number> => {
    const { id } = await createDeal(app)
    return (await app.inject({ method: 'POST', url: `${home}/${id}/completions`, headers })).statusCode
  }
  t.equal(await post({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }), 403)
  t.equal(await post({ origin: 'https://good.example', 'sec-fetch-site': 'cross-site' }), 201, 'a trusted one')
  t.equal(await post({ origin: 'http://localhost:80', host: 'localhost:80' }), 201, 'our own, in an old browser')
  t.equal(await post({ origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }), 201, 'our own')
  t.equal(await post({ 'sec-fetch-site': 'none' }), 201, 'typed by the user')
  t.equal(await post({}), 201, 'no browser at all')
  const { id } = await createDeal(app)
  const asked = await app.inject({
    method: 'PUT',
    url: `${home}/${id}/hold`,
    payload: { reason: 'a' },
    headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  })
  t.equal(asked.statusCode, 200, 'what needs a preflight is the business of CORS')
})

t.test('an id that was used for something else', async t => {
  const app = await dealsApp(memoryStorage())
  const [{ id }, other] = [await createDeal(app), await createDeal(app)]
  const hold = { action: 'HoldDeal', params: { reason: 'a' } }
  await app.inject({ method: 'PUT', url: `${home}/${id}/commands/c1`, payload: hold })
  await app.inject({
    method: 'POST',
    url: `${home}/${id}/cancellations`,
    headers: { 'idempotency-key': 'k1' },
    payload: { amercement: 1, reason: 'a' }
  })
  const reused = async (request: TestRequest): Promise<unknown> =>
    await refused(t, app, id, { request, status: 422, code: 'id-reused' })
  await reused({ method: 'PUT', url: `${home}/${id}/commands/c1`, payload: { ...hold, params: { reason: 'b' } } })
  await reused({ method: 'PUT', url: `${home}/${id}/commands/c1`, payload: { action: 'UnholdDeal' } })
  await reused({ method: 'PUT', url: `${home}/${other.id}/commands/c1`, payload: hold })
  await reused({ method: 'PUT', url: '/rest/commands/c1', payload: { deal: other.id, ...hold } })
  await reused({
    method: 'POST',
    url: `${home}/${id}/cancellations`,
    headers: { 'idempotency-key': 'k1' },
    payload: { amercement: 2, reason: 'a' }
  })
  await reused({
    method: 'POST',
    url: `${home}/${id}/holds`,
    headers: { 'idempotency-key': 'k1' },
    payload: { reason: 'a' }
  })
  await reused({ method: 'POST', url: home, headers: { 'idempotency-key': 'k1' }, payload: { name: 'a', price: 1 } })
  t.strictSame(
    await app.inject(`${home}/${other.id}`).then(answer => answer.json<{ revision: number }>().revision),
    1,
    'the other deal is as it was'
  )
})

t.test('where the path has the id, a key beside it is ignored, whatever it is', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const payload = { deal: id, action: 'HoldDeal', params: { reason: 'r' } }
  for (const [index, key] of ['k', '', 'a, b', 'k'.repeat(256)].entries()) {
    const headers = { 'idempotency-key': key }
    for (const [url, sent] of [
      [`/rest/commands/c-${index}`, payload],
      [`${home}/${id}/commands/d-${index}`, { action: payload.action, params: payload.params }]
    ] as const) {
      const { statusCode } = await app.inject({ method: 'PUT', url, headers, payload: sent })
      t.equal(statusCode, 201, `${key} ${url}`)
    }
  }
})

t.test('preconditions can be required', async t => {
  const app = await dealsApp(memoryStorage(), { preconditions: 'required' })
  const { id } = await createDeal(app)
  for (const form of forms) {
    const request = form.request(operation('hold'), id, 'c1') as TestRequest
    await refused(t, app, id, { request, status: 428, code: 'precondition-required', says: /If-Match/ })
  }
  await refused(t, app, id, {
    request: { method: 'DELETE', url: `${home}/${id}` },
    status: 428,
    code: 'precondition-required'
  })
  const command = {
    method: 'PUT',
    url: '/rest/commands/c1',
    payload: { deal: id, action: 'HoldDeal', params: { reason: 'a' } }
  } as const
  t.equal((await app.inject({ ...command, headers: { 'if-match': '"1"' } })).statusCode, 201)
  t.equal((await app.inject(command)).statusCode, 200, 'a command that was done is recognised before that')
  t.equal((await app.inject({ ...command, headers: { 'if-match': '"1"' } })).statusCode, 200, 'and before If-Match')
})

t.test('If-Match takes every spelling of the revision', async t => {
  const app = await dealsApp(memoryStorage())
  for (const tag of ['"1"', '"1-json"', '"1-xml"', '"7", "1-html"', '*', ' "0" ,\t"1" ']) {
    const { id } = await createDeal(app)
    const answer = await app.inject({
      method: 'PUT',
      url: `${home}/${id}/hold`,
      headers: { 'if-match': tag },
      payload: { reason: 'a' }
    })
    t.equal(answer.statusCode, 200, tag)
  }
})

t.test('no bytes are the empty object, whatever they are said to be', async t => {
  const app = await dealsApp(memoryStorage())
  for (const headers of [
    {},
    { 'content-type': 'application/json' },
    { 'content-type': 'application/json; charset=utf-8', 'content-length': '0' }
  ]) {
    const { id } = await createDeal(app)
    t.equal((await app.inject({ method: 'PUT', url: `${home}/${id}/complete`, headers })).statusCode, 200)
    t.equal((await app.inject({ method: 'POST', url: `${home}/${id}/completions`, headers })).statusCode, 200)
    t.equal((await app.inject({ method: 'PUT', url: `${home}/${id}`, headers })).statusCode, 200)
    t.equal((await app.inject({ method: 'PATCH', url: `${home}/${id}`, headers })).statusCode, 200)
    t.equal((await app.inject({ method: 'DELETE', url: `${home}/${id}`, headers })).statusCode, 204)
  }
})

t.test('a form cannot send a text for what is nested too deeply for forms', async t => {
  const grids = defineFamily({
    name: 'grids',
    singular: 'grid',
    fields: Type.Object({ id: Type.Integer(), cells: Type.Optional(Type.Array(Type.Array(Type.Integer()))) }),
    create: ['cells']
  })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(grids, { storage: memoryStorage() })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await app.inject({ method: 'POST', url: '/grids', headers, payload: 'cells=[[1]]' })
  t.match(answer.json(), { status: 400, errors: [{ pointer: '/cells', detail: 'cannot be given as text' }] })
})

/** Sends it and checks the client's view of the refusal, and that nothing else can be seen of it. */
async function refused (
  t: Checks,
  app: FastifyInstance,
  id: string,
  { request, status, code, at, says }: Refusal,
  before?: object
): Promise<TestResponse> {
  before ??= await snapshot(app, id)
  const answer = await app.inject(request)
  t.equal(answer.statusCode, status, answer.body)
  t.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.equal(answer.headers.vary, 'Accept')
  t.equal(answer.headers['cache-control'], 'no-store')
  const problem = answer.json<{
    type: string
    title: string
    status: number
    detail: string
    instance: string
    errors?: { pointer?: string, parameter?: string, detail: string }[]
  }>()
  t.equal(problem.type, `urn:dealbook:problem:${code}`)
  t.equal(problem.status, status)
  t.ok(problem.title)
  t.ok(problem.detail)
  t.equal(problem.instance, (request.url as string).split('?')[0])
  if (at !== undefined) {
    t.strictSame(
      problem.errors?.map(({ pointer, parameter }) => pointer ?? parameter).sort(),
      [...at].sort(),
      'where the faults are'
    )
    t.ok(problem.errors?.every(({ detail }) => detail.length > 0))
  }
  if (says !== undefined) t.match(problem.detail, says)
  t.strictSame(await snapshot(app, id), before, 'nothing has changed')
  return answer
}
