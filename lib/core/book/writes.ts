import { hideIn } from '../family/narrow.js'
import type { Params } from '../family/params.js'
import { checkParams, pickReadable, readIds } from '../service/arguments.js'
import { type Caller, intendToRead } from '../service/caller.js'
import type { Command } from '../service/decide.js'
import { execute, type Outcome, preview } from '../service/execute.js'
import { findReadable, tryReader } from '../service/reader.js'
import { showCommand } from '../service/record.js'
import { expectRevision } from '../service/refusal.js'
import type { CallOptions, Done, RunOptions } from '../service/service.js'
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

export function readCommand (
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

export async function showDone ({ family, source }: BookParts, outcome: Outcome, caller: Caller): Promise<Done<never>> {
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
