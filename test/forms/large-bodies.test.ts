import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions } from '../../lib/index.js'
import { deals, defineFamily, memoryStorage } from '../../lib/index.js'
import type { TestRequest } from '../deals/app.js'
import { createDeal, dealsApp, home, snapshot } from '../deals/app.js'

const form = 'application/x-www-form-urlencoded'
const json = 'application/json'
const small = 8192
const members = (count: number, name: (n: number) => string = n => `price${n}`) =>
  `{${Array.from({ length: count }, (_, n) => `"${name(n)}":${n}`).join()}}`

interface Refused {
  readonly status: number
  readonly type: string
  readonly detail: string
  readonly errors: readonly { readonly pointer?: string, readonly parameter?: string, readonly detail: string }[]
  readonly more?: number
}

/** Every way to send a body. */
function ways (id: string): readonly Pick<TestRequest, 'method' | 'url'>[] {
  const deal = `${home}/${id}`
  return [
    { method: 'POST', url: home },
    { method: 'PATCH', url: deal },
    { method: 'PUT', url: deal },
    { method: 'DELETE', url: deal },
    { method: 'PUT', url: `${deal}/hold` },
    { method: 'PUT', url: `${deal}/holded` },
    { method: 'POST', url: `${deal}/holds` },
    { method: 'PUT', url: `${deal}/commands/c1` },
    { method: 'PUT', url: '/rest/commands/c1' },
    { method: 'POST', url: '/command/HoldDeal' },
    { method: 'POST', url: '/command/CreateDeal' }
  ] as const
}

t.test('a body of which all is wrong is refused in few words, wherever it is sent', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  const long = 'n'.repeat(900)
  const bodies: Readonly<Record<string, string>> = {
    'a megabyte of members': members(55_000),
    'as many members as there may be, none known': members(1000),
    'long names': members(1000, n => `${long}${n}`),
    'names that are nearly right': members(1000, n => 'price'.padEnd(6 + n % 44, 'x') + n),
    'a list of numbers': `{"name":[${Array.from({ length: 200_000 }, () => '1').join()}]}`,
    'numbers that cannot be kept': `{"name":[${Array.from({ length: 900 }, () => '1e300').join()}]}`,
    'objects in objects': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
    'lists in lists, half of them': '['.repeat(1_000_000),
    'one long name': `{"${'n'.repeat(1_000_000)}":1}`,
    'one long name, twice': `{"${'n'.repeat(400_000)}":1,"${'n'.repeat(400_000)}":1}`,
    'one long name in another': `{"${'n'.repeat(1000)}":{"${'/'.repeat(400_000)}":1e300}}`,
    'many numbers under a long name': `{"${'~'.repeat(999)}":[${Array.from({ length: 900 }, () => '1e300').join()}]}`,
    'a long text in the place of a number': `{"name":"a","price":"${'9'.repeat(1_000_000)}"}`,
    'a long action': `{"deal":"${id}","action":"${'H'.repeat(900_000)}"}`,
    'a long parameter': `{"deal":"${id}","action":"HoldDeal","params":{"${'r'.repeat(900_000)}":1}}`,
    'many parameters': `{"deal":"${id}","action":"HoldDeal","params":${members(900)}}`,
    'what is no JSON': 'x'.repeat(1_000_000)
  }
  for (const [name, payload] of Object.entries(bodies)) {
    for (const way of ways(id)) {
      const answer = await app.inject({ ...way, payload, headers: { 'content-type': json } })
      t.equal(answer.statusCode, 400, `${name}: ${way.method} ${String(way.url)}`)
      t.ok(answer.body.length < small, `${name}: ${answer.body.length} bytes`)
    }
    for (const accept of ['text/html', 'application/xml']) {
      const headers = { 'content-type': json, accept }
      const answer = await app.inject({ method: 'POST', url: home, payload, headers })
      // Every page has the same style and script.
      const body = answer.body.replace(/<(style|script)>.*?<\/\1>/gs, '')
      t.ok(body.length < small, `${name}: ${accept}, ${body.length} bytes`)
    }
  }
  t.strictSame(await snapshot(app, id), before)
})

