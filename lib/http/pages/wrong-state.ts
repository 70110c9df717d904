import type { Family } from '../../core/family/family.js'
import type { InState } from '../../core/service/refusal.js'
import { explainInState, explainState, readState } from '../../core/service/refusal.js'
import type { Members } from '../../core/values/json.js'
import type { WrongState } from '../../representations/item-view.js'

/** A refusal for the state alone, as data, so that pages use their own words; undefined where it has another reason. */
export function readWrongState (
  family: Family,
  code: string,
  detail: string,
  members: Members
): WrongState | undefined {
  if (code !== 'wrong-state' || !Array.isArray(members['allowed'])) return undefined
  const known = members as unknown as InState
  return detail === explainInState(family, known) ? { ...known, singular: family.singular } : undefined
}

/** The same of an operation that was not asked for yet. */
export function findWrongState (family: Family, item: Members, name: string, reason: string): WrongState | undefined {
  const { singular } = family
  const state = readState(family, item)
  return reason === explainState(name, family, state) ? { operation: name, singular, state, allowed: [] } : undefined
}
