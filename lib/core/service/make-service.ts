import type { TObject } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { type Deletion, type Family, listRelated, listShapes } from '../family/family.js'
import { notFound, pointToCommand, preconditionFailed, Problem } from '../problems.js'
import { compileGrammar } from '../query/grammar.js'
import type { Id, Stored } from '../storage/storage.js'
import { didYouMean } from '../values/words.js'
import {
  checkOptions, checkParams, checkPrincipal, findItems, limits, optionRules, parseQuery, readIds, readPage, showItem
} from './arguments.js'
import { type Caller, checkGrant, type Grant, intendToList, intendToRead, readMakers } from './caller.js'
import type { Command } from './decide.js'
import { execute, type Outcome } from './execute.js'
import { executeAll } from './execute-all.js'
import { Feed, showFollowed } from './feed.js'
import { follow } from './follow.js'
import { authorizeReader, mayRead } from './reader.js'
import { type CommandRecord, logList, nameRecord, showCommand } from './record.js'
import type { CallOptions, Done, RunAllOptions, RunOptions, Service, ServiceOptions } from './service.js'
import { guardOpening, makeStorageAccess, noteShapes, type StorageAccess } from './storage-access.js'

const logGrammar = compileGrammar(logList, limits)

export function makeService (family: Family, options: ServiceOptions): Service {
  checkOptions(family, options ?? {}, optionRules.service)
  const { storage, authorize } = options
  const makers = readMakers(family, options)
  const accesses = new Map<Family, StorageAccess>()
  // The storage is prepared at the first call; an application may boot before that.
  for (const each of listRelated(family)) noteShapes(storage, listShapes(each))
  const related = [...listRelated(family), ...family.references.values()]
  const operations = new Map([...family.operations.values()].map(each => [each.operation.name, each]))

  return {
    async create (fields, options = {}) {
      return await run(find('create'), undefined, fields, options, optionRules.create)
    },

    async run (name: string, id: Id, params: object = {}, options: RunOptions = {}) {
      return await run(operations.get(name) ?? refuseOperation(name), id, params, options)
    },

    async remove (id, options = {}) {
      const { item, ...done } = await run(find('remove'), id, {}, options)
      return done
    },

    async runAll (commands: readonly AnyCommand[], options: RunAllOptions = {}): Promise<never> {
      const { atomic = false } = options
      const caller = makeCaller(options, optionRules.runAll)
      // A mistake of the program is found before anything is done.
      const found = commands.map(each => {
        checkOptions(family, each, optionRules.each)
        return operations.get(each.operation) ?? find(each.operation)
      })
      const results = await executeAll(commands, (each, index) => {
        const { id, params = {} } = each
        return { family, caller, command: readCommand(found[index] as Target, id, params, each) }
      }, atomic, (error, index) =>
        error instanceof Problem && error.statusCode < 500 ? pointToCommand(index, error, '/params') : error)
      const shown = results.map(async result => {
        if (result.status === 'rejected') throw result.reason
        return await show(result.value, caller)
      })
      return await (atomic ? Promise.all(shown) : Promise.allSettled(shown)) as never
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
      const show = (entry: CommandRecord) => showCommand(family, entry, nameRecord(entry, reader.grant.principal))
      return await readPage(query => reader.findLog(target, query), parsed, entry => show(entry as CommandRecord))
    },

    async * follow (options = {}) {
      if (!family.writable) refuseOperation('follow')
      const { after, from = 'beginning', signal } = options
      const { signal: _ending, ...caller } = makeCaller(options, optionRules.follow)
      const reader = await authorizeReader(family, caller, intendToRead(family, undefined))
      const feed = new Feed(await caller.storage(), [{ family, reader }], undefined)
      const start = after === undefined && from === 'beginning' ? undefined : await feed.findStart(after)
      for await (const { entries } of follow(feed, start, { signal })) {
        for (const entry of entries) yield showFollowed(family, entry, nameRecord(entry, reader.grant.principal))
      }
    }
  }

  async function run (
    target: Target,
    id: Id | undefined,
    params: object,
    options: RunOptions,
    rule = optionRules.run
  ): Promise<Done<never>> {
    const command = readCommand(target, id, params, options)
    const caller = makeCaller(options, rule)
    return await show(await execute(family, caller, command), caller)
  }

  function readCommand (
    { operation: { action }, params: expected }: Target,
    id: Id | undefined,
    params: object,
    options: RunOptions
  ): Command {
    const isNew = action === family.lifecycle?.createAction
    const precondition = ({ revision }: Stored) => {
      if (options.revision !== undefined && revision !== options.revision) {
        throw preconditionFailed(family.singular, revision)
      }
    }
    const target = isNew ? undefined : checkId(id as Id)
    return { action, target, params: checkParams(expected, params), ...readIds(options), precondition }
  }

  async function show (outcome: Outcome, caller: Caller): Promise<Done<never>> {
    const { record, replayed, problem } = outcome
    if (problem !== undefined) throw problem
    const item = outcome.item ?? await outcome.loadItem?.()
    const isShown = item !== undefined && await mayRead({ family, caller }, { ...outcome, item })
    return {
      item: (isShown ? { ...showItem(family, item), ...outcome.secrets } : undefined) as never,
      command: showCommand(family, record, outcome.id) as Done<never>['command'],
      changed: record.outcome === 'done',
      replayed
    }
  }

  function find (name: string): Target {
    const { createAction, params, deletion } = family.lifecycle ?? refuseOperation(name)
    if (name === 'create') return { operation: { action: createAction }, params }
    return name === 'remove' && deletion !== undefined ? deletion : refuseOperation(name)
  }

  function makeCaller (call: CallOptions, rule: TObject): Caller {
    checkOptions(family, call, rule)
    const principal = checkPrincipal(call.principal)
    const own: Grant = principal === undefined ? {} : { principal }
    return makeCallerOf(family)

    function makeCallerOf (family: Family): Caller {
      const access = accesses.get(family) ?? makeStorageAccess(listShapes(family))
      accesses.set(family, access)
      return {
        authorize: authorize === undefined
          ? () => own
          : async intent => {
            const grant = checkGrant(family, await authorize(call, intent))
            return grant.principal === undefined ? { ...grant, ...own } : grant
          },
        other (other) {
          const found = typeof other === 'string' ? related.find(({ name }) => name === other) : other
          return found && { family: found, caller: makeCallerOf(found) }
        },
        storage: () => guardOpening(access(storage)),
        signal: call.signal,
        makers,
        isGuarded: authorize !== undefined,
        isProgram: true,
        report (error, message) {
          process.emitWarning(`fastify-dealbook: ${message}: ${String(error)}`, { code: 'DEALBOOK_NOT_SHOWN' })
        }
      }
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

interface Target extends Pick<Deletion, 'params'> {
  readonly operation: Pick<Deletion['operation'], 'action'>
}

/** A `BookCommand` of any family. */
interface AnyCommand extends RunOptions {
  readonly operation: string
  readonly id?: Id
  readonly params?: object
}