t.test('a form of which all is wrong is refused in few words', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const fields = (count: number, name: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => `${name(n)}=${n}`).join('&')
  const bodies: Readonly<Record<string, string>> = {
    'a megabyte of fields': fields(80_000, n => `f${n}`),
    'nothing but separators': '&'.repeat(1_000_000),
    'as many fields as there may be': fields(1000, n => `price${n}`),
    'one long name': `${'n'.repeat(1_000_000)}=1`,
    'one long name, twice': `${'n'.repeat(400_000)}=1&${'n'.repeat(400_000)}=1`,
    // Escaped, each would be five characters.
    'a long text': `name=a&price=${"'".repeat(1_000_000)}`
  }
  for (const [name, payload] of Object.entries(bodies)) {
    for (const url of [home, `${home}/${id}/holds`]) {
      const answer = await app.inject({ method: 'POST', url, payload, headers: { 'content-type': form } })
      t.equal(answer.statusCode, 400, `${name}: ${url}`)
      t.ok(answer.body.length < small, `${name}: ${answer.body.length} bytes`)
      const headers = { 'content-type': form, accept: 'text/html' }
      const page = await app.inject({ method: 'POST', url, payload, headers })
      t.equal(page.statusCode, 400, `${name}: ${url} in a browser`)
      t.ok(page.body.length < 60_000, `${name}: ${page.body.length} bytes of a page`)
    }
  }
})

t.test('a page of a problem shows what people type, and no more', async t => {
  for (const [status, text, entered, isSentAgain] of [
    [401, 'a<b', 'a&lt;b', true],
    [403, 'a<b', 'a&lt;b', false],
    [401, "'".repeat(500_000), undefined, false],
    [403, "'".repeat(500_000), undefined, false]
  ] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.addHook('preHandler', async () => { throw Object.assign(new Error('not now'), { statusCode: status }) })
    app.register(deals, { storage: memoryStorage(), version: 'v1' })
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: home,
      headers: { 'content-type': form, accept: 'text/html' },
      payload: `_key=k&name=${encodeURIComponent(text)}&price=1`
    })
    const name = `${status}, ${text.length} characters`
    t.equal(statusCode, status, name)
    t.ok(body.length < 60_000, `${name}: ${body.length} bytes of a page`)
    if (entered !== undefined) t.match(body, `<dd dir="auto">${entered}</dd>`, name)
    t.equal(body.includes('<form method="post" action="/rest/v1/deals" class="again">'), isSentAgain, name)
    if (isSentAgain) t.match(body, '<input type="hidden" name="_key" value="k">', 'the same command')
  }
})

t.test('a query of which all is wrong is refused in few words', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const parameters = (count: number) => Array.from({ length: count }, (_, n) => `pricee${n}=1`).join('&')
  const queries: Readonly<Record<string, string>> = {
    'many unknown parameters': parameters(100),
    'more than there may be': parameters(1000),
    'one long name': `${'n'.repeat(14_000)}=1`,
    'what is no encoding': `${'%zz&'.repeat(90)}%${'z'.repeat(10_000)}`,
    'a long comparison': `price>${'x'.repeat(14_000)}`,
    'a long list of fields': `sort=${'x'.repeat(14_000)}`,
    'two formats, and more': 'format=json&'.repeat(1000)
  }
  for (const [name, query] of Object.entries(queries)) {
    for (const [method, path] of [
      ['GET', home], ['GET', `${home}/${id}`], ['GET', `${home}/${id}/commands`], ['GET', '/query/deals-by-name/a'],
      ['POST', home], ['PUT', `${home}/${id}/hold`]
    ] as const) {
      const answer = await app.inject({ method, url: `${path}?${query}` })
      t.equal(answer.statusCode, 400, `${name}: ${method} ${path}`)
      t.ok(answer.body.length < small, `${name}: ${answer.body.length} bytes`)
    }
  }
  const many = await app.inject(`${home}?${parameters(100)}`)
  const { errors, more, detail } = many.json<Refused>()
  t.strictSame([errors.length, more], [20, 80])
  t.match(detail, /\(and 99 more\)$/)
  t.equal(errors.filter(error => /Fields that can be filtered/.test(error.detail)).length, 1, 'said once')
})

