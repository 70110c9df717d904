import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance, RouteOptions } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import { ourDeals } from '../../examples/own-operation.js'
import { customers, dealbook, deals, findMounts, memoryStorage } from '../../lib/index.js'
import { bills, people } from '../family/keyed.js'
import { wholeDocument } from './whole.js'

type Json = Record<string, unknown>

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Json>>
  readonly components: { readonly schemas: Record<string, Json> }
}

const info = { title: 'A host', version: '1' }
// Without it, swagger numbers them.
const refResolver = { buildLocalReference: (json: Json) => String(json['$id']) }

async function documentOf (
  t: Test,
  register: (app: FastifyInstance) => unknown,
  options: FastifyDynamicSwaggerOptions = { openapi: { openapi: '3.1.0', info } }
): Promise<Document & { readonly whole: Document }> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { refResolver, ...options } as FastifyDynamicSwaggerOptions)
  await register(app)
  await app.ready()
  const document = app.swagger() as unknown as Document
  return { ...document, get whole () { return wholeDocument<Document>(app) } }
}

const registerBoth = (app: FastifyInstance) => app.register(dealbook, { storage: memoryStorage(), version: 'v1' })

t.test('what routes have in common is a schema with a name', async t => {
  const { whole, ...document } = await documentOf(t, registerBoth)
  const { components: { schemas } } = document
  t.ok(JSON.stringify(whole).length > 2 * JSON.stringify(document).length, 'most would be repeated')
  const actions = [
    'HoldDeal', 'UnholdDeal', 'CompleteDeal', 'CancelDeal', 'ChangeDealPrice', 'ChangeDealCompletionDate', 'EditDeal'
  ]
  t.strictSame(Object.keys(schemas).sort(), [
    'Customer', 'CustomerLinks', 'CustomerPage', 'LinkedCustomer', 'ListMembers', 'OtherProblem', 'Problem',
    'Customer400', 'Customer404', 'CustomerPage400', 'Deal400', 'Deal404', 'Deal412', 'DealPage400',
    'CreateDeal400', 'Deal422', 'DeleteDeal409',
    'RestoreDeal400', 'RestoreDeal410', 'RestoreDealParams', 'RestoreDealProperties',
    ...actions.map(action => `${action}400`),
    ...actions.filter(action => action !== 'EditDeal').map(action => `${action}409`),
    'CommandMembers', 'Deal', 'DealAction', 'DealChanges', 'DealCommand', 'DealEntry', 'DealEntryPage', 'DealLinks',
    'DealNounParams', 'DealOperations', 'DealPage', 'DealParticipleParams', 'DeleteDealParams',
    'DeleteDealProperties', 'DealResult', 'SentCreateDeal', 'SentDealCommand',
    'LinkedDeal', 'NewDeal', 'OperationOffer', 'UnchangedDeal',
    ...actions.flatMap(action => ['Params', 'Action', 'Command', 'Properties'].map(end => action + end))
  ].map(name => `dealbook.${name}`).sort())
  for (const name of Object.keys(schemas)) {
    t.match(name, /^[\w.-]+$/, name)
    t.match(JSON.stringify(document), `"#/components/schemas/${name}"`, `${name} is used`)
  }
})

t.test('a document of either version of OpenAPI is valid', async t => {
  for (const openapi of ['3.0.3', '3.1.0']) {
    const { whole, ...document } = await documentOf(t, app => {
      registerBoth(app)
      app.register(invoices, { storage: memoryStorage() })
    }, { openapi: { openapi, info } })
    t.strictSame(await new Validator().validate(JSON.parse(JSON.stringify(document))), { valid: true }, openapi)
  }
})

