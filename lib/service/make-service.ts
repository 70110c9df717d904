import { errorCodes } from '../errors.js'
import { commandsShape, logFields } from '../family/command-schema.js'
import type { Family } from '../family/family.js'
import { makePicker } from '../values/json.js'
import { readParams } from '../family/params.js'
import type { Params } from '../family/params.js'
import { invalidBody, invalidQuery, notFound, preconditionFailed, Problem } from '../problems.js'
import { findFlawInConditions } from '../query/conditions.js'
import { compileGrammar } from '../query/grammar.js'
import type { Grammar } from '../query/grammar.js'
import type { Found, Id, Query, Stored } from '../storage/storage.js'
import { isIdempotencyKey, isTextId } from '../values/ids.js'
import { findJsonFlaws } from '../values/json.js'
import type { Members } from '../values/json.js'
import { didYouMean } from '../values/nearest.js'
import { checkGrant, intendToRead } from './caller.js'
import type { Caller } from './caller.js'
import type { Command, CommandRecord } from './command.js'
import { execute } from './execute.js'
import { logOrder } from './log.js'
import { authorizeReader } from './reader.js'
import { showCommand } from './record.js'
import type {
  CallOptions, Done, FindOptions, ItemPage, LoggedCommand, RunOptions, Service, ServiceOptions
} from './service.js'
import { isStorage, makeStorageAccess } from './storage-access.js'

// A program may ask for as much at once as it likes.
const limits = { pageSize: 50, maxPageSize: Number.MAX_SAFE_INTEGER, maxValues: 1000, maxPatternLength: 1000 }

const optionNames: readonly string[] = ['storage', 'authorize'] satisfies (keyof ServiceOptions)[]

/** Inside, a service is of no particular family; the types are for those who call it. */
export function makeService (family: Family, options: ServiceOptions): Service {
  checkOptions(family, options)
  const { storage, authorize } = options
  const grammar = compileGrammar(family.shape.fields, limits)
  const logGrammar = compileGrammar(logFields, limits, logOrder)
  const access = makeStorageAccess(family.writable ? [family.shape, commandsShape] : [family.shape])
  const pick = makePicker(family.shape.fields.map(({ name }) => name))
  const operations = new Map([...family.operations.values()].map(each => [each.operation.name, each]))

  return {
    async create (fields, options = {}) {
      const { createAction, params } = family.lifecycle ?? refuseOperation('create')
      return await run({ action: createAction, target: undefined, params: checkParams(params, fields) }, options)
    },

    async run (name, id, params = {}, options: RunOptions = {}) {
      const { operation: { action }, params: expected } = operations.get(name) ?? refuseOperation(name)
      return await run({ action, target: checkId(id), params: checkParams(expected, params) }, options)
    },

    async remove (id, options = {}) {
      const { deletion: { operation: { action } } } = family.lifecycle ?? refuseOperation('remove')
      const { item, ...done } = await run({ action, target: checkId(id), params: {} }, options)
      return done
    },

    async get (id, options = {}) {
      const target = checkId(id)
      const reader = await authorizeReader(family, makeCaller(options), intendToRead(family, target))
      const item = await reader.get(target)
      if (item === undefined) throw notFound(family.singular, id)
      return pick(item) as never
    },

    async find (query = '', options = {}) {
      const intent = { family: family.name, action: 'list', id: undefined, params: {} }
      const reader = await authorizeReader(family, makeCaller(options), intent)
      const find = (query: Query) => reader.find(query)
      if (typeof query === 'string') return await findPage(parse(grammar, query, options), find, pick)
      const flaw = findFlawInConditions(family.shape.fields, query)
      if (flaw !== undefined) throw new Problem('invalid-query', `The query has ${flaw}`)
      return await findPage({ ...parse(grammar, '', options), where: query }, find, pick)
    },

    async log (id, options = {}) {
      const target = checkId(id)
      const reader = await authorizeReader(family, makeCaller(options), intendToRead(family, target))
      const query = parse(logGrammar, '', options)
      await reader.checkLog(target)
      const show = (record: Members) => showCommand(family, record as CommandRecord)
      return await findPage(query, query => reader.findLog(target, query), show)
    }
  }

  async function run (command: Command, options: RunOptions): Promise<Done<never>> {
    const precondition = ({ revision }: Stored) => {
      if (revision !== (options.revision ?? revision)) throw preconditionFailed(family.singular, revision)
    }
    const asked = { ...command, ...readIds(options), precondition }
    const { item, record, recorded, replayed, problem } = await execute(family, makeCaller(options), asked)
    if (problem !== undefined) throw problem
    return {
      item: (item && pick(item)) as never,
      command: showCommand(family, record, recorded) as LoggedCommand,
      changed: record.outcome === 'done',
      replayed
    }
  }

  function makeCaller (call: CallOptions): Caller {
    return {
      async authorize (intent) {
        const grant = checkGrant(family, await authorize?.(call, intent))
        const principal = grant.principal ?? call.principal
        return principal === undefined ? grant : { ...grant, principal }
      },
      storage: () => access(storage)
    }
  }

  function checkId (id: Id): Id {
    const read = family.readId(String(id))
    if (read !== id) throw notFound(family.singular, id)
    return id
  }

  function refuseOperation (name: string): never {
    const known = [...operations.keys()]
    throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family.name, name, didYouMean(name, known))
  }
}

