import type { TSchema } from '@sinclair/typebox'
import { errorCodes } from '../core/errors.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'

export type OptionRules<O> = { readonly [K in keyof O]-?: TSchema }

export const storageRules = {
  maxHeavyReads: rules.size, maxWaitingReads: rules.count, maxLogged: rules.count, chain: rules.flag
}

export function checkStorageOptions<O extends object> (options: O, rules: OptionRules<O>): void {
  refuseInvalidOption(findFlaw(membersOf(rules), options, 'option'))
}

/** Requires exactly one of two options that say where the data is. */
export function checkSource (options: unknown, [first, second]: readonly [string, string]): void {
  const given = Object(options) as Readonly<Record<string, unknown>>
  const count = [first, second].filter(name => given[name] !== undefined).length
  if (typeof options === 'object' && count === 1) return
  refuseInvalidOption(count === 2
    ? `the option "${first}" cannot be given together with "${second}"`
    : `the option "${first}" is missing; give an object with it, or with "${second}"`)
}

function refuseInvalidOption (flaw: string | undefined): void {
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_STORAGE_OPTION(flaw)
}
