import { errorCodes } from '../errors.js'
import type { Family } from './family.js'

/** A family, whatever its fields and operations are. */
export interface AnyFamily {
  readonly definition: { readonly name: string }
}

// The compiled families are nobody's business outside.
const families = new WeakMap<object, Family>()

export function keepFamily (plugin: AnyFamily, family: Family): void {
  families.set(plugin, family)
}

/** The compiled family of a plugin. */
export function getFamily (plugin: AnyFamily): Family {
  const family = families.get(plugin)
  if (family === undefined) throw new errorCodes.FST_DEALBOOK_NO_FAMILY()
  return family
}

/** The same, where it may be anything. */
export function findFamily (value: unknown): Family | undefined {
  return value instanceof Object ? families.get(value) : undefined
}
