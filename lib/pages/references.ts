import type { FastifyRequest } from 'fastify'
import type { Family, OtherDefinition } from '../core/family/family.js'
import { isOrdered, readValue } from '../core/query/values.js'
import { intendToList } from '../core/service/caller.js'
import { authorizeReader, type Reader } from '../core/service/reader.js'
import { isAbsent } from '../core/storage/conditions.js'
import { isVisible, shorten } from '../core/values/words.js'
import { type Condition, type Field, type Id, invalidBody, type Members, type Stored } from '../exports.js'
import type { FormBody } from '../http/body.js'
import type { Exchange, Mount } from '../http/mount.js'
import { countUpTo } from '../http/reads/home.js'
import { toProblem } from '../http/reply.js'
import type {
  LogEntry, ReferenceField, Referred, RelatedList
} from './affordances.js'
import { hasPages } from './views.js'

type Here = Pick<Exchange, 'mount' | 'request'>

/** A family that the caller may list. */
interface OpenList {
  readonly there: Mount
  readonly reader: Reader
}

type Choices = NonNullable<ReferenceField['choices']>

/** Families by the names of the fields or parameters that hold their ids. */
export type ReferenceNames = ReadonlyMap<string, Family>

/** A parameter named like an entry of `with`, or like a field that refers to an item, does so too. */
export function listReferences (family: Family, others: readonly OtherDefinition[] = []): ReferenceNames {
  const named = others.filter(({ field }) => field === undefined)
    .map(({ name, family: other = family }) => [name, other] as const)
  return new Map([...named, ...family.references])
}

/** Undefined if the family is not mounted here, or the caller may not list it. */
async function open ({ mount, request }: Here, { name }: Family): Promise<OpenList | undefined> {
  const there = mount.neighbours.find(name, mount)
  if (there === undefined) return undefined
  try {
    const caller = there.caller(request)
    return { there, reader: await authorizeReader(there.family, caller, intendToList(there.family)) }
  } catch (error) {
    const { statusCode, cause = error } = toProblem(error)
    if (statusCode >= 500) request.log.error({ err: cause, family: name }, 'authorize failed for a part of a page')
    return undefined
  }
}

// Longer titles are not useful beside other content.
const maxTitle = 200

export function titleOf ({ presentation: { title } }: Family, item: Members): string {
  return String(isVisible(item[title]) ? item[title] : item['id']).slice(0, maxTitle)
}

async function find (list: OpenList, where: readonly Condition[], limit: number): Promise<Choices> {
  const { reader, there: { family } } = list
  const { title } = family.presentation
  const order = title === 'id' || !isSortable(family, title) ? [] : [{ field: title, descending: false }]
  const query = { where, order: [...order, { field: 'id', descending: false }], offset: 0, limit, count: false }
  return (await reader.find(query)).items.map(item => ({ value: String(item.id), title: titleOf(family, item) }))
}

function isSortable ({ fields }: Family, name: string): boolean {
  return fields.some(field => field.name === name && isOrdered(field))
}

/** Undefined if it has no page. */
export function linkPage (there: Mount | undefined, request: FastifyRequest, id: Id): string | undefined {
  return there !== undefined && hasPages(there) ? there.urls.item(request, id) : undefined
}

/** The titles of the items that these refer to, one query for each family. */
export async function findReferred (
  here: Here,
  fields: readonly string[],
  items: readonly Members[]
): Promise<(item: Members, field: string) => Referred | undefined> {
  const { mount: { family }, request } = here
  const found = new Map<string, (id: Id) => Referred | undefined>()
  await Promise.all([...family.references].filter(([field]) => fields.includes(field)).map(async ([field, other]) => {
    const values = [...new Set(items.map(item => item[field] as Id | null | undefined))]
      .filter(id => !isAbsent(id)) as Id[]
    const list = values.length === 0 ? undefined : await open(here, other)
    if (list === undefined) return
    const { there } = list
    const titles = new Map((await find(list, [{ field: 'id', op: 'eq', values }], values.length))
      .map(({ value, title }) => [value, title]))
    found.set(field, id => {
      const title = titles.get(String(id))
      return title === undefined ? undefined : { title, href: linkPage(there, request, id) }
    })
  }))
  return (item, field) => isAbsent(item[field]) ? undefined : found.get(field)?.(item[field] as Id)
}

/** Adds the titles of the items that values in a log refer to. */
export async function nameInLog<T extends Pick<LogEntry, 'changes' | 'params'> & Partial<Pick<LogEntry, 'about'>>> (
  here: Here,
  entries: readonly T[]
): Promise<T[]> {
  const { references, singular } = here.mount.family
  // Parameters of another family's command may have the same names, and other meanings.
  const isOwn = ({ about }: T): boolean => about === undefined || about.singular === singular
  const values = entries.flatMap(entry => [
    ...entry.changes.filter(({ name }) => references.has(name))
      .flatMap(({ name, from, to }) => [{ [name]: from }, { [name]: to }]),
    ...(isOwn(entry) ? entry.params : []).filter(({ name }) => references.has(name))
      .map(({ name, value }) => ({ [name]: value }))
  ])
  if (values.length === 0) return [...entries]
  const refer = await findReferred(here, [...references.keys()], values)
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
  const names = new Map([...all].filter(([name]) => used.some(field => field.name === name)))
  const families = [...new Set(names.values())]
  const fields = new Map(await Promise.all(families.map(async family =>
    [family, await makeReferenceField(here, family)] as const)))
  return new Map([...names].flatMap(([name, family]) => {
    const field = fields.get(family)
    return field === undefined ? [] : [[name, field]]
  }))
}

