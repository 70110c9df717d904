import { addTitleColumns, makeExpand } from '../../core/book/expand.js'
import { findOffers } from '../../core/book/offers.js'
import { findReferred } from '../../core/family/family.js'
import { invalidQuery, Problem } from '../../core/problems.js'
import type { ParsedQuery } from '../../core/query/grammar.js'
import { operators } from '../../core/query/operators.js'
import { readOperand, readValue } from '../../core/query/values.js'
import { intendToList } from '../../core/service/caller.js'
import { selectById } from '../../core/storage/pages.js'
import type { Field } from '../../core/storage/storage.js'
import { shorten } from '../../core/values/words.js'
import type { Mount } from '../mount.js'
import type { Endpoint } from '../routes.js'
import { findDownload, type Listing, loadPage } from './page.js'
import { type Loading, parseQuery, type Read, readEndpoints } from './read.js'

/** `GET /customers`, also with a path suffix that names the representation. */
export function collectionEndpoints (mount: Mount): Endpoint[] {
  return readEndpoints(collectionRead(mount), mount.home, { kind: 'list' })
}

function collectionRead (mount: Mount): Read<ParsedQuery> {
  const { family } = mount
  const intent = intendToList(family)
  return {
    mount,
    kind: 'page',
    noun: 'list',
    intend: () => intent,
    aim: () => ({ kind: 'list' }),
    parse: (search, { grammar }) => parseQuery(grammar, search),
    load: async loading => await loadPage(await listItems(loading, loading.query), loading.representation)
  }
}

export async function listItems (
  { mount, request, caller, reader, representation }: Loading<unknown>,
  parsed: ParsedQuery,
  isBare = false
): Promise<Listing> {
  const { family, family: { name, singular, members: all } } = mount
  const { expand, fields = all } = parsed
  const download = findDownload(request, representation)
  const columns = download === undefined ? undefined : addTitleColumns(family, fields)
  return {
    mount,
    parsed,
    name,
    singular,
    members: columns ?? fields,
    isBare,
    reader,
    hasLongItems: family.hasLongItems || expand?.some(name => findReferred(family, name)?.hasLongItems) === true,
    expand: (expand ?? columns) && await makeExpand(family, caller, expand ?? [], { columns }),
    download,
    find: query => reader.find(query),
    findText: query => reader.findText?.(query, fields),
    findOffers: async item => await findOffers(reader.called, reader.grant, item)
  }
}

/** `GET /query/{result_name}/{parameter}` for every named query: a list, 404 when it is empty. */
export function queryEndpoints (mount: Mount): Endpoint[] {
  const { family } = mount
  return [...family.queries].flatMap(([name, query]) => {
    const field = family.fields.find(({ name }) => name === query.field) as Field
    return readEndpoints(queryRead(mount, field), `/query/${name}/:parameter`, { kind: 'query', query: name })
      .map(endpoint => ({ ...endpoint, sharedBy: 'versions' as const }))
  })
}

function queryRead (mount: Mount, field: Field): Read<ParsedQuery> {
  const { family } = mount
  return {
    mount,
    kind: 'page',
    noun: 'list',
    parameter: 'parameter',
    intend: (_request, name) => intendToList(family, { [field.name]: name }),
    aim: (_request, value) => ({ kind: 'query', field: field.name, value }),
    parse: (search, { grammar }) => refuseCount(parseQuery(grammar, search)),
    async load (loading) {
      const narrowed = await narrow(loading, field)
      return narrowed && await loadPage(await listItems(loading, narrowed, true), loading.representation)
    },
    // A value that does not fit the field is an invalid query; for any other value, the list does not exist.
    explainMissing (name, hint) {
      const read = readValue(field, name)
      const start = name.replace(/\.(?!\d)[^.]*$/, '')
      const isSuffixed = 'value' in readValue(field, start)
      if (hint !== undefined && 'expected' in read && isSuffixed) return hint
      if (field.name !== 'id' && 'expected' in read && !isSuffixed) {
        return invalidQuery([{ parameter: field.name, detail: `${field.name} ${read.expected}` }])
      }
      const value = shorten('expected' in read && isSuffixed ? start : name)
      return new Problem('empty-list', `There are no ${family.name} whose ${field.name} is "${value}"`)
    }
  }
}

export function refuseCount (parsed: ParsedQuery): ParsedQuery {
  if (!parsed.query.count) return parsed
  throw invalidQuery([{ parameter: 'count', detail: 'count is not available here' }])
}

/** Adds the condition of a named query; undefined if no item meets it, whatever the other filters and the page. */
export async function narrow (
  { reader, name, query: parsed }: Pick<Loading<ParsedQuery>, 'reader' | 'name' | 'query'>,
  field: Field
): Promise<ParsedQuery | undefined> {
  const read = readOperand(field, name, parsed['time-zone'])
  if ('expected' in read || !reader.family.members.includes(field.name)) return undefined
  const where = operators.eq.lower(field, [read.value]).flat()
  const { items: [one] } = await reader.find(selectById(where, 1))
  return one && { ...parsed, query: { ...parsed.query, where: [...where, ...parsed.query.where] } }
}
