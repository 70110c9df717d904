import { errorCodes } from '../core/errors.js'
import type { Check } from '../core/values/checks.js'
import { checkCount, checkSize } from '../core/values/checks.js'
import { didYouMean } from '../core/values/nearest.js'

/** How each option of a storage is checked. */
export type OptionChecks<O> = { readonly [K in keyof O]-?: Check }

export const queueChecks = { maxHeavyReads: checkSize, maxWaitingReads: checkCount }

/** Refuses what a host gave a storage, where an option is unknown or wrong, by its name. */
export function checkStorageOptions<O extends object> (options: O, checks: OptionChecks<O>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    if (!Object.hasOwn(checks, name)) throw refuseOption(name, `it is unknown.${didYouMean(name, Object.keys(checks))}`)
    const flaw = checks[name as keyof O](value)
    if (flaw !== undefined) throw refuseOption(name, `it ${flaw}`)
  }
}

/** Refuses a storage that is not told where it keeps everything: one of two options does. */
export function checkSource (options: unknown, [first, second]: readonly [string, string]): void {
  const given = Object(options) as Readonly<Record<string, unknown>>
  const count = [first, second].filter(name => given[name] !== undefined).length
  if (typeof options === 'object' && count === 1) return
  const flaw = `it is missing: the storage takes an object with it, or with "${second}"`
  throw refuseOption(first, count === 2 ? `it cannot be given together with "${second}"` : flaw)
}

function refuseOption (name: string, flaw: string): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_STORAGE_OPTION(name, flaw)
}
