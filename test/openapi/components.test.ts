import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import { ourDeals } from '../../examples/own-operation.js'
import { customers, dealbook, deals, memoryStorage } from '../../lib/index.js'
import { bills, people } from '../family/keyed.js'
import { findFlaws } from './unsaid.js'
import { wholeDocument } from './whole.js'

type Json = Record<string, unknown>
type Kind = 'schemas' | 'parameters' | 'responses' | 'headers' | 'examples' | 'securitySchemes'

interface Document {
  readonly openapi: string
  readonly tags?: readonly { name: string, description?: string }[]
  readonly paths: Record<string, Record<string, Json & { readonly requestBody?: { required: boolean } }>>
  readonly components: Record<Kind, Record<string, Json>>
}

const info = { title: 'A host', version: '1' }

async function documentOf (
  t: Test,
  register: (app: FastifyInstance) => unknown,
  options: FastifyDynamicSwaggerOptions = { openapi: { openapi: '3.1.0', info } }
): Promise<Document & { readonly whole: Document }> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, options)
  await register(app)
  await app.ready()
  const document = app.swagger() as unknown as Document
  return { ...document, get whole () { return wholeDocument<Document>(app) } }
}

const registerBoth = (app: FastifyInstance) => app.register(dealbook, { storage: memoryStorage(), version: 'v1' })

t.test('the document of customers and deals is small, and its parts have names', async t => {
  const { whole, ...document } = await documentOf(t, registerBoth)
  const { components: { schemas, parameters, responses, headers, examples } } = document
  const size = JSON.stringify(document).length
  t.ok(size < 200_000, `${size} characters`)
  t.ok(JSON.stringify(whole).length > 3 * size, 'of which most would be repeated')
  const actions = [
    'HoldDeal', 'UnholdDeal', 'CompleteDeal', 'CancelDeal', 'ChangeDealPrice', 'ChangeDealCompletionDate', 'EditDeal'
  ]
  t.strictSame(Object.keys(schemas).filter(name => !name.endsWith('Filter')).sort(), [
    'Customer', 'CustomerList', 'CustomerPage',
    'Deal', 'DealAction', 'DealChanges', 'DealCommand', 'DealEntry', 'DealEntryPage', 'DealList', 'DealPage',
    'NewDeal', 'LinkedDeal', 'DealLinks', 'DealOperation', 'DealOperations', 'UnchangedDeal',
    'LinkedCustomer', 'CustomerLinks', 'DeleteDealParams', 'DeleteDealProperties',
    ...actions.flatMap(action => ['Params', 'Action', 'Command', 'Properties'].map(end => action + end)),
    'AnyCommand', 'PageLinks', 'Problem'
  ].sort())
  for (const name of ['DealId', 'CommandId', 'IfMatch', 'IdempotencyKey', 'Prefer', 'page', 'Deal.min-price']) {
    t.ok(parameters[name], name)
  }
  for (const name of [
    'LinkedDeal', 'DealPage', 'BadRequest', 'Unauthorized', 'Forbidden', 'NotFound', 'Conflict', 'ServiceUnavailable',
    'DefaultProblem', 'NotModified', 'NoContent'
  ]) t.ok(responses[name], name)
  t.ok(headers['Etag'])
  t.match(responses['NotFound'], {
    content: { 'application/problem+json': { examples: { 'not-found': { $ref: '#/components/examples/NotFound' } } } }
  })
  t.match(examples['NotFound'], { value: { status: 404 } })

  for (const [kind, made] of Object.entries({ schemas, parameters, responses, headers, examples })) {
    const texts = Object.values(made).map(each => JSON.stringify(each))
    // Two operations may happen to need nothing; items and entries both have an id and a time.
    t.ok(texts.length - new Set(texts).size < (kind === 'parameters' ? 40 : 5), `${kind}: hardly anything twice`)
    for (const name of Object.keys(made)) {
      t.match(name, /^[\w.-]+$/, name)
      t.match(JSON.stringify(document), `"#/components/${kind}/${name}"`, `${name} is used`)
    }
  }
  t.notMatch(JSON.stringify(document), /x-component|x-parameter/)
})

t.test('a document of either version of OpenAPI is valid', async t => {
  for (const openapi of ['3.0.3', '3.1.0']) {
    const { whole, ...document } = await documentOf(t, app => {
      registerBoth(app)
      app.register(invoices, { storage: memoryStorage() })
    }, { openapi: { openapi, info } })
    t.strictSame(await new Validator().validate(JSON.parse(JSON.stringify(document))), { valid: true }, openapi)
    t.equal(document.components.schemas['Deal']?.['example'] !== undefined, openapi === '3.0.3', `${openapi}: example`)
  }
})

