import { type Family, getBase } from '../family/family.js'
import { growHidden, leadsToHidden, omitHidden } from '../family/hidden-names.js'
import { findHiddenMembers, findHiddenParams, hideIn, narrowFamily } from '../family/narrow.js'
import { changeProblem, invalidBody, Problem, problemCodes } from '../problems.js'
import { ConstraintError, type Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { getPathField } from '../values/paths.js'
import type { Grant } from './caller.js'
import type { Outcome } from './commit.js'
import type { Command } from './decide.js'
import type { Authorizing } from './others.js'
import { refuseByConstraint } from './refusal.js'
import { throwOwn } from './renamed.js'
import { pointsToParams } from './sent-values.js'
import { hideInProblem, toShown } from './shown.js'

// What a grant hides, for commands: they cannot name it, and their outcomes do not show it.

type GrantedCommand = Authorizing & { readonly grant: Grant }

/** The family as the caller of a command sees it: without what any of its grants hides. */
function findShownFamily ({ family, grant, grants }: GrantedCommand): Family {
  let shown = grant.hide === undefined ? family : narrowFamily(family, grant.hide)
  for (const { intent, grant: { hide } } of grants) {
    if (hide !== undefined && intent.family === family.name) shown = narrowFamily(shown, hide)
  }
  return shown
}

/** An outcome as the caller may see it. */
export function showGranted (execution: GrantedCommand, outcome: Outcome): Outcome {
  const family = findShownFamily(execution)
  const { hiding } = family
  const problem = outcome.problem && showProblem(execution, family, outcome.problem) as Problem
  if (hiding === undefined) return problem === outcome.problem ? outcome : { ...outcome, problem }
  const { record, item, secrets, loadItem } = outcome
  return {
    ...outcome,
    record: toShown(family, record, family),
    item: item && hideIn(family, item),
    secrets: secrets && omitHidden(hiding.names, secrets),
    ...(loadItem && {
      loadItem: async () => {
        const item = await loadItem()
        return item && hideIn(family, item)
      }
    }),
    problem
  }
}

/** The item after a command, as the caller may see it. */
export function showGrantedItem<T extends Members | undefined> (execution: GrantedCommand, item: T): T {
  return item && hideIn(findShownFamily(execution), item)
}

/** An error as the caller may see it. */
export function showGrantedError (execution: GrantedCommand, error: unknown): unknown {
  return showProblem(execution, findShownFamily(execution), error)
}

// They have the names that were sent.
const refusals = new WeakSet<object>()

function showProblem (execution: GrantedCommand, family: Family, error: unknown): unknown {
  if (!(error instanceof Problem) || refusals.has(error)) return error
  const { code, message: detail, members, errors, statusCode, cause: reason } = error
  const isHosts = code === 'constraint' && reason instanceof ConstraintError &&
    refuseByConstraint(reason).message !== detail
  const isHidden = (error: ConstraintError): boolean => hidesReason(execution, error) || !isKnown(execution, error)
  if (reason instanceof ConstraintError && !isHosts && isHidden(reason)) {
    return new Problem(code, problemCodes[code].title, { status: statusCode, cause: reason })
  }
  if (family.hiding === undefined) return error
  const problem = { code, detail, members, ...(errors && { errors }), status: statusCode }
  const shown = hideInProblem(family, problem)
  if (shown === problem) return error
  const { headers, cause, replayed } = error
  if ('errors' in shown) return changeProblem(error, shown.detail, { members: shown.members })
  return new Problem(code, shown.detail, { status: statusCode, members: shown.members, headers, cause, replayed })
}

/** Whether a rule that was broken is about something hidden, perhaps of another item of the command. */
function hidesReason (
  { family: { name }, grant, grants }: GrantedCommand, { family, fields }: ConstraintError
): boolean {
  const own = family === name ? [grant] : []
  const all = [...own, ...grants.flatMap(each => each.intent.family === family ? [each.grant] : [])]
  return all.some(({ hide }) => {
    if (hide === undefined) return false
    const names = growHidden(hide)
    return fields.some(path => leadsToHidden(names, path.split('.')))
  })
}

/** Whether the version has the fields; another one may have added them. */
function isKnown ({ family: own, caller }: GrantedCommand, reason: ConstraintError): boolean {
  const family = reason.family === own.name ? own : caller.other(reason.family)?.family
  const { properties } = getBase(family ?? own).schema
  return family === undefined || pointsToParams(reason) ||
    reason.fields.every(path => Object.hasOwn(properties, getPathField(path)))
}

/** Throws what is unknown to the caller in a command, as if it did not exist. */
export function refuseHidden (base: Family, { hide }: Grant, command: Command): void {
  if (hide === undefined) return
  const { action, named, at = '', sent = { family: base, params: command.params } } = command
  const { family, params } = sent
  const shown = narrowFamily(family, family.renaming?.showPaths(hide) ?? hide)
  if (action !== undefined && shown.hiding?.unavailable.has(action) === true) {
    throw new Problem('forbidden', `${action} needs something that is hidden from you`)
  }
  const flaws = named === undefined ? findHiddenParams(shown, action ?? '', params) : findHiddenMembers(shown, named)
  if (flaws.length === 0) return
  const refusal = invalidBody(flaws.map(flaw => ({ ...flaw, pointer: at + flaw.pointer })))
  refusals.add(refusal)
  throwOwn(refusal)
}

/** An item as it was, with the present values of what is hidden from the caller, wholly or in part. */
export function keepHidden (family: Family, { hide }: Grant, current: Stored, was: Stored): Stored {
  const { hiding } = narrowFamily(family, hide)
  if (hiding === undefined) return was
  const kept: Stored & Record<string, unknown> = { ...was }
  for (const name of hiding.names.keys()) {
    if (current[name] === undefined) delete kept[name]
    else kept[name] = current[name]
  }
  return kept
}
