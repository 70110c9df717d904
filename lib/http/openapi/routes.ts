import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { CommandMembers } from '../../core/family/fields.js'
import { type ProblemCode, problemCodes } from '../../core/problems.js'
import { writeOrder } from '../../core/query/cursor.js'
import type { Grammar } from '../../core/query/grammar.js'
import { isSearch } from '../../core/query/values.js'
import type { Field } from '../../core/storage/storage.js'
import { textIdPattern } from '../../core/values/ids.js'
import { canShow, type Representation } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import type { RouteSchema } from '../routes.js'
import { describeId, describeLinkedItem, nameSchema, ProblemSchema } from './schemas.js'

/** The tag of a route: `all commands` and `home` are for all families at a prefix. */
type Group = 'items' | 'operations' | 'commands' | 'all commands' | 'home'

function nameTag (family: string, group: Group): string {
  if (group === 'items') return family
  return group === 'home' ? group : group === 'all commands' ? 'commands' : `${family}: ${group}`
}

/** `path` has the parameters of the path, without those of the prefix. */
export type Description = Omit<RouteSchema, 'params' | 'tags'> & { readonly path?: TProperties }

export function describeItemRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return describeRoute(mount, group, name, { ...description, path: { id: describeId(mount), ...description.path } })
}

/** For a path without a version. */
export function describeSharedRoute (mount: Mount, group: Group, name: string, description: Description): RouteSchema {
  return describeRoute(mount, group, name, description, mount.prefix)
}

/** The operation id is unique over all mounts of an application. */
export function describeRoute (
  { prefix, version = '', family }: Mount,
  group: Group,
  name: string,
  { path = {}, ...schema }: Description,
  place = `${prefix}/${version}`
): RouteSchema {
  // The prefix may have parameters, such as /:tenant.
  const ofPrefix = Array.from(prefix.matchAll(/(?<!:):(\w+)/g), ([, name]) =>
    [name, Type.String({ description: `The ${name} in the path` })])
  const params = { ...Object.fromEntries(ofPrefix), ...path }
  // With the whole place, as in listDeals_crm_v1. Characters not allowed in names become their codes, a colon none.
  const words = place.split('/').filter(word => word !== '').map(word => word.replace(/[^A-Za-z0-9]/gu, character =>
    character === ':' ? '__' : `__${character.codePointAt(0)?.toString(16)}`))
  return {
    operationId: [name.replace(/-+(.)/g, (_, letter: string) => letter.toUpperCase()), ...words].join('_'),
    tags: [nameTag(family.name, group)],
    ...schema,
    ...(Object.keys(params).length > 0 ? { params: Type.Object(params) } : {})
  }
}

const requestHeaders = {
  'idempotency-key': Type.String({
    maxLength: 255, description: 'Makes the request safe to repeat: the first answer is given again'
  }),
  'if-match': Type.String({
    description: 'The revision that the change was decided on, as an entity tag: "7" or "7-json"; 412 if it is not ' +
      'current'
  }),
  'if-modified-since': Type.String({ description: 'An HTTP date; 304 if nothing changed since' }),
  'if-none-match': Type.String({ description: 'Entity tags that the client has; 304 if one is current' }),
  'if-unmodified-since': Type.String({ description: 'An HTTP date; 412 if it changed since' }),
  prefer: Type.String({ description: 'return=minimal for an answer without a body' })
}

export function describeRequestHeaders (...names: readonly (keyof typeof requestHeaders)[]): TObject {
  return Type.Object(Object.fromEntries(names.map(name => [name, Type.Optional(requestHeaders[name])])))
}

export const writeConditions = ['if-match', 'if-unmodified-since'] as const

export const readConditions = ['if-none-match', 'if-modified-since', ...writeConditions] as const

export const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

export const commandIdParameter =
  Type.String({ pattern: textIdPattern, description: 'The id of the command', examples: ['order-17-hold'] })

/** The parameters of each kind of resource. Filters are only described for pages. */
const settings = { page: /./, part: /./, bare: /^(?!count$)/, one: /^(fields|expand|format)$/, format: /^format$/ }

export function describeQuerystring (mount: Mount, list: 'items' | 'log', kind: keyof typeof settings): TObject {
  const grammar = list === 'items' ? mount.grammar : mount.logGrammar
  const members = list === 'items' ? mount.family.members : Object.keys(CommandMembers.properties)
  const known = Object.entries(describeSettings(mount, grammar, members.join(', ')))
  const parameters = Object.fromEntries(known.filter(([name]) => settings[kind].test(name)))
  const all = kind === 'page' ? { ...parameters, ...describeFilters(grammar) } : parameters
  return Type.Partial(Type.Object(all), { additionalProperties: false })
}