t.test('every schema of an object has an example, and every example is valid where it stands', async t => {
  const { whole, whole: { components: { schemas } } } = await documentOf(t, app => {
    registerBoth(app)
    app.register(ourDeals, { storage: memoryStorage(), prefix: '/ours', version: 'v2' })
    app.register(invoices, { storage: memoryStorage() })
    app.register(people, { storage: memoryStorage(), prefix: '/keyed' })
  })
  const checked = new Set<string>()
  const visit = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { schema, example, examples = [], ...others } = value as Json
    const listed = Array.isArray(examples) ? examples : Object.values(examples as object).map(({ value }) => value)
    for (const each of [...listed, ...(example === undefined ? [] : [example])]) {
      const judged = (schema ?? others) as Json
      const text = JSON.stringify([judged, each])
      const flaws = checked.has(text) ? '' : findFlaws(judged, each)
      if (flaws !== '') t.fail(`${place}: ${JSON.stringify(each)} ${flaws}`)
      checked.add(text)
    }
    for (const [name, each] of Object.entries({ schema, ...others })) visit(each, `${place}/${name}`)
  }
  // What is in components.examples is filled in where it stands.
  const { examples: _examples, ...components } = whole.components
  visit(components, '')
  t.ok(checked.size > 150, `${checked.size} examples`)
  for (const [name, { type, examples }] of Object.entries(schemas)) {
    if (type === 'object') t.equal((examples as unknown[]).length, 1, name)
  }
  t.match(schemas['Deal']?.['examples'], [{ name: 'Supply contract', price: 1200, status: 'open' }])
  t.match(schemas['HoldDealParams']?.['examples'], [{ reason: 'Papers are missing' }])
  t.match(schemas['Problem']?.['examples'], [{ type: 'urn:dealbook:problem:wrong-state' }])
})

t.test('what differs has names of its own, in the order of the mounts', async t => {
  const { components: { schemas }, paths, whole } = await documentOf(t, app => {
    const storage = memoryStorage()
    app.register(deals, { storage, prefix: '/crm', version: 'v1' })
    app.register(deals, { storage: memoryStorage(), prefix: '/other', version: 'v1' })
    app.register(ourDeals, { storage: memoryStorage(), prefix: '/crm', version: 'v2', unversioned: true })
    app.register(deals.extend({ edit: ['price'] }), { storage: memoryStorage(), prefix: '/other', version: 'v2' })
    app.register(deals.extend({ edit: ['completionDate'] }), {
      storage: memoryStorage(), prefix: '/third', version: 'v2'
    })
    app.register(customers, { storage: memoryStorage() })
    app.register(customers, { storage: memoryStorage(), prefix: '/crm' })
  })
  t.strictSame(
    Object.keys(schemas).filter(name => /^(Deal|EditDealParams|Customer|Problem|HoldDealParams)(\w*\d)?$/.test(name) &&
      !/Page|List|Link|Operation|Action|Changes|Command|Entry/.test(name)).sort(),
    ['Customer', 'Deal', 'DealV2',
      'EditDealParams', 'EditDealParamsThirdV2', 'EditDealParamsV2', 'HoldDealParams', 'Problem']
  )
  const schemaOf = (path: string, method = 'get') =>
    JSON.stringify((paths[path]?.[method] as { responses: Json }).responses['200'])
  t.equal(schemaOf('/crm/rest/v1/deals'), schemaOf('/other/rest/v1/deals'), 'the same twice is one')
  t.not(schemaOf('/crm/rest/v1/deals'), schemaOf('/crm/rest/v2/deals'))
  t.match(JSON.stringify(whole.paths['/crm/rest/v2/deals/{id}']?.['get']), '"region"')
  t.notMatch(JSON.stringify(whole.paths['/crm/rest/v1/deals/{id}']?.['get']), '"region"')
  t.match(JSON.stringify(whole.paths['/crm/command/CreateDeal']), '"region"', 'of the mount that has the shared paths')
  t.ok(schemas['DealV2']?.['properties'] as Json, 'by the version, wherever it is met first')
  t.match(schemas['DealV2'], { properties: { region: { type: 'string' } } })
})

t.test('a body is required only where something must be sent', async t => {
  const { paths } = await documentOf(t, registerBoth)
  const home = '/rest/v1/deals'
  for (const [method, path, required] of [
    ['post', home, true],
    ['put', `${home}/{id}`, false],
    ['patch', `${home}/{id}`, false],
    ['put', `${home}/{id}/hold`, true],
    ['put', `${home}/{id}/unhold`, false],
    ['put', `${home}/{id}/completed`, false],
    ['post', `${home}/{id}/completions`, false],
    ['post', `${home}/{id}/deletions`, false],
    ['post', `${home}/{id}/cancellations`, true],
    ['put', `${home}/{id}/commands/{command}`, true],
    ['put', '/rest/commands/{command}', true],
    ['post', '/command/UnholdDeal', true]
  ] as const) t.equal(paths[path]?.[method]?.requestBody?.required, required, `${method} ${path}`)
})

