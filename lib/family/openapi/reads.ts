import { Type } from '@sinclair/typebox'
import type { TObject, TSchema } from '@sinclair/typebox'
import { problemCodes } from '../../problems.js'
import type { ProblemCode } from '../../problems.js'
import type { RouteSchema } from '../../http/routes.js'
import type { Grammar } from '../../query/grammar.js'
import { canShow } from '../../representations/representation.js'
import type { Representation } from '../../representations/representation.js'
import type { Field } from '../../storage/storage.js'
import type { Mount } from '../mount/mount.js'

const Problem = Type.Object({
  type: Type.String({ description: 'urn:dealbook:problem:CODE' }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: 'What is wrong, and what is allowed' }),
  instance: Type.String({ description: 'The path of the request' }),
  errors: Type.Optional(Type.Array(Type.Object({
    parameter: Type.Optional(Type.String({ description: 'The query parameter that is wrong' })),
    pointer: Type.Optional(Type.String({ description: 'The JSON pointer of the member that is wrong' })),
    detail: Type.String()
  })))
})

export const PageLinks = Type.Object({
  self: Type.String(),
  first: Type.String(),
  next: Type.Optional(Type.String({ description: 'By key where the order is by id, so that a crawl misses nothing and repeats nothing' })),
  prev: Type.Optional(Type.String())
})

export function describeList (mount: Mount): RouteSchema {
  const { family } = mount
  return {
    operationId: operationId(mount, `list-${family.name}`),
    summary: `Read a page of ${family.name}`,
    description: `Different parameters must all hold; of a repeated parameter, any value. Besides the parameters listed, every ordered field can be compared as in ${family.fields[0]?.name}>=1, ${family.fields[0]?.name}<1.`,
    tags: [family.name],
    querystring: describePaging(mount, mount.grammar, family.members),
    response: {
      200: shown(mount, 'page', `A page of ${family.name}`, Type.Object({
        items: Type.Array(family.schema),
        page: Type.Integer({ minimum: 1 }),
        pageSize: Type.Integer({ minimum: 1 }),
        total: Type.Optional(Type.Integer({ minimum: 0, description: 'With count=exact: how many there are on all pages' })),
        links: PageLinks
      }), { link: 'The links of the page (RFC 8288)' }),
      ...problems(mount, 'invalid-query', ...(mount.emptyList === 'not-found' ? ['empty-list'] as const : []), 'not-acceptable', 'storage-unavailable')
    }
  }
}

export function describeOne (mount: Mount): RouteSchema {
  const { family } = mount
  const { fields, format } = settings(mount, mount.grammar, family.members)
  return {
    operationId: operationId(mount, `read-${family.singular}`),
    summary: `Read one ${family.singular}`,
    tags: [family.name],
    description: 'With its validators: a client that has the current representation is told so by 304.',
    params: idParams(mount),
    querystring: Type.Object({ fields, format }, { additionalProperties: false }),
    headers: Type.Object({
      'if-none-match': Type.Optional(Type.String({ description: 'Entity tags that the client has; 304 if one is current' })),
      'if-modified-since': Type.Optional(Type.String({ description: 'An HTTP date; 304 if nothing changed since' })),
      'if-match': Type.Optional(Type.String({ description: 'Entity tags; 412 if none is current' })),
      'if-unmodified-since': Type.Optional(Type.String({ description: 'An HTTP date; 412 if something changed since' }))
    }),
    response: {
      200: shown(mount, 'one', `The ${family.singular}`, family.schema, validatorHeaders),
      // The type says that there is no body.
      304: { type: 'null', description: 'The client has the current representation', headers: headersOf(validatorHeaders) },
      ...problems(mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed', 'storage-unavailable')
    }
  }
}

export function describeResult (mount: Mount, name: string, field: Field): RouteSchema {
  const { family } = mount
  const { count, ...paging } = settings(mount, mount.grammar, family.members)
  return {
    operationId: operationId(mount, `query-${name}`, false),
    summary: `List the ${family.name} by ${field.name}`,
    tags: [family.name],
    description: 'The bare list, in pages by the same parameters as everywhere; 404 when it is empty.',
    params: Type.Object({ parameter: { ...valueSchema(field), description: `The ${field.name}` } as TSchema }),
    querystring: Type.Object({ ...paging, ...filters(mount.grammar) }, { additionalProperties: false }),
    response: {
      200: shown(mount, 'page', `The ${family.name}`, Type.Array(family.schema), { link: 'The links to further parts of the list (RFC 8288)' }),
      ...problems(mount, 'invalid-query', 'empty-list', 'not-acceptable', 'storage-unavailable')
    }
  }
}

export const validatorHeaders = {
  etag: 'The revision in this representation, such as "7-json"',
  'last-modified': 'When it last changed'
}

export function idParams ({ family }: Mount): TObject {
  return Type.Object({ id: { ...family.schema.properties.id, description: `The id of the ${family.singular}` } as TSchema })
}

/** An answer in every representation that can show it. */
export function shown (mount: Mount, kind: 'one' | 'page', description: string, schema: TSchema, headers: Record<string, string> = {}): object {
  const able = mount.representations.filter(representation => canShow(representation, kind))
  return { description, headers: headersOf(headers), content: contentOf(able, ({ mediaTypes }) => mediaTypes[0], schema) }
}

/** The problems that a route answers with, several with one status as one. */
export function problems (mount: Mount, ...codes: readonly ProblemCode[]): Record<number, object> {
  const able = mount.representations.filter(representation => representation.problem !== undefined)
  const content = contentOf(able, ({ problemType, mediaTypes }) => problemType ?? mediaTypes[0], Problem)
  const answers: Record<number, { description: string, content: object }> = {}
  for (const code of codes) {
    const { status, title } = problemCodes[code]
    const before = answers[status]
    answers[status] = { description: before === undefined ? `${title} (${code})` : `${before.description}; ${title} (${code})`, content }
  }
  return answers
}

/** Unique over all mounts of an application, since nothing of the place is lost in it: `listDeals_crm_v1`. */
export function operationId (mount: Mount, name: string, versioned = true): string {
  const place = `${mount.prefix}${versioned && mount.version !== undefined ? `/${mount.version}` : ''}`
  const words = place.split('/').filter(word => word !== '').map(word => word.replace(/[^A-Za-z0-9]/gu, escapeInId))
  return [name.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()), ...words].join('_')
}