t.test('mounts share schemas that do not differ', async t => {
  const { components: { schemas }, whole } = await documentOf(t, app => {
    app.register(deals, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
    app.register(ourDeals, { storage: memoryStorage(), prefix: '/crm', version: 'v2', unversioned: true })
    app.register(customers, { storage: memoryStorage(), prefix: '/:tenant' })
  })
  for (const name of ['dealbook.Deal', 'crm.v2.Deal', 'dealbook.Customer']) t.ok(schemas[name], name)
  t.notOk(schemas['crm.v2.HoldDealParams'], 'the same in both versions')
  t.match(schemas['crm.v2.Deal'], { properties: { region: { type: 'string' } } })
  t.match(JSON.stringify(whole.paths['/crm/rest/v2/deals/{id}']?.['get']), '"region"')
  t.notMatch(JSON.stringify(whole.paths['/crm/rest/v1/deals/{id}']?.['get']), '"region"')
  t.match(JSON.stringify(whole.paths['/crm/command/{word}']), '"region"', 'of the mount that has the shared paths')
  const { put } = whole.paths['/crm/rest/commands/{command}'] as { put: Json }
  const { post } = whole.paths['/crm/rest/commands'] as { post: Json }
  for (const { requestBody, operationId } of [put, post]) {
    t.match(JSON.stringify(requestBody), '"ApproveDeal"', `${String(operationId)}: what only that mount has`)
  }
  t.match(put['requestBody'], { content: { 'application/json': { schema: { anyOf: { length: 8 } } } } }, 'each once')
  t.match(JSON.stringify(post['responses']), '"region"', 'and its answers')
})

t.test('tags say what a route is about', async t => {
  const { paths } = await documentOf(t, registerBoth)
  const used = Object.values(paths).flatMap(path => Object.values(path).flatMap(({ tags }) => tags as string[]))
  t.strictSame([...new Set(used)].sort(), [
    'commands', 'customers', 'customers: other forms', 'deals', 'deals: log', 'deals: operations', 'deals: other forms'
  ])
  const tagOf = (method: string, path: string) => paths[path]?.[method]?.['tags']
  t.strictSame(tagOf('post', '/rest/v1/deals'), ['deals'])
  t.strictSame(tagOf('put', '/rest/v1/deals/{id}/hold'), ['deals: operations'])
  t.strictSame(tagOf('get', '/rest/v1/deals/{id}/commands'), ['deals: log'])
  t.strictSame(tagOf('put', '/rest/v1/deals/{id}'), ['deals: other forms'])
  t.strictSame(tagOf('put', '/rest/v1/deals/{id}/commands/{command}'), ['deals: other forms'])
  t.strictSame(tagOf('put', '/rest/commands/{command}'), ['commands'])
})

t.test('what is referred to may stand in the place of its id, where it is read', async t => {
  const { components: { schemas }, whole: { paths } } = await documentOf(t, app => {
    const storage = memoryStorage()
    app.register(people, { storage, prefix: '/keyed' })
    app.register(bills, { storage, prefix: '/keyed' })
  })
  const ref = (name: string) => ({ $ref: `#/components/schemas/dealbook.${name}` })
  const schemaOf = (name: string) => schemas[`dealbook.${name}`] as Json
  t.match(schemaOf('Bill'), { properties: { customer: { type: 'integer' } } })
  t.match(schemaOf('ExpandedBill'), {
    properties: { customer: { anyOf: [{ type: 'integer' }, ref('Person')] }, payer: { anyOf: { 1: ref('Person') } } }
  })
  t.strictSame(schemaOf('ExpandedBill')['required'], schemaOf('Bill')['required'])
  t.match(schemaOf('BillPage'), {
    allOf: [{ properties: { items: { items: { anyOf: [ref('Bill'), ref('ExpandedBill')] } } } }, ref('ListMembers')]
  })
  t.match(schemaOf('ExpandedPerson'), { properties: { boss: { anyOf: [{ type: 'integer' }, ref('Person')] } } })
  t.match(JSON.stringify(paths['/keyed/bills/{id}']?.['get']), '"boss"')
  t.notMatch(JSON.stringify(paths['/keyed/bills']?.['post']), '"boss"', 'what was written has ids')
})

t.test('items of a family that is not mounted stand nowhere', async t => {
  const { components: { schemas } } = await documentOf(t, app => app.register(bills, { storage: memoryStorage() }))
  t.ok(schemas['dealbook.Bill'])
  t.strictSame(Object.keys(schemas).filter(name => /Expanded|Person/.test(name)), [])
})

t.test('nothing is described until it is asked for', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const known: (RouteOptions | FastifyInstance)[] = []
  app.addHook('onRoute', route => { known.push(route) })
  app.addHook('onRegister', scope => { known.push(scope) })
  registerBoth(app)
  await app.ready()
  t.ok(known.length > 100, `${known.length} routes and scopes`)
  const described = known.flatMap(each => 'schema' in each ? Object.keys(each.schema ?? {}) : [])
  t.strictSame([...new Set(described)].sort(), ['consumes', 'hide'])
  const scopes = known.filter(each => 'getSchemas' in each)
  const scope = scopes.find(scope => Object.keys(scope.getSchemas()).length > 0)
  t.match(scope?.getSchema('dealbook.Problem'), { required: ['type', 'title', 'status', 'detail'] })
  const hold = findMounts(app).flatMap(({ routes }) => routes).find(({ path }) => path.endsWith('/:id/hold'))
  t.match(hold, { kind: 'operation', method: 'PUT', forms: ['verb'], targets: [{ action: 'HoldDeal' }] })
  t.match(hold?.schema, { body: { $ref: 'dealbook.HoldDealParams#' } }, 'as all routes are')
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

t.test('the schemas and components of a host stay as they are', async t => {
  const own = { Problem: { type: 'string' } } as const
  const given = { schemas: structuredClone(own) }
  const { components, paths, whole } = await documentOf(t, async app => {
    await registerHost(app)
    await registerBoth(app)
    await app.ready()
    t.strictSame(Object.keys(app.getSchemas()), ['Deal'], 'none of ours')
  }, { openapi: { openapi: '3.1.0', info, components: given } })
  t.strictSame(given.schemas, own, 'what it gave is not changed')
  t.match(components.schemas, own)
  t.match(components.schemas['Deal'], { properties: { hostOnly: { type: 'string' } } })
  t.match(components.schemas['dealbook.Deal'], { properties: { price: { type: 'number' } } })
  t.match(paths['/mine']?.['get'], {
    responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Deal' } } } } }
  })
  t.match(JSON.stringify(whole.paths['/rest/v1/deals/{id}']?.['get']), '"holdReason"')
})

t.test('what a host does to routes and to the document is done', async t => {
  const { paths, components } = await documentOf(t, registerBoth, {
    openapi: { openapi: '3.1.0', info },
    transform: ({ schema, url }) => ({
      schema: { ...schema, ...(url.endsWith('/operations') ? { hide: true } : { security: [] }) },
      url: `/api${url}`
    }),
    transformObject (document) {
      const { openapiObject } = document as unknown as { openapiObject: Document }
      t.ok(openapiObject.components.schemas['dealbook.Deal'], 'it sees the components')
      return { ...openapiObject, 'x-seen': true } as never
    }
  })
  t.ok(paths['/api/rest/v1/deals/{id}/hold'])
  t.ok(paths['/api/rest/v1/deals/{id}/{word}'])
  t.notOk(paths['/api/rest/v1/deals/{id}/operations'])
  t.strictSame(paths['/api/customers']?.['get']?.['security'], [])
  t.ok(components.schemas['dealbook.Deal'])
})

t.test('what a host adds to routes when they are declared stays', async t => {
  const table: readonly ((route: RouteOptions) => void)[] = [
    route => { route.schema = { ...route.schema, security: [], tags: ['ours'] } },
    route => { Object.assign(route.schema ?? {}, { security: [], tags: ['ours'] }) }
  ]
  for (const change of table) {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(swagger, { openapi: { openapi: '3.1.0', info } })
    app.addHook('onRoute', change)
    app.addSchema({ $id: 'dealbook.Home', type: 'object', title: 'Of the host' })
    registerBoth(app)
    await app.ready()
    const { paths, components } = app.swagger() as unknown as Document
    const { summary, tags, security } = paths['/rest/v1/deals/{id}/hold']?.['put'] ?? {}
    t.strictSame({ summary, tags, security }, {
      summary: 'Hold a deal for a reason', tags: ['ours'], security: []
    })
    t.match(JSON.stringify(components), 'Of the host')
  }
})

t.test('swagger in a scope, under another name, and asked twice', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  registerBoth(app)
  let inner: FastifyInstance | undefined
  app.register(async scope => {
    await scope.register(swagger, { openapi: { openapi: '3.1.0', info }, refResolver, decorator: 'inner' })
    await scope.register(invoices, { storage: memoryStorage(), prefix: '/scope' })
    inner = scope
  })
  await app.ready()
  const { inner: describe } = inner as unknown as { inner: (options?: { yaml: true }) => unknown }
  const document = describe() as Document
  t.ok(document.components.schemas['dealbook.Invoice'])
  t.notOk(document.components.schemas['dealbook.Deal'], 'of another scope')
  t.equal(describe(), document)
  t.match(describe({ yaml: true }), '#/components/schemas/dealbook.Invoice')
})

t.test('a document of Swagger 2 has everything in its place', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { swagger: { info } })
  registerBoth(app)
  await app.ready()
  t.match(app.swagger().paths?.['/rest/v1/deals/{id}/hold'], { put: { operationId: 'verbHoldDeal_v1' } })
  t.match(JSON.stringify(app.swagger()), 'Why the deal is held')
})
