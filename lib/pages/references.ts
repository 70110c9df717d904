import {
  describeForm, type FamilyModel, type FamilyMount, type Field, type Id, invalidBody, type Members, readListQuery,
  shorten
} from '../exports.js'
import type { LogEntry, ReferenceField, Referred, RowReferences } from './affordances.js'
import { finding, listFilledRows, type PageForm } from './page-form.js'
import { type Choices, findChoices, maxChoices, type PageRequest } from './page-reads.js'
import { maxTitle, titleOf } from './titles.js'
import { type Here, itemUrl } from './urls.js'
import { hasPages } from './views.js'

/** A page, or another family's part of it. */
export type Looking = Pick<PageRequest, 'mount' | 'request' | 'reads'>

/** Families by the names of the fields or parameters that hold their ids. */
export type ReferenceNames = Readonly<Record<string, string>>

const isMissing = (value: unknown): boolean => value === undefined || value === null

/** Undefined if it has no page. */
export function linkPage (there: FamilyMount | undefined, request: Here['request'], id: Id): string | undefined {
  return there !== undefined && hasPages(there) ? itemUrl(there, request, id) : undefined
}

/** The items that others refer to. */
interface FoundReferences {
  /** By a field of one of them. */
  of (item: Members, field: string): Referred | undefined
  readonly inRows: RowReferences
}

/** The titles of the items that these refer to, also in their rows: one query for each family. */
export async function findReferredTitles (
  { mount, request, reads }: Looking,
  fields: readonly string[],
  items: readonly Members[],
  references: ReferenceNames = findReferenceNames(mount)
): Promise<FoundReferences> {
  const found = new Map<string, ReadonlyMap<string, Referred>>()
  const named = Object.entries(references).filter(([path]) => fields.includes(splitPath(path)[0]))
  await Promise.all(named.map(async ([path, other]) => {
    const there = mount.beside(other)
    const ids = there === undefined ? [] : listIds(there, items, path)
    if (there === undefined || ids.length === 0) return
    const titles = await reads.findTitles(there, ids)
    found.set(path, new Map(ids.flatMap(id => {
      const title = titles.get(String(id))
      return title === undefined ? [] : [[String(id), { title, href: linkPage(there, request, id) }]]
    })))
  }))
  const isList = (path: string): boolean => items.some(({ [path]: value }) => Array.isArray(value))
  return {
    of: (item, field) => isMissing(item[field]) ? undefined : found.get(field)?.get(String(item[field])),
    // The entries of a list have no name.
    inRows: Object.fromEntries([...found].flatMap(([path, referred]) =>
      path.includes('.') ? [[path, referred]] : isList(path) ? [[`${path}.`, referred]] : []))
  }
}

/** `lines.product` -> lines, product */
function splitPath (path: string): readonly [field: string, part: string | undefined, ...more: string[]] {
  const [field = '', part, ...more] = path.split('.')
  return [field, part, ...more]
}

/** The ids that items, or their rows, have at a path; each once. */
function listIds ({ readId }: FamilyMount, items: readonly Members[], path: string): Id[] {
  const [field, part, ...more] = splitPath(path)
  // Deeper values are shown as JSON.
  if (more.length > 0) return []
  const values = items.map(item => item[field])
  if (part === undefined) return [...new Set(values.flat().filter(id => !isMissing(id)) as Id[])]
  const inner = values.flat().map(row => typeof row === 'object' && row !== null ? (row as Members)[part] : undefined)
  // What was logged may be older than the reference.
  const isId = (value: unknown): value is Id =>
    (typeof value === 'string' || typeof value === 'number') && readId(String(value)) === value
  return [...new Set(inner.filter(isId))]
}

/** Adds the titles of the items that values in a log refer to. */
export async function nameInLog<T extends Pick<LogEntry, 'changes' | 'params'> & Partial<Pick<LogEntry, 'about'>>> (
  here: Looking,
  entries: readonly T[]
): Promise<T[]> {
  const { singular } = here.mount.model
  const references = findReferenceNames(here.mount)
  const fields = new Set(Object.keys(references).map(path => splitPath(path)[0]))
  const isReference = ({ name }: { readonly name: string }): boolean => fields.has(name)
  // Parameters of another family's command may have the same names, and other meanings.
  const isOwn = ({ about }: T): boolean => about === undefined || about.singular === singular
  const values = entries.flatMap(entry => [
    ...entry.changes.filter(isReference)
      .flatMap(({ name, from, to }) => [{ [name]: from }, { [name]: to }]),
    ...(isOwn(entry) ? entry.params : []).filter(isReference)
      .map(({ name, value }) => ({ [name]: value }))
  ])
  if (values.length === 0) return [...entries]
  const { of, inRows } = await findReferredTitles(here, [...fields], values, references)
  const find = (name: string, value: unknown) => of({ [name]: value }, name)
  return entries.map(entry => ({
    ...entry,
    changes: entry.changes.map(change =>
      ({ ...change, referred: { from: find(change.name, change.from), to: find(change.name, change.to) }, inRows })),
    params: entry.params.map(param =>
      isOwn(entry) ? { ...param, referred: find(param.name, param.value), inRows } : param)
  }))
}