function describeSettings ({ representations }: Mount, grammar: Grammar, list: string): Record<string, TSchema> {
  const { limits: { pageSize, maxPageSize }, order, references } = grammar
  return {
    page: Type.Integer({ minimum: 1, default: 1, description: 'The number of the page' }),
    after: Type.String({ description: 'Where the page begins, as the link to it has it; in place of page' }),
    before: Type.String({ description: 'Where the page ends, as the link to it has it; in place of page' }),
    maxpagesize: Type.Integer({
      minimum: 1,
      default: pageSize,
      description: `Items on the page at most; above ${maxPageSize} it is ${maxPageSize}`
    }),
    sort: Type.String({
      default: writeOrder(order),
      description: `Fields to order by, separated by commas, "-" before one for descending: ${list}`
    }),
    fields: Type.String({ description: `Only these members, separated by commas: ${list}` }),
    ...references.length === 0
      ? {}
      : {
          expand: Type.String({
            pattern: `^(${references.join('|')})(,(${references.join('|')}))*$`,
            description: `Shows the items that these refer to, separated by commas: ${references.join(', ')}`
          })
        },
    count: Type.Literal('exact', { description: 'Adds total, how many items there are on all pages' }),
    format: Type.Unsafe<string>({
      type: 'string',
      enum: representations.map(({ name }) => name),
      description: 'The representation, before the Accept header'
    })
  }
}

function describeFilters ({ filters, limits }: Grammar): Record<string, TSchema> {
  const { maxValues, maxPatterns, maxPatternLength: maxLength } = limits
  const described: Record<string, TSchema> = {}
  for (const [name, { field, op, description }] of filters) {
    const value = isSearch(op) ? Type.String({ maxLength }) : op === 'null' ? Type.Boolean() : describeValue(field)
    const maxItems = isSearch(op) ? Math.min(maxValues, maxPatterns) : maxValues
    // Clients get one type for a value or a list; both are sent by the same name, once or repeated.
    described[name] = Type.Union([value, Type.Array(value, { maxItems })], { description })
  }
  // Every name that begins with or. is a parameter; the number of groups is not limited.
  described['or'] = Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Alternatives: any of the filters above with "or." before its name; one of them must hold. Further ' +
      'groups begin with "or1.", "or2." and so on; every group must hold'
  })
  return described
}

export function describeValue ({ kind, values }: Field): TSchema {
  if (values !== undefined) return Type.Unsafe<string>({ type: 'string', enum: values })
  if (kind === 'integer') return Type.Integer()
  if (kind === 'number') return Type.Number()
  if (kind === 'boolean') return Type.Boolean()
  if (kind === 'date' || kind === 'decimal') return Type.String({ format: kind })
  if (kind !== 'date-time') return Type.String()
  // A bare date is the whole day.
  return Type.Unsafe<string>({ type: 'string', anyOf: [{ format: kind }, { format: 'date' }] })
}

const type = 'string'
const headers: Readonly<Record<string, object>> = {
  etag: { type, description: 'The revision in this representation, such as "7-json"' },
  'idempotent-replayed': { type, description: 'true where an earlier answer is given again' }
}

function describeHeaders (names: readonly string[]): { headers?: Record<string, object> } {
  return names.length === 0 ? {} : { headers: Object.fromEntries(names.map(name => [name, headers[name] ?? { type }])) }
}

export function describeAnswer (
  { representations }: Mount,
  kind: 'one' | 'page',
  description: string,
  schema: TSchema,
  ...names: readonly string[]
): object {
  const isJson = ({ name }: Representation) => name === 'json'
  const able = representations.filter(representation => canShow(representation, kind))
  // One schema, JSON first: clients that name no media type then get one type, without a text besides.
  const content = [...able.filter(isJson), ...able.filter(each => !isJson(each))]
    .map(({ mediaTypes }) => [mediaTypes[0], { schema }])
  return { description, ...describeHeaders(names), content: Object.fromEntries(content) }
}

/** The type `null` means that there is no body. */
export function describeNothing (description: string, ...names: readonly string[]): object {
  return { type: 'null', description, ...describeHeaders(names) }
}

export const redirected =
  describeNothing('To what came of it, where a form was sent', 'location', 'idempotent-replayed')

