import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { customers, defineFamily, memoryStorage } from '../../lib/index.js'
import { wholeDocument } from './whole.js'

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: Record<string, unknown>
}
interface Answer {
  description: string
  headers?: Record<string, { description?: string }>
  content?: Record<string, { schema: Record<string, unknown> }>
}
interface Operation {
  operationId: string
  summary: string
  tags: string[]
  parameters: Parameter[]
  responses: Record<string, Answer>
}
interface Document { openapi: string, paths: Record<string, Record<string, Operation>> }

const everything = defineFamily({
  name: 'things',
  singular: 'thing',
  fields: Type.Object({
    id: Type.String(),
    price: Type.Number(),
    held: Type.Boolean(),
    born: Type.String({ format: 'date' }),
    seen: Type.Optional(Type.String({ format: 'date-time' })),
    status: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
    tags: Type.Array(Type.String()),
    note: Type.Optional(Type.String())
  }),
  order: ['-born'],
  search: ['note']
})

const ofOne = ['application/json', 'application/xml', 'text/html']
const ofPages = [...ofOne, 'text/csv', 'application/x-ndjson']
const ofProblems = ['application/problem+json']

async function documentsOf (): Promise<{ document: Document, whole: Document }> {
  const app = Fastify()
  await app.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'A host', version: '1' } } })
  app.get('/health', async () => 'of the host')
  app.register(customers, { storage: memoryStorage() })
  app.register(customers, { storage: memoryStorage(), prefix: '/crm', emptyList: 'not-found' })
  app.register(customers, { storage: memoryStorage(), prefix: '/crm', version: 'v1' })
  app.register(everything, { storage: memoryStorage(), prefix: '/:tenant', maxPageSize: 77 })
  await app.ready()
  await app.close()
  return { document: app.swagger() as unknown as Document, whole: wholeDocument<Document>(app) }
}

t.test('the document of a host', async t => {
  const { document, whole } = await documentsOf()
  const operations = Object.entries(whole.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  )
  const ours = operations.filter(({ path }) => path !== '/health')

  await t.test('is valid OpenAPI 3.1', async t => {
    t.equal(document.openapi, '3.1.0')
    t.strictSame(await new Validator().validate({ ...structuredClone(document) }), { valid: true })
  })

  await t.test('has every path once, and no path that is only tolerated', async t => {
    const results = (prefix: string) =>
      ['customers', 'customers-by-age', 'customers-by-children'].map(name => `${prefix}/query/${name}/{parameter}`)
    t.strictSame(
      Object.keys(document.paths).sort(),
      [
        '/crm',
        '/crm/customers',
        '/crm/customers/{id}',
        ...results('/crm'),
        '/crm/rest/v1/customers',
        '/crm/rest/v1/customers/{id}',
        '/customers',
        '/customers/{id}',
        '/health',
        ...results(''),
        '/{tenant}/',
        '/{tenant}/query/things/{parameter}',
        '/{tenant}/things',
        '/{tenant}/things/{id}'
      ].sort()
    )
    t.ok(ours.every(({ method }) => method === 'get'))
  })

  await t.test('every operation is named, summed up and described', async t => {
    const typesOf = (path: string) => path.includes('/query/')
      ? ofOne.slice(0, 1)
      : path.endsWith('/{id}') || ['/crm', '/{tenant}/'].includes(path) ? ofOne : ofPages
    const ids = ours.map(({ operation }) => operation.operationId)
    t.strictSame(ids, [...new Set(ids)], 'unique operation ids')
    for (const { path, operation } of ours) {
      t.match(operation.operationId, /^[a-z][A-Za-z0-9_]+$/, path)
      t.ok(operation.summary, `${path}: summary`)
      t.equal(operation.tags.length, 1, `${path}: tag`)
      for (const { name, description, schema } of operation.parameters) {
        const isFilter = name === 'id' || !['page', 'sort', 'or'].includes(name)
        t.ok(description ?? isFilter, `${path}: ${name} is described`)
        t.ok(schema.type ?? schema.anyOf, `${path}: ${name} has a type`)
      }
      for (const [status, answer] of Object.entries(operation.responses)) {
        t.ok(answer.description, `${path}: ${status} is described`)
        const types = Object.keys(answer.content ?? {})
        t.strictSame(
          types,
          status === '304' ? [] : status === '200' ? typesOf(path) : ofProblems,
          `${path}: ${status} in its media types`
        )
      }
    }
  })

  const parameters = (path: string) =>
    new Map((whole.paths[path]?.get as Operation).parameters.map(parameter => [parameter.name, parameter]))

  await t.test('every way to filter is there, with its type', async t => {
    const list = parameters('/customers')
    for (const name of [
      'page',
      'maxpagesize',
      'sort',
      'fields',
      'count',
      'format',
      'gt',
      'lt',
      'min',
      'max',
      'age',
      'min-age',
      'max-age',
      'min-children',
      'after',
      'before',
      'or'
    ]) {
      t.ok(list.has(name), name)
    }
    const things = parameters('/{tenant}/things')
    const schemaOf = (name: string) => things.get(name)?.schema
    const items = (name: string) => {
      const [one, list] = (schemaOf(name) as { anyOf: [object, { type: string, items: object }] }).anyOf
      t.strictSame(list, { type: 'array', items: one }, `${name}: one value or several`)
      return one
    }
    t.strictSame(items('price'), { type: 'number' })
    t.strictSame(schemaOf('held'), { type: 'boolean' }, 'one value')
    t.strictSame(schemaOf('min-born'), { type: 'string', format: 'date' })
    t.strictSame(schemaOf('max-seen'), { type: 'string', anyOf: [{ format: 'date-time' }, { format: 'date' }] })
    t.strictSame(schemaOf('seen.null'), { type: 'boolean' })
    t.match(things.get('sort')?.schema, { default: '-born,id' }, 'the order where none is asked for')
    t.match(things.get('or'), { schema: { type: 'object' } }, 'whose members are parameters of their own')
    t.strictSame(items('status'), { type: 'string', enum: ['open', 'closed'] })
    for (const name of ['min-held', 'status.gt', 'tags', 'gt', 'seen']) t.notOk(things.has(name), name)
    t.match(things.get('maxpagesize')?.description, '77')
    t.match(items('state'), { type: 'string', enum: ['open', 'closed'] })
    t.match(things.get('search')?.description, 'one of note')
    t.match(schemaOf('time-zone'), { type: 'string' })
    t.strictSame([list.has('state'), list.has('search'), list.has('time-zone')], [false, false, false],
      'where there are no states, texts and times')
  })

  await t.test('the conditions of one item, and its validators', async t => {
    const one = whole.paths['/customers/{id}']?.get as Operation
    const headers = one.parameters.filter(parameter => parameter.in === 'header').map(({ name }) => name)
    t.strictSame(headers, ['if-none-match'])
    t.strictSame(Object.keys(one.responses), ['200', '304', '400', '404', 'default'])
    t.strictSame(Object.keys(one.responses[200]?.headers ?? {}), ['etag'])
    t.match(
      one.parameters.find(({ name }) => name === 'id'),
      { in: 'path', required: true, schema: { type: 'integer' } }
    )
  })

  await t.test('problems are described with their codes', async t => {
    const list = whole.paths['/customers']?.get as Operation
    t.strictSame(Object.keys(list.responses), ['200', '400', 'default'])
    t.equal(list.responses['400']?.description, 'invalid-query')
    t.match(
      (whole.paths['/crm/customers']?.get as Operation).responses['404']?.description,
      'empty-list',
      'where the option makes it one'
    )
  })
})