const referencesOf = new WeakMap<FamilyModel, ReferenceNames>()

/** Those of the fields and of what is in them, and of the rows that parameters have. */
function findReferenceNames (mount: FamilyMount): ReferenceNames {
  const { model, model: { references, pathReferences } } = mount
  const known = referencesOf.get(model)
  if (known !== undefined) return known
  const params = model.actions.flatMap(({ action }) => Object.entries(describeForm(mount, action).references))
    .filter(([path]) => path.includes('.'))
  const all = { ...Object.fromEntries(params), ...pathReferences, ...references }
  referencesOf.set(model, all)
  return all
}

/** How those of these fields that refer to items are chosen, by their names. */
export async function findReferenceFields (
  { mount, reads }: Looking,
  all: ReferenceNames,
  used: readonly Field[]
): Promise<ReadonlyMap<string, ReferenceField>> {
  const names = Object.entries(all).filter(([path]) => used.some(field => path.includes('.')
    ? 'parts' in field && field.name === splitPath(path)[0]
    : field.name === path))
  const families = [...new Set(names.map(([, family]) => family))]
  const fields = new Map(await Promise.all(families.map(async family => {
    const there = mount.beside(family)
    return [family, there && await reads.findField(there)] as const
  })))
  return new Map(names.flatMap(([name, family]) => {
    const field = fields.get(family)
    return field === undefined ? [] : [[name, field]]
  }))
}

/** The title that pages show instead of an id. */
async function findTitle (
  { mount, reads }: Looking, family: string | undefined, id: unknown
): Promise<string | undefined> {
  const there = family === undefined ? undefined : mount.beside(family)
  const known = there?.readId(String(id))
  return there && known !== undefined ? (await reads.findTitles(there, [known])).get(String(known)) : undefined
}

/** What people enter to find exactly this item. */
export function nameChosenItem (id: string, title: string | undefined): string {
  return title === undefined ? id : `${title} (${id})`
}

/** What people enter to find exactly the items with these ids: the title, then the id. */
export async function nameChosen (
  here: Looking,
  references: ReferenceNames,
  ids: ReadonlyMap<string, string>
): Promise<ReadonlyMap<string, string>> {
  const chosen = [...ids].filter(([, id]) => id !== '')
  return new Map(await Promise.all(chosen.map(async ([name, id]) => {
    const title = await findTitle(here, references[name], id)
    return [name, nameChosenItem(id, title)] as const
  })))
}

/** Items that fit what was entered, if there are several. */
export type FoundChoices = ReadonlyMap<string, Choices>

/** Puts the ids of the items that were meant into the form; throws if none is found, or several. */
export async function resolveEntries (here: Looking, references: ReferenceNames, form: PageForm): Promise<void> {
  const asked = listAsked(references, form.entries)
  const found = await findNamedInRows(here, asked)
  // Rows often name the same item.
  const others = new Map(asked.map(({ family, text }) => [`${family} ${text}`, { family, text }]))
  await Promise.all([...others].filter(([key, { text }]) => text !== '' && !found.has(key))
    .map(async ([key, { family, text }]) => found.set(key, await lookUp(here, family, text))))
  const shown = new Map(form.sent.flatMap(([name, text]) => name.startsWith('_was.') ? [[name.slice(5), text]] : []))
  const resolved = new Map(form.entries)
  const several = new Map<string, Choices>()
  const flaws: { pointer: string, detail: string }[] = []
  for (const { key, name, family, text } of asked) {
    const matches = found.get(`${family} ${text}`) ?? []
    // The page showed the id alone of an item without a title, or that the caller may not see.
    const choices = matches.length === 0 && shown.get(key) === text ? [{ value: text, title: text }] : matches
    const [only] = choices
    if (choices.length > 1) several.set(name, choices)
    if (choices.length === 1 || text === '') {
      resolved.delete(key)
      resolved.set(name, only?.value ?? '')
    } else {
      const detail = choices.length === 0 ? `has no match for "${shorten(text)}"` : 'has several matches; choose one'
      flaws.push({ pointer: pointTo(name, form.entries), detail })
    }
  }
  if (flaws.length > 0) throw Object.assign(invalidBody(flaws), { choices: several })
  form.resolved = resolved
}

