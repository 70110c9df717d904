import { hideIn } from '../family/narrow.js'
import type { Params } from '../family/params.js'
import { invalidBody, pointToCommand, Problem } from '../problems.js'
import { callRules, checkCallOptions, checkParams, pickReadable, readIds } from '../service/arguments.js'
import { type Caller, intendToRead } from '../service/caller.js'
import type { Command } from '../service/decide.js'
import { execute, type Outcome, preview } from '../service/execute.js'
import { executeAll } from '../service/execute-all.js'
import { findReadable, tryReader } from '../service/reader.js'
import { showCommand } from '../service/record.js'
import { expectRevision } from '../service/refusal.js'
import type { CallOptions, Done, RunAllOptions, RunOptions } from '../service/service.js'
import type { Id } from '../storage/storage.js'
import type { Preview } from './book.js'
import type { Action } from './offers.js'
import { type BookParts, changes } from './source.js'

// The methods of a book that change items, or say what a change would be.

export async function runAction (
  book: BookParts,
  action: Action,
  id: Id | undefined,
  params: object,
  options: RunOptions,
  rule: 'run' | 'create' = 'run'
): Promise<Done<never>> {
  const command = readCommand(book, action, id, params, options)
  const caller = book.source.open(options, rule)
  return await showDone(book, await execute(book.family, caller, command), caller)
}

function readCommand (
  book: BookParts,
  { kind, action, params: expected }: Action,
  id: Id | undefined,
  params: object,
  options: RunOptions
): Command {
  const { family, source: { needsRevision = false } } = book
  const precondition = expectRevision(family.singular, options.revision, needsRevision)
  const target = kind === 'create' ? undefined : book.checkId(id as Id)
  return { action, target, params: checkParams(expected as Params, params), ...readIds(options), precondition }
}

async function showDone ({ family, source }: BookParts, outcome: Outcome, caller: Caller): Promise<Done<never>> {
  source.note?.(outcome)
  const { record, replayed, problem } = outcome
  if (problem !== undefined) throw problem
  const item = outcome.item ?? await outcome.loadItem?.()
  const shown = item && await findReadable({ family, caller }, { ...outcome, item })
  return {
    item: (shown && { ...pickReadable(shown, hideIn(shown, item)), ...hideIn(shown, outcome.secrets ?? {}) }) as never,
    command: showCommand(family, record, outcome.id) as Done<never>['command'],
    changed: record.outcome === 'done',
    replayed
  }
}

/** A `BookCommand` of any family. */
export interface AnyCommand extends RunOptions {
  readonly operation: string
  readonly id?: Id
  readonly params?: object
}

/** @returns what was done, or that it was not: with `atomic`, the first failure is thrown */
export async function runAll (
  book: BookParts, commands: readonly AnyCommand[], options: RunAllOptions
): Promise<Array<Done<never> | PromiseSettledResult<Done<never>>>> {
  const { family, source } = book
  const { maxCommands = Infinity } = source
  const { atomic = false } = options
  const caller = source.open(options, 'runAll')
  if (commands.length > maxCommands) {
    throw invalidBody([{ pointer: '/commands', detail: `must have at most ${maxCommands} commands` }])
  }
  // A mistake of the program is found before anything is done.
  const found = commands.map(each => {
    checkCallOptions(family, each, callRules.each)
    return book.find(each.operation, [...changes, 'create', 'remove'])
  })
  const results = await executeAll(commands, (each, index) => {
    const { id, params = {} } = each
    return { family, caller, command: readCommand(book, found[index] as Action, id, params, each) }
  }, atomic, (error, index) =>
    error instanceof Problem && error.statusCode < 500 ? pointToCommand(index, error, '/params') : error)
  const shown = results.map(async result => {
    if (result.status === 'rejected') throw result.reason
    return await showDone(book, result.value, caller)
  })
  return await (atomic ? Promise.all(shown) : Promise.allSettled(shown))
}

export async function previewChange (
  book: BookParts, name: string, id: Id, params: object, options: CallOptions & { readonly revision?: number }
): Promise<Preview<never>> {
  const { family, source } = book
  const action = book.find(name, [...changes, 'remove'])
  const command = readCommand(book, action, id, params, options)
  const caller = source.open(options, 'preview')
  const { decision } = await preview(family, caller, command)
  if (decision.outcome === 'refused') throw decision.problem
  const reader = await tryReader(family, caller, intendToRead(family, id))
  const before = await reader?.get(id)
  const after = decision.outcome === 'done' ? decision.after : before
  const isThere = before !== undefined || action.kind === 'restore'
  const isShown = isThere && after !== undefined && reader?.holds(after) === true
  return {
    changed: decision.outcome === 'done',
    item: (isShown ? pickReadable(reader.family, hideIn(reader.family, after)) : undefined) as never
  }
}
