import { errorCodes } from '../errors.js'
import type { Context } from '../family/context.js'
import type { Operation } from '../family/definition.js'
import { type Family, type OtherDefinition } from '../family/family.js'
import { changeProblem, preconditionFailed, preconditionRequired, Problem } from '../problems.js'
import { isAbsent } from '../storage/conditions.js'
import { ConstraintError, type ConstraintRule, type Stored } from '../storage/storage.js'
import { freeze, type MemberFlaw, type Members, replaceUnsupported } from '../values/json.js'

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
  throw new errorCodes.FST_DEALBOOK_INVALID_VERDICT(operation.name, describeReturned(verdict))
}

/** What a rule returned by mistake, for its error. */
export function describeReturned (result: unknown): string {
  if (result === undefined) return 'nothing'
  if (!(result instanceof Promise)) return result === null ? 'null' : `a value of the type ${typeof result}`
  // So that a rejection is not a second, unhandled error.
  result.catch(() => {})
  return 'a promise'
}

/** Items and lists that fields name (`nameReferred`); undefined if there is none, or the caller may not read it. */
export type ReferencedItems = ReadonlyMap<string, Members | readonly Members[] | undefined>

/** A field refers to one family, but a path may lead to ids of any. */
export function nameReferred ({ field = '', isList, family }: OtherDefinition): string {
  return isList ? `${field} ${family?.name ?? ''}` : field
}

/** If `allowed` throws, it is not allowed. @param report called with an error that is not a problem but a bug */
export function explainNow (
  family: Family,
  operation: Pick<Operation<Members>, 'name' | 'action' | 'allowed'>,
  item: Members,
  context: Context,
  referenced: ReferencedItems,
  report?: (error: unknown) => void
): string | undefined {
  let reason: string | undefined = ''
  const others = family.changes.get(operation.action)?.others.filter(({ field }) => field !== undefined) ?? []
  try {
    const items = Object.fromEntries(others.map(other => [other.name, referenced.get(nameReferred(other))]))
    const withItems = others.length === 0 ? context : Object.freeze({ ...context, items: freeze(items) }) as Context
    // An item that the caller may not read must not be guessed from a reason.
    const isHidden = others.some(({ name, field = '', isList }) =>
      items[name] === undefined && (isList || !isAbsent(item[field])))
    if (!isHidden) {
      reason = runRule(family, operation.name, 'allowed', () =>
        explainForbidden(operation, freeze({ ...item }), undefined, withItems))
    }
  } catch (error) {
    if (error instanceof Problem) reason = error.message
    else report?.(error)
  }
  return reason === '' ? explainState(operation.name, family, readState(family, item)) : reason && cut(reason)
}

/** The precondition of a caller who knows a revision. @param isRequired whether everyone has to */
export function expectRevision (
  singular: string, known: number | undefined, isRequired: boolean
): (current: Stored) => void {
  return ({ revision }) => {
    if (known === undefined && isRequired) throw preconditionRequired(singular, 'revision')
    if (known !== undefined && known !== revision) throw preconditionFailed(singular, revision)
  }
}

/** Why an operation is not allowed, if only the state is the reason: what it is, and what is allowed instead. */
export interface StateReason {
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
  referenced: ReferencedItems
): Problem {
  const allowed = [...family.operations.values()].filter(({ past }) => past !== 'restore')
    .map(({ operation }) => operation)
    .filter(operation => explainNow(family, operation, item, context, referenced) === undefined)
    .map(operation => operation.name)
  const state = readState(family, item)
  const members = { ...(state === undefined ? {} : { state }), operation: name, allowed }
  return new Problem('wrong-state', reason === '' ? explainInState(family, members) : cut(reason), { members })
}

export function explainInState (family: Family, { operation, state, allowed }: StateReason): string {
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
  const { message, errors, members } = problem
  return changeProblem(problem, cut(message), {
    members: copyShortened(members), ...(errors && { errors: copyShortened(errors.slice(0, maxFlaws)) }), cause: problem
  })
}

function copyShortened<T> (value: T): T {
  return JSON.parse(JSON.stringify(value, (_name, member) => typeof member === 'string' ? cut(member) : member))
}

