import swagger from '@fastify/swagger'
import type { InjectOptions } from 'fastify'
import Fastify from 'fastify'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import type { Storage } from '../../lib/index.js'
import { customers, deals, memoryStorage, problemCodes } from '../../lib/index.js'
import { bills, people } from '../family/keyed.js'
import { findFlaws } from './unsaid.js'
import { wholeDocument } from './whole.js'

type Code = keyof typeof problemCodes
type Example = Readonly<Record<string, unknown>>

interface Schema {
  readonly examples?: readonly Example[]
  readonly allOf?: readonly Schema[]
}

interface Document {
  readonly paths: Record<string, Record<string, {
    readonly responses: Record<string, {
      readonly description: string
      readonly content?: Record<string, { readonly schema: Schema }>
    }>
  }>>
  readonly components: { readonly schemas: Record<string, Schema> }
}

/** A storage that fails as soon as it is told to. */
const inner = memoryStorage()
let isDown = false
const failing: Storage = {
  ...inner,
  prepare: async shape => { await inner.prepare(shape) },
  find: async (...query) => await inner.find(...query),
  get: async (family, id) => {
    if (isDown) throw new Error('It burns')
    return await inner.get(family, id)
  },
  commit: async changes => { await inner.commit(changes) },
  close: async () => {}
}

const app = Fastify()
t.teardown(() => app.close())
await app.register(swagger, {
  openapi: { openapi: '3.1.0', info: { title: 'a', version: '1' } },
  refResolver: { buildLocalReference: json => String(json.$id) }
})
const storage = memoryStorage()
const version = 'v1'
app.register(customers, { storage })
app.register(deals, { storage, version })
app.register(invoices, { storage })
app.register(people, { storage })
app.register(bills, { storage })
app.register(deals, { storage, prefix: '/strict', version, preconditions: 'required', emptyList: 'not-found' })
app.register(deals, { storage, prefix: '/old', version, sunset: '2020-01-01', successor: '/rest/v1/deals' })
app.register(deals, { storage, prefix: '/nouns', version, forms: ['noun'] })
app.register(deals, { storage, prefix: '/ids', version, forms: ['command'] })
app.register(deals, { storage, prefix: '/updates', version, forms: ['update'] })
app.register(deals, { storage, prefix: '/sent', version, forms: ['commands'] })
app.register(deals, { storage: failing, prefix: '/failing', version })
await app.ready()
const { paths, components: { schemas } } = wholeDocument<Document>(app)

const home = '/rest/v1/deals'
const unknownId = '01890a5d-ac96-774b-bcce-b302099a8057'
const problemType = 'application/problem+json'

async function make (url: string, payload: object): Promise<string> {
  return (await app.inject({ method: 'POST', url, payload })).json<{ id: string }>().id
}

const makeDeal = async (prefix = '') => await make(`${prefix}${home}`, { name: 'a', price: 1 })

