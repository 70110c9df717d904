import type { Family } from '../family/family.js'
import { omitHidden } from '../family/hidden-names.js'
import { findHiddenMembers, findHiddenParams, hideIn, narrowFamily } from '../family/narrow.js'
import { changeProblem, invalidBody, Problem } from '../problems.js'
import type { Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { Grant } from './caller.js'
import type { Outcome } from './commit.js'
import type { Command } from './decide.js'
import type { Authorizing } from './others.js'
import { throwOwn } from './renamed.js'
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
  if (hiding === undefined) return outcome
  const { record, item, secrets, loadItem, problem } = outcome
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
    problem: problem && showProblem(family, problem) as Problem
  }
}

/** The item after a command, as the caller may see it. */
export function showGrantedItem<T extends Members | undefined> (execution: GrantedCommand, item: T): T {
  return item && hideIn(findShownFamily(execution), item)
}

/** An error as the caller may see it. */
export function showGrantedError (execution: GrantedCommand, error: unknown): unknown {
  return showProblem(findShownFamily(execution), error)
}

// They have the names that were sent.
const refusals = new WeakSet<object>()

function showProblem (family: Family, error: unknown): unknown {
  if (family.hiding === undefined || !(error instanceof Problem) || refusals.has(error)) return error
  const { code, message: detail, members, errors, statusCode } = error
  const problem = { code, detail, members, ...(errors && { errors }), status: statusCode }
  const shown = hideInProblem(family, problem)
  if (shown === problem) return error
  const { headers, cause, replayed } = error
  if ('errors' in shown) return changeProblem(error, shown.detail, { members: shown.members })
  return new Problem(code, shown.detail, { status: statusCode, members: shown.members, headers, cause, replayed })
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
