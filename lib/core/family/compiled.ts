import { errorCodes } from '../errors.js'
import type { Family } from './family.js'
import type { AnyFamily } from './operation.js'

export type { AnyFamily } from './operation.js'

// By plugin: the compiled families are internal.
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

/** The same of any value; undefined where it is not the plugin of a family. */
export function findFamily (value: unknown): Family | undefined {
  return value instanceof Object ? families.get(value) : undefined
}
