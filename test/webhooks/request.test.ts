import type { lookup } from 'node:dns'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, isIP, type Socket } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import { deals, memoryStorage } from '../../lib/index.js'
import { findUrlFlaw, isPrivate, makeLookup, transport } from '../../lib/webhooks/request.js'
import { makeWebhooks, webhooks } from '../../lib/webhooks/webhooks.js'
import { createDeal, createWebhook, quick, receive, startApp, until } from './receiver.js'

const privateAddresses = [
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.0.9', '169.254.169.254', '172.16.0.1',
  '172.31.255.255', '192.0.0.8', '192.168.1.1', '198.18.0.1', '224.0.0.1', '239.255.255.250', '255.255.255.255',
  '::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:a00:1', '64:ff9b::7f00:1', '2002:7f00:1::',
  'fc00::1', 'fd12:3456::1', 'fe80::1', 'fec0::1', 'ff02::1'
]
const publicAddresses = ['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111']

t.test('private and public addresses', async t => {
  for (const address of privateAddresses) t.equal(isPrivate(address), true, address)
  for (const address of publicAddresses) t.equal(isPrivate(address), false, address)
})

t.test('URLs that are refused, at creation and when sent', async t => {
  const network = 'must not be an address of a private network'
  const scheme = 'must be an http or https URL'
  const refused = [
    ...privateAddresses.map(address => [isIP(address) === 6 ? `http://[${address}]/` : `http://${address}/`, network]),
    ['http://localhost:3000/', network], ['https://api.localhost/', network], ['http://2130706433/', network],
    ['http://0x7f.1/', network], ['http://127.1/', network], ['http://%31%32%37.0.0.1/', network],
    ['ftp://example.org/', scheme], ['file:///etc/passwd', scheme], ['example.org', scheme], ['', scheme],
    ['javascript:alert(1)', scheme], ['http://ann:secret@example.org/', 'must not have a user name or a password'],
    ['http://ann@example.org/', 'must not have a user name or a password']
  ] as [string, string][]
  const app = await startApp(t, memoryStorage(), {})
  const { signal } = new AbortController()
  for (const [url, flaw] of refused) {
    const response = await app.inject({ method: 'POST', url: '/crm/webhooks', payload: { url } })
    t.equal(response.statusCode, 400, url)
    t.strictSame(response.json().errors, [{ pointer: '/url', detail: flaw }], url)
    const sent = transport.post({ url, headers: {}, body: '', allowPrivate: false, timeout: 1000, signal })
    await t.rejects(sent, { message: `The URL ${flaw}` }, url)
  }
  const { home } = await createWebhook(app, { url: 'https://example.org/events' })
  const edit = await app.inject({ method: 'PATCH', url: home, payload: { url: 'http://10.0.0.1/' } })
  t.equal(edit.statusCode, 400)
  t.equal(findUrlFlaw('http://127.0.0.1/', true), undefined)
  t.equal(findUrlFlaw('http://ann@127.0.0.1/', true), 'must not have a user name or a password')
})

t.test('a host that protects families, but not the webhooks, is warned', async t => {
  const warnings: string[] = []
  const note = (warning: Error & { code?: string }): void => {
    if (warning.code === 'DEALBOOK_UNGUARDED') warnings.push(warning.message)
  }
  process.on('warning', note)
  t.teardown(() => { process.off('warning', note) })
  const authorize = () => ({})
  const quiet = [[{}, {}], [{}, { authorize }], [{ authorize }, { authorize }]]
  for (const [ofDeals, ofWebhooks] of [...quiet, [{ authorize }, {}]]) {
    t.strictSame(warnings, [])
    const app = Fastify()
    const storage = memoryStorage()
    app.register(deals, { storage, version: 'v1', ...ofDeals })
    app.register(webhooks, { storage, ...ofWebhooks })
    await app.ready()
    await app.close()
    await new Promise(resolve => { setImmediate(resolve) })
  }
  t.match(warnings, [/deals has authorize, but webhooks has none/])
})

