import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { type Params, readParams } from '../family/params.js'
import { invalidBody, invalidQuery, Problem } from '../problems.js'
import { findFlawInConditions, numberDecimals } from '../query/filters.js'
import type { Grammar, PageOptions, ParsedQuery } from '../query/grammar.js'
import { listFieldConditions } from '../storage/conditions.js'
import type { Condition } from '../storage/storage.js'
import { idempotencyKeyRule, isIdempotencyKey, isTextId, textIdRule } from '../values/ids.js'
import { findJsonFlaw, findTextFlaw, type Members } from '../values/json.js'
import { findFlaw, membersOf, oneOf, rules } from '../values/rules.js'
import type { Command } from './command.js'
import type {
  CallOptions, CreateOptions, FindOptions, FollowOptions, RunAllOptions, RunOptions, ServiceOptions
} from './service.js'
import { isStorage } from './storage-access.js'

// The arguments of a service are checked as strictly as what a client sends.

type RulesOf<T> = Record<keyof T, TSchema>

const { any, callback, size } = rules

const service = membersOf({
  storage: Type.Unsafe({ holds: isStorage, description: 'a storage, such as memoryStorage()' }),
  authorize: callback,
  maxWaitingPerItem: size,
  maxWaiting: size,
  clock: callback,
  makeId: callback,
  makeCommandId: callback
} satisfies RulesOf<ServiceOptions>, ['storage'])

// The other options are checked on use, and refused like those of a client.
const call = {
  principal: any,
  signal: Type.Unsafe({ holds: (value: unknown) => value instanceof AbortSignal, description: 'an AbortSignal' })
} satisfies RulesOf<CallOptions>
const create = { ...call, key: any } satisfies RulesOf<CreateOptions>
const run = {
  ...create,
  command: any,
  revision: Type.Unsafe({ holds: Number.isSafeInteger, description: 'an integer' })
} satisfies RulesOf<RunOptions>
const find = {
  ...call, limit: any, page: any, sort: any, count: any, after: any, before: any
} satisfies RulesOf<FindOptions>

const follow = { ...call, after: any, from: oneOf('beginning', 'now') } satisfies RulesOf<FollowOptions>

export const optionRules = {
  follow: membersOf(follow),
  service,
  get: membersOf(call),
  create: membersOf(create),
  run: membersOf(run),
  runAll: membersOf({ ...call, atomic: rules.flag } satisfies RulesOf<RunAllOptions>),
  each: membersOf({ operation: any, id: any, params: any, command: any, key: any, revision: run.revision }),
  find: membersOf(find)
}

/** Strict: a misspelt `key` or `command` would make retries unsafe. */
export function checkOptions ({ name }: Family, options: object, rule: TObject): void {
  const flaw = findFlaw(rule, options, 'option')
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

export function checkPrincipal (principal: unknown): string | undefined {
  if (principal === undefined) return undefined
  const flaw = typeof principal === 'string' ? findTextFlaw(principal) : 'must be a string'
  if (flaw !== undefined) throw new Problem('bad-request', `principal ${flaw}`)
  return principal as string
}

export function checkParams (params: Params, sent: unknown): Members {
  const flaw = findJsonFlaw(sent)
  if (flaw !== undefined) throw invalidBody([flaw])
  // A copy, so that the caller cannot change it later; as JSON, so that every storage keeps the same.
  return JSON.parse(JSON.stringify(readParams(params, sent))) as Members
}

export function readIds ({ command: id, key }: RunOptions): Pick<Command, 'id' | 'key'> {
  if (id !== undefined && key !== undefined) throw new Problem('bad-request', 'Give command or key, not both')
  if (id !== undefined && !(typeof id === 'string' && isTextId(id))) {
    throw new Problem('bad-request', `A command id ${textIdRule}`)
  }
  if (key !== undefined && !(typeof key === 'string' && isIdempotencyKey(key))) {
    throw new Problem('bad-request', `A key ${idempotencyKeyRule}`)
  }
  return { id, key }
}

const limitParameter = 'maxpagesize'

/** Parses both together, so that the problem names all flaws. */
export function parseQuery (grammar: Grammar, search: string, options: PageOptions): ParsedQuery {
  const { limit, page, sort, count, after, before } = options
  const exact = count === true ? 'exact' : undefined
  const settings = Object.entries({ [limitParameter]: limit, page, sort, count: exact, after, before })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`)
  const parsed = grammar.parse([search, ...settings].join('&'))
  if ('flaws' in parsed) {
    throw invalidQuery(parsed.flaws.map(flaw => limit === undefined || flaw.parameter !== limitParameter
      ? flaw
      : { parameter: 'limit', detail: flaw.detail.replace(limitParameter, 'limit') }))
  }
  const misplaced = parsed.parameters.map(({ name }) => name).filter(name => name === 'fields' || name === 'format')
  if (misplaced.length === 0) return parsed
  throw invalidQuery(misplaced.map(name => ({ parameter: name, detail: `${name} cannot be used here` })))
}

/** Otherwise an invalid condition would look like a failure of the storage. */
export function checkConditions (
  family: Family, { limits }: Grammar, conditions: readonly Condition[]
): readonly Condition[] {
  if (!Array.isArray(conditions)) throw new Problem('invalid-query', 'A query must be a string or a list of conditions')
  const flaw = findFlawInConditions(family.shape.fields, conditions, limits)
  if (flaw !== undefined) throw new Problem('invalid-query', `The query has ${flaw}`)
  for (const condition of listFieldConditions(conditions)) {
    if (!('values' in condition) || condition.values.length <= limits.maxValues) continue
    const { field: parameter } = condition
    throw invalidQuery([{ parameter, detail: `${parameter} may have at most ${limits.maxValues} values` }])
  }
  return family.hasDecimals ? numberDecimals(family.shape.fields, conditions) : conditions
}
