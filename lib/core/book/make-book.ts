import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import type { Params } from '../family/params.js'
import { invalidBody, invalidQuery, notFound, pointToCommand, Problem } from '../problems.js'
import { compileGrammar, type Grammar, type PageOptions } from '../query/grammar.js'
import { performance } from '../runtime.js'
import {
  callRules, checkCallOptions, checkParams, findItems, parseFind, parseQuery, pickReadable, programLimits, readIds,
  toItemPage
} from '../service/arguments.js'
import { findBounded } from '../service/bounded.js'
import { type Caller, intendToList, intendToRead } from '../service/caller.js'
import type { Command } from '../service/decide.js'
import { execute, type Outcome, preview } from '../service/execute.js'
import { executeAll } from '../service/execute-all.js'
import { Feed, showFollowed } from '../service/feed.js'
import { follow } from '../service/follow.js'
import {
  authorizeReader, type Find, findPage, mayRead, type Reader, readErrorStatus, tryReader
} from '../service/reader.js'
import { type CommandRecord, logList, nameRecord, showCommand } from '../service/record.js'
import { expectRevision } from '../service/refusal.js'
import type { CallOptions, Done, LoggedCommand, RunAllOptions, RunOptions } from '../service/service.js'
import type { Condition, Id } from '../storage/storage.js'
import { makePicker, type Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import type { Book } from './book.js'
import { makeExpand } from './expand.js'
import { type Action, askForAny, findOffers, findTargets, listActions } from './offers.js'

/** Where a book gets its callers from, and what holds for all their calls. */
export interface BookSource {
  /** Checks the options of a call. */
  open (options: CallOptions, rule: keyof typeof callRules): Caller
  /** For clients, whose pages of lists and logs are limited. */
  readonly grammars?: { readonly list: Grammar, readonly log: Grammar }
  /** Whether a change of an item needs its revision. */
  readonly needsRevision?: boolean
  /** The most commands that `runAll` takes. */
  readonly maxCommands?: number
  note? (outcome: Outcome): void
}

const logGrammar = compileGrammar(logList, programLimits)
// Milliseconds after which a follower's permission is asked for again.
const askAgainAfter = 15_000

export function makeBook (family: Family, source: BookSource): Book {
  const { grammars, needsRevision = false, maxCommands = Infinity } = source
  // An operation counts before a method of the same name.
  const all = listActions(family)
  const isOperation = ({ kind }: Action): boolean => kind === 'operation'
  const inOrder = [...all.filter(each => !isOperation(each)), ...all.filter(isOperation)]
  const actions = new Map(inOrder.map(each => [each.name, each]))

  return {
    async create (fields, options = {}) {
      return await run(findOwn('create'), undefined, fields, options, 'create')
    },

    async run (name: string, id: Id, params: object = {}, options: RunOptions = {}) {
      return await run(find(name, changes), id, params, options)
    },

    async remove (id, options = {}) {
      const { item, ...done } = await run(findOwn('remove'), id, {}, options)
      return done
    },

    async runAll (commands: readonly AnyCommand[], options: RunAllOptions = {}): Promise<never> {
      const { atomic = false } = options
      const caller = source.open(options, 'runAll')
      if (commands.length > maxCommands) {
        throw invalidBody([{ pointer: '/commands', detail: `must have at most ${maxCommands} commands` }])
      }
      // A mistake of the program is found before anything is done.
      const found = commands.map(each => {
        checkCallOptions(family, each, callRules.each)
        return find(each.operation, [...changes, 'create', 'remove'])
      })
      const results = await executeAll(commands, (each, index) => {
        const { id, params = {} } = each
        return { family, caller, command: readCommand(found[index] as Action, id, params, each) }
      }, atomic, (error, index) =>
        error instanceof Problem && error.statusCode < 500 ? pointToCommand(index, error, '/params') : error)
      const shown = results.map(async result => {
        if (result.status === 'rejected') throw result.reason
        return await show(result.value, caller)
      })
      return await (atomic ? Promise.all(shown) : Promise.allSettled(shown)) as never
    },

    async get (id, options = {}) {
      const { expand = [] } = options
      const { item, reader } = await read(id, options, 'get')
      const flaw = expand.find(field => !family.references.has(field))
      if (flaw !== undefined) throw invalidQuery([{ parameter: 'expand', detail: `${flaw} refers to no item` }])
      if (expand.length === 0) return pickReadable(family, item) as never
      const [shown = item] = await (await makeExpand(family, reader.called.caller, expand, { one: item }))([item])
      return pickReadable(family, shown) as never
    },

    async find (query = '', options = {}) {
      const caller = source.open(options, 'find')
      const reader = await authorizeReader(family, caller, intendToList(family))
      if (grammars === undefined) return await findItems(family, reader, query, options)
      return await findLimited(grammars.list, caller, reader, query, options)
    },

    async log (id, options = {}) {
      if (!family.writable) refuseOperation('log')
      const target = checkId(id)
      const reader = await authorizeReader(family, source.open(options, 'find'), intendToRead(family, target))
      const parsed = parseQuery(grammars?.log ?? logGrammar, '', options)
      await reader.checkLog(target)
      const show = showEntries(reader)
      const find: Find = query => reader.findLog(target, query)
      const isBounded = grammars !== undefined && family.hasLongCommands
      const page = await findBounded(each => findPage(find, each), parsed, isBounded)
      return toItemPage(page, parsed, entry => show(entry as CommandRecord))
    },

    async entry (id, command, options = {}) {
      if (!family.writable) refuseOperation('entry')
      const target = checkId(id)
      const reader = await authorizeReader(family, source.open(options, 'call'), intendToRead(family, target))
      await reader.checkLog(target)
      const entry = await reader.getFromLog(target, String(command))
      if (entry === undefined) throw notFound('command', String(command))
      return showEntries(reader)(entry) as LoggedCommand
    },

    async * follow (options = {}) {
      if (!family.writable) refuseOperation('follow')
      const { after, from = 'beginning', signal } = options
      const { signal: _ending, ...caller } = source.open(options, 'follow')
      const ask = async (): Promise<Reader> => await authorizeReader(family, caller, intendToRead(family, undefined))
      let reader = await ask()
      const feed = new Feed(await caller.storage(), [{ family, reader }], undefined)
      const start = after === undefined && from === 'beginning' ? undefined : await feed.findStart(after)
      const renew = async (): Promise<void> => {
        reader = await ask()
        feed.replace([{ family, reader }], undefined)
      }
      const renewal = caller.isGuarded ? { renew, interval: askAgainAfter } : {}
      for await (const batch of follow(feed, start, { signal, ...renewal })) {
        for (const entry of batch.entries) {
          yield showFollowed(family, entry, nameRecord(entry, reader.grant.principal))
          if (performance.now() < batch.dueAt) continue
          // A slow follower gets the rest if it may still see it.
          batch.position = entry.position
          break
        }
      }
    },

    async offers (id, options = {}) {
      if (id === undefined) {
        const granted = await askFor(all, options)
        return granted.map(({ name, action }) => ({ name, action, allowed: true }))
      }
      const { item, reader } = await read(id, options)
      return await findOffers(reader.called, reader.grant, item)
    },

    async can (name, id, options = {}) {
      const asked = find(name)
      try {
        if (id === undefined || asked.target === undefined) {
          if (id === undefined || asked.kind !== 'get') return (await askFor([asked], options)).length > 0
          await read(id, options)
          return true
        }
        const { item, reader } = await read(id, options)
        const [open] = await findTargets(reader.called, reader.grant, item, [asked.target])
        return open !== undefined && open.reason === undefined
      } catch (error) {
        if ([401, 403, 404].includes(readErrorStatus(error))) return false
        throw error
      }
    },

    async preview (name, id, params = {}, options = {}) {
      const command = readCommand(find(name, [...changes, 'remove']), id, params, options)
      const caller = source.open(options, 'preview')
      const { decision } = await preview(family, caller, command)
      if (decision.outcome === 'refused') throw decision.problem
      const reader = await tryReader(family, caller, intendToRead(family, id))
      const before = await reader?.get(id)
      const after = decision.outcome === 'done' ? decision.after : before
      const isShown = before !== undefined && after !== undefined && reader?.holds(after) === true
      return {
        changed: decision.outcome === 'done',
        item: (isShown ? pickReadable(family, after) : undefined) as never
      }
    }
  }

  async function askFor (wanted: readonly Action[], options: CallOptions): Promise<Action[]> {
    return await askForAny({ family, caller: source.open(options, 'call') }, wanted)
  }

  async function read (id: Id, options: CallOptions, rule: 'call' | 'get' = 'call') {
    const target = checkId(id)
    const reader = await authorizeReader(family, source.open(options, rule), intendToRead(family, target))
    const item = await reader.get(target)
    if (item === undefined) throw notFound(family.singular, id)
    return { item, reader }
  }

  async function run (
    action: Action,
    id: Id | undefined,
    params: object,
    options: RunOptions,
    rule: 'run' | 'create' = 'run'
  ): Promise<Done<never>> {
    const command = readCommand(action, id, params, options)
    const caller = source.open(options, rule)
    return await show(await execute(family, caller, command), caller)
  }

  function readCommand (
    { kind, action, params: expected }: Action,
    id: Id | undefined,
    params: object,
    options: RunOptions
  ): Command {
    const precondition = expectRevision(family.singular, options.revision, needsRevision)
    const target = kind === 'create' ? undefined : checkId(id as Id)
    return { action, target, params: checkParams(expected as Params, params), ...readIds(options), precondition }
  }

  async function show (outcome: Outcome, caller: Caller): Promise<Done<never>> {
    source.note?.(outcome)
    const { record, replayed, problem } = outcome
    if (problem !== undefined) throw problem
    const item = outcome.item ?? await outcome.loadItem?.()
    const isShown = item !== undefined && await mayRead({ family, caller }, { ...outcome, item })
    return {
      item: (isShown ? { ...pickReadable(family, item), ...outcome.secrets } : undefined) as never,
      command: showCommand(family, record, outcome.id) as Done<never>['command'],
      changed: record.outcome === 'done',
      replayed
    }
  }

  function showEntries ({ grant: { principal } }: Reader): (entry: CommandRecord) => Members {
    return entry => showCommand(family, entry, nameRecord(entry, principal))
  }

  /** As the list of a mount: its pages have a limit, also of their length, and `fields` and `expand`. */
  async function findLimited (
    grammar: Grammar, caller: Caller, reader: Reader, query: string | readonly Condition[], options: PageOptions
  ) {
    const parsed = parseFind(family, grammar, query, options, /^format$/)
    const { expand = [], fields = family.members } = parsed
    const hasLongItems = family.hasLongItems || expand.some(field => family.references.get(field)?.hasLongItems)
    const page = await findBounded(each => findPage(query => reader.find(query), each), parsed, hasLongItems)
    if (expand.length === 0) return toItemPage(page, parsed, makePicker(fields)) as never
    const items = await (await makeExpand(family, caller, expand, {}))(page.items)
    return toItemPage({ ...page, items }, parsed, makePicker(fields)) as never
  }

  function find (name: string, kinds: readonly Action['kind'][] = allKinds): Action {
    const found = actions.get(name)
    return found !== undefined && kinds.includes(found.kind) ? found : refuseOperation(name)
  }

  function findOwn (kind: 'create' | 'remove'): Action {
    return all.find(each => each.kind === kind) ?? refuseOperation(kind)
  }

  function checkId (id: Id): Id {
    if (family.readId(String(id)) !== id) throw notFound(family.singular, id)
    return id
  }

  function refuseOperation (name: string): never {
    const names = all.flatMap(each => each.target === undefined ? [] : each.name)
    throw new errorCodes.FST_DEALBOOK_UNKNOWN_OPERATION(family.name, name, didYouMean(name, names))
  }
}

/** What `run` does. */
const changes = ['edit', 'operation'] as const
const allKinds = [...changes, 'find', 'get', 'create', 'remove'] as const

/** A `BookCommand` of any family. */
interface AnyCommand extends RunOptions {
  readonly operation: string
  readonly id?: Id
  readonly params?: object
}
