import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import type { FamilyOptions, Intent } from '../../lib/index.js'
import { customers, defineFamily, memoryStorage, Problem, Type } from '../../lib/index.js'
import { people, storageOf } from '../customers-app.js'
import { createDeal, dealsApp, home } from '../deals/app.js'
import type { State } from '../deals/operations.js'
import { operations, stepsTo } from '../deals/operations.js'
import { anyStorage } from '../storages.js'

interface Operation {
  readonly name: string
  readonly action: string
  readonly method: string
  readonly href: string
  readonly form?: string
  readonly params: { readonly properties: object, readonly required?: readonly string[] }
  readonly allowed: boolean
  readonly reason?: string
}

async function read (app: FastifyInstance, id: string): Promise<Operation[]> {
  const answer = await app.inject(`${home}/${id}/operations`)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json().items
}

const namesOf = (listed: readonly Operation[], allowed: boolean) =>
  listed.filter(operation => operation.allowed === allowed).map(({ name }) => name)

const names = [...operations.map(({ name }) => name), 'delete']

for (const { name, make } of anyStorage) {
  t.test(`${name}: what can be done with an item is listed, and done as it says`, async t => {
    const { storage, dispose } = await make()
    const app = await dealsApp(storage)
    t.teardown(async () => {
      await app.close()
      await dispose()
    })
    const { id } = await createDeal(app)
    const self = `${home}/${id}`
    const listed = await read(app, id)
    t.strictSame(listed.map(({ name }) => name), names)
    t.strictSame(namesOf(listed, false), ['unhold'])
    const [hold, unhold] = listed as [Operation, Operation]
    t.match(hold, { action: 'HoldDeal', method: 'PUT', href: `${self}/hold`, form: 'verb', allowed: true })
    t.match(hold.params, {
      additionalProperties: false,
      type: 'object',
      properties: { reason: { type: 'string', description: 'Why the deal is held', minLength: 1, maxLength: 4000 } },
      required: ['reason']
    })
    t.notOk('reason' in hold)
    t.equal(unhold.reason, 'The deal is not held')
    t.match(listed.at(-1), { action: 'DeleteDeal', method: 'DELETE', href: self, params: { properties: {} } })

    for (const { name, before } of operations) {
      const { id } = await createDeal(app)
      for (const step of [...before, name]) {
        const { method, href, allowed } = (await read(app, id)).find(each => each.name === step) as Operation
        t.ok(allowed, step)
        const payload = operations.find(each => each.name === step)?.params as object
        const answer = await app.inject({ method: method as 'PUT', url: href, payload })
        t.equal(answer.statusCode, 200, `${step}: ${answer.body}`)
      }
    }
    for (const [state, steps] of Object.entries(stepsTo) as [State, readonly string[]][]) {
      const { id } = await createDeal(app)
      for (const step of steps) {
        const { verb, params } = operations.find(each => each.name === step) as (typeof operations)[number]
        await app.inject({ method: 'PUT', url: `${home}/${id}/${verb}`, payload: params })
      }
      const allowed = operations.filter(({ states }) => states.includes(state)).map(({ name }) => name)
      t.strictSame(namesOf(await read(app, id), true), [...allowed, 'delete'], state)
    }
    for (const url of [`${home}/none/operations`, `${home}/a%00b/operations`]) {
      t.match((await app.inject(url)).json(), { status: 404, type: 'urn:dealbook:problem:not-found' }, url)
    }
    t.equal((await app.inject({ method: 'DELETE', url: self })).statusCode, 204)
    t.equal((await app.inject(`${self}/operations`)).statusCode, 404, 'nothing can be done with what is gone')
  })
}

