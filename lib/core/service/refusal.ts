import { errorCodes } from '../errors.js'
import type { Context, Operation } from '../family/definition.js'
import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { isAbsent } from '../storage/conditions.js'
import { freeze, type Members, replaceUnsupported } from '../values/json.js'

/** An empty text if no reason is known; undefined if it is allowed. Without params, it is only offered. */
export function explainForbidden (
  operation: Pick<Operation<Members>, 'name' | 'allowed'>,
  item: Members,
  params: Members | undefined,
  context: Context
): string | undefined {
  if (operation.allowed === undefined) return undefined
  const verdict: unknown = operation.allowed(item, params, context)
  if (typeof verdict === 'boolean') return verdict ? undefined : ''
  if (typeof verdict === 'string') return verdict
  // So that a rejection is not a second, unhandled error.
  if (verdict instanceof Promise) verdict.catch(() => {})
  const what = verdict instanceof Promise ? 'a promise' : verdict === null ? 'null' : typeof verdict
  throw new errorCodes.FST_DEALBOOK_INVALID_VERDICT(operation.name, what)
}

/** Items that fields name, by their fields; undefined if there is none, or the caller may not read it. */
export type Reach = ReadonlyMap<string, Members | undefined>

/** If `allowed` throws, it is not allowed. @param report called with an error that is not a problem but a bug */
export function explainNow (
  family: Family,
  operation: Pick<Operation<Members>, 'name' | 'action' | 'allowed'>,
  item: Members,
  context: Context,
  reach: Reach,
  report?: (error: unknown) => void
): string | undefined {
  let reason: string | undefined = ''
  const others = family.operations.get(operation.action)?.others.filter(({ field }) => field !== undefined) ?? []
  const find = (field: string | undefined): Members | undefined => reach.get(field ?? '')
  try {
    const items = Object.fromEntries(others.map(({ name, field }) => [name, find(field)]))
    const withItems = others.length === 0 ? context : Object.freeze({ ...context, items: freeze(items) })
    // An item that the caller may not read must not be guessed from a reason.
    const isHidden = others.some(({ field = '' }) => !isAbsent(item[field]) && find(field) === undefined)
    if (!isHidden) reason = explainForbidden(operation, freeze({ ...item }), undefined, withItems)
  } catch (error) {
    if (error instanceof Problem) reason = error.message
    else report?.(error)
  }
  return reason === '' ? explainState(operation.name, family, readState(family, item)) : reason && cut(reason)
}

export interface InState {
  readonly operation: string
  readonly state?: string
  readonly allowed: readonly string[]
}

export function refuseInState (
  family: Family,
  name: string,
  item: Members,
  reason: string,
  context: Context,
  reach: Reach
): Problem {
  const allowed = [...family.operations.values()].map(({ operation }) => operation)
    .filter(operation => explainNow(family, operation, item, context, reach) === undefined)
    .map(operation => operation.name)
  const state = readState(family, item)
  const members = { ...(state === undefined ? {} : { state }), operation: name, allowed }
  return new Problem('wrong-state', reason === '' ? explainInState(family, members) : cut(reason), { members })
}

export function explainInState (family: Family, { operation, state, allowed }: InState): string {
  const others = allowed.length === 0 ? 'no operation is allowed now' : `allowed now: ${allowed.join(', ')}`
  return `${explainState(operation, family, state)}; ${others}`
}

export function readState (family: Family, item: Members): string | undefined {
  const called: unknown = family.state?.(item)
  return typeof called === 'string' && called !== '' ? cut(called, 100) : undefined
}

export function explainState (name: string, { singular }: Family, state: string | undefined): string {
  const when = state === undefined ? `for this ${singular} now` : `while the ${singular} is ${state}`
  return `${name} is not allowed ${when}`
}

const maxFlaws = 20

export function copyRefusal (problem: Problem): Problem {
  const { code, message, statusCode: status, errors, members, headers } = problem
  return new Problem(code, cut(message), {
    status,
    headers,
    members: copy(members),
    ...(errors === undefined ? {} : { errors: copy(errors.slice(0, maxFlaws)) }),
    cause: problem
  })
}

function copy<T> (value: T): T {
  return JSON.parse(JSON.stringify(value, (_name, member) => typeof member === 'string' ? cut(member) : member))
}

function cut (text: string, max = 1000): string {
  return replaceUnsupported(text.slice(0, max))
}