t.test('names are looked up once, and only public addresses are connected to', async t => {
  const cases: [addresses: string[], open: string[]][] = [
    [['127.0.0.1'], []], [['::1', '10.0.0.1'], []], [['169.254.169.254', '8.8.8.8'], ['8.8.8.8']],
    [['8.8.8.8', '2606:4700:4700::1111'], ['8.8.8.8', '2606:4700:4700::1111']], [[], []]
  ]
  for (const [addresses, open] of cases) {
    const resolve = ((_name: string, options: { all: boolean }, done: (error: null, found: object[]) => void) => {
      t.equal(options.all, true)
      done(null, addresses.map(address => ({ address, family: isIP(address) })))
    }) as unknown as typeof lookup
    for (const all of [true, false]) {
      makeLookup(resolve)('example.org', { all }, (error, found) => {
        const given = Array.isArray(found) ? found.map(({ address }) => address) : [found].filter(each => each !== '')
        t.strictSame(given, all ? open : open.slice(0, 1), `${addresses.join()} all: ${all}`)
        t.equal(error === null, open.length > 0)
      })
    }
  }
  const failure = new Error('ENOTFOUND')
  const resolve = ((_name: string, _options: object, done: (error: Error) => void) => {
    done(failure)
  }) as unknown as typeof lookup
  makeLookup(resolve)('example.org', {}, error => { t.equal(error, failure) })
})

t.test('redirects are not followed', async t => {
  const target = await receive(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const { url, received } = await receive(t, () => ({ status, location: target.url }))
    const app = await startApp(t, memoryStorage())
    const { home } = await createWebhook(app, { url })
    await createDeal(app)
    await until(() => received.length > 1)
    const { items } = (await app.inject(`${home}/deliveries`)).json() as { items: object[] }
    t.match(items, [{ status: 'waiting', responseStatus: status, error: `The response had the status ${status}` }])
  }
  t.strictSame(target.received, [])
})

