import { errorCodes } from '../errors.js'
import { type Family, hasFieldsOf, type Renaming } from '../family/family.js'
import { type NameTree, renameSegments } from '../family/name-tree.js'
import { getWhole, getWholeItem, keepWholeItem } from '../family/narrow.js'
import { changeProblem, type Flaw, invalidBody, Problem } from '../problems.js'
import { ConstraintError } from '../storage/storage.js'
import { escapePointer, type MemberFlaw, type Members, unescapePointer } from '../values/json.js'
import type { Caller, Grant, Intent } from './caller.js'
import type { Outcome } from './commit.js'
import type { Command } from './decide.js'
import type { CommandRecord } from './record.js'
import { refuseByConstraint } from './refusal.js'
import { pointsToParams } from './sent-values.js'

// A command of a renamed version is one of its base: it gets the names of the base where it begins, and what it results
// in gets those of the version where it ends.

export interface Called {
  readonly family: Family
  readonly caller: Caller
}

/** A command, as its sender names things. */
export interface Sent extends Called {
  readonly command: Command
}

/** A command under the names that its rules, the storage and the log have. */
export interface EnteredCommand extends Sent {
  /** Under the names of the sender. */
  showOutcome (outcome: Outcome): Outcome
  showItem<T extends Members | undefined> (item: T): T
  showProblem<T> (error: T): T | Problem
}

const keepNames = <T>(value: T): T => value

/** An item of the base, as a version of the family has it. */
export function showAs<T extends Members | undefined> ({ renaming }: Family, item: T): T {
  if (renaming === undefined || item === undefined) return item
  const shown = renaming.show(item)
  const whole = getWholeItem(item)
  if (whole !== item) keepWholeItem(shown, renaming.show(whole))
  return shown
}

export function enter ({ family: shown, caller, command }: Sent): EnteredCommand {
  const family = getWhole(shown)
  const { renaming } = family
  if (renaming === undefined) {
    return { family, caller, command, showOutcome: keepNames, showItem: keepNames, showProblem: keepNames }
  }
  const showItem = <T extends Members | undefined>(item: T): T => showAs(family, item)
  const showProblem = <T>(error: T): T | Problem => nameProblem(family, renaming, command.action, error)
  return {
    ...asBase({ family, caller }),
    command: { ...parseCommand(renaming, command), sent: { family, params: command.params } },
    showItem,
    showProblem,
    showOutcome (outcome) {
      const { record, item, secrets, loadItem, problem } = outcome
      return {
        ...outcome,
        record: nameRecordOf(family, record, family),
        item: showItem(item),
        secrets: showItem(secrets),
        ...(loadItem && { loadItem: async () => showItem(await loadItem()) }),
        problem: nameProblem(family, renaming, record.action, problem)
      }
    }
  }
}

/** The same family under the names that rules have. */
export function asBase (called: Called): Called {
  const { family: { renaming, hiding }, caller } = called
  if (renaming !== undefined) return { family: renaming.base, caller: callBase(renaming, caller) }
  return hiding === undefined ? called : { family: hiding.whole, caller }
}

/** The same caller of the base. `authorize` and `onCommitted` still have the names of the version. */
function callBase (renaming: Renaming, caller: Caller): Caller {
  const parse = (grant: Grant): Grant => grant.where === undefined && grant.hide === undefined
    ? grant
    : {
        ...grant,
        ...grant.where && { where: renaming.parseConditions(grant.where) },
        ...grant.hide && { hide: renaming.parsePaths(grant.hide) as never }
      }
  const { authorize, committed, ...named } = nameParams(renaming, caller)
  return {
    ...named,
    authorize (intent) {
      const grant = keepOwnNames(() => authorize(intent))
      return grant instanceof Promise ? grant.then(parse, throwOwn) : parse(grant)
    },
    committed: committed && (change => {
      const { before, after } = change
      committed({ ...change, before: before && renaming.show(before), after: after && renaming.show(after) })
    }),
    other (its) {
      const other = caller.other(its)
      return other && { ...other, caller: nameParams(renaming, other.caller) }
    }
  }
}

/** The same caller of another family, or of its own, under the names that rules have. */
export function findOther (own: Called, its: Family | undefined): Called {
  const found = findMounted(own, its)
  if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(own.family.name, its?.name)
  return found
}

