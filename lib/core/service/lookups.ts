import { errorCodes } from '../errors.js'
import type { Context, Lookups } from '../family/definition.js'
import { type AnyFamily, type Family, getFamily } from '../family/family.js'
import { Problem } from '../problems.js'
import { writeCursor } from '../query/cursor.js'
import { compileGrammar, type Grammar, type ItemPage, type PageOptions, type ParsedQuery } from '../query/grammar.js'
import { isAbsent } from '../storage/conditions.js'
import { raceSignal } from '../storage/deadline.js'
import type { Condition, Stored } from '../storage/storage.js'
import { freeze, isObject, makePicker, type Members } from '../values/json.js'
import { checkConditions, checkOptions, optionRules, parseQuery } from './arguments.js'
import { type Caller, intendToList, intendToRead, type Intent } from './caller.js'
import { authorizeRead, findOther } from './others.js'
import { type Find, findPage, Reader } from './reader.js'

// A program is trusted: its pages are not bounded.
export const limits = {
  pageSize: 50,
  maxPageSize: Number.MAX_SAFE_INTEGER,
  maxSkipped: Number.MAX_SAFE_INTEGER,
  maxValues: 1000,
  maxPatterns: 100,
  maxPatternLength: 1000,
  maxPatternSize: 5000
}

const compiled = new WeakMap<Family, { readonly grammar: Grammar, readonly pick: (item: Members) => Members }>()

function compile (family: Family) {
  const { name, order, presentation, shape } = family
  const fields = shape.fields.filter(({ writeOnly }) => writeOnly !== true)
  const ready = compiled.get(family) ?? {
    grammar: compileGrammar({ name, fields, order, presentation }, limits),
    pick: makePicker(fields.map(({ name }) => name))
  }
  compiled.set(family, ready)
  return ready
}

export function showItem (family: Family, item: Stored): Members {
  return compile(family).pick(item)
}

export async function findItems<T> (
  family: Family,
  reader: Reader,
  query: string | readonly Condition[],
  options: PageOptions
): Promise<ItemPage<T>> {
  const { grammar, pick } = compile(family)
  const find: Find = query => reader.find(query)
  if (typeof query === 'string') return await readPage(find, parseQuery(grammar, query, options), pick)
  const where = checkConditions(family, grammar, query)
  const parsed = parseQuery(grammar, '', options)
  return await readPage(find, { ...parsed, query: { ...parsed.query, where } }, pick)
}

export async function readPage<T> (
  find: Find,
  parsed: ParsedQuery,
  show: (item: Stored) => Members
): Promise<ItemPage<T>> {
  const { items, total, next, prev } = await findPage(find, parsed)
  return {
    items: items.map(show) as T[],
    hasNext: next !== undefined,
    ...(total === undefined ? {} : { total }),
    ...(next && { next: writeCursor(parsed.list, next) }),
    ...(prev && { prev: writeCursor(parsed.list, prev) })
  }
}

interface Prepared {
  readonly family: Family
  readonly caller: Caller
  readonly action: string
  readonly params: Members
  /** Undefined for a creation. */
  readonly item: Stored | undefined
  readonly context: Context
}

/** The result of `prepare`, which ends with the deadline of the request. */
export async function prepareFacts ({ family, caller, action, params, item, context }: Prepared): Promise<unknown> {
  const { prepare } = family
  if (prepare === undefined) return undefined
  const asked = { action, item: (item && freeze(showItem(family, item))) as never, params, context }
  const facts: unknown =
    await raceSignal(caller.signal, (async () => await prepare(asked, makeLookups({ family, caller })))())
  if (isAbsent(facts) || isObject(facts)) return facts
  throw new errorCodes.FST_DEALBOOK_INVALID_FACTS(family.name, Array.isArray(facts) ? 'list' : typeof facts)
}

/** Items that the caller may not read do not exist. */
function makeLookups (own: { readonly family: Family, readonly caller: Caller }): Lookups {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_LOOKUP(own.family.name, flaw)
  const find = (family: AnyFamily | string) => {
    if (family === own.family.name) return own
    const its = getFamily(family as AnyFamily)
    if (its.renaming === undefined) return findOther(own, its)
    throw refuse('give the family itself, not a renamed one')
  }
  const read = async (
    { family, caller }: typeof own,
    intent: Intent
  ): Promise<Reader | undefined> => {
    const grant = await authorizeRead(caller, intent)
    return grant && new Reader(family, await caller.storage(), grant, caller.signal)
  }
  return {
    async get (family: AnyFamily | string, id) {
      const other = find(family)
      const reader = await read(other, intendToRead(other.family, id))
      const item = other.family.readId(String(id)) === id ? await reader?.get(id) : undefined
      return (item && showItem(other.family, item)) as never
    },

    async find (family: AnyFamily | string, query = '', options = {}) {
      const other = find(family)
      checkOptions(other.family, options, optionRules.find)
      const reader = await read(other, intendToList(other.family))
      if (reader === undefined) return { items: [], hasNext: false }
      try {
        return await findItems(other.family, reader, query, options)
      } catch (error) {
        // The query is the host's, not the client's.
        if (!(error instanceof Problem) || error.code !== 'invalid-query') throw error
        throw refuse(error.message)
      }
    }
  }
}
