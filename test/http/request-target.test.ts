import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { dealbook, memoryStorage } from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'

/** Sends a request with just this line, and answers with all that comes back. */
async function send (app: FastifyInstance, line: string, headers: readonly string[] = []): Promise<string> {
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  // The server ends it; it gives up what it has not answered yet where the client does that.
  socket.write([`${line} HTTP/1.1`, 'host: example.org', 'connection: close', ...headers, '', ''].join('\r\n'))
  return await text(socket)
}

async function listen (
  t: { teardown (close: () => Promise<unknown>): void },
  prefix: string,
  server: FastifyServerOptions = {}
): Promise<FastifyInstance> {
  const app = Fastify(server)
  t.teardown(() => app.close())
  app.register(dealbook, { storage: await storageOf(people(120)), prefix, version: 'v1' })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app
}

const html = ['accept: text/html']
const status = (answer: string) => Number(answer.slice(9, 12))

t.test('a host in the target of a request comes into no answer', async t => {
  const app = await listen(t, '')
  const made = await app.inject({ method: 'POST', url: '/rest/v1/deals', payload: { name: 'a', price: 1 } })
  const { id } = made.json<{ id: string }>()
  for (const origin of ['http://evil.example', 'https://evil.example:8080', 'HTTP://EVIL.EXAMPLE', 'http://a@evil.example']) {
    for (const [path, code] of [
      ['/customers', 200],
      ['/customers?maxpagesize=5&page=2', 200],
      ['/customers.csv?maxpagesize=5', 200],
      ['/customers/1', 200],
      ['/query/customers-by-children/1', 200],
      ['/rest/v1/deals', 200],
      [`/rest/v1/deals/${id}`, 200],
      [`/rest/v1/deals/${id}/commands`, 200],
      ['/customers?agee=1', 400],
      ['/customers/none', 404],
      ['/customers.pdf', 404]
    ] as const) {
      for (const headers of [[], html]) {
        const answer = await send(app, `GET ${origin}${path}`, headers)
        t.equal(status(answer), path.includes('.csv') && headers === html ? 200 : code, `${origin}${path}`)
        t.notMatch(answer, /evil/i, `${origin}${path}`)
      }
    }
    for (const line of [`POST ${origin}/rest/v1/deals`, `PUT ${origin}/rest/v1/deals/${id}/hold`]) {
      const answer = await send(app, line, html)
      t.equal(status(answer), 400, line)
      t.notMatch(answer, /evil/i, line)
    }
  }
  const page = await send(app, 'GET http://evil.example/customers?maxpagesize=5')
  t.match(page, '"next":"/customers?maxpagesize=5&after=', 'the links are those of the path')
  t.match(await send(app, 'GET http://evil.example/customers/none'), '"instance":"/customers/none"')
})

t.test('slashes at the beginning of a path are no host', async t => {
  for (const [prefix, host, server] of [
    ['/:tenant', 'evil.example', { routerOptions: { ignoreDuplicateSlashes: true } }],
    ['/evil.example', 'evil.example', { routerOptions: { ignoreDuplicateSlashes: true } }],
    ['', '', { routerOptions: { ignoreDuplicateSlashes: true } }],
    ['/:tenant', 'evil.example', {}]
  ] as const) {
    const app = await listen(t, prefix, server)
    for (const slashes of ['//', '///', '/\\', '\\/', '/\\/']) {
      for (const path of ['customers?maxpagesize=5', 'customers/none', 'rest/v1/deals']) {
        const target = `${slashes}${host === '' ? '' : `${host}/`}${path}`
        for (const headers of [[], html]) {
          const answer = await send(app, `GET ${target}`, headers)
          // In links and forms a path begins with one slash, and nothing that counts as another.
          t.notMatch(answer, /["'<](\/|\\|%5c)[/\\]/i, `${prefix}: ${target}`)
        }
      }
    }
  }
  const app = await listen(t, '/:tenant', { routerOptions: { ignoreDuplicateSlashes: true } })
  const answer = await send(app, 'GET //evil.example/customers?maxpagesize=5')
  t.equal(status(answer), 200, 'it is a tenant of this name')
  t.match(answer, '"next":"/evil.example/customers?maxpagesize=5&after=')
})

t.test('an empty tenant makes no host of what comes after it', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(dealbook, { storage: memoryStorage(), prefix: '/:tenant', version: 'v1' })
  for (const url of ['//customers', '//rest/v1/deals', '//customers/1']) {
    t.notMatch((await app.inject({ url, headers: { accept: 'text/html' } })).body, /["'<]\/\//, url)
  }
})
