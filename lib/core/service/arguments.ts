import { type TObject, Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import type { Lookups } from '../family/context.js'
import { type AnyFamily, type Family, getFamily } from '../family/family.js'
import { type Params, readParams } from '../family/params.js'
import { invalidBody, invalidQuery, Problem } from '../problems.js'
import { writeCursor } from '../query/cursor.js'
import { findFlawInConditions, numberDecimals } from '../query/filters.js'
import { compileGrammar, type Grammar, type ItemPage, type PageOptions, type ParsedQuery } from '../query/grammar.js'
import { listFieldConditions, listValues } from '../storage/conditions.js'
import type { Condition, Stored } from '../storage/storage.js'
import { idempotencyKeyRule, isIdempotencyKey, isTextId, textIdRule } from '../values/ids.js'
import { findJsonFlaw, makePicker, type Members } from '../values/json.js'
import { findFlaw, membersOf, oneOf, rules } from '../values/rules.js'
import { findFlawInPrincipal, intendToList, intendToRead } from './caller.js'
import type { Command } from './decide.js'
import { findPage, type FoundPage } from './find-page.js'
import { type Reader, tryReader } from './reader.js'
import { type Called, findOther } from './renamed.js'
import type { RunOptions } from './service.js'
import { isStorage } from './storage-access.js'

// The arguments of a service are checked as strictly as what a client sends.

const { any, callback } = rules

// The other options are checked on use, and refused like those of a client.
const call = {
  principal: any,
  signal: Type.Unsafe({ holds: (value: unknown) => value instanceof AbortSignal, description: 'an AbortSignal' })
}
const ids = {
  key: any, command: any, revision: Type.Unsafe({ holds: Number.isSafeInteger, description: 'an integer' })
}

export const callRules = {
  service: membersOf({
    storage: Type.Unsafe({ holds: isStorage, description: 'a storage, such as memoryStorage()' }),
    authorize: callback,
    clock: callback,
    makeId: callback,
    makeCommandId: callback
  }, ['storage']),
  call: membersOf(call),
  get: membersOf({ ...call, expand: rules.words, revision: any, at: any }),
  create: membersOf({ ...call, key: any, command: any }),
  run: membersOf({ ...call, ...ids }),
  runAll: membersOf({ ...call, atomic: rules.flag }),
  each: membersOf({ operation: any, id: any, params: any, ...ids }),
  find: membersOf({ ...call, limit: any, page: any, sort: any, count: any, after: any, before: any }),
  preview: membersOf({ ...call, revision: ids.revision }),
  follow: membersOf({ ...call, after: any, from: oneOf('beginning', 'now') })
}

/** Strict: a misspelt `key` or `command` would make retries unsafe. */
export function checkCallOptions ({ name }: Family, options: object, rule: TObject): void {
  const flaw = findFlaw(rule, options, 'option')
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

export function checkPrincipal (principal: unknown): string | undefined {
  if (principal === undefined) return undefined
  const flaw = typeof principal === 'string' ? findFlawInPrincipal(principal) : 'must be a string'
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
export function parseCallQuery (
  grammar: Grammar, search: string, options: PageOptions, misplacedNames = /^(?:fields|format)$/
): ParsedQuery {
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
  const misplaced = parsed.parameters.map(({ name }) => name).filter(name => misplacedNames.test(name))
  if (misplaced.length === 0) return parsed
  throw invalidQuery(misplaced.map(name => ({ parameter: name, detail: `${name} cannot be used here` })))
}

/** Otherwise an invalid condition would look like a failure of the storage. */
function checkFindConditions (
  family: Family, { limits }: Grammar, conditions: readonly Condition[]
): readonly Condition[] {
  if (!Array.isArray(conditions)) throw new Problem('invalid-query', 'A query must be a string or a list of conditions')
  const flaw = findFlawInConditions(family.shape.fields, conditions, limits)
  if (flaw !== undefined) throw new Problem('invalid-query', `The query has ${flaw}`)
  for (const condition of listFieldConditions(conditions)) {
    if (listValues(condition).length <= limits.maxValues) continue
    const { field: parameter } = condition
    throw invalidQuery([{ parameter, detail: `${parameter} may have at most ${limits.maxValues} values` }])
  }
  return family.hasDecimals ? numberDecimals(family.shape.fields, conditions) : conditions
}

// A program is trusted: its pages are not bounded.
export const programLimits = {
  pageSize: 50,
  maxPageSize: Number.MAX_SAFE_INTEGER,
  maxSkipped: Number.MAX_SAFE_INTEGER,
  maxValues: 1000,
  maxPatterns: 100,
  maxPatternLength: 1000,
  maxPatternSize: 5000
}

const programReads = new WeakMap<Family, { readonly grammar: Grammar, readonly pick: (item: Members) => Members }>()

function compileProgramReads (family: Family) {
  const { name, order, presentation, shape } = family
  const fields = shape.fields.filter(({ writeOnly }) => writeOnly !== true)
  const ready = programReads.get(family) ?? {
    grammar: compileGrammar({ name, fields, order, presentation }, programLimits),
    pick: makePicker(fields.map(({ name }) => name))
  }
  programReads.set(family, ready)
  return ready
}

export function pickReadable (family: Family, item: Stored): Members {
  return compileProgramReads(family).pick(item)
}

export async function findItems<T> (
  reader: Reader,
  query: string | readonly Condition[],
  options: PageOptions
): Promise<ItemPage<T>> {
  const { family } = reader
  const { grammar, pick } = compileProgramReads(family)
  const parsed = parseFind(family, grammar, query, options)
  return toItemPage(await findPage(query => reader.find(query), parsed), parsed, pick)
}

export function parseFind (
  family: Family, grammar: Grammar, query: string | readonly Condition[], options: PageOptions, misplaced?: RegExp
): ParsedQuery {
  if (typeof query === 'string') return parseCallQuery(grammar, query, options, misplaced)
  const where = checkFindConditions(family, grammar, query)
  const parsed = parseCallQuery(grammar, '', options)
  return { ...parsed, query: { ...parsed.query, where } }
}

export function toItemPage<T> (
  { items, total, next, prev }: FoundPage, parsed: ParsedQuery, show: (item: Stored) => Members
): ItemPage<T> {
  return {
    items: items.map(show) as T[],
    hasNext: next !== undefined,
    ...(total === undefined ? {} : { total }),
    ...(next && { next: writeCursor(parsed.list, next) }),
    ...(prev && { prev: writeCursor(parsed.list, prev) })
  }
}

/** Items that the caller may not read do not exist. */
export function makeLookups (own: Called): Lookups {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_LOOKUP(own.family.name, flaw)
  const find = (family: AnyFamily | string) => {
    if (family === own.family.name) return own
    const its = getFamily(family as AnyFamily)
    if (its.renaming === undefined) return findOther(own, its)
    throw refuse('give the family itself, not a renamed one')
  }
  return {
    async get (family: AnyFamily | string, id) {
      const other = find(family)
      const reader = await tryReader(other.family, other.caller, intendToRead(other.family, id))
      const item = other.family.readId(String(id)) === id ? await reader?.forRules.get(id) : undefined
      return (item && pickReadable(other.family, item)) as never
    },

    async find (family: AnyFamily | string, query = '', options = {}) {
      const other = find(family)
      checkCallOptions(other.family, options, callRules.find)
      const reader = await tryReader(other.family, other.caller, intendToList(other.family))
      if (reader === undefined) return { items: [], hasNext: false }
      try {
        return await findItems(reader.forRules, query, options)
      } catch (error) {
        // The query is the host's, not the client's.
        if (!(error instanceof Problem) || error.code !== 'invalid-query') throw error
        throw refuse(error.message)
      }
    }
  }
}
