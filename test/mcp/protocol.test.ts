import Fastify from 'fastify'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'
import { mcp } from '../../lib/mcp/mcp.js'
import { ask, call, crmApp, post } from './app.js'

const key = (name: string): string => `io.modelcontextprotocol/${name}`
const latest = '2026-07-28'
const meta = { [key('protocolVersion')]: latest, [key('clientCapabilities')]: {} }
const header = { 'mcp-protocol-version': latest }

t.test('what is not one request or notification', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  const cases: [name: string, payload: string | object, status: number, code: number][] = [
    ['not JSON', '{"jsonrpc":', 400, -32700],
    ['no body', '', 400, -32600],
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], 400, -32600],
    ['a text', '"ping"', 400, -32600],
    ['no version of JSON-RPC', { id: 1, method: 'ping' }, 400, -32600],
    ['no method', { jsonrpc: '2.0', id: 1 }, 400, -32600],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, 400, -32600],
    ['the id null', { jsonrpc: '2.0', id: null, method: 'ping' }, 400, -32600],
    ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'ping', params: [1] }, 400, -32600],
    ['a member twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32600],
    ['U+0000', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\u0000"}}', 400, -32600],
    ['too many members', `{"a":[${Array(2000).fill('{"b":1}').join()}]}`, 400, -32600],
    ['too many bytes', JSON.stringify({ a: 'x'.repeat(1_100_000) }), 413, -32600]
  ]
  for (const [name, payload, status, code] of cases) {
    const answer = await post(app, payload)
    t.match({ ...answer, headers: answer.headers['content-type'] }, {
      status, headers: 'application/json; charset=utf-8', body: { jsonrpc: '2.0', error: { code, message: String } }
    }, name)
  }
  const form = await post(app, 'a=1', { 'content-type': 'application/x-www-form-urlencoded' })
  t.match(form, { status: 415, body: { error: { code: -32600 } } }, 'a form')
  t.match(await post(app, 'a', { 'content-type': 'text/plain' }), { status: 415, body: { error: { code: -32600 } } })
})

t.test('notifications are accepted without a body', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/of-another-time']) {
    const { status, headers, body } = await post(app, { jsonrpc: '2.0', method })
    t.strictSame([status, headers['content-length'], body], [202, '0', {}], method)
  }
})

t.test('other methods of HTTP: 405', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const) {
    for (const url of ['/crm/mcp', '/crm/mcp/']) {
      const { statusCode, headers: { allow } } = await app.inject({ method, url })
      t.strictSame([statusCode, allow], [405, 'POST'], `${method} ${url}`)
    }
  }
  t.match(await ask(app, 'ping', {}, {}, '/crm/mcp/'), { status: 200, body: { id: 1, result: {} } })
})

t.test('Accept', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  const cases = {
    'application/json, text/event-stream': 200,
    'application/json': 200,
    '*/*': 200,
    'text/event-stream': 406,
    'application/json;q=0, */*': 406
  }
  for (const [accept, status] of Object.entries(cases)) {
    t.match(await ask(app, 'ping', {}, { accept }), { status, body: { id: 1 } }, accept)
  }
})

t.test('pages of other origins, against DNS rebinding', async t => {
  const app = await crmApp({}, { trustedOrigins: ['https://chat.example.org'] })
  t.teardown(() => app.close())
  const cases: [origin: string, status: number][] = [
    ['https://chat.example.org', 200],
    ['https://chat.example.org.evil.test', 403],
    // The name of the page's own server, which it has bound to this address.
    ['http://localhost:80', 403],
    ['null', 403]
  ]
  for (const [origin, status] of cases) {
    t.match(await ask(app, 'ping', {}, { origin, host: 'localhost:80' }), { status }, origin)
    const get = await app.inject({ url: '/crm/mcp', headers: { origin } })
    t.equal(get.statusCode, status === 200 ? 405 : status, `GET ${origin}`)
  }
  const { body } = await ask(app, 'ping', {}, { origin: 'null' })
  t.match(body.error, { code: -32600, message: /trustedOrigins/, data: { type: 'urn:dealbook:problem:cross-site' } })
})