t.test('in every representation, with validators', async t => {
  const app = await dealsApp(memoryStorage())
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  const url = `${home}/${id}/operations`
  const answer = await app.inject(url)
  t.strictSame(answer.json().links, { self: url, deal: `${home}/${id}` })
  t.match(answer.headers.etag, /^"1-json-[\w-]{22}"$/)
  t.notOk('last-modified' in answer.headers, 'it also depends on the clock and on other items')
  for (const same of [`${url}/`, `${url}.json`, `${url}?format=json`]) {
    t.equal((await app.inject(same)).body, answer.body, same)
  }
  const { etag } = answer.headers as { etag: string }
  t.equal((await app.inject({ url, headers: { 'if-none-match': etag } })).statusCode, 304)
  const head = await app.inject({ method: 'HEAD', url })
  t.strictSame([head.statusCode, head.headers.etag], [200, etag])
  const options = await app.inject({ method: 'OPTIONS', url })
  t.strictSame([options.statusCode, options.headers.allow], [204, 'GET, HEAD, OPTIONS'])
  t.equal((await app.inject({ method: 'PUT', url, payload: {} })).statusCode, 405)
  const stale = await app.inject({ url, headers: { 'if-match': '"2-json"' } })
  t.equal(stale.statusCode, 412)
  await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  t.equal((await app.inject({ url, headers: { 'if-none-match': etag } })).json().items[0].allowed, false)

  const xml = await app.inject(`${url}.xml`)
  t.match(xml.body, '<operations><items><operation><name>hold</name><action>HoldDeal</action>')
  t.match(xml.body, '<required><item>reason</item></required>')
  const page = await app.inject({ url, headers: { accept: 'text/html' } })
  t.match(page.body, 'ChangeDealPrice')
  t.match(page.body, `<a href="${home}/${id}"><bdi>Ten tons of tea</bdi></a>`, 'it leads back')
  t.match((await app.inject(`${url}.csv`)).body, 'name,action,summary,method,href,form,params,allowed,reason\r\nhold,')
  t.equal((await app.inject(`${url}.png`)).statusCode, 404)
  const refused = await app.inject(`${url}?fields=name`)
  t.match(refused.json(), { status: 400, errors: [{ parameter: 'fields' }] })
})

t.test('as far as authorize lets this request', async t => {
  const intents: Intent[] = []
  let where: object[] = []
  const options: Partial<FamilyOptions> = {
    authorize (request, intent) {
      intents.push(intent)
      if (request.headers.from === 'nobody') throw new Problem('forbidden', 'Not you')
      if (request.headers.from === 'clerk' && ['CancelDeal', 'DeleteDeal'].includes(intent.action)) {
        throw new Problem('forbidden', 'Not you')
      }
      return intent.action === 'HoldDeal' || intent.action === 'read' ? { where: where as never } : undefined
    }
  }
  const app = await dealsApp(memoryStorage(), options)
  t.teardown(() => app.close())
  const { id } = await createDeal(app)
  intents.length = 0
  const url = `${home}/${id}/operations`
  const all = await app.inject(url)
  t.strictSame(all.json().items.map(({ name }: Operation) => name), names)
  t.equal(all.headers['cache-control'], 'private, no-cache')
  t.strictSame(intents.map(({ action, id, tentative }) => [action, id, tentative]), [
    ['read', id, undefined],
    ...all.json().items.map(({ action }: Operation) => [action, id, true])
  ])
  const clerk = await app.inject({ url, headers: { from: 'clerk' } })
  t.strictSame(
    clerk.json().items.map(({ name }: Operation) => name),
    names.filter(name => name !== 'cancel' && name !== 'delete')
  )
  t.not(clerk.headers.etag, all.headers.etag)
  const again = { from: 'clerk', 'if-none-match': `${all.headers.etag}` }
  t.equal((await app.inject({ url, headers: again })).statusCode, 200, 'not by the tag of another reader')
  t.equal((await app.inject({ url, headers: { from: 'nobody' } })).statusCode, 403)
  where = [{ field: 'price', op: 'eq', values: [7] }]
  t.equal((await app.inject(url)).statusCode, 404, 'not granted is not there')
  where = [{ field: 'price', op: 'eq', values: [100] }]
  t.equal((await app.inject(url)).json().items.length, names.length)
})

const fields = Type.Object({ id: Type.Integer(), text: Type.String() })
const base = {
  name: 'poke',
  verb: 'poke',
  participle: 'poked',
  noun: 'pokes',
  action: 'PokeNote',
  params: Type.Object({}),
  apply: (note: { text: string }) => note as never
}
const define = (given: object) => {
  const poke = { ...base, ...given }
  return defineFamily({ name: 'notes', singular: 'note', fields, create: ['text'], operations: { poke } })
}

