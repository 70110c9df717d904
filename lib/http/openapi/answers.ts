import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { CommandMembers } from '../../core/family/command-schema.js'
import type { ProblemCode } from '../../core/problems.js'
import { canShow } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import { describeContent, describeHeaders, replayHeader } from './content.js'
import { describeLink, makeItemPath } from './items.js'
import { nameItem, nameSchema, nameSharedSchema } from './mark.js'
import { describeId } from './parameters.js'
import { describeProblems } from './problems.js'

const PageLinks = nameSharedSchema('PageLinks', Type.Object({
  self: describeLink('/rest/v1/deals?min-price=100'),
  first: describeLink('/rest/v1/deals?min-price=100'),
  next: Type.Optional(Type.String({
    format: 'uri-reference',
    description: 'By key where the order is by id, and in a log, so that a crawl misses nothing and repeats nothing'
  })),
  prev: Type.Optional(Type.String({ format: 'uri-reference' }))
}))

export const validatorHeaders = {
  etag: 'The revision in this representation, such as "7-json"',
  'last-modified': 'When it last changed'
}
export const preferenceHeader = { 'preference-applied': 'What Prefer asked for, where that was done' }
export const itemHeader = { 'content-location': 'The address of what the answer shows' }

// The type says that there is no body.
export const redirected = {
  type: 'null',
  description: 'To what came of it, where a form was sent',
  headers: describeHeaders({ location: 'Where it is', ...replayHeader })
}
export const minimal = {
  type: 'null',
  description: 'Done; no body, as Prefer: return=minimal asks, or since the caller may not read it',
  headers: describeHeaders({ ...preferenceHeader, ...itemHeader, ...replayHeader })
}

export const notModified = {
  type: 'null',
  description: 'The client has the current representation',
  headers: describeHeaders(validatorHeaders)
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
export function describePage (mount: Mount, name: string, description: string, items: TSchema): object {
  return describeAnswer(mount, 'page', {
    description,
    headers: { link: 'The links of the page (RFC 8288)' },
    schema: nameSchema(mount, name, Type.Object({
      items: Type.Array(items),
      page: Type.Integer({ minimum: 1 }),
      pageSize: Type.Integer({ minimum: 1, examples: [50] }),
      total: Type.Optional(Type.Integer({
        minimum: 0,
        description: 'With count=exact: how many there are on all pages'
      })),
      links: PageLinks
    }))
  })
}

/** A command as it stands in a log, with the member that names its item. */
export function describeEntry (mount: Mount): TObject {
  return nameSchema(mount, `${nameItem(mount)}Entry`, Type.Object(listMembers(mount)))
}

/** The same as a resource of its own. */
export function describeCommand (mount: Mount): TObject {
  const self = describeLink(`${makeItemPath(mount)}/commands/c-1`)
  const links = Type.Object({ self, [mount.family.singular]: describeLink(makeItemPath(mount)) })
  return nameSchema(mount, `${nameItem(mount)}Command`, Type.Object({ ...listMembers(mount), links }))
}

/** A command that changed nothing, and so has no place in the log unless the client chose its id. */
export function describeUnchanged (mount: Mount): TObject {
  const members = { ...listMembers(mount), id: Type.Optional(CommandMembers.properties.id) }
  const self = Type.Optional(Type.String({ format: 'uri-reference' }))
  const links = Type.Object({ self, [mount.family.singular]: describeLink(makeItemPath(mount)) })
  return nameSchema(mount, `Unchanged${nameItem(mount)}`, Type.Object({ ...members, links }))
}

function listMembers (mount: Mount) {
  const { id, action, ...members } = CommandMembers.properties
  const { operations, lifecycle, singular } = mount.family
  const examples = [...operations.keys(), lifecycle?.createAction].slice(0, 1)
  return {
    id: { ...id, examples: ['c-1'] },
    [singular]: describeId(mount),
    action: { ...action, examples },
    ...members
  }
}

/** The answers of a command that is put: created by the first PUT, given again by every further one. */
export function describeCommandAnswers (mount: Mount, schema: TSchema): Record<number, object> {
  const again = {
    description: 'The same command again: nothing was done twice', headers: { ...preferenceHeader, ...replayHeader }
  }
  const done = { description: 'The command, done', headers: { location: 'Where it is', ...preferenceHeader } }
  return {
    200: describeAnswer(mount, 'one', { ...again, schema }),
    201: describeAnswer(mount, 'one', { ...done, schema }),
    204: minimal
  }
}

/** The answers of a command that is read. */
export function describeEntryAnswers (
  mount: Mount,
  schema: TSchema,
  ...more: readonly ProblemCode[]
): Record<string, object> {
  return {
    200: describeAnswer(mount, 'one', { description: 'The command', schema, headers: validatorHeaders }),
    304: notModified,
    ...describeProblems(mount, 'invalid-query', 'not-found', 'not-acceptable', 'precondition-failed', ...more)
  }
}
