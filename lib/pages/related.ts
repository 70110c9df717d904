import { type Condition, describeForm, type Members, type Reading, readListQuery, type Stored } from '../exports.js'
import type { ChildList, ChildOperation, RelatedList } from './affordances.js'
import { labelsOf, listKinds } from './labels.js'
import { getAction, nameForTexts } from './log-entries.js'
import type { PageRequest } from './page-reads.js'
import { findReferredTitles, linkPage, type Looking } from './references.js'
import { showState } from './states.js'
import { itemUrl, listUrl } from './urls.js'
import { hasPages } from './views.js'

/** Lists of items that refer to an item; of its children, also the first. */
export interface FoundRelated {
  readonly related: readonly RelatedList[]
  readonly children: readonly ChildList[]
}

/** Lists of items that refer to this one, as far as the caller may see them. */
export async function findRelated (here: Looking, item: Stored): Promise<FoundRelated> {
  const { mount, mount: { model: { name, children } }, request, reads } = here
  const referring = mount.neighbours().filter(hasPages)
    .filter(there => mount.beside(there.model.name) === there)
    .flatMap(there => Object.entries(there.model.references)
      .filter(([, referred]) => referred === name)
      .map(([field], index, { length }) => ({ there, field, isFirst: index === 0, isOne: length === 1 })))
  const found = await Promise.all(referring.map(async ({ there, field, isFirst, isOne }) => {
    const reading = await reads.open(there)
    // The field may be hidden.
    if (reading?.mount.model.references[field] === undefined) return undefined
    const where = [{ field, op: 'eq', values: [item.id] } as const]
    const isChild = isFirst && children.includes(there.model.name)
    const [counted, rows] = await Promise.all([
      reading.count(where, 1000),
      isChild ? findChildren({ mount: reading.mount, request, reads }, reading, field, where) : undefined
    ])
    const href = `${listUrl(there, request)}?${field}=${encodeURIComponent(item.id)}`
    const list = { name: there.model.name, labels: labelsOf(there), field: isOne ? undefined : field, href, ...counted }
    return { list, table: rows && { ...list, ...rows } }
  }))
  const lists = found.filter(each => each !== undefined)
  return {
    related: lists.flatMap(({ list, table }) => table === undefined ? [list] : []),
    children: lists.flatMap(({ table }) => table ?? [])
  }
}

// The first; the list has the others.
const maxChildren = 25

/** What a table of children has besides its link; undefined if there are none. */
async function findChildren (
  here: Looking, reading: Reading, field: string, where: readonly Condition[]
): Promise<Omit<ChildList, keyof RelatedList> | undefined> {
  const { mount, mount: { model: { title, list } }, request } = here
  const asked = readListQuery(mount, '')
  if ('flaws' in asked) return undefined
  const { items } = await reading.find({ ...asked.query, where, offset: 0, limit: maxChildren, count: false })
  if (items.length === 0) return undefined
  const others = list.filter(name => name !== field)
  const columns = others.length === 0 ? ['id'] : others
  const [refer, operations] = await Promise.all([
    findReferredTitles(here, columns, items),
    Promise.all(items.map(item => findOperations(here, reading, item)))
  ])
  return {
    title,
    columns,
    kinds: listKinds(mount),
    inRows: refer.inRows,
    items: items.map((item, index) => ({
      id: String(item.id),
      document: pick(item, columns),
      href: linkPage(mount, request, item.id),
      state: showState(mount, item),
      referred: Object.fromEntries(columns.flatMap(name => {
        const referred = refer.of(item, name)
        return referred === undefined ? [] : [[name, referred]]
      })),
      operations: operations[index] ?? []
    }))
  }
}

function pick (item: Members, names: readonly string[]): Members {
  return Object.fromEntries(names.map(name => [name, item[name]]))
}

/** Those that are allowed now: a button if there is nothing to enter, otherwise a link to the form. */
async function findOperations (
  { mount, mount: { model: { singular } }, request }: Pick<PageRequest, 'mount' | 'request'>,
  reading: Reading,
  item: Stored
): Promise<ChildOperation[]> {
  if (!mount.forms.includes('noun')) return []
  const { id, revision } = item
  const offers = await reading.offers(item, 'allowed')
  return offers.map(({ action }): ChildOperation => {
    const found = getAction(mount, action)
    const { words: { noun }, danger, final } = found
    const named = { name: nameForTexts(found), singular }
    const { inputs, summary: title } = describeForm(mount, action)
    if (inputs.length > 0) return { ...named, href: `${itemUrl(mount, request, id)}#${named.name}.title` }
    const form = { ...named, title, danger, final, fields: [], isRefused: false }
    const url = itemUrl(mount, request, id, noun)
    return { ...named, form: { ...form, action: url, key: mount.makeCommandId(), revision } }
  })
}
