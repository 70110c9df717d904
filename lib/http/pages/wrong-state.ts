import type { Family } from '../../core/family/family.js'
import type { Problem } from '../../core/problems.js'
import type { InState } from '../../core/service/refusal.js'
import { explainInState, explainState, readState } from '../../core/service/refusal.js'
import type { Members } from '../../core/values/json.js'
import type { WrongState } from '../../representations/item-view.js'

/** What a problem says by the state alone, for pages to say it in their words; undefined where there is more to it. */
export function readWrongState (
  family: Family,
  { code, message, members }: Pick<Problem, 'code' | 'message' | 'members'>
): WrongState | undefined {
  if (code !== 'wrong-state' || !Array.isArray(members['allowed'])) return undefined
  const known = members as unknown as InState
  return message === explainInState(family, known) ? { ...known, singular: family.singular } : undefined
}

/** The same of an operation that was not asked for yet. */
export function findWrongState (family: Family, item: Members, name: string, reason: string): WrongState | undefined {
  const { singular } = family
  const state = readState(family, item)
  return reason === explainState(name, family, state) ? { operation: name, singular, state, allowed: [] } : undefined
}
