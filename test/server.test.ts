import http from 'node:http'
import t from 'tap'
import { startExample as start } from './example-server.js'

function get (url: string, agent?: http.Agent): Promise<{ status: number | undefined, headers: http.IncomingHttpHeaders, body: string }> {
  return new Promise((resolve, reject) => {
    http.get(url, agent === undefined ? {} : { agent }, async response => {
      let body = ''
      for await (const chunk of response.setEncoding('utf8')) body += chunk
      resolve({ status: response.statusCode, headers: response.headers, body })
    }).on('error', reject)
  })
}

t.test('out of the box', async t => {
  const server = await start(t)
  t.match(server.output(), /customers +http:\/\/127\.0\.0\.1:\d+\/customers\?/, 'an address to click')
  const page = JSON.parse((await get(`${server.url}/customers?count=exact&maxpagesize=2`)).body)
  t.match(page, { total: 1000, items: [{ id: 1, age: 55, children: 3 }, { id: 2 }] }, 'a thousand customers, the same every time')
  const clicked = /customers +(http\S+)/.exec(server.output())?.[1] as string
  t.equal((await get(clicked)).status, 200)

  const ui = await get(`${server.url}/documentation`)
  t.equal(ui.status, 200)
  t.match(ui.headers['content-type'], 'text/html')
  const document = JSON.parse((await get(`${server.url}/documentation/json`)).body)
  t.match(document, { openapi: '3.1.0', info: { version: 'v1' }, paths: { '/customers': { get: {} } } })

  server.stop('SIGINT')
  t.equal(await server.ended, 0)
})

t.test('a base URL, a version and customers from files', async t => {
  const dir = t.testdir({
    'array.json': '\n [{ "id": 7, "age": 30, "children": 1 }, { "id": 8, "age": 31, "children": 0 }]',
    'lines.ndjson': '{"id":7,"age":30,"children":1}\r\n\n{"id":8,"age":31,"children":0}',
    'empty.ndjson': '',
    'broken.ndjson': '{"id":7,"age":30,"children":1}\n{"id":'
  })
  await Promise.all(([['array.json', 2], ['lines.ndjson', 2], ['empty.ndjson', 0]] as const).map(async ([file, total]) => {
    const server = await start(t, { CUSTOMERS: `${dir}/${file}`, BASE_URL: '/crm/', VERSION: 'v7' })
    t.match(server.output(), `${total} customers loaded`, file)
    t.ok(server.url.endsWith('/crm'), 'the addresses have the base URL')
    t.equal(JSON.parse((await get(`${server.url}/customers?count=exact`)).body).total, total, file)
    t.equal(JSON.parse((await get(`${server.url}/documentation/json`)).body).info.version, 'v7')
    server.stop()
    t.equal(await server.ended, 0, file)
  }))
  await t.rejects(start(t, { CUSTOMERS: `${dir}/broken.ndjson` }), { message: /ended with 1: [\s\S]*broken\.ndjson, line 2: / })
  await t.rejects(start(t, { STORAGE: 'floppy:a' }), { message: /ended with 1: [\s\S]*STORAGE is "floppy:a"/ })
})

t.test('SIGTERM finishes what runs, and ends with 0', async t => {
  const many = Array.from({ length: 40_000 }, (_, id) => `{"id":${id},"age":${id % 90},"children":0}`).join('\n')
  const server = await start(t, { CUSTOMERS: `${t.testdir({ 'many.ndjson': many })}/many.ndjson` })
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const patterns = Array.from({ length: 20 }, (_, n) => `id.regex=${encodeURIComponent(`([0-9]*)*x${n}$`)}`).join('&')
  const events: string[] = []
  const slow = get(`${server.url}/customers?count=exact&${patterns}`, agent).then(answer => { events.push('slow answered'); return answer })
  // On another connection, and only to know that the slow one has been taken.
  await get(`${server.url}/customers/1`, agent)
  server.stop('SIGTERM')
  for (;;) {
    try {
      await get(`${server.url}/customers/1`)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code as string
      // Who comes in the moment of closing may be cut off before anyone is refused.
      if (code === 'ECONNRESET') continue
      events.push(code)
      break
    }
  }
  const { status, headers, body } = await slow
  t.equal(status, 200)
  t.equal(JSON.parse(body).total, 0)
  t.equal(headers.connection, 'close', 'it was still running when the stop came')
  t.same(events, ['ECONNREFUSED', 'slow answered'], 'no new requests were taken meanwhile')
  t.equal(await server.ended, 0)
})
