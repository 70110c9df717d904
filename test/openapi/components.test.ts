import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import type { Test } from 'tap'
import t from 'tap'
import { invoices } from '../../examples/own-family.js'
import { ourDeals } from '../../examples/own-operation.js'
import { customers, dealbook, deals, memoryStorage } from '../../lib/index.js'
import { wholeDocument } from './whole.js'

type Json = Record<string, unknown>
type Kind = 'schemas' | 'parameters' | 'responses' | 'headers' | 'securitySchemes'

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
  return { ...document, whole: wholeDocument<Document>(app) }
}

const registerBoth = (app: FastifyInstance) => app.register(dealbook, { storage: memoryStorage(), version: 'v1' })

t.test('the document of customers and deals is small, and its parts have names', async t => {
  const { whole, ...document } = await documentOf(t, registerBoth)
  const { components: { schemas, parameters, responses, headers } } = document
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
  for (const name of ['LinkedDeal', 'DealPage', 'BadRequest', 'NotFound', 'Conflict', 'NotModified', 'NoContent']) {
    t.ok(responses[name], name)
  }
  t.ok(headers['Etag'])

  for (const [kind, made] of Object.entries({ schemas, parameters, responses, headers })) {
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

t.test('every schema of an object has an example that is valid', async t => {
  const { whole: { components: { schemas } } } = await documentOf(t, app => {
    registerBoth(app)
    app.register(ourDeals, { storage: memoryStorage(), prefix: '/ours', version: 'v2' })
    app.register(invoices, { storage: memoryStorage() })
  })
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  let checked = 0
  for (const [name, schema] of Object.entries(schemas)) {
    if (schema['type'] !== 'object') continue
    const [example] = schema['examples'] as [unknown]
    t.ok(ajv.validate(schema, example), `${name}: ${JSON.stringify(example)} ${ajv.errorsText()}`)
    checked++
  }
  t.ok(checked > 40, `${checked} examples`)
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
