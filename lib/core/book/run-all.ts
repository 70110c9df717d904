import { executeAll } from '../many/execute-all.js'
import { invalidBody, pointToCommand, Problem } from '../problems.js'
import { callRules, checkCallOptions } from '../service/arguments.js'
import type { Done, RunAllOptions, RunOptions } from '../service/service.js'
import type { Id } from '../storage/storage.js'
import type { Action } from './offers.js'
import { type BookParts, changes } from './source.js'
import { readCommand, showDone } from './writes.js'

/** A `BookCommand` of any family. */
export interface AnyCommand extends RunOptions {
  readonly operation: string
  readonly id?: Id
  readonly params?: object
}

/**
 * The method `runAll` of a book.
 *
 * @returns what was done, or that it was not: with `atomic`, the first failure is thrown
 */
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
