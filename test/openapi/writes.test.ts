import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { customers, deals, memoryStorage } from '../../lib/index.js'
import { operations } from '../deals/operations.js'
import { invoices } from '../family/invoices.js'
import { wholeDocument } from './whole.js'

interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly const?: string
  readonly enum?: readonly string[]
  readonly additionalProperties?: boolean
}

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly headers?: object
        readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
      }
    >
  >
}

type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>

const app = Fastify()
await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Deals', version: '1' } } })
const storage = memoryStorage()
app.register(customers, { storage, prefix: '/crm' })
app.register(deals, { storage, prefix: '/crm', version: 'v1' })
app.register(deals, { storage, prefix: '/crm', version: 'v2', preconditions: 'required' })
app.register(deals, { storage: memoryStorage(), prefix: '/other', version: 'v1' })
app.register(invoices, { storage, prefix: '/crm' })
await app.ready()
const { paths } = wholeDocument<{ paths: Paths }>(app)

const home = '/crm/rest/v1/deals'

function at (method: string, path: string): Described {
  const found = paths[path]?.[method]
  if (found === undefined) {
    throw new Error(`${method} ${path} is not described; there are ${Object.keys(paths).join(' ')}`)
  }
  return found
}

function bodyOf ({ requestBody }: Described, type = 'application/json'): Schema {
  return requestBody?.content[type]?.schema ?? {}
}

function alternativesOf ({ anyOf = [] }: Schema): Schema[] {
  return anyOf.flatMap(each => each.anyOf ?? [each])
}

function headersOf ({ parameters = [] }: Described): string[] {
  return parameters.filter(each => each.in === 'header').map(({ name }) => name).sort()
}

t.test('every operation is described in every form', async t => {
  for (const { verb, participle, noun, action, params } of operations) {
    const full = at('put', `${home}/{id}/${verb}`)
    t.strictSame(Object.keys(bodyOf(full).properties ?? {}).sort(), Object.keys(params).sort(), `${verb}: its members`)
    t.equal(bodyOf(full).additionalProperties, false, `${verb}: and no others`)
    const refused = verb === 'edit' ? ['400', '404', '412', '422'] : ['400', '404', '409', '412', '422']
    t.strictSame(Object.keys(full.responses), ['200', '204', ...refused, 'default'])
    t.ok(full.responses['default']?.content?.['application/problem+json'], `${verb}: all else is a problem`)
    t.strictSame(headersOf(full), ['idempotency-key', 'if-match'], `${verb}: one form is described in full`)

    for (const [method, path, word, done, headers] of [
      ['put', `${home}/{id}/{word}`, participle, ['200'], ['idempotency-key']],
      ['post', `${home}/{id}/{word}`, noun, ['200', '201'], ['idempotency-key']],
      ['post', '/crm/command/{word}', action, ['200'], ['idempotency-key']]
    ] as const) {
      const described = at(method, path)
      const words = described.parameters?.find(({ name }) => name === 'word')?.schema.enum
      t.ok(words?.includes(word), `${path}: ${word}`)
      const body = alternativesOf(bodyOf(described))[words?.indexOf(word) ?? -1]
      t.strictSame(
        Object.keys(body?.properties ?? {}).sort(),
        [...Object.keys(params), ...(path.includes('/command/') ? ['id'] : [])].sort(),
        `${path}: the members of ${word}`
      )
      t.equal(body?.additionalProperties, false, `${path}: and no others`)
      t.strictSame(Object.keys(described.responses), done, `${path}: its success`)
      t.strictSame(headersOf(described), headers, path)
    }
    for (const path of [`${home}/{id}`, `${home}/{id}/commands/{command}`, '/crm/rest/commands/{command}']) {
      const body = alternativesOf(bodyOf(at('put', path))).find(
        each => each.properties?.['action']?.const === action || each.properties?.['action']?.enum?.includes(action)
      )
      t.ok(body, `${path}: ${action}`)
      t.strictSame(
        Object.keys(body?.properties?.['params']?.properties ?? {}).sort(),
        Object.keys(params).sort(),
        `${path}: the parameters of ${action}`
      )
    }
    if (verb !== 'edit') t.equal(full.responses['409']?.description, 'wrong-state')
    t.notOk(paths[`${home}/{id}/{word}`]?.['get'], 'it is read like the whole log')
  }
})

