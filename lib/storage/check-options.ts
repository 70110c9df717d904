import type { TSchema } from '@sinclair/typebox'
import { errorCodes } from '../core/errors.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'

/** What each option of a storage must be. */
export type OptionRules<O> = { readonly [K in keyof O]-?: TSchema }

export const queueRules = { maxHeavyReads: rules.size, maxWaitingReads: rules.count }

/** Refuses an unknown or wrong option of a storage, by its name. */
export function checkStorageOptions<O extends object> (options: O, rules: OptionRules<O>): void {
  refuseFlaw(findFlaw(membersOf(rules), options, 'option'))
}

/** Refuses a storage that does not know where to keep everything: exactly one of two options says it. */
export function checkSource (options: unknown, [first, second]: readonly [string, string]): void {
  const given = Object(options) as Readonly<Record<string, unknown>>
  const count = [first, second].filter(name => given[name] !== undefined).length
  if (typeof options === 'object' && count === 1) return
  refuseFlaw(count === 2
    ? `the option "${first}" cannot be given together with "${second}"`
    : `the option "${first}" is missing; give an object with it, or with "${second}"`)
}

function refuseFlaw (flaw: string | undefined): void {
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_STORAGE_OPTION(flaw)
}
