import { addFilter, findFilter, type GivenFilters, listFilters, toConditions } from '../query/filters.js'
import { operators } from '../query/operators.js'
import { splitQuery } from '../query/query-string.js'
import type { QueryLimits } from '../query/values.js'
import { matcher } from '../storage/conditions.js'
import type { Field, FieldCondition, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import { readCreate, readEdit } from './declared-operations.js'
import type { FamilyDefinition } from './definition.js'
import type { CompiledState, StateDefinition } from './presentation.js'

/** @param fields including those that the service adds */
export function listStates (definition: FamilyDefinition, fields: readonly Field[]): Map<string, CompiledState> {
  const { states, edit } = definition
  const sent = [...readCreate(definition).fields, ...edit === undefined ? [] : readEdit(edit).fields]
  const choices = fields.filter(({ values, optional }) => values !== undefined && !optional)
  // Preferably one that clients do not send.
  const kept = choices.filter(({ name }) => !sent.includes(name))
  const [main] = kept.length > 0 ? kept : choices
  const declared = Object.entries(states ?? Object.fromEntries((main?.values ?? []).map(value => [value, {}])))
  return new Map(declared.map(([state, given]) => {
    const { tone = 'neutral', filter = findChoice(state) } = readStateDefinition(given)
    const where = filter === undefined ? undefined : readStateFilter(fields, filter)
    return [state, { tone, filter, where: typeof where === 'string' ? undefined : where }]
  }))

  function findChoice (state: string): string | undefined {
    const having = (list: readonly Field[]) => list.filter(({ values }) => values?.includes(state))
    const one = states === undefined ? [main] : having(choices).length === 1 ? having(choices) : having(kept)
    return one.length === 1 ? `${one[0]?.name}=${encodeURIComponent(state)}` : undefined
  }
}

export function readStateDefinition (given: NonNullable<FamilyDefinition['states']>[string]): StateDefinition {
  return typeof given === 'string' ? { tone: given } : given
}

// Nothing else is in a filter.
const filterLimits = { maxValues: 100 } as QueryLimits

/** The conditions, or the flaw of the filter. */
export function readStateFilter (fields: readonly Field[], filter: string): readonly FieldCondition[] | string {
  const filters = listFilters(fields)
  const given: GivenFilters = { byKey: new Map(), patterns: 0 }
  for (const part of splitQuery(filter)) {
    const use = part.name === undefined ? undefined : findFilter(filters, part)
    if (use === undefined || use.group !== undefined) {
      const hint = didYouMean(part.name?.replace(/[<>].*$/s, '') ?? part.raw, filters.keys())
      return `"${part.raw}" is not a condition on a field.${hint}`
    }
    if (operators[use.filter.op].operand.kind === 'search') {
      return `"${part.raw}" searches in a text`
    }
    const flaw = addFilter(given, use, filterLimits)
    if (flaw !== undefined) return `${part.name} ${flaw}`
  }
  const conditions = toConditions(given)
  if (conditions.length === 0) return 'it has no condition'
  const isSimple = (condition: typeof conditions[number]): condition is FieldCondition => condition.op !== 'any'
  return conditions.every(isSimple) ? conditions : 'it has alternatives'
}

/** The state of an item: the first whose conditions hold. */
export function makeState (states: ReadonlyMap<string, CompiledState>): (item: Members) => string | undefined {
  const known = Array.from(states).filter(([, { where }]) => where !== undefined)
  const tests = known.map(([state, { where = [] }]) => ({ state, holds: matcher(where) }))
  return item => tests.find(({ holds }) => holds(item as Stored))?.state
}