export const minimal = describeNothing(
  'Done; no body, as Prefer: return=minimal asks, or since the caller may not read it',
  'preference-applied', 'content-location', 'idempotent-replayed'
)

export function describePage (mount: Mount, name: string, description: string, items: TSchema): object {
  const total = Type.Integer({ minimum: 0, description: 'With count=exact: how many there are on all pages' })
  const link = Type.String({ format: 'uri-reference' })
  const links = Type.Object({ self: link, first: link, next: Type.Optional(link), prev: Type.Optional(link) })
  return describeAnswer(mount, 'page', description, nameSchema(mount, name, Type.Object({
    items: Type.Array(items),
    page: Type.Integer({ minimum: 1 }),
    pageSize: Type.Integer({ minimum: 1 }),
    total: Type.Optional(total),
    links: nameSchema(mount, 'PageLinks', links)
  })), 'link')
}

type Answers = Record<string, object>

export function describeResource (
  mount: Mount,
  kind: 'one' | 'page',
  description: string,
  schema: TSchema,
  ...more: readonly ProblemCode[]
): Answers {
  return {
    200: describeAnswer(mount, kind, description, schema, 'etag', 'last-modified'),
    304: describeNothing('The client has the current representation', 'etag', 'last-modified'),
    ...describeProblems(mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed', ...more)
  }
}

export function describeItemAnswers (mount: Mount): Answers {
  const description = `The ${mount.family.singular} after it`
  const item = describeLinkedItem(mount)
  return {
    200: describeAnswer(mount, 'one', description, item, 'content-location', 'preference-applied'),
    204: minimal,
    ...describeWriteProblems(mount, '')
  }
}

export function describeCommandAnswers (mount: Mount, schema: TSchema, ...more: readonly ProblemCode[]): Answers {
  const again = 'The same command again: nothing was done twice'
  return {
    200: describeAnswer(mount, 'one', again, schema, 'preference-applied', 'idempotent-replayed'),
    201: describeAnswer(mount, 'one', 'The command, done', schema, 'location', 'preference-applied'),
    204: minimal,
    ...describeWriteProblems(mount, '', 'id-reused', ...more)
  }
}

// Caused by the host's hooks, `authorize` and the storage.
const anywhere = ['unauthorized', 'forbidden', 'storage-unavailable', 'busy', 'timeout'] as const

const headersOf: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  409: ['idempotent-replayed'],
  415: ['accept', 'accept-post', 'accept-patch'],
  503: ['retry-after']
}

/** Problems with the same status are described as one. */
export function describeProblems (mount: Mount, ...own: readonly ProblemCode[]): Answers {
  const ended = mount.retirement.sunset === undefined ? [] : ['gone'] as const
  const codes = [...new Set<ProblemCode>([...own, ...anywhere, ...ended])]
  const content = { 'application/problem+json': { schema: nameSchema(mount, 'Problem', ProblemSchema) } }
  const described: Answers = {}
  for (const status of new Set(codes.map(code => problemCodes[code].status))) {
    const here = codes.filter(code => problemCodes[code].status === status)
    const description = here.map(code => `${problemCodes[code].title} (${code})`).join('; ')
    described[status] = { description, ...describeHeaders(headersOf[status] ?? []), content }
  }
  const description = 'What the hooks of the host answer, or a fault of the server'
  return { ...described, default: { description, ...describeHeaders(['retry-after']), content } }
}

const ofWrites = [
  'invalid-query', 'invalid-body', 'malformed-json', 'not-acceptable', 'read-only', 'constraint', 'body-too-large',
  'unsupported-media-type'
] as const
const ofCreations = ['taken'] as const
const ofDeletions = ['bad-request', 'not-found', 'precondition-failed', 'precondition-required', 'in-use'] as const
const ofOperations =
  ['bad-request', 'not-found', 'precondition-failed', 'precondition-required', 'taken', 'wrong-state'] as const

/** `action` is empty where it may be any operation. */
export function describeWriteProblems (mount: Mount, action: string, ...more: readonly ProblemCode[]): Answers {
  const { family: { lifecycle, shape: { unique } }, preconditions } = mount
  const own = action === lifecycle?.createAction
    ? ofCreations
    : action === lifecycle?.deletion?.operation.action ? ofDeletions : ofOperations
  const mayBeTaken = unique !== undefined || (own === ofCreations && lifecycle?.takesId === true)
  const possible = own.filter(code => (code !== 'taken' || mayBeTaken) &&
    (code !== 'precondition-required' || preconditions === 'required'))
  return describeProblems(mount, ...ofWrites, ...possible, ...more)
}
