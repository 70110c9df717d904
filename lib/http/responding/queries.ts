import type { QueryFlaw } from '../../core/problems.js'
import { findFilter } from '../../core/query/filters.js'
import type { Grammar, ParsedQuery } from '../../core/query/grammar.js'
import { type OperatorName, operators } from '../../core/query/operators.js'
import type { Parameter } from '../../core/query/query-string.js'
import type { Field, Query } from '../../core/storage/storage.js'
import type { FamilyMount } from '../../representations/target.js'
import { type Mount, mountOf } from '../mount.js'
import { refuseMisplaced } from '../reads/read.js'

/** What a list is of: the items of a family, the commands of an item, those of many, or what is deleted. */
export type Listed = 'items' | 'log' | 'feed' | 'deleted'

/** What the query string of a list asks for. */
export interface ListQuery {
  /** As they were sent, for links to other pages. */
  readonly parameters: readonly Parameter[]
  readonly query: Query
  /** The number of the page, from 1. */
  readonly page: number
  /** Set if it starts at a cursor. */
  readonly start: object | undefined
  /** The fields of what is listed. */
  readonly list: { readonly fields: readonly Field[] }
  readonly fields?: readonly string[]
  readonly expand?: readonly string[]
  readonly state?: readonly string[]
  readonly search?: string
  readonly 'time-zone'?: string
}

/** A parameter of a list that is a filter. */
export interface UsedFilter {
  readonly field: Field
  readonly op: OperatorName
  /** Whether its text is a value of the field, and not part of one or a pattern. */
  readonly isValue: boolean
  readonly text: string
  /** The group that it belongs to, such as `or`, of which one filter must hold. */
  readonly group: string | undefined
}

function grammarOf ({ grammar, logGrammar, feedGrammar, deletedGrammar }: Mount, listed: Listed): Grammar {
  return { items: grammar, log: logGrammar, feed: feedGrammar, deleted: deletedGrammar }[listed]
}

/**
 * Reads a query string as a list of the mount does.
 *
 * @example
 * const read = readListQuery(mount, 'min-price=100&sort=-id')
 * if ('flaws' in read) throw invalidQuery(read.flaws)
 */
export function readListQuery (
  mount: FamilyMount, search: string, listed: Listed = 'items'
): ListQuery | { readonly flaws: readonly QueryFlaw[] } {
  return grammarOf(mountOf(mount), listed).parse(search)
}

/** Throws if it has parameters of lists, because it is for a single resource. */
export function refuseListParameters<Q extends ListQuery> (mount: FamilyMount, query: Q, listed: Listed = 'items'): Q {
  refuseMisplaced(grammarOf(mountOf(mount), listed), query)
  return query
}

/** The filters among the parameters of a query, at their indices. */
export function findUsedFilters (
  mount: FamilyMount, { parameters }: Pick<ListQuery, 'parameters'>, listed: Listed = 'items'
): readonly (UsedFilter | undefined)[] {
  const { filters } = grammarOf(mountOf(mount), listed)
  return parameters.map(parameter => {
    const use = findFilter(filters, parameter)
    if (use === undefined) return undefined
    const { filter: { field, op }, text, group } = use
    return { field, op, isValue: operators[op].operand.kind === 'value', text, group }
  })
}

/** A filter in English, such as `Price from 100`. */
export function phraseFilter (op: OperatorName, label: string, text: string): string {
  return operators[op].phrase(label, text)
}

/** @internal As `readListQuery` returned it. */
export function asParsed (query: ListQuery): ParsedQuery {
  return query as ParsedQuery
}