async function makeReferenceField (here: Here, family: Family): Promise<ReferenceField | undefined> {
  const list = await open(here, family)
  if (list === undefined) return undefined
  const { there: { family: { singular, presentation }, urls, grammar, representations } } = list
  const { title, labels } = presentation
  const choices = await find(list, [], maxChoices + 1)
  if (choices.length <= maxChoices) return { singular, labels, title, choices }
  const query = `format=json&maxpagesize=10&fields=${title === 'id' ? 'id' : `id,${title}`}`
  // A field may be called search.
  const search = grammar.search.length > 0 ? 'search' : `${title}.has`
  const canSuggest = representations.some(({ name }) => name === 'json') &&
    (search === 'search' || grammar.filters.has(search))
  const lookup = canSuggest ? `${urls.collection(here.request)}?${query}&${search}=` : undefined
  return { singular, labels, title, lookup }
}

/** The title that pages show instead of an id. */
export async function findTitle (here: Here, family: Family, id: unknown): Promise<string | undefined> {
  const list = await open(here, family)
  const known = list?.there.family.readId(String(id))
  const item = known === undefined ? undefined : await list?.reader.get(known)
  return item && titleOf((list as OpenList).there.family, item)
}

/** What people enter to find exactly the items with these ids: the title, then the id. */
export async function nameChosen (
  here: Here,
  names: ReferenceNames,
  ids: ReadonlyMap<string, string>
): Promise<ReadonlyMap<string, string>> {
  const chosen = [...ids].filter(([, id]) => id !== '')
  return new Map(await Promise.all(chosen.map(async ([name, id]) => {
    const title = await findTitle(here, names.get(name) as Family, id)
    return [name, title === undefined ? id : `${title} (${id})`] as const
  })))
}

/** The prefix of form entries that find items by a part of their titles, by field. */
export const finding = '_find.'

/** Items that fit what was entered, if there are several. */
export type FoundChoices = ReadonlyMap<string, Choices>

/** Puts the ids of the items that were meant into the form; throws if none is found, or several. */
export async function resolveEntries (here: Here, names: ReferenceNames, form: FormBody): Promise<void> {
  const resolved = new Map(form.entries)
  const several = new Map<string, Choices>()
  const flaws: { pointer: string, detail: string }[] = []
  for (const [key, text] of form.entries) {
    const name = key.startsWith(finding) ? key.slice(finding.length) : ''
    const family = names.get(name)
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

async function lookUp (here: Here, family: Family, text: string): Promise<Choices> {
  const list = await open(here, family)
  if (list === undefined) return []
  const { there: { family: { fields, presentation: { title, search }, readId } }, reader } = list
  // As a list offers it: the title, then the id.
  const [, named, written] = /^(.*) \(([^()]+)\)$/s.exec(text) ?? []
  for (const [id, expected] of [[written, named], [text, undefined]] as const) {
    const known = id === undefined ? undefined : readId(id)
    const item = known === undefined ? undefined : await reader.get(known)
    if (item === undefined) continue
    const its = titleOf(list.there.family, item)
    const isMeant = expected === undefined ? title === 'id' : its === expected.slice(0, maxTitle)
    if (isMeant) return [{ value: String(item.id), title: its }]
  }
  const field = fields.find(({ name }) => name === title) as Field
  const wanted = readValue(field, text)
  const exact = 'value' in wanted
    ? await find(list, [{ field: title, op: 'eq', values: [wanted.value] }], maxChoices)
    : []
  if (exact.length > 0) return exact
  const searched = search.length > 0 ? search : field.kind === 'string' ? [title] : []
  if (searched.length === 0) return []
  const of = searched.map(field => [{ field, op: 'has', texts: [text] } as const])
  return await find(list, [{ op: 'any', of }], maxChoices)
}

/** The ids of all items that fit a filter. */
export async function lookUpAll (here: Here, family: Family, text: string): Promise<readonly string[]> {
  return (await lookUp(here, family, text)).map(({ value }) => value)
}

/** Lists of items that refer to this one, as far as the caller may see them. */
export async function findRelated (here: Here, item: Stored): Promise<RelatedList[]> {
  const { mount, request } = here
  const { family } = mount
  const related = mount.neighbours.list().filter(hasPages)
    .filter(there => mount.neighbours.find(there.family.name, mount) === there)
    .flatMap(there => [...there.family.references]
      .filter(([, referred]) => referred.name === family.name)
      .map(([field], _, { length }) => ({ there, field, isOne: length === 1 })))
  return (await Promise.all(related.map(async ({ there, field, isOne }): Promise<RelatedList[]> => {
    const list = await open(here, there.family)
    if (list === undefined) return []
    const { name, presentation: { labels } } = there.family
    const href = `${there.urls.collection(request)}?${field}=${encodeURIComponent(item.id)}`
    const found = await countUpTo(list.reader, [{ field, op: 'eq', values: [item.id] }], 1000)
    return [{ name, labels, field: isOne ? undefined : field, href, ...found }]
  }))).flat()
}
