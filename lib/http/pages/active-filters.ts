import { findFilter } from '../../core/query/filters.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import type { Parameter } from '../../core/query/query-string.js'
import type { ActiveFilter } from '../../representations/representation.js'
import { showKind } from '../../representations/representation.js'

// Settings that no longer hold when other filters are chosen.
export const places: readonly string[] = ['page', 'after', 'before']

/** Everything that narrows a list, each with the way to the list without it, and the way to the list without any. */
export function listActiveFilters (
  { filters }: Grammar,
  { parameters }: ParsedQuery,
  path: string
): { readonly active: readonly ActiveFilter[], readonly clear: string | undefined } {
  const uses = parameters.map(parameter => findFilter(filters, parameter))
  const active = uses.flatMap((use, index): ActiveFilter[] => {
    if (use === undefined) return []
    const { filter: { field, op }, text, group } = use
    const href = join(path, parameters.filter((_, other) => other !== index))
    return [{ field: field.name, kind: showKind(field), op, value: text, isAlternative: group !== undefined, href }]
  })
  const others = parameters.filter((_, index) => uses[index] === undefined)
  return { active, clear: active.length === 0 ? undefined : join(path, others) }
}

function join (path: string, parameters: readonly Parameter[]): string {
  const kept = parameters.filter(({ name }) => !places.includes(name))
  return kept.length === 0 ? path : `${path}?${kept.map(({ raw }) => raw).join('&')}`
}