t.test('the reason is what the rule says', async t => {
  for (const [allowed, reason] of [
    [() => false, 'poke is not allowed for this note now'],
    [() => 'It is asleep', 'It is asleep'],
    [() => '', 'poke is not allowed for this note now'],
    [() => { throw new Problem('wrong-state', 'It bites') }, 'It bites'],
    [() => { throw new Error('secret') }, 'poke is not allowed for this note now'],
    [() => true, undefined]
  ] as const) {
    const app = Fastify()
    app.register(define({ allowed }), { storage: memoryStorage() })
    await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
    const [poke] = (await app.inject('/notes/1/operations')).json().items
    t.strictSame([poke.allowed, poke.reason], [reason === undefined, reason])
    await app.close()
  }
})

t.test('the tag is of the content: rules that depend on the time, or on another item', async t => {
  const locks = defineFamily({
    name: 'locks',
    singular: 'lock',
    fields: Type.Object({ id: Type.Integer(), open: Type.Boolean() }),
    create: ['open'],
    edit: ['open']
  })
  let now = new Date('2030-01-01')
  const lockable = Type.Object({ id: Type.Integer(), lock: Type.Integer() })
  const cases: [rule: object, change: (app: FastifyInstance) => unknown][] = [
    [
      { allowed: (_note: object, _params: object, { now }: { now: string }) => now < '2030-01-02' },
      () => { now = new Date('2030-01-03') }
    ],
    [
      {
        with: { lock: 'lock' },
        allowed: (_note: object, _params: object, { items }: { items: { lock: { open: boolean } } }) => items.lock.open
      },
      app => app.inject({ method: 'PATCH', url: '/locks/1', payload: { open: false } })
    ]
  ]
  for (const [rule, change] of cases) {
    const storage = memoryStorage()
    const app = Fastify()
    app.register(locks, { storage })
    app.register(defineFamily({
      name: 'notes',
      singular: 'note',
      fields: lockable,
      create: ['lock'],
      references: { lock: locks },
      operations: { poke: { ...base, ...rule } as never }
    }), { storage, clock: () => now })
    await app.inject({ method: 'POST', url: '/locks', payload: { open: true } })
    await app.inject({ method: 'POST', url: '/notes', payload: { lock: 1 } })
    for (const format of ['json', 'xml']) {
      const url = `/notes/1/operations.${format}`
      const { etag } = (await app.inject(url)).headers as { etag: string }
      const get = async (headers: object) => (await app.inject({ url, headers: { ...headers } })).statusCode
      t.equal(await get({ 'if-none-match': etag }), 304)
      t.equal(await get({ 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }), 200)
    }
    const url = '/notes/1/operations'
    const before = await app.inject(url)
    await change(app)
    const after = await app.inject({ url, headers: { 'if-none-match': String(before.headers.etag) } })
    t.strictSame([before.json().items[0].allowed, after.statusCode], [true, 200])
    t.equal(after.json().items[0].allowed, false)
    await app.close()
  }
})

t.test('the address is that of a form which is mounted', async t => {
  for (const [forms, expected] of [
    [['verb', 'noun'], { method: 'PUT', href: '/notes/1/poke', form: 'verb' }],
    [['participle', 'noun'], { method: 'PUT', href: '/notes/1/poked', form: 'participle' }],
    [['noun', 'update'], { method: 'POST', href: '/notes/1/pokes', form: 'noun' }],
    [['update', 'command'], { method: 'PUT', href: '/notes/1', form: 'update' }]
  ] as const) {
    const app = Fastify()
    app.register(define({}), { storage: memoryStorage(), forms })
    await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
    const [{ method, href, form }] = (await app.inject('/notes/1/operations')).json().items
    t.strictSame({ method, href, form }, expected)
    await app.close()
  }
})

t.test('the word is ours, and only what can be written has it', async t => {
  for (const word of ['verb', 'participle', 'noun']) {
    t.throws(
      () => define({ [word]: 'operations' }),
      /the operation "poke" uses the word "operations", which belongs to the list of operations/
    )
  }
  const app = Fastify()
  t.teardown(() => app.close())
  app.register(customers, { storage: await storageOf(people(1)) })
  t.equal((await app.inject('/customers/1/operations')).statusCode, 404)
})