async function makeHeld (): Promise<string> {
  const id = await makeDeal()
  await app.inject({ method: 'PUT', url: `${home}/${id}/hold`, payload: { reason: 'a' } })
  return id
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
type Case = [code: Code, method: Method, path: string, request: () => Promise<InjectOptions>]

const to = (url: string, payload?: object, headers: Record<string, string> = {}) => async () =>
  ({ url, headers, ...(payload && { payload }) })

/** Each problem that a document shows once, on a route that shows it, and a request that is answered by it. */
const cases: readonly Case[] = [
  ['invalid-query', 'GET', home, to(`${home}?maxpagesize=0`)],
  ['invalid-query', 'GET', `${home}/{id}`, async () => ({ url: `${home}/${await makeDeal()}?fields=unknown` })],
  ['invalid-query', 'GET', '/customers', to('/customers?maxpagesize=0')],
  ['not-found', 'GET', `${home}/{id}`, to(`${home}/${unknownId}`)],
  ['not-found', 'GET', '/customers/{id}', to('/customers/17')],
  ['empty-list', 'GET', `/strict${home}`, to(`/strict${home}?name=none`)],
  ['gone', 'GET', `/old${home}`, to(`/old${home}`)],
  ['invalid-body', 'POST', home, to(home, {})],
  ['id-reused', 'POST', home, async () => {
    const headers = { 'idempotency-key': 'a' }
    await app.inject({ method: 'POST', url: home, payload: { name: 'a', price: 1 }, headers })
    return { url: home, payload: { name: 'b', price: 1 }, headers }
  }],
  ['not-found', 'DELETE', `${home}/{id}`, to(`${home}/${unknownId}`)],
  ['precondition-failed', 'DELETE', `${home}/{id}`, async () =>
    ({ url: `${home}/${await makeDeal()}`, headers: { 'if-match': '"99"' } })],
  ['in-use', 'DELETE', '/people/{id}', async () => {
    const id = await make('/people', { name: 'Ann' })
    await make('/bills', { customer: id })
    return { url: `/people/${id}` }
  }],
  ['missing', 'PUT', '/bills/{id}/restore', async () => {
    const customer = await make('/people', { name: 'Cid' })
    const url = `/bills/${await make('/bills', { customer })}`
    await app.inject({ method: 'DELETE', url })
    await app.inject({ method: 'DELETE', url: `/people/${customer}` })
    return { url: `${url}/restore` }
  }],
  ['pruned', 'PUT', `${home}/{id}/restore`, async () => {
    const id = await makeDeal()
    await app.inject({ method: 'DELETE', url: `${home}/${id}` })
    const where = [
      { field: 'target', op: 'eq', values: [id] }, { field: 'action', op: 'eq', values: ['DeleteDeal'] }
    ] as const
    const order = [{ field: 'id', descending: false }]
    const [entry] = (await storage.find('commands', { where, order, offset: 0, limit: 1, count: false })).items
    const { changes, ...old } = entry as NonNullable<typeof entry> & { readonly changes?: unknown }
    await storage.commit([{ type: 'replace', family: 'commands', item: old, expected: old.revision }])
    return { url: `${home}/${id}/restore` }
  }],
  ['taken', 'POST', '/people', async () => {
    await make('/people', { name: 'Bob' })
    return { url: '/people', payload: { name: 'Bob' } }
  }],
  ['invalid-body', 'PUT', `${home}/{id}/hold`, async () => ({ url: `${home}/${await makeDeal()}/hold`, payload: {} })],
  ['invalid-body', 'PUT', `${home}/{id}/unhold`, async () =>
    ({ url: `${home}/${await makeDeal()}/unhold`, payload: { unknown: true } })],
  ['not-found', 'PUT', `${home}/{id}/hold`, to(`${home}/${unknownId}/hold`, { reason: 'a' })],
  ['wrong-state', 'PUT', `${home}/{id}/hold`, async () =>
    ({ url: `${home}/${await makeHeld()}/hold`, payload: { reason: 'b' } })],
  ['wrong-state', 'PUT', `${home}/{id}/cancel`, async () => {
    const id = await makeDeal()
    await app.inject({ method: 'PUT', url: `${home}/${id}/complete` })
    return { url: `${home}/${id}/cancel`, payload: { amercement: 1, reason: 'a' } }
  }],
  ['precondition-failed', 'PUT', `${home}/{id}/hold`, async () =>
    ({ url: `${home}/${await makeDeal()}/hold`, payload: { reason: 'a' }, headers: { 'if-match': '"99"' } })],
  ['precondition-required', 'PUT', `/strict${home}/{id}/hold`, async () =>
    ({ url: `/strict${home}/${await makeDeal()}/hold`, payload: { reason: 'a' } })],
  ['id-reused', 'POST', `/nouns${home}/{id}/holds`, async () => {
    const headers = { 'idempotency-key': 'b' }
    const url = `/nouns${home}/${await makeDeal()}/holds`
    await app.inject({ method: 'POST', url, payload: { reason: 'a' }, headers })
    return { url, payload: { reason: 'b' }, headers }
  }],
  ['id-reused', 'PUT', `/ids${home}/{id}/commands/{command}`, async () => {
    const url = `/ids${home}/${await makeDeal()}/commands/order-17-hold`
    await app.inject({ method: 'PUT', url, payload: { action: 'HoldDeal', params: { reason: 'a' } } })
    return { url, payload: { action: 'UnholdDeal' } }
  }],
  ['invalid-body', 'PUT', `/updates${home}/{id}`, async () =>
    ({ url: `/updates${home}/${await makeDeal()}`, payload: {} })],
  ['invalid-body', 'POST', '/sent/rest/commands', async () => {
    const deal = await makeDeal()
    const commands = Array.from({ length: 4 }, (_, n) => ({ deal, action: n < 3 ? 'UnholdDeal' : 'HoldDeal' }))
    return { url: '/sent/rest/commands', payload: { commands, atomic: true } }
  }],
  ['id-reused', 'POST', '/sent/rest/commands', async () => {
    const create = { action: 'CreateDeal', params: { name: 'a', price: 1 } }
    const reused = { id: 'order-17-hold', deal: await makeDeal(), action: 'UnholdDeal' }
    return { url: '/sent/rest/commands', payload: { commands: [create, create, create, reused], atomic: true } }
  }],
  ['storage-unavailable', 'PUT', `/failing${home}/{id}/hold`, async () => {
    const id = await makeDeal('/failing')
    isDown = true
    return { url: `/failing${home}/${id}/hold`, payload: { reason: 'a' } }
  }]
]

// The path of the request is not the same for two mounts, which share their examples.
const listMembers = ({ instance, ...members }: Example): string[] => Object.keys(members).sort()

// Quoted values, revisions and dates are those of the request.
const withoutValues = (detail: unknown): string => String(detail).replace(/"[^"]*"|revision \d+/g, '…')

t.test('the example of a status is what is answered with that status', async t => {
  for (const [code, method, path, request] of cases) {
    const what = `${method} ${path}: ${code}`
    const answer = (await app.inject({ method, ...await request() })).json<Example>()
    const { status } = problemCodes[code]
    t.equal(answer['type'], `urn:dealbook:problem:${code}`, what)
    const { [status]: own, default: any } = paths[path]?.[method.toLowerCase()]?.responses ?? {}
    const { examples = [] } = (own ?? any)?.content?.[problemType]?.schema ?? {}
    const example = examples.find(({ type }) => type === answer['type'])
    if (example === undefined) {
      t.fail(`${what} has no example`)
      continue
    }
    t.strictSame(listMembers(example), listMembers(answer), what)
    for (const member of ['title', 'status', 'errors', 'state', 'operation', 'allowed']) {
      if (code === 'in-use' || code === 'taken') break
      t.strictSame(example[member], answer[member], `${what}: ${member}`)
    }
    if (code !== 'in-use') t.equal(withoutValues(example['detail']), withoutValues(answer['detail']), what)
  }
})

t.test('no answer shows the example of another status', async t => {
  let shown = 0
  const wrong: string[] = []
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, { content = {}, description }] of Object.entries(responses)) {
        const schema = content[problemType]?.schema
        if (schema === undefined) continue
        const { examples = [] } = schema
        const isRight = examples.length > 0 && examples.every(example => {
          shown++
          const code = String(example['type']).replace('urn:dealbook:problem:', '') as Code
          return problemCodes[code].status === example['status'] && problemCodes[code].title === example['title'] &&
            findFlaws(schemas['dealbook.Problem'] as never, example) === '' && (status === 'default'
            ? responses[String(example['status'])] === undefined
            : String(example['status']) === status && description.includes(code))
        })
        if (!isRight) wrong.push(`${method} ${path} ${status}`)
      }
    }
  }
  t.strictSame(wrong, [])
  t.ok(shown > 300, `${shown} examples`)
})

t.test('every problem of a status is one that can be provoked, or is in the table', async t => {
  const listed = new Set<string>(cases.map(([code]) => `urn:dealbook:problem:${code}`))
  const shown = new Set(Object.values(schemas).flatMap(({ examples = [] }) => examples)
    .map(example => example['type']).filter(type => String(type).startsWith('urn:dealbook:problem:')))
  t.strictSame([...shown].filter(type => !listed.has(String(type))), [])
})
