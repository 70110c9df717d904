import {
  type Condition, explainError, type FamilyMount, type Field, type Id, invalidBody, isOrdered, type Members,
  openReading, type Reading, readListQuery, shorten, type Stored
} from '../exports.js'
import type { LogEntry, ReferenceField, Referred, RelatedList } from './affordances.js'
import type { PageForm } from './page-form.js'
import { type Here, itemUrl, listUrl } from './urls.js'
import { hasPages, listRepresentations } from './views.js'

type Choices = NonNullable<ReferenceField['choices']>

/** Families by the names of the fields or parameters that hold their ids. */
export type ReferenceNames = Readonly<Record<string, string>>

/** Undefined if the family is not mounted here, or the caller may not list it. */
async function open ({ mount, request }: Here, family: string | undefined): Promise<Reading | undefined> {
  const there = family === undefined ? undefined : mount.beside(family)
  if (there === undefined) return undefined
  try {
    return await openReading(there, request, { action: 'list' })
  } catch (error) {
    const { statusCode, cause = error } = explainError(error)
    if (statusCode >= 500) request.log.error({ err: cause, family }, 'authorize failed for a part of a page')
    return undefined
  }
}

// Longer titles are not useful beside other content.
const maxTitle = 200

export function titleOf ({ model: { title } }: FamilyMount, item: Members): string {
  return String(isVisible(item[title]) ? item[title] : item['id']).slice(0, maxTitle)
}

/** Whether people can see it, and click on it. */
export function isVisible (value: unknown): boolean {
  return value !== undefined && value !== null && /[^\s\p{C}]/u.test(String(value))
}

async function find (reading: Reading, where: readonly Condition[], limit: number): Promise<Choices> {
  const { mount, mount: { model: { title, fields } } } = reading
  const isSorted = title !== 'id' && fields.some(field => field.name === title && isOrdered(field))
  const order = isSorted ? [{ field: title, descending: false }] : []
  const { items } =
    await reading.find({ where, order: [...order, { field: 'id', descending: false }], offset: 0, limit, count: false })
  return items.map(item => ({ value: String(item.id), title: titleOf(mount, item) }))
}

const isMissing = (value: unknown): boolean => value === undefined || value === null

/** Undefined if it has no page. */
export function linkPage (there: FamilyMount | undefined, request: Here['request'], id: Id): string | undefined {
  return there !== undefined && hasPages(there) ? itemUrl(there, request, id) : undefined
}

/** The titles of the items that these refer to, one query for each family. */
export async function findReferred (
  here: Here,
  fields: readonly string[],
  items: readonly Members[]
): Promise<(item: Members, field: string) => Referred | undefined> {
  const { mount: { model: { references } }, request } = here
  const found = new Map<string, (id: Id) => Referred | undefined>()
  const named = Object.entries(references).filter(([field]) => fields.includes(field))
  await Promise.all(named.map(async ([field, other]) => {
    const values = [...new Set(items.map(item => item[field] as Id | null | undefined))]
      .filter(id => !isMissing(id)) as Id[]
    const reading = values.length === 0 ? undefined : await open(here, other)
    if (reading === undefined) return
    const titles = new Map((await find(reading, [{ field: 'id', op: 'eq', values }], values.length))
      .map(({ value, title }) => [value, title]))
    found.set(field, id => {
      const title = titles.get(String(id))
      return title === undefined ? undefined : { title, href: linkPage(reading.mount, request, id) }
    })
  }))
  return (item, field) => isMissing(item[field]) ? undefined : found.get(field)?.(item[field] as Id)
}

/** Adds the titles of the items that values in a log refer to. */
export async function nameInLog<T extends Pick<LogEntry, 'changes' | 'params'> & Partial<Pick<LogEntry, 'about'>>> (
  here: Here,
  entries: readonly T[]
): Promise<T[]> {
  const { references, singular } = here.mount.model
  const isReference = ({ name }: { readonly name: string }): boolean => Object.hasOwn(references, name)
  // Parameters of another family's command may have the same names, and other meanings.
  const isOwn = ({ about }: T): boolean => about === undefined || about.singular === singular
  const values = entries.flatMap(entry => [
    ...entry.changes.filter(isReference)
      .flatMap(({ name, from, to }) => [{ [name]: from }, { [name]: to }]),
    ...(isOwn(entry) ? entry.params : []).filter(isReference)
      .map(({ name, value }) => ({ [name]: value }))
  ])
  if (values.length === 0) return [...entries]
  const refer = await findReferred(here, Object.keys(references), values)
  const find = (name: string, value: unknown) => refer({ [name]: value }, name)
  return entries.map(entry => ({
    ...entry,
    changes: entry.changes.map(change =>
      ({ ...change, referred: { from: find(change.name, change.from), to: find(change.name, change.to) } })),
    params: entry.params.map(param => isOwn(entry) ? { ...param, referred: find(param.name, param.value) } : param)
  }))
}

/** The maximum to offer at once. */
const maxChoices = 50

/** How those of these fields that refer to items are chosen, by their names. */
export async function findReferenceFields (
  here: Here,
  all: ReferenceNames,
  used: readonly Field[]
): Promise<ReadonlyMap<string, ReferenceField>> {
  const names = Object.entries(all).filter(([name]) => used.some(field => field.name === name))
  const families = [...new Set(names.map(([, family]) => family))]
  const fields = new Map(await Promise.all(families.map(async family =>
    [family, await makeReferenceField(here, family)] as const)))
  return new Map(names.flatMap(([name, family]) => {
    const field = fields.get(family)
    return field === undefined ? [] : [[name, field]]
  }))
}

