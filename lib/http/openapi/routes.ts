import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { describeFilters } from '../../core/book/describe.js'
import type { Deletion } from '../../core/family/family.js'
import { idReused } from '../../core/problems.js'
import { writeOrder } from '../../core/query/cursor.js'
import type { Grammar } from '../../core/query/grammar.js'
import { textIdPattern } from '../../core/values/ids.js'
import { addArticle } from '../../core/values/words.js'
import { canShow, type Representation } from '../../representations/representation.js'
import type { Mount } from '../mount.js'
import type { Endpoint, RouteSchema } from '../routes.js'
import { type Answers, describeProblems, describeReadProblems, describeWriteProblems } from './problems.js'
import { describeId, describeLinkedItem, describeParams, nameItem, nameSchema } from './schemas.js'

/** The tag of a route: `all commands` and `home` are for all families at a prefix. */
type Group = 'items' | 'operations' | 'log' | 'other forms' | 'all commands' | 'home'

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
    maxLength: 255, description: 'Makes retries safe'
  }),
  'if-match': Type.String({ description: 'The revision you know: "7"' }),
  'if-none-match': Type.String({ description: 'The ETag you have' }),
  prefer: Type.String({ description: 'return=minimal: no body' })
}

export function describeRequestHeaders (...names: readonly (keyof typeof requestHeaders)[]): TObject {
  return Type.Object(Object.fromEntries(names.map(name => [name, Type.Optional(requestHeaders[name])])))
}

export const writeConditions = ['if-match'] as const

export const readConditions = ['if-none-match'] as const

export const jsonOrForm = ['application/json', 'application/x-www-form-urlencoded']

export const commandIdParameter =
  Type.String({ pattern: textIdPattern, description: 'The id of the command', examples: ['order-17-hold'] })

/** The parameters of each kind of resource. The list of the items has all of them, the others mention the rest. */
const settings = {
  page: /./,
  log: /^(after|maxpagesize|action|outcome|principal|min-createdAt|max-createdAt)$/,
  feed: /^(after|maxpagesize|family|action|outcome|principal|min-createdAt|max-createdAt)$/,
  bare: /^(after|maxpagesize|expand)$/,
  one: /^(fields|expand)$/,
  format: /^format$/
}

export function describeQuerystring (mount: Mount, kind: keyof typeof settings): TObject {
  const grammar = kind === 'log' ? mount.logGrammar : kind === 'feed' ? mount.feedGrammar : mount.grammar
  const filters = kind === 'page' || kind === 'log' || kind === 'feed' ? describeFilters(grammar) : {}
  const known = Object.entries({ ...describeSettings(mount, grammar), ...filters })
  const parameters = Object.fromEntries(known.filter(([name]) => settings[kind].test(name)))
  return Type.Partial(Type.Object(parameters), { additionalProperties: false })
}

function describeSettings ({ representations, family }: Mount, grammar: Grammar): Record<string, TSchema> {
  const { limits: { pageSize, maxPageSize }, order, references, states, search, filters } = grammar
  const state = Type.Unsafe<string>({ type: 'string', enum: states })
  const hasDays = [...filters.values()].some(({ field: { kind } }) => kind === 'date-time')
  return {
    page: Type.Integer({ minimum: 1, default: 1, description: 'Page number' }),
    after: Type.String({ description: 'The start, from links.next' }),
    before: Type.String({ description: 'The end, from links.prev' }),
    maxpagesize: Type.Integer({
      minimum: 1,
      default: pageSize,
      description: `At most ${maxPageSize}`
    }),
    sort: Type.String({
      default: writeOrder(order),
      description: `Such as -${family.members.at(-1)},id`
    }),
    fields: Type.String({ description: 'Only these members, such as id' }),
    ...states.length === 0 ? {} : { state: Type.Union([state, Type.Array(state)], { description: 'The state' }) },
    ...search.length === 0
      ? {}
      : { search: Type.String({ description: `Words, each in one of ${search.join(', ')}` }) },
    ...hasDays ? { 'time-zone': Type.String({ description: 'Default: UTC', examples: ['Europe/Berlin'] }) } : {},
    ...references.length === 0
      ? {}
      : {
          expand: Type.String({
            pattern: `^(${references.join('|')})(,(${references.join('|')}))*$`,
            description: `Includes the items that these fields refer to: ${references.join(', ')}`
          })
        },
    count: Type.Literal('exact', { description: 'Adds total' }),
    format: Type.Unsafe<string>({
      type: 'string',
      enum: representations.map(({ name }) => name),
      description: 'Instead of Accept'
    })
  }
}

function describeHeaders (names: readonly string[]): { headers?: Record<string, object> } {
  return names.length === 0 ? {} : { headers: Object.fromEntries(names.map(name => [name, { type: 'string' }])) }
}

/** Of writes, only the first representation is described: clients choose others by Accept as for reads. */
export function describeAnswer (
  { representations }: Mount,
  kind: 'one' | 'page' | 'written',
  description: string,
  schema: TSchema,
  ...names: readonly string[]
): object {
  const isJson = ({ name }: Representation) => name === 'json'
  const able = representations.filter(each => canShow(each, kind === 'page' ? 'page' : 'one'))
  // One schema, JSON first: clients that name no media type then get one type, without a text besides.
  const all = [...able.filter(isJson), ...able.filter(each => !isJson(each))]
  const content = (kind === 'written' ? all.slice(0, 1) : all).map(({ mediaTypes }) => [mediaTypes[0], { schema }])
  return { description, ...describeHeaders(names), content: Object.fromEntries(content) }
}

