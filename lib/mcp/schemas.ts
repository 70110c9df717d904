import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { Params } from '../core/family/params.js'
import { invalidBody } from '../core/problems.js'
import { writeOrder } from '../core/query/cursor.js'
import type { Id } from '../core/storage/storage.js'
import { textIdPattern } from '../core/values/ids.js'
import type { Members } from '../core/values/json.js'
import { makeValidator } from '../core/values/validate.js'
import type { Mount } from '../http/mount.js'
import { describeFilters } from '../http/openapi/routes.js'
import { acceptNumbers } from '../http/openapi/schemas.js'

/** The arguments of a tool: their schema for clients, and how they are read. */
export interface Arguments<T> {
  readonly schema: object
  /** Throws a problem that names all flaws. */
  read (sent: Members): T
}

/** @param shown the schema for clients, if they should know more than is checked here */
function compile<T> (properties: TProperties, shown: TProperties = properties): Arguments<T> {
  const validate = makeValidator(Type.Object(properties, { additionalProperties: false }))
  return {
    schema: Type.Object(shown, { additionalProperties: false }),
    read (sent) {
      const flaws = validate(sent)
      if (flaws.length > 0) throw invalidBody(flaws)
      return sent as T
    }
  }
}

function describeId ({ family: { idSchema, singular } }: Mount): TSchema {
  return { ...idSchema, description: `The id of the ${singular}` }
}

export function describeTarget (mount: Mount): Arguments<{ readonly id: Id }> {
  return compile({ id: describeId(mount) })
}

export interface FindArguments {
  readonly filter?: Members
  readonly fields?: readonly string[]
  readonly limit?: number
  readonly count?: boolean
  /** `search`, `sort` and `after` are parameters as they are. */
  readonly [parameter: string]: unknown
}

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const anyFilter = Type.Optional(Type.Record(Type.String(), Type.Union([scalar, Type.Array(scalar)])))

/** Clients see the common filters with their types; the grammar checks them, and knows more. */
export function describeFind ({ family, grammar }: Mount): Arguments<FindArguments> {
  const { limits: { pageSize, maxPageSize }, order, states, search } = grammar
  const { or, ...filters } = describeFilters(grammar)
  const state = Type.Unsafe<string>({ type: 'string', enum: states })
  const filter = Type.Partial(Type.Object({ ...states.length > 0 && { state }, ...filters }), {
    description: 'All must hold; of a list of values, one. Also FIELD.ne, .gt, .gte, .lt, .lte, .has, .regex and ' +
      '.null; of filters that begin with "or.", one must hold'
  })
  const others = Type.Partial(Type.Object({
    ...search.length > 0 && { search: Type.String({ description: `Words, each in one of ${search.join(', ')}` }) },
    sort: Type.String({
      description: `Fields, descending after -, such as -${family.members.at(-1)},id. Default: ${writeOrder(order)}`
    }),
    fields: Type.Array(Type.String(), { minItems: 1, description: 'Only these members of each item' }),
    limit: Type.Integer({ minimum: 1, description: `At most ${maxPageSize}. Default: ${pageSize}` }),
    after: Type.String({ description: 'next of the page before, with the same filter and sort' }),
    count: Type.Boolean({ description: 'Whether to return total' })
  })).properties
  return compile({ filter: anyFilter, ...others }, { filter: Type.Optional(filter), ...others })
}

interface WriteArguments {
  /** Undefined for a creation. */
  readonly id: Id | undefined
  readonly revision: number | undefined
  readonly command: string | undefined
  readonly params: Members
}

/** The parameters, beside the item and its revision, unless it is created, and the id of the command. */
export function describeWrite (
  mount: Mount,
  params: Params,
  isCreation: boolean,
  needsCommand: boolean
): Arguments<WriteArguments> {
  const { properties } = acceptNumbers(params.schema)
  // A parameter may have the same name.
  const nameFreely = (name: string): string => Object.hasOwn(properties, name) ? nameFreely(`_${name}`) : name
  const [revision, command] = [nameFreely('revision'), nameFreely('command')]
  const known = Type.Integer({ description: `Refused if the ${mount.family.singular} is not at this revision` })
  const chosen = Type.String({
    pattern: textIdPattern,
    description: 'An id that you choose for this call: with the same id, a repeated call changes nothing'
  })
  const target = { id: describeId(mount), [revision]: require(known, mount.preconditions === 'required') }
  const own = { ...!isCreation && target, [command]: require(chosen, needsCommand) }
  const unchecked = Object.fromEntries(Object.keys(properties).map(name => [name, Type.Optional(Type.Unknown())]))
  const validate = makeValidator(Type.Object({ ...own, ...unchecked }, { additionalProperties: false }))
  return {
    schema: Type.Object({ ...own, ...properties }, { additionalProperties: false }),
    read (sent) {
      const sentParams = Object.entries(sent).filter(([name]) => Object.hasOwn(properties, name))
      const read = params.read(Object.fromEntries(sentParams))
      const flaws = [...validate(sent), ...'flaws' in read ? read.flaws : []]
      if (flaws.length > 0 || 'flaws' in read) throw invalidBody(flaws)
      const { id, [revision]: known, [command]: chosen } = isCreation ? { ...sent, id: undefined } : sent
      return { id, revision: known, command: chosen, params: read.params } as WriteArguments
    }
  }
}

function require (schema: TSchema, isRequired: boolean): TSchema {
  return isRequired ? schema : Type.Optional(schema)
}