t.test('the handshake of earlier versions', async t => {
  const app = await crmApp({}, { serverInfo: { name: 'acme', version: '7' }, instructions: 'Be careful.' })
  t.teardown(() => app.close())
  const cases = { '2025-11-25': '2025-11-25', '2025-06-18': '2025-06-18', '2024-11-05': '2025-11-25' }
  for (const [protocolVersion, agreed] of Object.entries({ ...cases, [latest]: '2025-11-25' })) {
    const { status, headers, body } = await ask(app, 'initialize', { protocolVersion, capabilities: {} })
    t.strictSame([status, headers['mcp-session-id'], body.result], [200, undefined, {
      protocolVersion: agreed,
      capabilities: { tools: {} },
      serverInfo: { name: 'acme', version: '7' },
      instructions: 'Be careful.'
    }], protocolVersion)
  }
  for (const version of ['2025-11-25', '2025-06-18']) {
    const { status, body } = await ask(app, 'tools/list', {}, { 'mcp-protocol-version': version })
    t.strictSame([status, Object.keys(body.result ?? {})], [200, ['tools']], version)
  }
  t.match(await ask(app, 'resources/list'), { status: 200, body: { id: 1, error: { code: -32601 } } })
  t.match(await ask(app, 'constructor'), { status: 200, body: { id: 1, error: { code: -32601 } } })
  t.match(await ask(app, 'server/discover'), { status: 200, body: { error: { code: -32601 } } })
})

t.test('the latest version: every request has its metadata', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  const named = { ...header, 'mcp-method': 'tools/call', 'mcp-name': 'deals_find' }
  const list = { ...header, 'mcp-method': 'tools/list' }
  const found = { _meta: meta, name: 'deals_find' }
  const cases: [string, string, object, Record<string, string>, number, object][] = [
    ['discover', 'server/discover', { _meta: meta }, { ...header, 'mcp-method': 'server/discover' }, 200, {
      result: {
        resultType: 'complete',
        supportedVersions: [latest, '2025-11-25', '2025-06-18'],
        capabilities: { tools: {} },
        _meta: { [key('serverInfo')]: { name: 'fastify-dealbook' } },
        cacheScope: 'private'
      }
    }],
    ['list', 'tools/list', { _meta: meta }, list, 200, { result: { resultType: 'complete', ttlMs: 60_000 } }],
    ['call', 'tools/call', found, named, 200, { result: { resultType: 'complete', structuredContent: { items: [] } } }],
    ['no header', 'tools/list', { _meta: meta }, { 'mcp-method': 'tools/list' }, 400, { error: { code: -32020 } }],
    ['another header', 'tools/list', { _meta: meta }, { ...list, 'mcp-protocol-version': '2025-11-25' }, 400,
      { error: { code: -32020 } }],
    ['no Mcp-Method', 'tools/list', { _meta: meta }, header, 400, { error: { code: -32020, message: /missing/ } }],
    ['another Mcp-Method', 'tools/call', found, { ...named, 'mcp-method': 'tools/list' }, 400,
      { error: { code: -32020 } }],
    ['no Mcp-Name', 'tools/call', found, { ...header, 'mcp-method': 'tools/call' }, 400, { error: { code: -32020 } }],
    ['another Mcp-Name', 'tools/call', found, { ...named, 'mcp-name': 'deals_get' }, 400, { error: { code: -32020 } }],
    ['no metadata', 'tools/list', {}, list, 400, { error: { code: -32602, message: /protocolVersion/ } }],
    ['no capabilities', 'tools/list', { _meta: { [key('protocolVersion')]: latest } }, list, 400,
      { error: { code: -32602, message: /clientCapabilities/ } }],
    ['an unknown version', 'tools/list', { _meta: { ...meta, [key('protocolVersion')]: '1900-01-01' } },
      { ...list, 'mcp-protocol-version': '1900-01-01' }, 400,
      { error: { code: -32022, data: { supported: [latest, '2025-11-25', '2025-06-18'], requested: '1900-01-01' } } }],
    ['an unknown method', 'ping', { _meta: meta }, { ...header, 'mcp-method': 'ping' }, 404,
      { error: { code: -32601 } }],
    ['no handshake', 'initialize', { _meta: meta }, { ...header, 'mcp-method': 'initialize' }, 404,
      { error: { code: -32601 } }]
  ]
  for (const [name, method, params, headers, status, body] of cases) {
    t.match(await ask(app, method, params, headers), { status, body: { jsonrpc: '2.0', id: 1, ...body } }, name)
  }
  const unknown = await ask(app, 'tools/list', {}, { 'mcp-protocol-version': '2025-03-26' })
  t.match(unknown, { status: 400, body: { error: { code: -32022 } } }, 'a version with batches')
})

