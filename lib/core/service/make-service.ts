import type { TObject } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { type Family, listShapes } from '../family/family.js'
import { notFound, preconditionFailed } from '../problems.js'
import { compileGrammar } from '../query/grammar.js'
import type { Id, Stored } from '../storage/storage.js'
import { didYouMean } from '../values/words.js'
import { checkOptions, checkParams, checkPrincipal, optionRules, parseQuery, readIds } from './arguments.js'
import { type Caller, checkGrant, type Grant, intendToList, intendToRead, readMakers } from './caller.js'
import type { Command, CommandRecord } from './command.js'
import { execute } from './execute.js'
import { Feed, showFollowed } from './feed.js'
import { findItems, limits, readPage, showItem } from './lookups.js'
import { authorizeReader } from './reader.js'
import { logList, nameRecord, showCommand } from './record.js'
import type { CallOptions, Done, RunOptions, Service, ServiceOptions } from './service.js'
import { guardOpening, makeStorageAccess, noteShapes, type StorageAccess } from './storage-access.js'
import { readWaitingLimits } from './write-queue.js'

const logGrammar = compileGrammar(logList, limits)

export function makeService (family: Family, options: ServiceOptions): Service {
  checkOptions(family, options ?? {}, optionRules.service)
  const { storage, authorize } = options
  const waiting = readWaitingLimits(options)
  const makers = readMakers(family, options)
  const accesses = new Map<Family, StorageAccess>()
  // The storage is prepared at the first call; an application may boot before that.
  for (const each of listFamilies(family)) noteShapes(storage, listShapes(each))
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
      return showItem(family, item) as never
    },

    async find (query = '', options = {}) {
      const reader = await authorizeReader(family, makeCaller(options, optionRules.find), intendToList(family))
      return await findItems(family, reader, query, options)
    },

    async log (id, options = {}) {
      if (!family.writable) refuseOperation('log')
      const target = checkId(id)
      const reader = await authorizeReader(family, makeCaller(options, optionRules.find), intendToRead(family, target))
      const parsed = parseQuery(logGrammar, '', options)
      await reader.checkLog(target)
      const show = (entry: CommandRecord) => showCommand(family, entry, nameRecord(entry, reader.principal))
      return await readPage(query => reader.findLog(target, query), parsed, entry => show(entry as CommandRecord))
    },

    async * follow (options = {}) {
      if (!family.writable) refuseOperation('follow')
      const { after, from = 'beginning', signal } = options
      const { signal: _ending, ...caller } = makeCaller(options, optionRules.follow)
      const reader = await authorizeReader(family, caller, intendToRead(family, undefined))
      const feed = new Feed(await caller.storage(), [{ family, reader }], undefined)
      const start = after === undefined && from === 'beginning' ? 0 : await feed.findStart(after)
      for await (const { entries } of feed.follow(start, { signal })) {
        for (const entry of entries) yield showFollowed(family, entry, nameRecord(entry, reader.principal))
      }
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
      item: (item && { ...showItem(family, item), ...outcome.secrets }) as never,
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
    const access = accesses.get(family) ?? makeStorageAccess(listShapes(family))
    accesses.set(family, access)
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