/** What was entered to find an item. */
interface Asked {
  /** The names of the entry, and of the field that it fills in. */
  readonly key: string
  readonly name: string
  readonly family: string
  readonly text: string
}

function listAsked (references: ReferenceNames, entries: PageForm['entries']): Asked[] {
  return [...entries].flatMap(([key, text]): Asked[] => {
    if (!key.startsWith(finding)) return []
    const name = key.slice(finding.length)
    const path = name.replace(/\.\d{1,3}\./, '.')
    const family = Object.hasOwn(references, path) ? references[path] : undefined
    return family === undefined ? [] : [{ key, name, family, text: text.trim() }]
  })
}

// As a list offers it: the title, then the id.
const titleAndId = /^(.*) \(([^()]+)\)$/s

/** The items of rows that are named by their titles and ids: one read for each family. */
async function findNamedInRows (
  { mount, reads }: Looking, asked: readonly Asked[]
): Promise<Map<string, Choices>> {
  const named = asked.filter(({ name }) => name.includes('.')).flatMap(({ family, text }) => {
    const [, title, written = ''] = titleAndId.exec(text) ?? []
    const there = mount.beside(family)
    const id = title === undefined ? undefined : there?.readId(written)
    return there === undefined || id === undefined ? [] : [{ family, text, title, there, id }]
  })
  const found = new Map<string, Choices>()
  await Promise.all([...new Set(named.map(({ there }) => there))].map(async each => {
    const own = named.filter(({ there }) => there === each)
    const titles = await reads.findTitles(each, [...new Set(own.map(({ id }) => id))])
    for (const { family, text, title, id } of own) {
      const its = titles.get(String(id))
      const isMeant = its !== undefined && its === title?.slice(0, maxTitle)
      if (isMeant) found.set(`${family} ${text}`, [{ value: String(id), title: its }])
    }
  }))
  return found
}

/** Where a flaw of an entry is: rows are counted without those that are empty. */
function pointTo (name: string, entries: PageForm['entries']): string {
  const [, field = '', row, part] = /^(.*)\.(\d{1,3})\.(.*)$/s.exec(name) ?? []
  const index = row === undefined ? -1 : listFilledRows(field, entries).indexOf(Number(row))
  return index < 0 ? `/${name.replaceAll('.', '/')}` : `/${field}/${index}/${part}`
}

async function lookUp ({ mount: own, reads }: Looking, family: string, text: string): Promise<Choices> {
  const there = own.beside(family)
  const reading = there && await reads.open(there)
  if (reading === undefined) return []
  const { mount, mount: { model: { fields, title, search } } } = reading
  const [, named, written] = titleAndId.exec(text) ?? []
  for (const [id, expected] of [[written, named], [text, undefined]] as const) {
    const known = id === undefined ? undefined : mount.readId(id)
    const item = known === undefined ? undefined : await reading.get(known)
    if (item === undefined) continue
    const its = titleOf(mount, item)
    const isMeant = expected === undefined ? title === 'id' : its === expected.slice(0, maxTitle)
    if (isMeant) return [{ value: String(item.id), title: its }]
  }
  const wanted = readListQuery(mount, `${title}.eq=${encodeURIComponent(text)}`)
  const exact = 'flaws' in wanted ? [] : await findChoices(reading, wanted.query.where, maxChoices)
  if (exact.length > 0) return exact
  const isText = fields.some(({ name, kind }) => name === title && kind === 'string')
  const searched = search.length > 0 ? search : isText ? [title] : []
  if (searched.length === 0) return []
  const of = searched.map(field => [{ field, op: 'has', texts: [text] } as const])
  return await findChoices(reading, [{ op: 'any', of }], maxChoices)
}

/** The ids of all items that fit a filter. */
export async function lookUpAll (here: Looking, family: string, text: string): Promise<readonly string[]> {
  return (await lookUp(here, family, text)).map(({ value }) => value)
}