t.test('calls that are not calls of a tool', async t => {
  const app = await crmApp()
  t.teardown(() => app.close())
  const cases: [params: object, message: RegExp][] = [
    [{ name: 'deals_hodl' }, /^Unknown tool: deals_hodl. Did you mean "deals_hold"\?$/],
    [{}, /^Unknown tool/],
    [{ name: 'constructor' }, /^Unknown tool/],
    [{ name: 'deals_find', arguments: [] }, /must be an object/]
  ]
  for (const [params, message] of cases) {
    t.match(await ask(app, 'tools/call', params), { status: 200, body: { id: 1, error: { code: -32602, message } } })
  }
  t.match(await ask(app, 'tools/list', { cursor: 'a' }), { body: { error: { code: -32602 } } })
})

t.test('invalid arguments are named by pointers', async t => {
  const app = await crmApp({ preconditions: 'required' })
  t.teardown(() => app.close())
  const cases: [tool: string, args: object, pointers: string[]][] = [
    ['deals_hold', { id: 'a', resaon: 'x' }, ['/resaon', '/revision', '/reason']],
    ['deals_hold', { id: 1, reason: '', revision: 1, command: 'a b' }, ['/id', '/command', '/reason']],
    ['deals_create', { id: 'a', name: 'Tea', price: -1 }, ['/id', '/price']],
    ['deals_get', {}, ['/id']],
    ['deals_get', { id: 'a', fields: ['id'] }, ['/fields']],
    ['customers_get', { id: '1' }, ['/id']],
    ['deals_find', { page: 1 }, ['/page']],
    ['deals_find', { limit: 0, count: 'yes', fields: [], filter: { name: null } },
      ['/filter/name', '/fields', '/limit', '/count']],
    ['deals_find', { filter: { sort: '-id', format: 'xml', 'max-price': 1 } }, ['/filter/sort', '/filter/format']],
    ['deals_find', { filter: { prize: 1, 'a/b': 1, 'min-price': 'x' }, sort: 'prize', after: 'x' },
      ['/filter/prize', '/filter/a~1b', '/filter/min-price', '/sort', '/after']]
  ]
  for (const [tool, args, pointers] of cases) {
    const { isError, text, content } = await call(app, tool, args)
    const errors = content.errors as { pointer: string }[]
    t.strictSame([isError, content.status, errors.map(({ pointer }) => pointer).sort()], [true, 400, pointers.sort()])
    for (const pointer of pointers) t.ok(text.includes(`\n- ${pointer}: `), text)
  }
  const none = { isError: true, text: 'The resource does not exist: There is no deal "a b"' }
  t.match(await call(app, 'deals_get', { id: 'a b' }), none)
  t.match(await call(app, 'deals_hold', { id: 'a b', reason: 'x', revision: 1 }), none)
})

t.test('a failure of the storage is a readable error, and logged', async t => {
  const storage = memoryStorage()
  const app = await crmApp({ storage })
  t.teardown(() => app.close())
  storage.get = async () => { throw new Error('the disk is on fire') }
  const { isError, text, content } = await call(app, 'deals_get', { id: 'a' })
  t.strictSame([isError, content.status], [true, 503])
  t.match(text, /^The storage is unavailable/)
  t.notMatch(text, /fire/)
})

t.test('options that are wrong fail at boot', async t => {
  const boot = async (own: object, options: object = {}): Promise<void> => {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(deals, { storage: memoryStorage(), prefix: '/crm', version: 'v1', ...options })
    app.register(mcp, { prefix: '/crm', ...own })
    await app.ready()
  }
  const cases: [own: object, message: RegExp][] = [
    [{ trustedOrigin: [] }, /the option "trustedOrigin" is unknown. Did you mean "trustedOrigins"\?/],
    [{ trustedOrigins: 'https://a.test' }, /"trustedOrigins" must be an array/],
    [{ serverInfo: { name: 'a' } }, /"serverInfo\/version" is required/],
    [{ commandIds: true }, /"commandIds" must be one of optional, required/],
    [{ prefix: '/other' }, /there is no family at the prefix "\/other"/]
  ]
  for (const [own, message] of cases) {
    await t.rejects(boot(own), { code: 'FST_DEALBOOK_INVALID_OPTION', message }, JSON.stringify(own))
  }
  await boot({ bodyLimit: 1000, logLevel: 'silent' })
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(deals, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
  app.register(async app => { await app.register(mcp, { prefix: '/crm' }) })
  t.match(await ask(app, 'tools/list'), { status: 200 }, 'in a scope inside of that of the families')
})
