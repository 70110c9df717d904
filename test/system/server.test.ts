import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { needsBrowser, openBrowser, openTab } from '../browser/open.js'
import { startExample } from '../example-server.js'

interface Answer {
  readonly status: number | undefined
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

async function read (response: http.IncomingMessage): Promise<Answer> {
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { status: response.statusCode, headers: response.headers, body }
}

async function get (url: string): Promise<Answer> {
  const [response] = await once(http.get(url), 'response') as [http.IncomingMessage]
  return await read(response)
}

t.test('out of the box', async t => {
  const server = await startExample(t)
  t.match(server.output(), /customers +http:\/\/127\.0\.0\.1:\d+\/customers\?/, 'an address to click')
  const page = JSON.parse((await get(`${server.url}/customers?count=exact&maxpagesize=2`)).body)
  t.match(
    page,
    { total: 1000, items: [{ id: 1, age: 55, children: 3 }, { id: 2 }] },
    'a thousand customers, the same every time'
  )
  const clicked = /customers +(http\S+)/.exec(server.output())?.[1] as string
  t.equal((await get(clicked)).status, 200)
  t.match(await get(`${server.url}/health`), { status: 200, body: '{"healthy":true}' })

  await t.test('documentation', async t => {
    const ui = await get(`${server.url}/documentation`)
    t.equal(ui.status, 200)
    t.match(ui.headers['content-type'], 'text/html')
    const { body } = await get(`${server.url}/documentation/json`)
    t.ok(Buffer.byteLength(body) < 200_000, `the document has ${Buffer.byteLength(body)} bytes`)
    const document = JSON.parse(body)
    t.match(document, {
      openapi: '3.1.0',
      info: { version: 'v1' },
      servers: [{ url: '/' }],
      paths: {
        '/': { get: { operationId: 'readHome' } },
        '/customers': { get: {} },
        '/rest/v1/deals/{id}/hold': { put: { requestBody: { required: true } } },
        '/rest/v1/deals/{id}/complete': { put: { requestBody: {} } }
      }
    })
    type Paths = Record<string, Record<string, { tags: string[] }>>
    const used = Object.values(document.paths as Paths).flatMap(path => Object.values(path).flatMap(({ tags }) => tags))
    t.strictSame(document.tags.map(({ name }: { name: string }) => name).sort(), [...new Set(used)].sort(),
      'every tag is described')
    t.strictSame(await new Validator().validate(document), { valid: true })
  })

  await t.test('Swagger UI shows the tags, and what a click opens', needsBrowser, async t => {
    const { url } = server
    const tab = await openTab(await openBrowser(t), { javaScriptEnabled: true })
    const failures: unknown[] = []
    tab.on('pageerror', error => failures.push(error))
    tab.on('request', request => { if (!request.url().startsWith(url)) failures.push(request.url()) })

    await tab.goto(`${url}/documentation`)
    const tags = tab.locator('.opblock-tag')
    await tags.first().waitFor()
    const { paths } = JSON.parse((await get(`${url}/documentation/json`)).body) as {
      paths: Record<string, Record<string, { tags: string[] }>>
    }
    const used = Object.values(paths).flatMap(path => Object.values(path).flatMap(({ tags }) => tags))
    t.strictSame(
      (await tags.evaluateAll(all => all.map(tag => tag.getAttribute('data-tag')))).sort(),
      [...new Set(used)].sort()
    )
    t.equal(await tab.locator('.opblock').count(), 0, 'operations are folded up')
    t.ok(await tab.getByRole('button', { name: 'Schemas' }).isVisible(), 'and schemas are')
    t.equal(await tab.locator('.models .json-schema-2020-12').count(), 0)

    await tab.locator('[data-tag="deals: operations"]').click()
    const hold = tab.locator('.opblock-put', { has: tab.locator('[data-path="/rest/v1/deals/{id}/hold"]') })
    await hold.locator('.opblock-summary-control').click()
    await hold.locator('.response[data-code="default"]').waitFor()
    for (const [code, shown] of [[400, '/reason is required'], [404, 'There is no deal'], [409, 'The deal is held']]) {
      const example = await hold.locator(`.response[data-code="${code}"] .example`).textContent() ?? ''
      t.match(example, `"status": ${code}`)
      t.match(example, shown)
    }
    t.match(await hold.locator('.parameters [data-param-name]').evaluateAll(
      all => all.map(row => row.getAttribute('data-param-name'))
    ), ['id', 'if-match'])
    t.match(await hold.locator('.opblock-section-request-body').textContent(), 'reason')
    t.ok(await hold.locator('.response[data-code="200"]').isVisible())
    t.strictSame(failures, [])
  })

  await t.test('SIGTERM finishes what runs, and ends with 0', async t => {
    const agent = new http.Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const body = '{"name":"Half of it is still to come","price":1}'
    // The server says "100 Continue" when it has taken the request, which then waits for its body.
    const headers = { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' }
    const running = http.request(`${server.url}/rest/v1/deals`, { method: 'POST', agent, headers })
    running.flushHeaders()
    await once(running, 'continue')
    running.write(body.slice(0, 20))

    server.stop('SIGTERM')
    // A request before the signal is served, or cut off in the moment of closing; a later one is refused.
    let refusal: string | undefined
    while (refusal !== 'ECONNREFUSED') {
      refusal = await get(`${server.url}/customers/1`)
        .then(() => undefined, (error: NodeJS.ErrnoException) => error.code)
    }
    running.end(body.slice(20))
    const [response] = await once(running, 'response') as [http.IncomingMessage]
    const answer = await read(response)
    t.equal(answer.status, 201)
    t.match(JSON.parse(answer.body), { name: 'Half of it is still to come' })
    t.equal(answer.headers.connection, 'close', 'it was still running when the stop came')
    t.match(server.output(), /^Stopping: [12] requests? to finish$/m, 'one of those above may be among them')
    t.equal(await server.ended, 0)
  })
})

t.test('a load that met a bad row goes on when the row is fixed, with other settings', async t => {
  const rows = Array.from({ length: 2500 }, (_, index) => `{"id":${index + 1},"age":30,"children":1}`)
  const dir = t.testdir({ 'all.ndjson': ['', ...rows, '{"id":2501,"age":"old","children":1}'].join('\r\n') })
  const env = { STORAGE: `sqlite:${dir}/a.db`, CUSTOMERS: `${dir}/all.ndjson` }
  await t.rejects(startExample(t, env), {
    message: /ended with 1: [^]*all\.ndjson, line 2502: customers, item 2501: \/age must be an integer; the rows/
  })
  await writeFile(env.CUSTOMERS, [...rows, '{"id":2501,"age":31,"children":1}'].join('\n'))
  // It knows which file it was.
  const server = await startExample(t, {
    STORAGE: env.STORAGE, BASE_URL: '/crm/', VERSION: 'v7', LOG_LEVEL: 'info'
  })
  t.match(server.output(), /\d+ customers loaded, \d\d %, \d+ s left\n/)
  t.match(server.output(), '2501 customers loaded\n')
  t.ok(server.url.endsWith('/crm'), 'the addresses have the base URL')
  t.equal((await get(new URL('/health', server.url).href)).status, 200, 'but not that of its health')
  t.equal(JSON.parse((await get(`${server.url}/customers?count=exact`)).body).total, 2501)
  t.equal(JSON.parse((await get(`${server.url}/documentation/json`)).body).info.version, 'v7')
  t.match(server.output(), '"msg":"incoming request"', 'the log has more than by itself')

  const taken = new URL(server.url).port
  const error = await startExample(t, { PORT: taken }).then(() => undefined, (error: Error) => error)
  t.match(error?.message, /^it ended with 1: [^\n]+\n127\.0\.0\.1:\d+ is used by another program: choose a/)
  server.stop('SIGINT')
  t.equal(await server.ended, 0)
})

t.test('what is wrong at the start is one line, and ends with 1', async t => {
  const dir = t.testdir({})
  const table: [env: Record<string, string>, line: RegExp][] = [
    [{ PORT: 'http' }, /^PORT is "http", but must be an integer from 0 to 65535$/],
    [{ VERSION: 'a b' }, /^fastify-dealbook, deals: the option "version" must be a URL-safe word, such as "v1".*$/],
    [{ STORAGE: `sqlite:${dir}/nowhere/a.db` }, /^SQLite, .*\/nowhere\/a\.db: .*unable to open database file$/],
    [{ STORAGE: 'postgres://ann:secret@localhost:1/crm' }, /^PostgreSQL, localhost:1\/crm: .*ECONNREFUSED.*$/]
  ]
  await Promise.all(table.map(async ([env, line]) => {
    const { message } = await startExample(t, env).then(() => ({ message: 'it runs' }), (error: Error) => error)
    const [, code, output = ''] = /^it ended with (\w+): (?:1000 customers loaded\n)?([^]*)\n$/.exec(message) ?? []
    t.equal(code, '1', JSON.stringify(env))
    t.match(output, line)
    t.notMatch(output, /\n|secret/)
  }))
})
