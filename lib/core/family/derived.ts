import { errorCodes } from '../errors.js'
import { freeze, type Members } from '../values/json.js'
import type { Family } from './family.js'
import { runRule } from './run-rule.js'

/**
 * The item with the fields that its family computes from it, in their order: each rule sees those before it. The
 * values are not checked yet.
 */
export function deriveFields (family: Family, operation: string, item: Members): Members {
  const { derived } = family
  if (derived.size === 0) return item
  const own = Object.entries(item).filter(([name]) => !derived.has(name))
  const made: Record<string, unknown> = Object.fromEntries(own)
  for (const [name, rule] of derived) {
    const value = runDerive(family, operation, name, () => rule(freeze({ ...made })))
    if (value !== undefined) made[name] = value
  }
  return made
}

// A failure is a bug of the host, also if it is a problem: no client sends the field.
function runDerive (family: Family, operation: string, field: string, derive: () => unknown): unknown {
  try {
    return runRule(family, operation, `derive of the field "${field}"`, derive)
  } catch (error) {
    if (error instanceof errorCodes.FST_DEALBOOK_CHANGED_ARGUMENT) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new errorCodes.FST_DEALBOOK_FAILED_DERIVE(family.name, operation, field, reason, { cause: error })
  }
}