t.test('the bounds are where they say', async t => {
  const lists = defineFamily({
    name: 'lists',
    singular: 'list',
    fields: Type.Object({ id: Type.Integer(), of: Type.Any() }),
    create: ['of']
  })
  const app = async (options: Partial<FamilyOptions>): Promise<FastifyInstance> => {
    const app = Fastify()
    t.teardown(() => app.close())
    app.register(lists, { storage: memoryStorage(), ...options })
    await app.ready()
    return app
  }
  const send = async (app: FastifyInstance, of: unknown) => {
    const answer = await app.inject({ method: 'POST', url: '/lists', payload: { of } as object })
    return { status: answer.statusCode, ...answer.json<Partial<Refused>>() }
  }
  const nest = (depth: number): unknown => depth === 0 ? 1 : [nest(depth - 1)]
  for (const [options, members, depth] of [
    [{}, 1000, 20],
    [{ bodyLimit: 100_000 }, 1000, 20],
    [{ bodyLimit: 5 * 1024 * 1024 }, 5000, 20]
  ] as const) {
    const bounded = await app(options)
    // The body itself has one member, and is one object deep.
    t.equal((await send(bounded, Array.from({ length: members - 1 }, () => 1))).status, 201)
    t.match(await send(bounded, Array.from({ length: members }, () => 1)), {
      status: 400,
      type: 'urn:dealbook:problem:invalid-body',
      detail: `The body must have at most ${members} members in all levels together`,
      errors: [{ pointer: '' }]
    })
    t.equal((await send(bounded, nest(depth - 1))).status, 201)
    t.match(await send(bounded, nest(depth)), { status: 400, detail: new RegExp(`more than ${depth} levels deep`) })
  }
})

t.test('twenty flaws are named, and the number of the others is said', async t => {
  const named = 20
  const app = await dealsApp(memoryStorage())
  const send = async (accept: string, payload = members(25), type = json) =>
    await app.inject({ method: 'POST', url: home, payload, headers: { 'content-type': type, accept } })
  const problem = (await send('application/json')).json<Refused>()
  // Two members are missing besides.
  t.strictSame([problem.errors.length, problem.more], [named, 27 - named])
  t.match(problem.detail, /\(and 26 more\)$/)
  const more = `<li dir="auto">and ${27 - named} more</li>`
  t.match((await send('text/html')).body, more)
  t.match((await send('application/xml')).body, `<more>${27 - named}</more>`)
  const fields = Array.from({ length: 25 }, (_, n) => `f${n}=1`).join('&')
  t.match((await send('text/html', fields, form)).body, more, 'on the page of a form')
  const exact = (await send('application/json', members(named - 2))).json<Refused>()
  t.strictSame([exact.errors.length, exact.more], [named, undefined], 'nothing is left out')
})

