import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { Representation, Storage } from '../lib/index.js'
import { customers, json, memoryStorage, Problem, problemCodes } from '../lib/index.js'
import { loadItems } from '../lib/tools/index.js'
import { customersApp, people, storageOf } from './customers-app.js'

const problemType = 'application/problem+json; charset=utf-8'
const text: Representation = {
  name: 'text',
  extension: 'txt',
  mediaTypes: ['text/plain'],
  one: ({ document: { links, ...members } }) => Object.values(members).join(' '),
  page: ({ items }) => items.map(item => Object.values(item).join(' ')).join('\n')
}

// Places as the links have them.
const place = (order: string, isAfter: boolean, values: number[]) =>
  Buffer.from(JSON.stringify([`customers ${order}`, isAfter, ...values])).toString('base64url')
const after = (order: string, ...values: number[]) => place(order, true, values)
const before = (order: string, ...values: number[]) => place(order, false, values)
const byAge = people(120).sort((a, b) => a.age - b.age || a.id - b.id)
const keyOf = (index: number): [number, number] => [byAge[index]?.age as number, byAge[index]?.id as number]

t.test('pages', async t => {
  const app = await customersApp(t, { count: 120 })

  await t.test('the first page, and the links from page to page', async t => {
    const first = await app.inject('/customers')
    t.equal(first.statusCode, 200)
    t.equal(first.headers['content-type'], 'application/json; charset=utf-8')
    const { items, ...rest } = first.json()
    t.strictSame(items, people(50))
    t.strictSame(rest, {
      page: 1,
      pageSize: 50,
      links: { self: '/customers', first: '/customers', next: `/customers?after=${after('id', 50)}` }
    })
    const next = `</customers?after=${after('id', 50)}>; rel="next"`
    t.equal(first.headers.link, `</customers>; rel="self", </customers>; rel="first", ${next}`)

    const last = (await app.inject('/customers?gt=100')).json()
    t.equal(last.items.length, 20)
    t.strictSame(last.links, { self: '/customers?gt=100', first: '/customers?gt=100' })
  })

  await t.test('links by table', async t => {
    const table: [string, { next?: string, prev?: string, first?: string }][] = [
      [
        '?page=2&maxpagesize=10',
        {
          next: `/customers?maxpagesize=10&after=${after('id', 20)}`,
          prev: `/customers?maxpagesize=10&before=${before('id', 11)}`,
          first: '/customers?maxpagesize=10'
        }
      ],
      ['?maxpagesize=10&gt=5&lt=100', { next: `/customers?maxpagesize=10&gt=5&lt=100&after=${after('id', 15)}` }],
      ['?sort=-id&maxpagesize=10', { next: `/customers?sort=-id&maxpagesize=10&after=${after('-id', 111)}` }],
      [
        '?sort=-id&maxpagesize=10&lt=50&gt=3',
        { next: `/customers?sort=-id&maxpagesize=10&lt=50&gt=3&after=${after('-id', 40)}` }
      ],
      [
        '?sort=age&maxpagesize=10',
        { next: `/customers?sort=age&maxpagesize=10&after=${after('age,id', ...keyOf(9))}` }
      ],
      [
        '?sort=age&maxpagesize=10&page=3',
        {
          next: `/customers?sort=age&maxpagesize=10&after=${after('age,id', ...keyOf(29))}`,
          prev: `/customers?sort=age&maxpagesize=10&before=${before('age,id', ...keyOf(20))}`
        }
      ],
      [
        '?age%3E=10&maxpagesize=5&fields=age',
        { next: `/customers?age%3E=10&maxpagesize=5&fields=age&after=${after('id', 9)}` }
      ],
      [
        `?maxpagesize=10&after=${after('id', 20)}`,
        {
          next: `/customers?maxpagesize=10&after=${after('id', 30)}`,
          prev: `/customers?maxpagesize=10&before=${after('id', 20)}`,
          first: '/customers?maxpagesize=10'
        }
      ],
      [
        `?maxpagesize=10&before=${after('id', 20)}`,
        {
          next: `/customers?maxpagesize=10&after=${after('id', 20)}`,
          prev: `/customers?maxpagesize=10&before=${before('id', 11)}`,
          first: '/customers?maxpagesize=10'
        }
      ],
      [`?maxpagesize=10&before=${before('id', 11)}`, { next: `/customers?maxpagesize=10&after=${before('id', 11)}` }],
      ['?page=99', { prev: '/customers?page=98' }]
    ]
    for (const [search, expected] of table) {
      const { links } = (await app.inject(`/customers${search}`)).json()
      t.match(links, expected, search)
      t.equal(links.prev, expected.prev, `${search}: prev`)
    }
  })

  await t.test('what ends exactly with a page has no next one', async t => {
    t.notOk((await app.inject('/customers?maxpagesize=120')).json().links.next)
    t.ok((await app.inject('/customers?maxpagesize=119')).json().links.next)
  })

  await t.test('only the members asked for, and a total only if asked for', async t => {
    const page = (await app.inject('/customers?fields=age&maxpagesize=1&count=exact&gt=20')).json()
    t.strictSame(page.items, [{ age: people(21)[20]?.age }])
    t.equal(page.total, 100)
    t.notOk('total' in (await app.inject('/customers')).json())
  })

  await t.test('beyond the end is an empty page', async t => {
    const { statusCode, body } = await app.inject('/customers?page=99')
    t.equal(statusCode, 200)
    t.strictSame(JSON.parse(body).items, [])
  })

  await t.test('publicUrl makes links absolute, the Host header never does', async t => {
    const app = await customersApp(t, { count: 60, options: { publicUrl: 'https://example.org', prefix: '/crm' } })
    const answer = await app.inject({ url: '/crm/customers', headers: { host: 'evil.example' } })
    const next = `https://example.org/crm/customers?after=${after('id', 50)}`
    t.equal(answer.json().links.next, next)
    t.match(answer.headers.link, `<${next}>; rel="next"`)
  })

  await t.test('emptyList', async t => {
    const app = await customersApp(t, { count: 3, options: { emptyList: 'not-found' } })
    t.equal((await app.inject('/customers')).statusCode, 200)
    const empty = await app.inject('/customers?min-age=1000')
    t.equal(empty.statusCode, 404)
    t.equal(empty.json().type, 'urn:dealbook:problem:empty-list')
  })

  await t.test('pageSize and maxPageSize', async t => {
    const app = await customersApp(t, { count: 30, options: { pageSize: 7, maxPageSize: 11 } })
    t.equal((await app.inject('/customers')).json().items.length, 7)
    t.equal((await app.inject('/customers?maxpagesize=500')).json().items.length, 11)
    const small = await customersApp(t, { count: 30, options: { maxPageSize: 5 } })
    t.equal((await small.inject('/customers')).json().items.length, 5, 'a small cap is the default too')
  })
})