async function makeReferenceField (here: Here, family: string): Promise<ReferenceField | undefined> {
  const reading = await open(here, family)
  if (reading === undefined) return undefined
  const { mount, mount: { model: { singular, title, labels, search: searched, filterNames } } } = reading
  const choices = await find(reading, [], maxChoices + 1)
  if (choices.length <= maxChoices) return { singular, labels, title, choices }
  const query = `format=json&maxpagesize=10&fields=${title === 'id' ? 'id' : `id,${title}`}`
  // A field may be called search.
  const search = searched.length > 0 ? 'search' : `${title}.has`
  const canSuggest = listRepresentations(mount).some(({ name }) => name === 'json') &&
    (search === 'search' || filterNames.includes(search))
  const lookup = canSuggest ? `${listUrl(mount, here.request)}?${query}&${search}=` : undefined
  return { singular, labels, title, lookup }
}

/** The title that pages show instead of an id. */
export async function findTitle (here: Here, family: string | undefined, id: unknown): Promise<string | undefined> {
  const reading = await open(here, family)
  const known = reading?.mount.readId(String(id))
  const item = known === undefined ? undefined : await reading?.get(known)
  return item && titleOf((reading as Reading).mount, item)
}

/** What people enter to find exactly the items with these ids: the title, then the id. */
export async function nameChosen (
  here: Here,
  references: ReferenceNames,
  ids: ReadonlyMap<string, string>
): Promise<ReadonlyMap<string, string>> {
  const chosen = [...ids].filter(([, id]) => id !== '')
  return new Map(await Promise.all(chosen.map(async ([name, id]) => {
    const title = await findTitle(here, references[name], id)
    return [name, title === undefined ? id : `${title} (${id})`] as const
  })))
}

/** The prefix of form entries that find items by a part of their titles, by field. */
export const finding = '_find.'

/** Items that fit what was entered, if there are several. */
export type FoundChoices = ReadonlyMap<string, Choices>

/** Puts the ids of the items that were meant into the form; throws if none is found, or several. */
export async function resolveEntries (here: Here, references: ReferenceNames, form: PageForm): Promise<void> {
  const resolved = new Map(form.entries)
  const several = new Map<string, Choices>()
  const flaws: { pointer: string, detail: string }[] = []
  for (const [key, text] of form.entries) {
    const name = key.startsWith(finding) ? key.slice(finding.length) : ''
    const family = Object.hasOwn(references, name) ? references[name] : undefined
    if (family === undefined) continue
    const found = text.trim() === '' ? [] : await lookUp(here, family, text.trim())
    const [only] = found
    if (found.length > 1) several.set(name, found)
    if (found.length === 1 || text.trim() === '') {
      resolved.delete(key)
      resolved.set(name, only?.value ?? '')
    } else {
      const detail = found.length === 0 ? `has no match for "${shorten(text)}"` : 'has several matches; choose one'
      flaws.push({ pointer: `/${name}`, detail })
    }
  }
  if (flaws.length > 0) throw Object.assign(invalidBody(flaws), { choices: several })
  form.resolved = resolved
}

async function lookUp (here: Here, family: string, text: string): Promise<Choices> {
  const reading = await open(here, family)
  if (reading === undefined) return []
  const { mount, mount: { model: { fields, title, search } } } = reading
  // As a list offers it: the title, then the id.
  const [, named, written] = /^(.*) \(([^()]+)\)$/s.exec(text) ?? []
  for (const [id, expected] of [[written, named], [text, undefined]] as const) {
    const known = id === undefined ? undefined : mount.readId(id)
    const item = known === undefined ? undefined : await reading.get(known)
    if (item === undefined) continue
    const its = titleOf(mount, item)
    const isMeant = expected === undefined ? title === 'id' : its === expected.slice(0, maxTitle)
    if (isMeant) return [{ value: String(item.id), title: its }]
  }
  const wanted = readListQuery(mount, `${title}.eq=${encodeURIComponent(text)}`)
  const exact = 'flaws' in wanted ? [] : await find(reading, wanted.query.where, maxChoices)
  if (exact.length > 0) return exact
  const isText = fields.some(({ name, kind }) => name === title && kind === 'string')
  const searched = search.length > 0 ? search : isText ? [title] : []
  if (searched.length === 0) return []
  const of = searched.map(field => [{ field, op: 'has', texts: [text] } as const])
  return await find(reading, [{ op: 'any', of }], maxChoices)
}

/** The ids of all items that fit a filter. */
export async function lookUpAll (here: Here, family: string, text: string): Promise<readonly string[]> {
  return (await lookUp(here, family, text)).map(({ value }) => value)
}

/** Lists of items that refer to this one, as far as the caller may see them. */
export async function findRelated (here: Here, item: Stored): Promise<RelatedList[]> {
  const { mount, request } = here
  const related = mount.neighbours().filter(hasPages)
    .filter(there => mount.beside(there.model.name) === there)
    .flatMap(there => Object.entries(there.model.references)
      .filter(([, referred]) => referred === mount.model.name)
      .map(([field], _, { length }) => ({ there, field, isOne: length === 1 })))
  return (await Promise.all(related.map(async ({ there, field, isOne }): Promise<RelatedList[]> => {
    const { name, labels } = there.model
    const reading = await open(here, name)
    if (reading === undefined) return []
    const href = `${listUrl(there, request)}?${field}=${encodeURIComponent(item.id)}`
    const found = await reading.count([{ field, op: 'eq', values: [item.id] }], 1000)
    return [{ name, labels, field: isOne ? undefined : field, href, ...found }]
  }))).flat()
}