/** In characters, of a text of the host in a refusal. */
export const longestText = 1000

function cut (text: string, max = longestText): string {
  return replaceUnsupported(text.slice(0, max))
}

// For a field, or for the item if no field is known. The database's names and texts are never shown.
const reasons: Record<ConstraintRule, { readonly field: string, readonly whole: string }> = {
  unique: { field: 'is already taken', whole: 'it already exists' },
  required: { field: 'must be given', whole: 'a required value is missing' },
  reference: { field: 'refers to something that does not exist', whole: 'it refers to something that does not exist' },
  'in-use': { field: 'is referred to by something else', whole: 'something else refers to it' },
  value: { field: 'has a value that is not allowed', whole: 'it has a value that is not allowed' },
  other: { field: 'is not allowed', whole: 'a rule of the database rejects it' }
}

type Rename = (pointer: string) => string

const keepPointer: Rename = pointer => pointer

/** @param rename makes pointers as the problem has them */
export function refuseByConstraint (error: ConstraintError, rename = keepPointer): Problem {
  const { rule, other, declared } = error
  if (!declared) return refuseByDatabase(error, rename)
  if (rule === 'in-use') {
    const detail = `It cannot be deleted while ${other} refer to it. Nothing was done`
    return new Problem('in-use', detail, { members: { family: other }, cause: error })
  }
  const isDangling = rule === 'reference'
  const errors = listConstraintFlaws(error, rename, isDangling ? `must be an existing id of ${other}` : undefined)
  const detail = `${errors[0]?.pointer} ${errors[0]?.detail}`
  return isDangling
    ? new Problem('invalid-body', detail, { errors, cause: error })
    : new Problem('taken', `${detail}. Nothing was done`, { errors, cause: error })
}

function refuseByDatabase (error: ConstraintError, rename: Rename): Problem {
  const { rule, allowed } = error
  const errors = listConstraintFlaws(error, rename, allowed)
  const [first] = errors
  const reason = first === undefined ? reasons[rule].whole : `${first.pointer} ${first.detail}`
  const detail = `The database does not allow this: ${reason}. Nothing was done`
  return new Problem('constraint', detail, { cause: error, ...(first === undefined ? {} : { errors }) })
}

/** With the text that the family has for the constraint. */
export function explainConstraint (families: readonly Family[], error: unknown): unknown {
  if (!(error instanceof Problem && error.cause instanceof ConstraintError)) return error
  const { cause } = error
  const { constraints = {} } = families.find(({ name }) => name === cause.family) ?? {}
  const name = cause.constraint ?? ''
  const said = Object.hasOwn(constraints, name) ? constraints[name] : undefined
  if (said === undefined) return error
  const { detail, pointers } = typeof said === 'string' ? { detail: said, pointers: [] } : said
  const errors = pointers.map(pointer => ({ pointer, detail }))
  return new Problem('constraint', detail, { cause, ...(errors.length === 0 ? {} : { errors }) })
}

/** Of an item that gets values from the log: they are not in a body, which might be invalid. */
export function explainPast (error: unknown): unknown {
  const isInvalid = error instanceof Problem && error.code === 'invalid-body'
  if (!isInvalid || !(error.cause instanceof ConstraintError)) return error
  const { message, errors = [], cause } = error
  return new Problem('missing', `${message}. Nothing was done`, { errors, cause })
}

function isBeside (one: string, other: string): boolean {
  return one.slice(0, one.lastIndexOf('/')) === other.slice(0, other.lastIndexOf('/'))
}

function listConstraintFlaws (
  { rule, missing, pointers }: ConstraintError, rename: Rename, reason: string = reasons[rule].field
): MemberFlaw[] {
  const all = pointers.map(rename)
  return all.map(pointer => {
    // An id that is missing in several lines is a flaw of each, as is a value that several lines have.
    const others = missing === undefined ? all.filter(other => other !== pointer && isBeside(other, pointer)) : []
    const together = others.length === 0 ? '' : `, together with ${others.join(', ')}`
    return { pointer, detail: `${reason}${together}` }
  })
}
