import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import type { Params } from '../family/params.js'
import { readParams } from '../family/params.js'
import { invalidBody, invalidQuery, Problem } from '../problems.js'
import { findFlawInConditions } from '../query/conditions.js'
import type { FilterLimits } from '../query/filters.js'
import type { Grammar, ParsedQuery, QueryFlaw } from '../query/grammar.js'
import { describeTooMany } from '../query/values.js'
import type { Condition } from '../storage/storage.js'
import { checkSize } from '../values/checks.js'
import { idempotencyKeyRule, isIdempotencyKey, isTextId, textIdRule } from '../values/ids.js'
import type { Members } from '../values/json.js'
import { escapePointer, findJsonFlaw, findTextFlaw } from '../values/json.js'
import { didYouMean } from '../values/nearest.js'
import type { Command } from './command.js'
import type { CallOptions, CreateOptions, FindOptions, RunOptions, ServiceOptions } from './service.js'
import { isStorage } from './storage-access.js'

// What a caller of the service hands over, judged as strictly as what a client sends.

const sizes = ['maxWaitingPerItem', 'maxWaiting'] as const satisfies readonly (keyof ServiceOptions)[]
const functions = ['authorize', 'clock', 'makeId', 'makeCommandId'] as const satisfies readonly (keyof ServiceOptions)[]
const optionNames: readonly string[] = ['storage', ...functions, ...sizes] satisfies (keyof ServiceOptions)[]

export function checkOptions ({ name }: Family, options: ServiceOptions | undefined): void {
  const flaw = findFlawInOptions(options ?? {})
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

function findFlawInOptions (options: Partial<ServiceOptions>): string | undefined {
  const unknown = Object.keys(options).find(option => !optionNames.includes(option))
  if (unknown !== undefined) return `unknown option "${unknown}".${didYouMean(unknown, optionNames)}`
  if (!isStorage(options.storage)) return 'the option "storage" must be a storage, such as memoryStorage()'
  const size = sizes.find(name => options[name] !== undefined && checkSize(options[name]) !== undefined)
  if (size !== undefined) return `the option "${size}" ${checkSize(options[size])}`
  const wrong = functions.find(name => options[name] !== undefined && typeof options[name] !== 'function')
  return wrong === undefined ? undefined : `the option "${wrong}" must be a function`
}

/** The names of the options of each call. */
export const callOptions = {
  get: ['principal', 'signal'],
  create: ['principal', 'signal', 'key'],
  run: ['principal', 'signal', 'key', 'command', 'revision'],
  find: ['principal', 'signal', 'limit', 'page', 'sort', 'count', 'after', 'before']
} satisfies {
  get: (keyof CallOptions)[]
  create: (keyof CreateOptions)[]
  run: (keyof RunOptions)[]
  find: (keyof FindOptions)[]
}

/** Checks the names of a call's options: a misspelt key would not make anything safe to repeat. */
export function checkCall (family: Family, options: RunOptions | null, names: readonly string[]): void {
  const flaw = findFlawInCall(options ?? {}, names)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(family.name, flaw)
}

function findFlawInCall (options: RunOptions, names: readonly string[]): string | undefined {
  const { revision, signal } = options
  const unknown = Object.keys(options).find(name => !names.includes(name))
  if (unknown !== undefined) return `unknown option "${unknown}".${didYouMean(unknown, names)}`
  if (revision !== undefined && !Number.isSafeInteger(revision)) return 'the option "revision" must be an integer'
  if (signal !== undefined && !(signal instanceof AbortSignal)) return 'the option "signal" must be an AbortSignal'
  return undefined
}

/** The principal of a call, which is written into the log. */
export function checkPrincipal (principal: unknown): string | undefined {
  if (principal === undefined) return undefined
  const flaw = typeof principal === 'string' ? findTextFlaw(principal) : 'must be a string'
  if (flaw !== undefined) throw new Problem('bad-request', `principal ${flaw}`)
  return principal as string
}

/** Reads what is sent with a command, as from a body. */
export function checkParams (params: Params, sent: unknown): Members {
  const flaw = findJsonFlaw(sent)
  if (flaw !== undefined) throw invalidBody([flaw])
  return copyJson(readParams(params, sent), '') as Members
}

// A copy, so that nobody can change it any more, and as JSON would carry it, so that every storage keeps the same.
function copyJson (value: unknown, pointer: string): unknown {
  if (Array.isArray(value)) return Array.from(value, (member, index) => copyJson(member ?? null, `${pointer}/${index}`))
  if (Object.prototype.toString.call(value) === '[object Object]') {
    return Object.fromEntries(Object.entries(value as object)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, copyJson(member, `${pointer}/${escapePointer(name)}`)]))
  }
  const isJson = value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value)
  if (!isJson) throw invalidBody([{ pointer, detail: 'must be a value that JSON has' }])
  return value
}