t.test('tags say what a route is about, and are described once', async t => {
  const { paths, tags = [] } = await documentOf(t, registerBoth, {
    openapi: { openapi: '3.1.0', info, tags: [{ name: 'deals', description: 'by the host' }] }
  })
  t.strictSame(tags.map(({ name }) => name), ['deals', 'customers', 'deals: operations', 'deals: commands', 'commands'])
  t.equal(tags[0]?.description, 'by the host')
  const used = Object.values(paths).flatMap(path => Object.values(path).flatMap(({ tags }) => tags as string[]))
  t.strictSame([...new Set(used)].sort(), tags.map(({ name }) => name).sort())
  const tagOf = (method: string, path: string) => paths[path]?.[method]?.['tags']
  t.strictSame(tagOf('post', '/rest/v1/deals'), ['deals'])
  t.strictSame(tagOf('put', '/rest/v1/deals/{id}/hold'), ['deals: operations'])
  t.strictSame(tagOf('get', '/rest/v1/deals/{id}/commands'), ['deals: commands'])
})

t.test('what is referred to may stand in the place of its id, where it is read', async t => {
  const { components: { schemas }, whole: { paths } } = await documentOf(t, app => {
    const storage = memoryStorage()
    app.register(people, { storage, prefix: '/keyed' })
    app.register(bills, { storage, prefix: '/keyed' })
  })
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  t.match(schemas['Bill'], { properties: { customer: { type: 'integer' } } })
  t.match(schemas['ExpandedBill'], {
    properties: { customer: { anyOf: [{ type: 'integer' }, ref('Person')] }, payer: { anyOf: { 1: ref('Person') } } }
  })
  t.strictSame(schemas['ExpandedBill']?.['required'], schemas['Bill']?.['required'])
  t.match(schemas['BillPage'], { properties: { items: { items: { anyOf: [ref('Bill'), ref('ExpandedBill')] } } } })
  t.match(schemas['BillList'], { items: { anyOf: [ref('Bill'), ref('ExpandedBill')] } })
  t.strictSame(schemas['ReadBill'], { anyOf: [ref('LinkedBill'), ref('ExpandedLinkedBill')] })
  t.match(schemas['ExpandedPerson'], { properties: { boss: { anyOf: [{ type: 'integer' }, ref('Person')] } } })
  t.notMatch(JSON.stringify(paths['/keyed/bills']?.['post']), '"boss"', 'what was written has ids')
  t.notOk(Object.keys(schemas).some(name => /\d$/.test(name)), 'each once')
})

t.test('the home is described where there is one, once', async t => {
  const own = (app: FastifyInstance) => app.get('/crm', { schema: { summary: 'own' } }, async () => 'own')
  const register = (options: { prefix?: string, home?: boolean }) => async (app: FastifyInstance) => {
    const storage = memoryStorage()
    for (const version of ['v1', 'v2']) await app.register(customers, { storage, version, ...options })
  }
  for (const [name, add, path] of [
    ['at a prefix', register({ prefix: '/crm' }), '/crm'],
    ['at a prefix with a slash', register({ prefix: '/crm/' }), '/crm/'],
    ['at one with a parameter', register({ prefix: '/:tenant' }), '/{tenant}/'],
    ['at the root, if asked for', register({ home: true }), '/'],
    ['not at the root', register({}), undefined],
    ['not if it is not wanted', register({ prefix: '/crm', home: false }), undefined],
    ['not where the host has its own', async app => { own(app); await register({ prefix: '/crm' })(app) }, undefined]
  ] as readonly [string, (app: FastifyInstance) => unknown, string | undefined][]) {
    const { paths, components: { schemas }, tags = [] } = await documentOf(t, add)
    const idOf = (path: string) => String(paths[path]?.['get']?.['operationId'])
    const homes = Object.keys(paths).filter(path => idOf(path).startsWith('readHome'))
    t.strictSame(homes, path === undefined ? [] : [path], name)
    t.equal(schemas['Home'] !== undefined, path !== undefined, name)
    t.equal(tags.some(({ name }) => name === 'home'), path !== undefined, name)
    if (path !== undefined) t.strictSame(paths[path]?.['get']?.['tags'], ['home'])
  }
  const { paths } = await documentOf(t, register({ prefix: '/crm' }), {
    openapi: { openapi: '3.1.0', info },
    transform: ({ schema, url }) => ({ schema, url: `/api${url}` })
  })
  t.ok(paths['/api/crm']?.['get'], 'where the host moves it')
  const old = await documentOf(t, register({ prefix: '/crm' }), { swagger: { info } })
  t.match(old.paths['/crm'], { get: { operationId: 'readHome_crm' } }, 'in Swagger 2 too')
})

