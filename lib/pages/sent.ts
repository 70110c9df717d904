import { invalidQuery, type QueryFlaw } from '../core/problems.js'
import { isAmount, readAmount } from '../core/query/amounts.js'
import type { Grammar, ParsedQuery } from '../core/query/grammar.js'
import { type Parameter, splitQuery } from '../core/query/query-string.js'

/** @param order for pages, unless the query has one */
export function parseSent (grammar: Grammar, search: string, order?: string): ParsedQuery {
  const { sent, flaws } = readSent(grammar, search)
  const parsed = grammar.parse(complete(sent, order))
  if ('flaws' in parsed) throw invalidQuery([...flaws, ...parsed.flaws])
  if (flaws.length > 0) throw invalidQuery(flaws)
  return parsed
}

const language = '_language'

/** A form of a page sends its empty fields too, and amounts as they were typed. */
export function readSent (
  { filters }: Grammar,
  search: string
): { readonly sent: string, readonly flaws: QueryFlaw[], readonly isTyped: boolean } {
  const sent = search.split('&').filter(part => part !== '' && !/^[^=]*=$/.test(part))
  const parts = search.includes(language) ? sent.flatMap(part => splitQuery(part)) : []
  const typed = parts.find(({ name }) => name === language) as Parameter | undefined
  if (typed === undefined) return { sent: sent.join('&'), flaws: [], isTyped: false }
  const flaws: QueryFlaw[] = []
  const read = parts.filter(part => part.name !== language).flatMap((part): string[] => {
    const field = part.name === undefined ? undefined : filters.get(part.name)?.field
    // The inputs of the form; others are as in a link.
    const isInput = field !== undefined && isAmount(field) && /^m(in|ax)-/.test(part.name as string)
    if (!isInput) return [part.raw]
    const { name, value } = part as Parameter
    const amount = readAmount(typed.value, field.kind, value)
    if ('value' in amount) return [`${encodeURIComponent(name)}=${encodeURIComponent(amount.value)}`]
    flaws.push({ parameter: name, detail: `${name} ${amount.expected}` })
    return []
  })
  return { sent: read.join('&'), flaws, isTyped: true }
}

function complete (search: string, order: string | undefined): string {
  const sent = search === '' ? [] : [search]
  // A cursor belongs to one order.
  const isOrdered = splitQuery(search).some(({ name = '' }) => ['sort', 'after', 'before'].includes(name))
  return [...sent, ...isOrdered || order === undefined ? [] : [`sort=${order}`]].join('&')
}