t.test('a crawl by next returns each item once, also while items are added and taken away', async t => {
  const storage = await storageOf(people(200).filter(({ id }) => id % 2 === 0))
  const app = await customersApp(t, { options: { storage } })
  const seen: number[] = []
  let next: string | undefined = '/customers?maxpagesize=7'
  for (let added = 1; next !== undefined; added += 2) {
    const page: { items: { id: number }[], links: { next?: string } } = (await app.inject(next)).json()
    seen.push(...page.items.map(({ id }) => id))
    next = page.links.next
    // One behind, where the crawl has been, and one ahead.
    await loadItems(
      storage,
      customers,
      [
        { id: -added, age: 1, children: 0 },
        { id: 300 - added, age: 1, children: 0 }
      ].filter(() => added < 60)
    )
    if (added === 9) {
      await storage.commit([{ type: 'delete', family: 'customers', id: seen.at(-1) as number, expected: 1 }])
    }
  }
  t.strictSame(seen, [...new Set(seen)], 'nothing twice')
  t.strictSame(
    seen.filter(id => id > 0 && id <= 200 && id % 2 === 0),
    people(200)
      .map(({ id }) => id)
      .filter(id => id % 2 === 0),
    'nothing missed'
  )
})

t.test('one customer', async t => {
  const app = await customersApp(t)
  const found = await app.inject('/customers/3')
  t.equal(found.statusCode, 200)
  t.strictSame(found.json(), { ...people(3)[2], links: { self: '/customers/3', collection: '/customers' } })
  t.strictSame((await app.inject('/customers/3?fields=age')).json(), { age: people(3)[2]?.age })

  for (const id of [
    '99',
    '03',
    '3.0',
    '+3',
    '-0',
    'x',
    '9007199254740993',
    '%00',
    '..%2F3',
    '3%20',
    '__proto__',
    '3.pdf',
    '.json',
    'a%0d%0aSet-Cookie:x'
  ]) {
    const { statusCode, headers, body } = await app.inject(`/customers/${id}`)
    t.strictSame([statusCode, headers['content-type']], [404, problemType], id)
    t.equal(JSON.parse(body).type, 'urn:dealbook:problem:not-found', id)
  }
  const filtered = await app.inject('/customers/3?age=4&page=1')
  t.equal(filtered.statusCode, 400)
  t.strictSame(filtered.json().errors.map(({ parameter }: { parameter: string }) => parameter), ['age', 'page'])
})