t.test('every parameter of a path is described', async t => {
  const { whole: { paths } } = await documentOf(t, app =>
    app.register(dealbook, { storage: memoryStorage(), prefix: '/:tenant/crm', version: 'v1' }))
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { parameters }] of Object.entries(methods)) {
      const named = (parameters as { in: string, name: string }[]).filter(each => each.in === 'path')
      t.strictSame(named.map(({ name }) => name), Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name),
        `${method} ${path}`)
    }
  }
})

/** Routes and schemas of the host's own, with names and words that ours have too. */
async function registerHost (app: FastifyInstance): Promise<void> {
  app.addSchema({ $id: 'Deal', type: 'object', properties: { hostOnly: { type: 'string' } } })
  app.get('/mine', {
    schema: { response: { 200: { $ref: 'Deal#' }, 404: { type: 'object', properties: { title: { type: 'string' } } } } }
  }, async () => ({}))
}

const ownComponents = {
  schemas: { Problem: { type: 'string' } },
  parameters: { page: { in: 'query', name: 'p', schema: { type: 'string' } } },
  securitySchemes: { basic: { type: 'http', scheme: 'basic' } }
} as const

t.test('the schemas and components of a host stay as they are', async t => {
  const given = structuredClone(ownComponents)
  const { components, paths, whole } = await documentOf(t, async app => {
    await registerHost(app)
    await registerBoth(app)
    await app.ready()
    t.strictSame(Object.keys(app.getSchemas()), ['Deal'], 'none of ours')
  }, {
    openapi: { openapi: '3.1.0', info, components: given },
    refResolver: { buildLocalReference: json => String(json.$id) }
  })
  t.strictSame(given, ownComponents, 'what it gave is not changed')
  t.match(components, ownComponents)
  t.match(components.schemas['Deal'], { properties: { hostOnly: { type: 'string' } } })
  t.match(components.schemas['DealV1'], { properties: { price: { type: 'number' } } })
  t.match(components.schemas['Problem2'], { properties: { detail: { type: 'string' } } })
  t.match(paths['/mine']?.['get'], {
    responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Deal' } } } } }
  })
  t.match(JSON.stringify(whole.paths['/rest/v1/deals/{id}']?.['get']), '"holdReason"')
})

t.test('what a host does to routes and to the document is done', async t => {
  const { paths, components } = await documentOf(t, registerBoth, {
    openapi: { openapi: '3.1.0', info },
    transform: ({ schema, url }) => ({
      schema: { ...schema, ...(url.includes('/holds') ? { hide: true } : { security: [] }) },
      url: `/api${url}`
    }),
    transformObject (document) {
      const { openapiObject } = document as unknown as { openapiObject: Document }
      t.ok(openapiObject.components.schemas['Deal'], 'it sees the components')
      return { ...openapiObject, 'x-seen': true } as never
    }
  })
  t.ok(paths['/api/rest/v1/deals/{id}/hold'])
  t.notOk(paths['/api/rest/v1/deals/{id}/holds'])
  t.strictSame(paths['/api/customers']?.['get']?.['security'], [])
  t.ok(components.schemas['Deal'])
})

t.test('swagger in a scope, under another name, and asked twice', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  registerBoth(app)
  let inner: FastifyInstance | undefined
  app.register(async scope => {
    await scope.register(swagger, { openapi: { openapi: '3.1.0', info }, decorator: 'inner' })
    await scope.register(invoices, { storage: memoryStorage(), prefix: '/scope' })
    inner = scope
  })
  await app.ready()
  const { inner: describe } = inner as unknown as { inner: (options?: { yaml: true }) => unknown }
  const document = describe() as Document
  t.ok(document.components.schemas['Invoice'])
  t.notOk(document.components.schemas['Deal'], 'of another scope')
  t.equal(describe(), document)
  t.match(describe({ yaml: true }), '#/components/schemas/Invoice')
})

t.test('a document of Swagger 2 has everything in its place', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { swagger: { info } })
  registerBoth(app)
  await app.ready()
  t.match(JSON.stringify(app.swagger().paths?.['/rest/v1/deals/{id}/hold']), 'Why the deal is held')
})