// So that the id is a name in a program. The usual one, the colon of a parameter, has no number.
function escapeInId (character: string): string {
  return character === ':' ? '__' : `__${character.codePointAt(0)?.toString(16)}`
}

function contentOf (able: readonly Representation[], type: (representation: Representation) => string, schema: TSchema): Record<string, { schema: TSchema }> {
  // Only JSON has the members as the schema says; the others show the same in their own way.
  return Object.fromEntries(able.map(each => [type(each), { schema: each.name === 'json' ? schema : Type.String() }]))
}

/** Headers with what they say. */
export function headersOf (headers: Record<string, string>): Record<string, object> {
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }]))
}

/** The parameters of a page. */
export function describePaging (mount: Mount, grammar: Grammar, members: readonly string[]): TObject {
  return Type.Object({ ...settings(mount, grammar, members), ...filters(grammar) }, { additionalProperties: false })
}

function settings ({ representations }: Mount, { limits }: Grammar, members: readonly string[]) {
  const names = representations.map(({ name }) => name)
  return {
    page: Type.Optional(Type.Integer({ minimum: 1, default: 1, description: 'The number of the page' })),
    maxpagesize: Type.Optional(Type.Integer({ minimum: 1, default: limits.pageSize, description: `Items on the page at most; above ${limits.maxPageSize} it is ${limits.maxPageSize}` })),
    sort: Type.Optional(Type.String({ description: `Fields to order by, separated by commas, "-" before one for descending: ${members.join(', ')}` })),
    fields: Type.Optional(Type.String({ description: `Only these members, separated by commas: ${members.join(', ')}` })),
    count: Type.Optional(Type.Literal('exact', { description: 'Adds total, how many items there are on all pages' })),
    format: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: names, description: 'The representation, before the Accept header' }))
  }
}

function filters (grammar: Grammar): Record<string, TSchema> {
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op, description }] of grammar.filters) {
    const schema = op === 'regex' ? Type.String({ maxLength: grammar.limits.maxPatternLength }) : valueSchema(field)
    described[name] = Type.Optional(Type.Array(schema, { description, maxItems: grammar.limits.maxValues }))
  }
  return described
}

function valueSchema ({ kind, values }: Field): TSchema {
  if (values !== undefined) return Type.Unsafe<string>({ type: 'string', enum: values })
  if (kind === 'integer') return Type.Integer()
  if (kind === 'number') return Type.Number()
  if (kind === 'boolean') return Type.Boolean()
  return Type.String(kind === 'date' || kind === 'date-time' ? { format: kind } : {})
}
