import { errorCodes } from '../errors.js'
import { type CompiledOperation, type Family, getBase } from '../family/family.js'
import { describeReturned, runRule } from '../service/refusal.js'
import type { Stored } from '../storage/storage.js'
import { freeze, isObject, type Members } from '../values/json.js'

const alike = new WeakMap<CompiledOperation, readonly string[]>()

/** The parameters that are named and typed like a field. */
function listAlike ({ fields }: Family, operation: CompiledOperation): readonly string[] {
  const known = alike.get(operation)
  if (known !== undefined) return known
  const names = operation.params.fields.filter(({ name, kind, scale, writeOnly }) => writeOnly !== true &&
    fields.some(field => field.name === name && field.kind === kind && field.scale === scale)).map(({ name }) => name)
  alike.set(operation, names)
  return names
}

/**
 * What the form of an operation starts with: the fields that its parameters are named and typed like, and what its
 * `prefill` returns, whose mistakes are thrown.
 *
 * @param item as the caller may see it
 */
export function prefillOperation (family: Family, action: string, item: Stored): Members {
  const base = getBase(family)
  const compiled = base.operations.get(action)
  if (compiled === undefined) return {}
  const known = family.renaming?.parse(item) ?? item
  const fields = listAlike(base, compiled).map(name => [name, known[name]]).filter(([, value]) => value !== null)
  return { ...Object.fromEntries(fields), ...callForCaller(family, () => callPrefill(base, compiled, known)) }
}

/** It gets the item as the caller sees it, and may not expect that something is hidden. */
function callForCaller ({ hiding }: Family, call: () => Members): Members {
  if (hiding === undefined) return call()
  try {
    return call()
  } catch {
    return {}
  }
}

function callPrefill (family: Family, { operation: { name, prefill } }: CompiledOperation, item: Stored): Members {
  if (prefill === undefined) return {}
  const refuse = (reason: string, cause?: unknown): Error =>
    new errorCodes.FST_DEALBOOK_FAILED_PREFILL(family.name, name, reason, { cause })
  let made: unknown
  try {
    made = runRule(family, name, 'prefill', () => prefill(freeze({ ...item })))
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error), error)
  }
  if (isObject(made)) return made
  throw refuse(`it returned ${describeReturned(made)}; it must return an object with parameters`)
}
