import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { CommandMembers } from '../family/command-schema.js'
import type { Mount } from '../mount/mount.js'
import type { ProblemCode } from '../problems.js'
import { problemCodes } from '../problems.js'
import type { Representation } from '../representations/representation.js'
import { canShow } from '../representations/representation.js'
import { describeId } from './parameters.js'

const Problem = Type.Object({
  type: Type.String({ description: 'urn:dealbook:problem:CODE' }),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.String({ description: 'What is wrong, and what is allowed' }),
  instance: Type.Optional(Type.String({ description: 'The path of the request' })),
  errors: Type.Optional(Type.Array(Type.Object({
    parameter: Type.Optional(Type.String({ description: 'The query parameter that is wrong' })),
    pointer: Type.Optional(Type.String({ description: 'The JSON pointer of the member that is wrong' })),
    detail: Type.String()
  }))),
  more: Type.Optional(Type.Integer({ description: 'How many flaws there are besides those in errors' }))
})

const PageLinks = Type.Object({
  self: Type.String(),
  first: Type.String(),
  next: Type.Optional(Type.String({
    description: 'By key where the order is by id, and in a log, so that a crawl misses nothing and repeats nothing'
  })),
  prev: Type.Optional(Type.String())
})

export const validatorHeaders = {
  etag: 'The revision in this representation, such as "7-json"',
  'last-modified': 'When it last changed'
}
export const replayHeader = { 'idempotent-replayed': 'true where an earlier answer is given again' }

// The type says that there is no body.
export const redirected = { type: 'null', description: 'To what came of it, where a form was sent' }
export const minimal = {
  type: 'null',
  description: 'Done; no body, as Prefer: return=minimal asks, or since the caller may not read it'
}

/** What an answer shows. */
interface Answer {
  readonly description: string
  readonly schema: TSchema
  /** Headers with what they say. */
  readonly headers?: Record<string, string>
}

/** An answer in every representation that can show it. */
export function describeAnswer ({ representations }: Mount, kind: 'one' | 'page', answer: Answer): object {
  const able = representations.filter(representation => canShow(representation, kind))
  return {
    description: answer.description,
    headers: describeHeaders(answer.headers ?? {}),
    content: describeContent(able, ({ mediaTypes }) => mediaTypes[0], answer.schema)
  }
}

/** A page of items with this schema. */
export function describePage (mount: Mount, description: string, items: TSchema): object {
  return describeAnswer(mount, 'page', {
    description,
    headers: { link: 'The links of the page (RFC 8288)' },
    schema: Type.Object({
      items: Type.Array(items),
      page: Type.Integer({ minimum: 1 }),
      pageSize: Type.Integer({ minimum: 1 }),
      total: Type.Optional(Type.Integer({
        minimum: 0,
        description: 'With count=exact: how many there are on all pages'
      })),
      links: PageLinks
    })
  })
}

/** An item as it is shown by itself, with links. */
export function describeLinkedItem (mount: Mount): TObject {
  return Type.Object({ ...mount.family.schema.properties, links: describeItemLinks(mount) })
}

/** Where an item leads. */
export function describeItemLinks ({ family: { writable } }: Mount): TObject {
  const links = { self: Type.String(), collection: Type.String() }
  return Type.Object(writable ? { ...links, log: Type.String(), operations: Type.String() } : links)
}

/** The problems that a route answers with, several with one status as one. */
export function describeProblems (
  { representations }: Mount,
  ...codes: readonly ProblemCode[]
): Record<number, object> {
  const able = representations.filter(representation => representation.problem !== undefined)
  const content = describeContent(able, ({ problemType, mediaTypes }) => problemType ?? mediaTypes[0], Problem)
  const answers: Record<number, { description: string, content: object }> = {}
  for (const code of codes) {
    const { status, title } = problemCodes[code]
    const before = answers[status] === undefined ? '' : `${answers[status].description}; `
    answers[status] = { description: `${before}${title} (${code})`, content }
  }
  return answers
}

const refusals = [
  'invalid-query', 'invalid-body', 'malformed-json', 'not-found', 'not-acceptable', 'wrong-state', 'constraint',
  'precondition-failed', 'body-too-large', 'unsupported-media-type', 'storage-unavailable', 'busy'
] as const

/** The problems of every write of an item, and more. */
export function describeWriteProblems (mount: Mount, ...more: readonly ProblemCode[]): Record<number, object> {
  return describeProblems(mount, ...refusals, ...describePreconditions(mount), ...more)
}

export function describePreconditions ({ preconditions }: Mount): ['precondition-required'] | [] {
  return preconditions === 'required' ? ['precondition-required'] : []
}

/** A command as it stands in a log, with the member that names its item. */
export function describeCommand (mount: Mount): TObject {
  const { id, ...members } = CommandMembers.properties
  return Type.Object({ id, [mount.family.singular]: describeId(mount), ...members })
}

/** The same as a resource of its own. */
export function describeLinkedCommand (mount: Mount): TObject {
  const links = Type.Object({ self: Type.Optional(Type.String()), [mount.family.singular]: Type.String() })
  return Type.Object({ ...describeCommand(mount).properties, links })
}

/** The answers of a command that is put: created by the first PUT, given again by every further one. */
export function describeCommandAnswers (mount: Mount, schema: TSchema): Record<number, object> {
  const again = { description: 'The same command again: nothing was done twice', headers: replayHeader }
  const done = { description: 'The command, done', headers: { location: 'Where it is' } }
  return {
    200: describeAnswer(mount, 'one', { ...again, schema }),
    201: describeAnswer(mount, 'one', { ...done, schema }),
    204: minimal
  }
}

/** The answers of a command that is read. */
export function describeEntryAnswers (mount: Mount, schema: TSchema): Record<number, object> {
  return {
    200: describeAnswer(mount, 'one', { description: 'The command', schema, headers: validatorHeaders }),
    304: { type: 'null', description: 'The client has the current representation' },
    ...describeProblems(
      mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed', 'storage-unavailable'
    )
  }
}

export function describeHeaders (headers: Record<string, string>): Record<string, object> {
  const entries = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])
  return Object.fromEntries(entries)
}

function describeContent (
  able: readonly Representation[],
  typeOf: (representation: Representation) => string,
  schema: TSchema
): Record<string, { schema: TSchema }> {
  // Only JSON has the members as the schema says; the others show the same in their own way.
  return Object.fromEntries(able.map(each => [typeOf(each), { schema: each.name === 'json' ? schema : Type.String() }]))
}
