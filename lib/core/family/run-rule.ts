import { errorCodes } from '../errors.js'
import type { Family } from './family.js'

// Messages of V8 for a change of something frozen.
const changesFrozen = /^Cannot (?:assign to read only|add|delete|define|redefine) property/

/** Runs a rule of the host, whose arguments are frozen. @param rule what it is called in an error */
export function runRule<T> ({ name: family }: Family, operation: string, rule: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof TypeError && changesFrozen.test(error.message))) throw error
    throw new errorCodes.FST_DEALBOOK_CHANGED_ARGUMENT(family, operation, rule, error.message, { cause: error })
  }
}
