import { type Family, findReferred } from '../family/family.js'
import { invalidQuery } from '../problems.js'
import { type Caller, intendToList, intendToRead } from '../service/caller.js'
import { type Reader, tryReader } from '../service/reader.js'
import { choosePartSize, firstPartSize, maxPageLength, selectById } from '../storage/pages.js'
import type { Id, Stored } from '../storage/storage.js'
import { makePicker, type Members } from '../values/json.js'
import { listPathValues, mapPathValues } from '../values/paths.js'
import { shorten } from '../values/words.js'

interface ReferredField {
  /** A field, or the path of a reference in one. */
  readonly field: string
  readonly family: Family
  readonly reader: Reader
}

/** Without those that the caller may not read, or whose family is not mounted. */
async function openReferred (
  family: Family,
  caller: Caller,
  fields: readonly string[],
  one?: Stored
): Promise<ReferredField[]> {
  const opened = await Promise.all(fields.map(async field => {
    const other = caller.other(findReferred(family, field) as Family)
    if (other === undefined) return undefined
    const { family: its } = other
    // A path may lead to many items.
    const isOne = one !== undefined && family.references.has(field)
    const intent = isOne ? intendToRead(its, one[field] as Id | undefined) : intendToList(its)
    const reader = await tryReader(its, other.caller, intent)
    return reader && { field, family: reader.family, reader }
  }))
  return opened.filter(each => each !== undefined)
}

/**
 * Ids stay if the items cannot be read, and titles are empty. Pages take one query per field or path.
 *
 * @param columns of an export, some of which are titles
 */
export async function makeExpand (
  family: Family,
  caller: Caller,
  fields: readonly string[],
  { one, columns = [] }: { readonly one?: Stored, readonly columns?: readonly string[] | undefined }
): Promise<(items: readonly Stored[]) => Promise<readonly Stored[]>> {
  const titled = columns.filter(column => columns.includes(nameTitle(column)))
  const opened = await openReferred(family, caller, [...new Set([...fields, ...titled])], one)
  return async items => {
    const referred = await Promise.all(opened.map(each => loadReferred(each, items, fields.includes(each.field))))
    // An item may be in the page many times.
    let length = 0
    return items.map(item => {
      let shown: Stored & Record<string, unknown> = { ...item }
      for (const [index, { field }] of opened.entries()) {
        const find = (id: unknown): FoundItem | undefined => referred[index]?.get(id as Id)
        const title = titled.includes(field) ? find(item[field])?.title : undefined
        if (title !== undefined) shown[nameTitle(field)] = title
        shown = mapPathValues(shown, field, id => {
          const other = find(id)
          if (other?.document === undefined) return id
          length += other.length
          if (length > maxPageLength) throw refuseLong(field)
          return other.document
        })
      }
      return shown
    })
  }
}

/** The columns of an export for people: the title of a referred item comes after its id. */
export function addTitleColumns ({ references }: Family, members: readonly string[]): readonly string[] {
  const hasTitle = (member: string): boolean => (references.get(member)?.presentation.title ?? 'id') !== 'id'
  return members.flatMap(member => hasTitle(member) ? [member, nameTitle(member)] : [member])
}

// No field can have such a name.
function nameTitle (field: string): string {
  return `${field} title`
}

const maxTitleLength = 1000

interface FoundItem {
  readonly title: string
  readonly document: Members | undefined
  readonly length: number
}

/** One query; if items may be long, one for each part of them. */
async function loadReferred (
  { field, family, reader }: ReferredField,
  items: readonly Stored[],
  isExpanded: boolean
): Promise<ReadonlyMap<Id, FoundItem>> {
  const { members, presentation, hasLongItems } = family
  const pick = makePicker(members)
  const ids = [...new Set(items.flatMap(item => listPathValues(item, field).map(({ value }) => value as Id)))]
  const referred = new Map<Id, FoundItem>()
  let all = 0
  let size = hasLongItems ? firstPartSize : ids.length
  while (ids.length > 0) {
    const values = ids.splice(0, size)
    const found = await reader.find(selectById([{ field: 'id', op: 'eq', values }], values.length))
    const before = all
    for (const item of found.items) {
      const document = isExpanded ? pick(item) : undefined
      const length = JSON.stringify(document)?.length ?? 0
      const title = shorten(String(item[presentation.title] ?? ''), maxTitleLength)
      referred.set(item.id, { document, length, title })
      all += length
    }
    if (all > maxPageLength) throw refuseLong(field)
    size = choosePartSize(size, { length: all - before, count: values.length })
  }
  return referred
}

function refuseLong (field: string): Error {
  const detail = `The items of ${field} are too long for a page of this size: use a smaller maxpagesize`
  return invalidQuery([{ parameter: 'expand', detail }])
}
