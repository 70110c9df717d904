import type { FamilyMount, Stored } from '../exports.js'
import type { ShownState } from './affordances.js'

/** Fields that the state shows already. */
export function listStateFields ({ model: { states } }: FamilyMount): string[] {
  return states.flatMap(({ where = [] }) => where.map(({ field }) => field))
}

/** Undefined if the family has no states, or the item is in none of them. */
export function showState (mount: FamilyMount, item: Stored): ShownState | undefined {
  const state = mount.stateOf(item)
  if (state === undefined) return undefined
  return { state, tone: mount.model.states.find(({ name }) => name === state)?.tone ?? 'neutral' }
}
