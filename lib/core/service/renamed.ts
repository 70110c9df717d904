import { errorCodes } from '../errors.js'
import { type Family, hasFieldsOf, type Names, type Renaming } from '../family/family.js'
import { listPointed, renameConditions, renameKnown, renameParams, toOwnItem } from '../family/rename.js'
import { changeProblem, type Flaw, Problem } from '../problems.js'
import { ConstraintError } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Caller, Grant, Intent } from './caller.js'
import type { Command } from './decide.js'
import type { CommandRecord } from './record.js'

// A renamed family is decided on as its base. Commands are translated before, and their results afterwards.

export interface Called {
  readonly family: Family
  readonly caller: Caller
}

/** The same caller of the base. `authorize` and `onCommitted` still have the names of the family. */
export function callBase (called: Called): Called {
  const { family, caller } = called
  const { renaming } = family
  if (renaming === undefined) return called
  const { base, toBase } = renaming
  const translate = (grant: Grant): Grant =>
    grant.where === undefined ? grant : { ...grant, where: renameConditions(toBase, grant.where) }
  const { authorize, committed, ...named } = nameParams(renaming, caller)
  return {
    family: base,
    caller: {
      ...named,
      authorize (intent) {
        const grant = keepOwnNames(() => authorize(intent))
        return grant instanceof Promise ? grant.then(translate, throwOwn) : translate(grant)
      },
      committed: committed && (change => {
        committed({ ...change, before: toOwnItem(family, change.before), after: toOwnItem(family, change.after) })
      }),
      other (its) {
        const other = caller.other(its)
        return other && { ...other, caller: nameParams(renaming, other.caller) }
      }
    }
  }
}

/** The same caller of another family, or of its own. */
export function findOther (own: Called, its: Family | undefined): Called {
  const found = its === undefined ? own : own.caller.other(its)
  if (found === undefined) throw new errorCodes.FST_DEALBOOK_NO_NEIGHBOUR(own.family.name, its?.name)
  // Rules have the names of the base, even if a renamed version is mounted beside, and all fields of a narrower one.
  const base = callBase(found)
  return its === undefined || hasFieldsOf(base.family, its) ? base : { family: its, caller: base.caller }
}

/** Calls `authorize` and `onCommitted` with the names of the renamed family in its commands. */
function nameParams ({ base, toOwn }: Renaming, caller: Caller): Caller {
  const rename = <T extends Pick<Intent, 'action' | 'params'>>(asked: T): T =>
    ({ ...asked, params: renameParams(base, toOwn, asked.action, asked.params) })
  const { committed } = caller
  return {
    ...caller,
    authorize: intent => caller.authorize(rename(intent)),
    committed: committed && (change => { committed(rename(change)) })
  }
}

export function toBaseCommand (family: Family, command: Command): Command {
  const { renaming } = family
  if (renaming === undefined) return command
  const { action, params, interpret, precondition } = command
  const translate = (action: string | undefined, params: Members) =>
    renameParams(family, renaming.toBase, action ?? '', params)
  return {
    ...command,
    params: translate(action, params),
    interpret: interpret && (current => keepOwnNames(() => {
      const meant = interpret(toOwnItem(family, current))
      return { action: meant.action, params: translate(meant.action, meant.params) }
    })),
    precondition: precondition && (current => keepOwnNames(() => { precondition(toOwnItem(family, current)) }))
  }
}

/** @param owner the family of the command, whose names its parameters have; undefined if it is not known here */
export function toOwnRecord<R extends CommandRecord> (family: Family, record: R, owner: Family | undefined): R {
  const { renaming } = family
  const named = owner?.renaming
  if (renaming === undefined && named === undefined) return record
  const { action, params, changes, result, problem } = record
  return {
    ...record,
    ...(params && named && { params: renameParams(named.base, named.toOwn, action, params) }),
    ...(changes && renaming && { changes: renameKnown(renaming.toOwn, changes) }),
    ...(result && { result: toOwnItem(family, result) }),
    ...(problem && renaming && {
      problem: { ...problem, ...renameFlaws(listPointed(family, renaming, action), problem.detail, problem.errors) }
    })
  }
}

export function toOwnProblem<T> (family: Family, action: string | undefined, error: T): T | Problem {
  const { renaming } = family
  if (renaming === undefined || !(error instanceof Problem) || error.errors === undefined) return error
  if (inOwnNames.has(error)) return error
  // The problem is about a different item.
  if (error.cause instanceof ConstraintError && error.cause.family !== family.name) return error
  const { detail, errors } = renameFlaws(listPointed(family, renaming, action ?? ''), error.message, error.errors)
  return changeProblem(error, detail, { errors: errors as readonly Flaw[] })
}

/** Texts may have the pointers too. */
function renameFlaws (names: Names, detail: string, errors: readonly Flaw[] | undefined) {
  const pointed = errors?.map(flaw => 'pointer' in flaw ? flaw.pointer.split('/')[1] : '')
  const rename = (text: string): string => text.replace(/(?<![^\s,.;:])\/([^/\s,.;:]+)/g, (part, name: string) =>
    pointed?.includes(name) === true ? `/${names.get(name) ?? name}` : part)
  return {
    detail: rename(detail),
    ...(errors && {
      errors: errors.map(flaw => 'pointer' in flaw
        ? { pointer: rename(flaw.pointer), detail: rename(flaw.detail) }
        : flaw)
    })
  }
}

// Problems thrown by functions that use the names of the renamed family.
const inOwnNames = new WeakSet<object>()

function throwOwn (error: unknown): never {
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
