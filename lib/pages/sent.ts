import {
  type FamilyMount, invalidQuery, isAmount, type Listed, type ListQuery, type Parameter, type QueryFlaw, readAmount,
  readListQuery, splitQuery
} from '../exports.js'

/** @param order for pages, unless the query has one */
export function parseSent (mount: FamilyMount, search: string, listed: Listed = 'items', order?: string): ListQuery {
  const { sent, flaws } = readSent(mount, search, listed)
  const parsed = readListQuery(mount, addOrder(sent, order), listed)
  if ('flaws' in parsed) throw invalidQuery([...flaws, ...parsed.flaws])
  if (flaws.length > 0) throw invalidQuery(flaws)
  return parsed
}

const language = '_language'

/** A form of a page sends its empty fields too, and amounts as they were typed. */
export function readSent (
  { model: { fields, entryFields } }: FamilyMount,
  search: string,
  listed: Listed = 'items'
): { readonly sent: string, readonly flaws: QueryFlaw[], readonly isTyped: boolean } {
  const sent = search.split('&').filter(part => part !== '' && !/^[^=]*=$/.test(part))
  const parts = search.includes(language) ? sent.flatMap(part => splitQuery(part)) : []
  const typed = parts.find(({ name }) => name === language) as Parameter | undefined
  if (typed === undefined) return { sent: sent.join('&'), flaws: [], isTyped: false }
  const flaws: QueryFlaw[] = []
  const read = parts.filter(part => part.name !== language).flatMap((part): string[] => {
    // The inputs of the form; others are as in a link.
    const [, name] = /^m(?:in|ax)-(.*)$/s.exec(part.name ?? '') ?? []
    const field = (listed === 'items' ? fields : entryFields).find(field => field.name === name)
    if (field === undefined || !isAmount(field)) return [part.raw]
    const { name: parameter, value } = part as Parameter
    const amount = readAmount(typed.value, field.kind, value)
    if ('value' in amount) return [`${encodeURIComponent(parameter)}=${encodeURIComponent(amount.value)}`]
    flaws.push({ parameter, detail: `${parameter} ${amount.expected}` })
    return []
  })
  return { sent: read.join('&'), flaws, isTyped: true }
}

function addOrder (search: string, order: string | undefined): string {
  const sent = search === '' ? [] : [search]
  // A cursor belongs to one order.
  const isOrdered = splitQuery(search).some(({ name = '' }) => ['sort', 'after', 'before'].includes(name))
  return [...sent, ...isOrdered || order === undefined ? [] : [`sort=${order}`]].join('&')
}
