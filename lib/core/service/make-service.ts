import type { TObject } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { type Family, listShapes } from '../family/family.js'
import { notFound, preconditionFailed } from '../problems.js'
import { writeCursor } from '../query/cursor.js'
import { compileGrammar, type ParsedQuery } from '../query/grammar.js'
import type { Id, Stored } from '../storage/storage.js'
import { makePicker, type Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import {
  checkConditions, checkOptions, checkParams, checkPrincipal, optionRules, parseQuery, readIds
} from './arguments.js'
import { type Caller, checkGrant, type Grant, intendToList, intendToRead, readMakers } from './caller.js'
import type { Command, CommandRecord } from './command.js'
import { execute } from './execute.js'
import { authorizeReader, type Find, findPage } from './reader.js'
import { logList, nameRecord, showCommand } from './record.js'
import type { CallOptions, Done, ItemPage, RunOptions, Service, ServiceOptions } from './service.js'
import { guardOpening, makeStorageAccess, noteShapes, type StorageAccess } from './storage-access.js'
import { readWaitingLimits } from './write-queue.js'

// A program is trusted: its pages are not bounded.
const limits = {
  pageSize: 50,
  maxPageSize: Number.MAX_SAFE_INTEGER,
  maxSkipped: Number.MAX_SAFE_INTEGER,
  maxValues: 1000,
  maxPatterns: 100,
  maxPatternLength: 1000,
  maxPatternSize: 5000
}

export function makeService (family: Family, options: ServiceOptions): Service {
  checkOptions(family, options ?? {}, optionRules.service)
  const { storage, authorize } = options
  const waiting = readWaitingLimits(options)
  const makers = readMakers(family, options)
  const { name, order, shape: { fields } } = family
  const grammar = compileGrammar({ name, fields, order }, limits)
  const logGrammar = compileGrammar(logList, limits)
  const accesses = new Map(listFamilies(family).map(each => [each, makeStorageAccess(listShapes(each))]))
  // The storage is prepared at the first call; an application may boot before that.
  for (const each of accesses.keys()) noteShapes(storage, listShapes(each))
  const pick = makePicker(fields.map(({ name }) => name))
  const operations = new Map([...family.operations.values()].map(each => [each.operation.name, each]))

  return {
    async create (fields, options = {}) {
      const { createAction, params } = family.lifecycle ?? refuseOperation('create')
      const command = { action: createAction, target: undefined, params: checkParams(params, fields) }
      return await run(command, options, optionRules.create)
    },

    async run (name: string, id: Id, params: object = {}, options: RunOptions = {}) {
      const { operation: { action }, params: expected } = operations.get(name) ?? refuseOperation(name)
      return await run({ action, target: checkId(id), params: checkParams(expected, params) }, options)
    },

    async remove (id, options = {}) {
      const { operation: { action } } = family.lifecycle?.deletion ?? refuseOperation('remove')
      const { item, ...done } = await run({ action, target: checkId(id), params: {} }, options)
      return done
    },

    async get (id, options = {}) {
      const target = checkId(id)
      const reader = await authorizeReader(family, makeCaller(options, optionRules.get), intendToRead(family, target))
      const item = await reader.get(target)
      if (item === undefined) throw notFound(family.singular, id)
      return pick(item) as never
    },

    async find (query = '', options = {}) {
      const reader = await authorizeReader(family, makeCaller(options, optionRules.find), intendToList(family))
      const find: Find = query => reader.find(query)
      if (typeof query === 'string') return await readPage(find, parseQuery(grammar, query, options), pick)
      const where = checkConditions(family, grammar, query)
      const parsed = parseQuery(grammar, '', options)
      return await readPage(find, { ...parsed, query: { ...parsed.query, where } }, pick)
    },

    async log (id, options = {}) {
      if (!family.writable) refuseOperation('log')
      const target = checkId(id)
      const reader = await authorizeReader(family, makeCaller(options, optionRules.find), intendToRead(family, target))
      const parsed = parseQuery(logGrammar, '', options)
      await reader.checkLog(target)
      const show = (entry: CommandRecord) => showCommand(family, entry, nameRecord(entry, reader.principal))
      return await readPage(query => reader.findLog(target, query), parsed, entry => show(entry as CommandRecord))
    }
  }

  async function run (command: Command, options: RunOptions, rule = optionRules.run): Promise<Done<never>> {
    const precondition = ({ revision }: Stored) => {
      if (options.revision !== undefined && revision !== options.revision) {
        throw preconditionFailed(family.singular, revision)
      }
    }
    const { action, target, params } = command
    const { id, key } = readIds(options)
    const asked = { action, target, params, id, key, precondition }
    const outcome = await execute(family, makeCaller(options, rule), asked)
    const { record, replayed, problem } = outcome
    if (problem !== undefined) throw problem
    const item = outcome.item ?? await outcome.loadItem?.()
    return {
      item: (item && pick(item)) as never,
      command: showCommand(family, record, outcome.id) as Done<never>['command'],
      changed: record.outcome === 'done',
      replayed
    }
  }

  function makeCaller (call: CallOptions, rule: TObject): Caller {
    checkOptions(family, call, rule)
    return makeCallerOf(family, call, checkPrincipal(call.principal))
  }

  function makeCallerOf (family: Family, call: CallOptions, claimed: string | undefined): Caller {
    const access = accesses.get(family) as StorageAccess
    const own: Grant = claimed === undefined ? {} : { principal: claimed }
    return {
      authorize: authorize === undefined
        ? () => own
        : async intent => {
          const grant = checkGrant(family, await authorize(call, intent))
          return grant.principal === undefined ? { ...grant, ...own } : grant
        },
      other: family => ({ family, caller: makeCallerOf(family, call, claimed) }),
      storage: () => guardOpening(() => access(storage)),
      signal: call.signal,
      waiting,
      makers
    }
  }

  function checkId (id: Id): Id {
    if (family.readId(String(id)) !== id) throw notFound(family.singular, id)
    return id
  }

  function refuseOperation (name: string): never {
    throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family.name, name, didYouMean(name, operations.keys()))
  }
}

function listFamilies (family: Family): Family[] {
  const all = [...family.operations.values()].flatMap(({ others, creates }) => [...others, ...creates])
  const others = [...all, ...family.lifecycle?.others ?? []].flatMap(({ family }) => family ?? [])
  return [...new Set([family, ...others])]
}

async function readPage<T> (find: Find, parsed: ParsedQuery, show: (item: Stored) => Members): Promise<ItemPage<T>> {
  const { items, total, next, prev } = await findPage(find, parsed)
  return {
    items: items.map(show) as T[],
    hasNext: next !== undefined,
    ...(total === undefined ? {} : { total }),
    ...(next && { next: writeCursor(parsed.list, next) }),
    ...(prev && { prev: writeCursor(parsed.list, prev) })
  }
}