/** The type `null` means that there is no body. */
export function describeNothing (description: string, ...names: readonly string[]): object {
  return { type: 'null', description, ...describeHeaders(names) }
}

export const redirected = describeNothing('To the result, if an HTML form was sent', 'location')

export const minimal = describeNothing('Done, without a body')

/** The members of all pages but the items are one schema. */
export function describePage (mount: Mount, name: string | undefined, description: string, items: TSchema): object {
  const total = Type.Integer({ minimum: 0, description: 'With count=exact: the number of items on all pages' })
  const link = Type.String({ format: 'uri-reference' })
  const members = nameSchema(mount, 'ListMembers', Type.Object({
    page: Type.Integer({ minimum: 1 }),
    pageSize: Type.Integer({ minimum: 1 }),
    total: Type.Optional(total),
    links: Type.Object({
      self: link,
      first: link,
      next: Type.Optional(link),
      prev: Type.Optional(link),
      follow: Type.Optional(link)
    })
  }))
  const page = Type.Unsafe({ allOf: [Type.Object({ items: Type.Array(items) }), members] })
  const named = name === undefined ? page : nameSchema(mount, name, page)
  return describeAnswer(mount, 'page', description, named, 'link')
}

export function describeItemAnswers (mount: Mount, schema: TSchema): Answers {
  return {
    200: describeAnswer(mount, 'one', `The ${mount.family.singular}`, schema, 'etag'),
    304: describeNothing('Not changed since'),
    ...describeReadProblems(mount)
  }
}

/** Of a write that is answered by the item. @param action undefined where the body names it */
export function describeItemWrite (mount: Mount, form: string, action?: string): Description {
  return {
    headers: describeRequestHeaders(...writeConditions, 'idempotency-key'),
    response: {
      200: describeAnswer(mount, 'written', `The changed ${mount.family.singular}`, describeLinkedItem(mount)),
      204: minimal,
      ...describeWriteProblems(mount, action, form)
    }
  }
}

export function describeCommandAnswers (mount: Mount, form: string, schema: TSchema): Answers {
  return {
    200: describeAnswer(mount, 'written', 'A retry: nothing is done twice', schema),
    201: describeAnswer(mount, 'written', 'The command', schema, 'location'),
    204: minimal,
    ...describeWriteProblems(mount, undefined, form, {
      'id-reused': () => idReused(commandIdParameter.examples?.[0])
    })
  }
}

export type DescribedWord = Pick<Endpoint, 'schema' | 'word'>

/**
 * A form with a path for each operation. In the recommended form, each is described in full; otherwise one path is
 * described for all words.
 *
 * @param describe what it has besides its parameters, by the action, or of any action where it is undefined
 */
export function describeWords (
  mount: Mount,
  form: string,
  words: readonly string[],
  operations: readonly Deletion[],
  describe: (action?: string) => Description
): DescribedWord[] {
  if (operations.length === 0) return []
  const { recommendedForm, family, family: { singular } } = mount
  const bodies = operations.map(({ operation: { action }, params }) => describeParams(mount, action, params))
  if (form === recommendedForm) {
    return operations.map(({ operation: { name, action, summary = name } }, index) => {
      const isBound = family.operations.get(action)?.operation.allowed !== undefined
      const description = isBound ? '409 if the state does not allow it.' : 'Allowed in every state.'
      return {
        schema: describeItemRoute(mount, 'operations', `${form}-${words[index]}-${singular}`, {
          summary, description, body: bodies[index], ...describe(action)
        })
      }
    })
  }
  const schema = describeForm(mount, form, describeItemRoute(mount, 'operations', `${form}-${singular}`, {
    ...describe(),
    summary: `Change ${addArticle(singular)}`,
    description: 'The bodies are in the order of the words.',
    path: { word: Type.Unsafe<string>({ type: 'string', enum: words }) },
    body: bodies.length === 1
      ? bodies[0]
      : nameSchema(mount, `${nameItem(mount)}${form === 'noun' ? 'Noun' : 'Participle'}Params`, Type.Union(bodies))
  }))
  return words.map(word => ({ schema, word }))
}

/** The recommended form is described in full, the others apart from it and without what is the same there. */
export function describeForm (mount: Mount, form: string, schema: RouteSchema): RouteSchema {
  const { recommendedForm, family } = mount
  if (form === recommendedForm) return schema
  const { headers, ...short } = schema
  const key = (headers as TObject | undefined)?.properties['idempotency-key']
  const isShared = short.tags?.includes(nameTag(family.name, 'all commands'))
  return {
    ...short,
    ...isShared === true ? {} : { tags: [nameTag(family.name, 'other forms')] },
    ...(key && { headers: describeRequestHeaders('idempotency-key') }),
    response: shortenAnswers(schema)
  }
}

/** A read besides those of items: what it answers, without what is the same there. */
export function describeShortly (mount: Mount, { headers, ...schema }: RouteSchema): RouteSchema {
  return { ...schema, response: { ...shortenAnswers(schema), ...describeProblems(mount) } }
}

function shortenAnswers ({ response }: RouteSchema): Answers {
  const answers = Object.entries(response as Record<string, { description: string, content: object }>)
    .filter(([status]) => status === '200' || status === '201')
    .map(([status, { description, content }]) =>
      [status, { description, content: Object.fromEntries(Object.entries(content).slice(0, 1)) }])
  return Object.fromEntries(answers)
}