t.test('the other writes and reads of deals are described', async t => {
  const create = at('post', home)
  t.strictSame(Object.keys(bodyOf(create).properties ?? {}), ['name', 'price', 'completionDate'])
  t.strictSame(bodyOf(create).required, ['name', 'price'])
  t.strictSame(Object.keys(create.responses).sort(), ['201', '303', '400', '422', 'default'])
  t.strictSame(Object.keys(create.responses['201']?.headers ?? {}).sort(), ['etag', 'location'])
  t.strictSame(headersOf(create), ['idempotency-key', 'prefer'])
  t.ok(at('delete', `${home}/{id}`).responses['204'])
  t.strictSame(headersOf(at('delete', `${home}/{id}`)), ['idempotency-key', 'if-match'])
  for (const method of ['put', 'patch']) {
    t.strictSame(headersOf(at(method, `${home}/{id}`)), ['idempotency-key'], `${method} of attributes`)
  }
  t.ok(
    bodyOf(at('put', `${home}/{id}`)).anyOf?.some(({ properties }) => properties?.['holdReason'] !== undefined),
    'the attributes'
  )
  t.ok(bodyOf(at('patch', `${home}/{id}`), 'application/merge-patch+json').properties?.['held'], 'as a merge patch')
  t.ok(bodyOf(at('patch', `${home}/{id}`)).properties?.['held'], 'or as JSON')
  t.notMatch(JSON.stringify(bodyOf(at('patch', `${home}/{id}`))), '"default"', 'what is left out stays as it is')
  for (const path of [`${home}/{id}/commands/{command}`, '/crm/rest/commands/{command}']) {
    t.strictSame(Object.keys(at('put', path).responses), ['200', '201'], path)
    t.ok(at('get', path).responses['200'])
  }
  t.ok(at('get', `${home}/{id}/commands`).parameters?.some(({ name }) => name === 'outcome'), 'the log can be filtered')
  const actions = at('post', '/crm/command/{word}').parameters?.[0]?.schema.enum
  for (const action of ['CreateDeal', 'DeleteDeal', 'PayInvoice']) t.ok(actions?.includes(action), action)
  for (const name of [
    'deals',
    'deals-by-name',
    'deals-by-status',
    'customers',
    'customers-by-age',
    'customers-by-children'
  ]) { t.ok(at('get', `/crm/query/${name}/{parameter}`).responses['200'], name) }
})

t.test('428 is described where preconditions are required', async t => {
  t.equal(at('put', '/crm/rest/v2/deals/{id}/hold').responses['428']?.description, 'precondition-required')
  t.notOk(at('put', `${home}/{id}/hold`).responses['428'])
})

t.test('the shared commands know every family', async t => {
  const bodies = alternativesOf(bodyOf(at('put', '/crm/rest/commands/{command}')))
  t.equal(
    bodies.filter(({ properties }) => properties?.['deal'] !== undefined).length,
    operations.length,
    'each operation once, though there are two versions'
  )
  t.equal(bodies.filter(({ properties }) => properties?.['invoice'] !== undefined).length, 1)
})

const people = customers.extend({ create: ['age'] })

t.test('the first version of a family has no operations', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Deals', version: '1' } } })
  app.register(people, { storage, version: 'v1' })
  app.register(people.extend({ edit: ['age'] }), { storage, version: 'v2', unversioned: true })
  app.register(deals, { storage, version: 'v1' })
  await app.ready()
  const { paths } = wholeDocument<{ paths: Paths }>(app)
  const bodies = alternativesOf(bodyOf(paths['/rest/commands/{command}']?.['put'] as Described))
  t.equal(bodies.length, operations.length + 1, 'the edit of the second is one of them')
})

t.test('a document that a hook of the host asks for has all actions', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Deals', version: '1' } } })
  let asked: Paths = {}
  app.addHook('onReady', async () => { asked = app.swagger().paths as unknown as Paths })
  app.register(people, { storage })
  app.register(deals, { storage, version: 'v1' })
  await app.ready()
  const { parameters = [], ...described } = asked['/command/{word}']?.['post'] as Described
  const words = parameters.find(({ name }) => name === 'word')?.schema.enum ?? []
  const others = ['Create', 'Delete', 'Restore'].flatMap(verb => [`${verb}Customer`, `${verb}Deal`])
  const actions = [...others, ...operations.map(({ action }) => action)]
  t.strictSame([...words].sort(), actions.sort())
  t.equal(bodyOf(described).anyOf?.length, actions.length)
})

t.test('operation ids are unique, and everything has words', async t => {
  const all = Object.values(paths).flatMap(path => Object.values(path))
  const ids = all.map(({ operationId }) => operationId)
  t.strictSame(ids.filter((id, index) => ids.indexOf(id) !== index), [], 'no id twice')
  t.ok(ids.every(id => /^[a-z][A-Za-z0-9_]*$/.test(id)), 'each can be a name in a program')
  for (const { operationId, summary, tags } of all) t.ok(summary.length > 0 && tags.length > 0, operationId)
})

t.test('every mounted path is described, but for its other spellings', async t => {
  const answers = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method} ${path}`)
  )
  t.equal(
    answers.filter(each => each.startsWith('put /crm/rest/v1/')).length,
    8 + 3,
    'a verb for each operation, the participles, the item and its commands'
  )
  t.strictSame(
    answers.filter(each => each.startsWith('post /crm/rest/v1/')),
    [`post ${home}`, `post ${home}/{id}/{word}`],
    'the creation, and the nouns'
  )
  t.notOk(Object.keys(paths).some(path => path.endsWith('/') || path.includes('extension')))
})

t.test('where pages send forms, forms are described', async t => {
  const bodies = (path: string, method: string) =>
    Object.keys((paths[path]?.[method] as { requestBody?: { content: object } }).requestBody?.content ?? {})
  const both = ['application/json', 'application/x-www-form-urlencoded']
  t.strictSame(bodies('/crm/rest/v1/deals', 'post'), both)
  t.strictSame(bodies('/crm/rest/v1/deals/{id}/{word}', 'post'), both)
  t.strictSame(bodies('/crm/rest/v1/deals/{id}/hold', 'put'), ['application/json'])
})

t.test('answers without a body are described without one', async t => {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const status of ['204', '303', '304']) {
        t.equal(responses[status]?.content, undefined, `${method} ${path} ${status}`)
      }
      if (path.startsWith('/crm/command/')) t.equal(responses['200']?.content, undefined, `${method} ${path} 200`)
    }
  }
})