t.test('methods', async t => {
  const app = await customersApp(t)
  for (const url of ['/customers', '/customers/', '/customers/1', '/customers/1/', '/customers.json']) {
    const [got, head, options] = [
      await app.inject(url),
      await app.inject({ method: 'HEAD', url }),
      await app.inject({ method: 'OPTIONS', url })
    ]
    t.equal(got.statusCode, 200, url)
    t.equal(head.statusCode, 200, `HEAD ${url}`)
    for (const name of ['content-type', 'content-length', 'etag', 'last-modified', 'link', 'vary']) {
      t.equal(head.headers[name], got.headers[name], `HEAD ${url}: ${name}`)
    }
    const allow = url.includes('/1') ? 'GET, HEAD, OPTIONS' : 'GET, HEAD, OPTIONS, QUERY'
    t.strictSame([options.statusCode, options.headers.allow], [204, allow], `OPTIONS ${url}`)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const refused = await app.inject({
        method,
        url,
        payload: '{ not json',
        headers: { 'content-type': 'application/nonsense' }
      })
      t.strictSame(
        [refused.statusCode, refused.headers.allow, refused.headers['content-type']],
        [405, allow, problemType],
        `${method} ${url}`
      )
    }
  }
})

t.test('representations', async t => {
  const app = await customersApp(t, { options: { representations: [json, text] } })
  const JSON_TYPE = 'application/json; charset=utf-8'
  const TEXT_TYPE = 'text/plain; charset=utf-8'
  const table: [url: string, accept: string | undefined, status: number, type: string][] = [
    ['/customers', undefined, 200, JSON_TYPE],
    ['/customers', '*/*', 200, JSON_TYPE],
    ['/customers', 'text/*', 200, TEXT_TYPE],
    ['/customers', 'text/plain, application/json;q=0.9', 200, TEXT_TYPE],
    ['/customers', 'text/plain;q=0.1, application/json;q=0.9', 200, JSON_TYPE],
    ['/customers', 'application/json;q=0, */*', 200, TEXT_TYPE],
    ['/customers', 'image/png', 406, problemType],
    ['/customers', 'application/json;q=0', 406, problemType],
    ['/customers.txt', undefined, 200, TEXT_TYPE],
    ['/customers.txt', 'application/json', 200, TEXT_TYPE],
    ['/customers.json', 'text/plain', 200, JSON_TYPE],
    ['/customers.txt?format=json', undefined, 200, TEXT_TYPE],
    ['/customers.png', undefined, 404, problemType],
    ['/customers?format=text', 'application/json', 200, TEXT_TYPE],
    ['/customers?format=png', undefined, 406, problemType],
    ['/customers?format=', undefined, 406, problemType],
    ['/customers/1', undefined, 200, JSON_TYPE],
    ['/customers/1', 'text/plain', 200, TEXT_TYPE],
    ['/customers/1', 'image/png', 406, problemType],
    ['/customers/1.txt', undefined, 200, TEXT_TYPE],
    ['/customers/1.png', undefined, 404, problemType],
    ['/customers/1?format=text', undefined, 200, TEXT_TYPE],
    ['/customers/1?format=png', undefined, 406, problemType]
  ]
  for (const [url, accept, status, type] of table) {
    const { statusCode, headers } = await app.inject({ url, headers: accept === undefined ? {} : { accept } })
    t.strictSame(
      [statusCode, headers['content-type'], headers.vary],
      [status, type, 'Accept'],
      `${url} Accept: ${accept}`
    )
  }
  t.match((await app.inject('/customers?format=png')).json(), {
    detail: /json, text/,
    errors: [{ parameter: 'format' }]
  })
  t.match(
    (await app.inject({ url: '/customers', headers: { accept: 'image/png' } })).json().detail,
    'application/json, text/plain'
  )
  t.match((await app.inject('/customers.png')).json().detail, '.json, .txt')
  t.equal((await app.inject('/customers/1.txt')).body, Object.values(people(1)[0] as object).join(' '))
})