t.test('of a response, only a small part is read, and none that does not come', async t => {
  const sent: number[] = []
  const server = createServer((request, response) => {
    if (request.url === '/hangs') return
    response.writeHead(200)
    if (request.url === '/stays-open') { response.write('x'); return }
    const part = Buffer.alloc(65_536)
    let count = 0
    const write = (): void => {
      while (!response.destroyed && count++ < 1000) if (!response.write(part)) { response.once('drain', write); return }
      sent.push(count)
      response.end()
    }
    response.on('close', () => sent.push(count))
    write()
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const ending = new AbortController()
  const to = (path: string, timeout: number) => transport.post({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    headers: {},
    body: '{}',
    allowPrivate: true,
    timeout,
    signal: ending.signal
  })
  t.equal(await to('/long', 60_000), 200)
  await until(() => sent.length > 0)
  t.ok((sent[0] as number) < 500, `${sent[0]} parts`)
  t.equal(await to('/stays-open', 3000), 200)
  await t.rejects(to('/hangs', 300), { message: 'No response within 300 ms' })
  const stopped = to('/hangs', 60_000)
  ending.abort()
  await t.rejects(stopped, { name: 'AbortError' })
  await t.rejects(to('/long', 60_000), { name: 'AbortError' })
})

/** A receiver that writes to the socket itself, once the request has arrived. */
async function receiveRaw (
  t: { teardown (work: () => unknown): void }, answer: (socket: Socket) => void
): Promise<{ url: string, count (): number }> {
  const sockets = new Set<Socket>()
  let count = 0
  const server = createSocketServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => { sockets.delete(socket) })
    socket.once('data', () => { count++; answer(socket) })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { for (const socket of sockets) socket.destroy(); server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, count: () => count }
}

const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

t.test('whatever a receiver does, an attempt ends', async t => {
  const noResponse = 'The connection was closed without a response'
  type Case = [name: string, answer: (socket: Socket) => void, outcome: number | string | RegExp, timeout?: number]
  const cases: Case[] = [
    ['an upgrade', socket => socket.write(upgrade), noResponse],
    ['an upgrade, and a frame', socket => socket.write(`${upgrade}\x81\x00`), noResponse],
    ['101 without an upgrade', socket => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'), 101],
    ['nothing', socket => socket.end(), 'socket hang up'],
    ['a reset', socket => socket.resetAndDestroy(), /ECONNRESET|EPIPE|hang up/],
    ['half a status line', socket => socket.end('HTTP/1.1 20'), 'socket hang up'],
    ['half a head', socket => socket.end('HTTP/1.1 200 OK\r\nContent-'), 'socket hang up'],
    ['no HTTP', socket => socket.end('SSH-2.0-OpenSSH\r\n'), /Parse Error/],
    ['a long head', socket => socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}`), /Parse Error/],
    ['a body that is cut', socket => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'), 200],
    ['early hints, then a status', socket => socket.end(`${hints}HTTP/1.1 204 No Content\r\n\r\n`), 204],
    ['early hints, then nothing', socket => socket.end(hints), 'socket hang up'],
    ['early hints without end', socket => { repeat(socket) }, 'No response within 300 ms', 300]
  ]
  const { signal } = new AbortController()
  for (const [name, answer, outcome, timeout = 60_000] of cases) {
    const { url } = await receiveRaw(t, answer)
    const sent = transport.post({ url, headers: {}, body: '{}', allowPrivate: true, timeout, signal })
    if (typeof outcome === 'number') t.equal(await sent, outcome, name)
    else await t.rejects(sent, { message: outcome }, name)
  }
})

const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'

function repeat (socket: Socket): void {
  if (!socket.destroyed && socket.write(hints.repeat(10))) setImmediate(repeat, socket)
  else socket.once('drain', () => { repeat(socket) })
}

t.test('a receiver that switches protocols is tried again, and does not hold up closing', async t => {
  const { url, count } = await receiveRaw(t, socket => socket.write(upgrade))
  const app = await startApp(t, memoryStorage())
  const { home } = await createWebhook(app, { url })
  await createDeal(app)
  await until(() => count() > 1)
  const { items } = (await app.inject(`${home}/deliveries`)).json() as { items: { status: string, error: string }[] }
  const error = 'The connection was closed without a response'
  t.strictSame(items.map(({ status, error }) => ({ status, error })), [{ status: 'waiting', error }])
  await t.resolves(app.close())
})

t.test('every event has a connection of its own', async t => {
  let connections = 0
  const server = createServer((_request, response) => { response.end() })
  server.on('connection', () => { connections++ })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { signal } = new AbortController()
  for (let index = 0; index < 3; index++) {
    t.equal(await transport.post({ url, headers: {}, body: '{}', allowPrivate: true, timeout: 60_000, signal }), 200)
  }
  t.equal(connections, 3)
})

t.test('closing does not wait for a receiver that hangs', async t => {
  const { url, received } = await receive(t, () => undefined)
  // Longer than the limit of a test file.
  const app = await startApp(t, memoryStorage(), { ...quick, timeout: 600_000 })
  await createWebhook(app, { url })
  await createDeal(app)
  await until(() => received.length > 0)
  await t.resolves(app.close())
})

t.test('many attempts at the same time give no warning', async t => {
  const { url, received } = await receive(t, () => undefined)
  const warnings: string[] = []
  const note = ({ message }: Error): void => { warnings.push(message) }
  process.on('warning', note)
  t.teardown(() => { process.off('warning', note) })
  const app = await startApp(t, memoryStorage())
  for (let index = 0; index < 12; index++) await createWebhook(app, { url })
  await createDeal(app)
  await until(() => received.length === 12)
  await app.close()
  t.strictSame(warnings, [])
})

t.test('a setting that is undefined has its default', async t => {
  const app = await startApp(t, memoryStorage(), { ...quick, timeout: undefined } as never)
  const { url } = await receive(t)
  const { home } = await createWebhook(app, { url })
  await createDeal(app)
  const list = async () => (await app.inject(`${home}/deliveries`)).json().items as readonly object[]
  await until(async () => (await list()).length > 0)
  t.match(await list(), [{ status: 'delivered', attempts: 1 }])
})

t.test('settings are checked', async t => {
  t.throws(() => makeWebhooks({ timeout: 0 }), { code: 'FST_DEALBOOK_INVALID_OPTION' })
  t.throws(() => makeWebhooks({ retries: 3 } as never), { code: 'FST_DEALBOOK_INVALID_OPTION' })
  const storage = memoryStorage()
  await t.rejects(startApp(t, storage, {}, { storage: () => storage }), { code: 'FST_DEALBOOK_INVALID_OPTION' })
  t.equal(webhooks.definition.name, 'webhooks')
})