function checkOptions ({ name }: Family, options: ServiceOptions): void {
  const unknown = Object.keys(options).find(option => !optionNames.includes(option))
  const flaw = unknown !== undefined
    ? `unknown option "${unknown}".${didYouMean(unknown, optionNames)}`
    : isStorage(options.storage) ? undefined : 'the option "storage" must be a storage, such as memoryStorage()'
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
}

function checkParams (params: Params, sent: unknown): Members {
  // What a body cannot hold, a storage could not keep as it is.
  const [flaw] = findJsonFlaws(sent)
  if (flaw !== undefined) throw invalidBody([flaw])
  return readParams(params, sent)
}

function readIds ({ command: id, key }: RunOptions): Pick<Command, 'id' | 'key'> {
  if (id !== undefined && key !== undefined) throw new Problem('bad-request', 'Give command or key, not both')
  if (id !== undefined && !isTextId(id)) {
    throw new Problem('bad-request', 'A command id has 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -')
  }
  if (key !== undefined && !isIdempotencyKey(key)) {
    throw new Problem('bad-request', 'A key must be 1 to 255 printable ASCII characters')
  }
  return { id, key }
}

// The options are parameters of the grammar by other names, so the grammar judges them too.
function parse (grammar: Grammar, search: string, { limit, page, sort, count }: FindOptions): Query {
  const settings = Object.entries({ maxpagesize: limit, page, sort, count: count === true ? 'exact' : undefined })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  const parsed = grammar.parse([search, ...settings].join('&'))
  if ('flaws' in parsed) throw invalidQuery(parsed.flaws)
  const misplaced = parsed.parameters.filter(({ name }) => name === 'fields' || name === 'format')
  if (misplaced.length === 0) return parsed.query
  const explain = (name: string) => ({ parameter: name, detail: `${name} has no place here: items come whole` })
  throw invalidQuery(misplaced.map(({ name }) => explain(name)))
}

async function findPage<T> (
  query: Query,
  find: (query: Query) => Promise<Found>,
  show: (item: Members) => Members
): Promise<ItemPage<T>> {
  const { limit } = query
  // One more than is wanted, to know whether there are more without counting.
  const { items, total } = await find({ ...query, limit: limit + 1 })
  return {
    items: items.slice(0, limit).map(show) as T[],
    hasNext: items.length > limit,
    ...(total === undefined ? {} : { total })
  }
}