t.test('a member that is given twice is refused, in every form, by its place', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  const deal = `${home}/${id}`
  const rows: [TestRequest['method'], string, string, string][] = [
    ['POST', home, '{"name":"a","price":1,"price":2}', '/price'],
    ['POST', home, '{"name":"a","pri\\u0063e":1,"price":2}', '/price'],
    ['PUT', `${deal}/hold`, '{"reason":"a","reason":"a"}', '/reason'],
    ['PUT', `${deal}/holded`, '{"reason":"a","reason":"b"}', '/reason'],
    ['POST', `${deal}/holds`, '{"reason":"a","reason":"b"}', '/reason'],
    ['PUT', deal, '{"action":"HoldDeal","params":{"reason":"a","reason":"b"}}', '/params/reason'],
    ['PUT', deal, '{"action":"HoldDeal","action":"HoldDeal","params":{"reason":"a"}}', '/action'],
    ['PUT', deal, '{"held":true,"holdReason":"a","held":true}', '/held'],
    ['PATCH', deal, '{"held":true,"holdReason":"a","holdReason":null}', '/holdReason'],
    ['PUT', `${deal}/commands/c1`, '{"action":"HoldDeal","params":{"reason":"a"},"params":{"reason":"b"}}', '/params'],
    ['PUT', '/rest/commands/c1', `{"deal":"x","deal":"${id}","action":"UnholdDeal"}`, '/deal'],
    ['POST', '/command/HoldDeal', `{"id":"${id}","reason":"a","id":"${id}"}`, '/id'],
    ['DELETE', deal, '{"a":1,"a":2}', '/a']
  ]
  for (const [method, url, payload, pointer] of rows) {
    const answer = await app.inject({ method, url, payload, headers: { 'content-type': json } } as TestRequest)
    t.match(answer.json(), { status: 400, type: 'urn:dealbook:problem:invalid-body', errors: [{ pointer }] }, payload)
    t.match(answer.json<Refused>().detail, `${pointer} is given twice`)
  }
  t.strictSame(await snapshot(app, id), before)
})

t.test('__proto__ is refused like any other unknown member, in JSON and in forms', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  for (const [type, payload, url] of [
    [form, 'name=a&price=1&__proto__=x', home],
    [form, 'reason=a&__proto__=x', `${home}/${id}/holds`],
    [json, '{"name":"a","price":1,"__proto__":1}', home],
    [json, '{"reason":"a","__proto__":{"reason":"b"}}', `${home}/${id}/holds`]
  ] as const) {
    for (const accept of ['application/json', 'text/html']) {
      const answer = await app.inject({ method: 'POST', url, payload, headers: { 'content-type': type, accept } })
      t.equal(answer.statusCode, 400, `${payload}: ${accept}`)
      if (accept === 'text/html') t.match(answer.body, 'proto')
      else t.match(answer.json(), { errors: [{ pointer: '/__proto__', detail: /^is unknown/ }] }, payload)
    }
  }
  t.strictSame(await snapshot(app, id), before)
})

t.test('a form with broken percent-encoding is refused by the field where it is', async t => {
  const app = await dealsApp(memoryStorage())
  const { id } = await createDeal(app)
  const before = await snapshot(app, id)
  const rows: [payload: string, pointer: string, url?: string][] = [
    ['name=%zz&price=1', '/name'],
    ['price=1&name=100%', '/name'],
    ['name=%ff&price=1', '/name'],
    ['name=%E0%A4%A&price=1', '/name'],
    ['name=%ED%A0%80&price=1', '/name'],
    ['name=a&price=%', '/price'],
    ['n%zzame=a&price=1', '/n%zzame'],
    ['%ff', '/%ff'],
    ['reason=50%', '/reason', `${home}/${id}/holds`]
  ]
  for (const [payload, pointer, url = home] of rows) {
    const answer = await app.inject({ method: 'POST', url, payload, headers: { 'content-type': form } })
    const errors = [{ pointer, detail: 'is not valid percent-encoding' }]
    t.match(answer.json(), { status: 400, type: 'urn:dealbook:problem:invalid-body', errors }, payload)
    const browser = { 'content-type': form, accept: 'text/html' }
    const page = await app.inject({ method: 'POST', url, payload, headers: browser })
    t.equal(page.statusCode, 400, `${payload}, to a person`)
  }
  t.strictSame(await snapshot(app, id), before)
  const texts: [sent: string, stored: string][] = [
    ['a+b', 'a b'], ['100%25', '100%'], ['%26%3D%2B', '&=+'], ['a=b', 'a=b'], ['%EF%BF%BD', '\ufffd'], ['tšéa', 'tšéa']
  ]
  for (const [sent, stored] of texts) {
    const payload = `&name=${sent}&&price=1&`
    const answer = await app.inject({ method: 'POST', url: home, payload, headers: { 'content-type': form } })
    t.equal(answer.json().name, stored, payload)
  }
})