/** The ids under which a command is done once. */
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

/** A creation has no item with a revision, and what is given again for it is kept under its key only. */
export function refuseInCreation (options: RunOptions): void {
  for (const name of ['command', 'revision'] as const) {
    if (options[name] === undefined) continue
    throw new Problem('bad-request', `A creation takes no ${name}; a key makes it safe to repeat`)
  }
}

// The options are parameters of the grammar, this one by another name.
const limitParameter = 'maxpagesize'

/** The query of a text and of the options beside it, or the problem that names all that is wrong with them. */
export function parseQuery (grammar: Grammar, search: string, options: FindOptions): ParsedQuery {
  const { limit, page, sort, count, after, before } = options
  const exact = count === true ? 'exact' : undefined
  const settings = Object.entries({ [limitParameter]: limit, page, sort, count: exact, after, before })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encode(value)}`)
  const parsed = grammar.parse([search, ...settings].join('&'))
  if ('flaws' in parsed) throw invalidQuery(limit === undefined ? parsed.flaws : parsed.flaws.map(nameLimit))
  const misplaced = parsed.parameters.map(({ name }) => name).filter(name => name === 'fields' || name === 'format')
  if (misplaced.length === 0) return parsed
  throw invalidQuery(misplaced.map(name => ({ parameter: name, detail: `${name} has no place here` })))
}

// The caller is told of the option by the name that was used.
function nameLimit (flaw: QueryFlaw): QueryFlaw {
  if (flaw.parameter !== limitParameter) return flaw
  return { parameter: 'limit', detail: flaw.detail.replace(limitParameter, 'limit') }
}

function encode (value: unknown): string {
  return encodeURIComponent(String(value).toWellFormed())
}

/** Checks conditions that a caller made; a storage would take a wrong one for a failure of its own. */
export function checkConditions (family: Family, grammar: Grammar, conditions: readonly Condition[]): void {
  if (!Array.isArray(conditions)) throw new Problem('invalid-query', 'A query is a text or a list of conditions')
  const { limits } = grammar
  checkLengths(conditions, limits)
  const flaw = findFlawInConditions(family.shape.fields, conditions, limits)
  if (flaw !== undefined) throw new Problem('invalid-query', `The query has ${flaw}`)
}

// Before anything is compiled.
function checkLengths (conditions: readonly (Partial<Condition> | null)[], limits: FilterLimits): void {
  let patterns = 0
  for (const condition of listGivenConditions(conditions)) {
    const parameter = String(condition?.field)
    const { values } = (condition ?? {}) as { values?: unknown }
    if (Array.isArray(values) && values.length > limits.maxValues) {
      throw invalidQuery([{ parameter, detail: `${parameter} may have at most ${limits.maxValues} values` }])
    }
    patterns += countSearches(condition)
    if (patterns <= limits.maxPatterns) continue
    throw invalidQuery([{ parameter, detail: `${parameter} ${describeTooMany(limits)}` }])
  }
}

function countSearches (condition: Partial<Condition> | null): number {
  const searches: unknown = condition?.op === 'regex' ? condition.patterns : condition?.op === 'has' && condition.texts
  return Array.isArray(searches) ? searches.length : 0
}

// Those of alternatives too; they are not known to be any yet.
function listGivenConditions (conditions: readonly (Partial<Condition> | null)[]): (Partial<Condition> | null)[] {
  return conditions.flatMap(condition => {
    if (condition?.op !== 'any' || !Array.isArray(condition.of)) return [condition]
    return (condition.of as unknown[]).flat() as Partial<Condition>[]
  })
}