/** The same; undefined if that family is not mounted. */
export function findMounted (own: Called, its: Family | undefined): Called | undefined {
  const found = its === undefined ? own : own.caller.other(its)
  if (found === undefined) return undefined
  const base = asBase(found)
  // Rules have all fields of a narrower version.
  return its === undefined || hasFieldsOf(base.family, its) ? base : { family: its, caller: base.caller }
}

/** Calls `authorize` and `onCommitted` with the names of the version in its commands. */
function nameParams (renaming: Renaming, caller: Caller): Caller {
  const rename = <T extends Pick<Intent, 'action' | 'params'>>(asked: T): T =>
    ({ ...asked, params: renaming.showParams(asked.action, asked.params) })
  const { committed } = caller
  return {
    ...caller,
    authorize: intent => caller.authorize(rename(intent)),
    committed: committed && (change => { committed(rename(change)) })
  }
}

function parseCommand (renaming: Renaming, command: Command): Command {
  const { action, params, interpret, precondition } = command
  return {
    ...command,
    params: renaming.parseParams(action, params),
    interpret: interpret && ((current, hide) => keepOwnNames(() => {
      const { action, params } = interpret(renaming.show(current), hide && renaming.showPaths(hide))
      return { action, params: renaming.parseParams(action, params) }
    })),
    precondition: precondition && (current => keepOwnNames(() => { precondition(renaming.show(current)) }))
  }
}

/** @param owner the family of the command, whose names its parameters have; undefined if it is not known here */
export function nameRecordOf<R extends CommandRecord> (family: Family, record: R, owner: Family | undefined): R {
  const { renaming } = family
  const named = owner?.renaming
  if (renaming === undefined && named === undefined) return record
  const { action, params, changes, result, problem } = record
  return {
    ...record,
    ...(params && named && { params: named.showParams(action, params) }),
    ...(changes && renaming && { changes: renaming.showChanges(changes) }),
    ...(result && renaming && { result: renaming.show(result) }),
    ...(problem && renaming && { problem: { ...problem, ...nameFlaws(renaming.listPointed(action), problem) } })
  }
}

function nameProblem<T> (
  family: Family, renaming: Renaming, action: string | undefined, error: T
): T | Problem {
  if (!(error instanceof Problem) || error.errors === undefined || inOwnNames.has(error)) return error
  const { cause, message: detail, errors } = error
  const names = renaming.listPointed(action)
  if (cause instanceof ConstraintError) {
    const isOurs = refuseByConstraint(cause).message === detail
    const isOwn = cause.family === family.name || (isOurs && pointsToParams(cause))
    // The problem is about a different item.
    if (!isOwn) return error
    if (isOurs) return refuseByConstraint(cause, pointer => namePointer(names, pointer))
  }
  const named = nameFlaws(names, { detail, errors })
  return changeProblem(error, named.detail, { errors: named.errors as readonly Flaw[] })
}

/** Pointers, and our texts of them. Those of the host stay. */
function nameFlaws<T extends { readonly detail: string, readonly errors?: readonly Flaw[] | undefined }> (
  names: NameTree, { detail, errors = [] }: T
): Pick<T, 'detail' | 'errors'> {
  if (errors.length === 0) return { detail }
  const isOfMember = (flaw: Flaw): flaw is MemberFlaw => 'pointer' in flaw
  const named = errors.map(flaw => isOfMember(flaw) ? { ...flaw, pointer: namePointer(names, flaw.pointer) } : flaw)
  const isOurs = errors.every(isOfMember) && invalidBody(errors).message === detail
  return { detail: isOurs ? invalidBody(named as readonly MemberFlaw[]).message : detail, errors: named }
}

function namePointer (names: NameTree, pointer: string): string {
  const [start = '', ...segments] = pointer.split('/')
  return [start, ...renameSegments(names, segments.map(unescapePointer)).map(escapePointer)].join('/')
}

// Problems thrown by functions that use the names of the version.
const inOwnNames = new WeakSet<object>()

/** Throws what has the names of the version, or text about them. */
export function throwOwn (error: unknown): never {
  if (error instanceof Problem) inOwnNames.add(error)
  throw error
}

function keepOwnNames<T> (work: () => T): T {
  try {
    return work()
  } catch (error) {
    return throwOwn(error)
  }
}
