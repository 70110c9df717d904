import { type TSchema, Type } from '@sinclair/typebox'
import { type ProblemCode, problemCodes } from '../../core/problems.js'
import { canShow, type Representation } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import { describeLinkedItem, nameSchema, ProblemSchema } from './schemas.js'

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
    : action === lifecycle?.deletion.operation.action ? ofDeletions : ofOperations
  const possible = own.filter(code => (code !== 'taken' || unique !== undefined) &&
    (code !== 'precondition-required' || preconditions === 'required'))
  return describeProblems(mount, ...ofWrites, ...possible, ...more)
}