t.test('conditional reads', async t => {
  const app = await customersApp(t)
  const { headers: { etag, 'last-modified': modified, vary } } = await app.inject('/customers/1')
  t.equal(etag, '"1-json"')
  const later = new Date(Date.parse(modified as string) + 60_000).toUTCString()
  const earlier = new Date(Date.parse(modified as string) - 60_000).toUTCString()
  const table: [Record<string, string>, number][] = [
    [{ 'if-none-match': etag as string }, 304],
    [{ 'if-none-match': `W/${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': `"x", ${etag}` }, 304],
    [{ 'if-none-match': '"1-xml"' }, 200],
    [{ 'if-none-match': '"x"', 'if-modified-since': later }, 200],
    [{ 'if-modified-since': modified as string }, 304],
    [{ 'if-modified-since': later }, 304],
    [{ 'if-modified-since': earlier }, 200],
    [{ 'if-modified-since': 'yesterday' }, 200],
    [{ 'if-match': etag as string }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': `W/${etag}` }, 412],
    [{ 'if-match': '"7-json"' }, 412],
    [{ 'if-match': '"7-json"', 'if-unmodified-since': later }, 412],
    [{ 'if-unmodified-since': earlier }, 412],
    [{ 'if-unmodified-since': modified as string }, 200],
    [{ 'if-match': etag as string, 'if-none-match': etag as string }, 304]
  ]
  for (const method of ['GET', 'HEAD'] as const) {
    for (const [headers, status] of table) {
      const answer = await app.inject({ method, url: '/customers/1', headers })
      t.equal(answer.statusCode, status, `${method} ${JSON.stringify(headers)}`)
      if (status === 304) {
        t.strictSame(
          [
            answer.body,
            answer.headers.etag,
            answer.headers['last-modified'],
            answer.headers.vary,
            answer.headers['content-type']
          ],
          ['', etag, modified, vary, undefined]
        )
      }
      if (status === 412 && method === 'GET') t.equal(answer.json().type, 'urn:dealbook:problem:precondition-failed')
    }
  }
  t.equal(
    (await app.inject({ url: '/customers/99', headers: { 'if-none-match': '*' } })).statusCode,
    404,
    'what is not there has no conditions'
  )
})

t.test('problems', async t => {
  const thrown = new Map<string, unknown>([
    [
      '401',
      Object.assign(new Error('Who are you?'), {
        statusCode: 401,
        headers: { 'www-authenticate': 'Basic realm="crm"' }
      })
    ],
    ['403', new Problem('forbidden', 'Ask your manager', { members: { manager: 'Ann' } })],
    ['429', Object.assign(new Error('Slow down'), { statusCode: 429 })],
    ['418', Object.assign(new Error('I am a teapot'), { statusCode: 418 })],
    ['bug', new TypeError('secret connection string')],
    ['200', Object.assign(new Error('secret'), { statusCode: 200 })],
    ['text', 'secret text'],
    ['nothing', null]
  ])
  const fail = (name: unknown) => { if (thrown.has(String(name))) throw thrown.get(String(name)) }
  const before = (app: FastifyInstance) => {
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers['x-fail'] === '429') reply.header('retry-after', '7')
      fail(request.headers['x-fail'])
    })
  }
  const app = await customersApp(t, { before, options: { authorize: request => fail(request.headers['x-authorize']) } })

  const table: [string, number, string, string][] = [
    ['401', 401, 'unauthorized', 'Who are you?'],
    ['403', 403, 'forbidden', 'Ask your manager'],
    ['429', 429, 'too-many-requests', 'Slow down'],
    ['bug', 500, 'internal', 'An internal error occurred; it was logged'],
    ['200', 500, 'internal', 'An internal error occurred; it was logged'],
    ['text', 500, 'internal', 'An internal error occurred; it was logged']
  ]
  for (const header of ['x-fail', 'x-authorize']) {
    for (const [name, status, code, detail] of table) {
      const answer = await app.inject({ url: '/customers/1?fields=id', headers: { [header]: name } })
      t.equal(answer.headers['content-type'], problemType, `${header} ${name}`)
      t.match(
        answer.json(),
        {
          type: `urn:dealbook:problem:${code}`,
          title: problemCodes[code as 'internal'].title,
          status,
          detail,
          instance: '/customers/1'
        },
        `${header} ${name}`
      )
      t.equal(answer.statusCode, status)
      t.notMatch(answer.body, 'secret', 'a bug keeps its text to itself')
      t.equal(answer.headers['cache-control'], 'no-store')
    }
  }
  t.equal(
    (await app.inject({ url: '/customers', headers: { 'x-fail': '401' } })).headers['www-authenticate'],
    'Basic realm="crm"'
  )
  t.equal((await app.inject({ url: '/customers', headers: { 'x-fail': '429' } })).headers['retry-after'], '7')
  t.equal((await app.inject({ url: '/customers', headers: { 'x-authorize': '403' } })).json().manager, 'Ann')
  const teapot = await app.inject({ url: '/customers', headers: { 'x-fail': '418' } })
  t.strictSame(
    [teapot.statusCode, teapot.json().status, teapot.json().detail],
    [418, 418, 'I am a teapot'],
    'a status without a code of ours stays what it is'
  )
  const nothing = await app.inject({ url: '/customers', headers: { 'x-authorize': 'nothing' } })
  t.strictSame([nothing.statusCode, nothing.headers['content-type']], [500, problemType], 'even nothing can be thrown')
})

t.test('authorize is asked before anything is read, and narrows what is there', async t => {
  const intents: unknown[] = []
  const storage = await storageOf(people(20))
  let reads = 0
  const counted: Storage = {
    ...storage,
    find (family, query) { reads++; return storage.find(family, query) },
    get (family, id) { reads++; return storage.get(family, id) }
  }
  const app = await customersApp(t, {
    options: {
      storage: counted,
      authorize: (request, intent) => {
        intents.push({ ...intent, reads })
        return request.headers['x-role'] === 'manager'
          ? undefined
          : { where: [{ field: 'children', op: 'eq', values: [2] }] }
      }
    }
  })
  t.strictSame(
    (await app.inject('/customers')).json().items.map(({ children }: { children: number }) => children),
    [2, 2, 2, 2, 2]
  )
  t.equal((await app.inject('/customers/1')).statusCode, 404)
  t.equal((await app.inject('/customers/3')).statusCode, 200)
  t.equal((await app.inject({ url: '/customers/1', headers: { 'x-role': 'manager' } })).statusCode, 200)
  t.strictSame(intents[0], { family: 'customers', action: 'list', id: undefined, params: {}, reads: 0 })
  t.strictSame(intents[1], { family: 'customers', action: 'read', id: 1, params: {}, reads: 1 })
})

t.test('a storage that fails', async t => {
  const broken: Storage = {
    ...memoryStorage(),
    find: async () => {
      throw new Error('secret host is down')
    },
    get: async () => {
      throw new Error('secret')
    }
  }
  const app = await customersApp(t, { options: { storage: broken } })
  for (const url of ['/customers', '/customers/1']) {
    const answer = await app.inject(url)
    t.strictSame(
      [answer.statusCode, answer.headers['retry-after'], answer.json().type],
      [503, '1', 'urn:dealbook:problem:storage-unavailable'],
      url
    )
    t.notMatch(answer.body, 'secret')
  }

  let tries = 0
  const late: Storage = {
    ...memoryStorage(),
    prepare: async () => {
      if (++tries < 2) throw new Error('not yet')
    },
    find: async () => ({ items: [] })
  }
  const tenants = await customersApp(t, { options: { storage: () => late } })
  t.equal((await tenants.inject('/customers')).statusCode, 503, 'a storage chosen by request that cannot be prepared')
  t.equal((await tenants.inject('/customers')).statusCode, 200, 'is tried again')
})

t.test('over a real connection', async t => {
  const app = await customersApp(t, { count: 100 })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const send = (path: string, method = 'GET') =>
    new Promise<{ status: number | undefined, headers: http.IncomingHttpHeaders, body: string }>((resolve, reject) => {
      http
        .request({ port, host: '127.0.0.1', path, method }, async response => {
          let body = ''
          for await (const chunk of response.setEncoding('utf8')) body += chunk
          resolve({ status: response.statusCode, headers: response.headers, body })
        })
        .on('error', reject)
        .end()
    })
  // Unlike a browser, this client leaves the signs as they are.
  const raw = await send('/customers?age>=30&age<40&maxpagesize=3')
  t.equal(raw.status, 200)
  t.match(raw.headers.link, '</customers?age%3E=30&age%3C40&maxpagesize=3>; rel="self"')
  const { items, links } = JSON.parse(raw.body)
  t.strictSame(items, people(100).filter(({ age }) => age >= 30 && age < 40).slice(0, 3))
  t.equal((await send(links.next)).status, 200)
  t.equal((await send('/customers?name="<script>"')).status, 400)
  const head = await send('/customers/1', 'HEAD')
  t.strictSame(
    [head.status, head.body, head.headers['content-length']],
    [200, '', String((await send('/customers/1')).body.length)]
  )
})
