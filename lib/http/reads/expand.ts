import type { Family } from '../../core/family/family.js'
import { invalidQuery } from '../../core/problems.js'
import { type Caller, intendToList, intendToRead } from '../../core/service/caller.js'
import { authorizeReader, type Reader } from '../../core/service/reader.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import { makePicker, type Members } from '../../core/values/json.js'
import { shorten } from '../../core/values/words.js'
import { toProblem } from '../reply.js'
import { choosePartSize, firstPartSize, type Listing, maxLength } from './page.js'

interface Referred {
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
): Promise<Referred[]> {
  const opened = await Promise.all(fields.map(async field => {
    const other = caller.other(family.references.get(field) as Family)
    if (other === undefined) return undefined
    const { family: its } = other
    const intent = one === undefined ? intendToList(its) : intendToRead(its, one[field] as Id | undefined)
    try {
      return { field, family: its, reader: await authorizeReader(its, other.caller, intent) }
    } catch (error) {
      if (toProblem(error).statusCode >= 500) throw error
      return undefined
    }
  }))
  return opened.filter(each => each !== undefined)
}

/** Ids stay if the items cannot be read. Pages take one query per field. */
export async function makeExpand (
  family: Family,
  caller: Caller,
  fields: readonly string[],
  one?: Stored
): Promise<NonNullable<Listing['expand']>> {
  const expanded = await openReferred(family, caller, fields, one)
  return async items => {
    const referred = await Promise.all(expanded.map(each => findReferred(each, items, makePicker(each.family.members))))
    // An item may be in the page many times.
    let length = 0
    return items.map(item => {
      const shown: Stored & Record<string, unknown> = { ...item }
      for (const [index, { field }] of expanded.entries()) {
        const other = referred[index]?.get(item[field] as Id)
        if (other === undefined) continue
        shown[field] = other.document
        length += other.length
        if (length > maxLength) throw refuseLong(field)
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

const maxTitle = 1000

/** Adds the columns to items; they stay empty if the other items cannot be read. @param columns with titles */
export async function makeTitles (
  family: Family,
  caller: Caller,
  columns: readonly string[],
  expand: Listing['expand']
): Promise<Listing['expand']> {
  const fields = columns.filter(column => columns.includes(nameTitle(column)))
  if (fields.length === 0) return expand
  const opened = await openReferred(family, caller, fields)
  return async items => {
    const titles = await Promise.all(opened.map(each => {
      const { title } = each.family.presentation
      return findReferred(each, items, item => ({ title: shorten(String(item[title] ?? ''), maxTitle) }))
    }))
    const shown = await expand?.(items) ?? items
    return shown.map((item, row) => {
      const titled: Stored & Record<string, unknown> = { ...item }
      for (const [index, { field }] of opened.entries()) {
        titled[nameTitle(field)] = titles[index]?.get(items[row]?.[field] as Id)?.document['title']
      }
      return titled
    })
  }
}

/** One query; if items may be long, one for each part of them. */
async function findReferred (
  { field, family, reader }: Referred,
  items: readonly Stored[],
  pick: (item: Stored) => Members
): Promise<ReadonlyMap<Id, { document: Members, length: number }>> {
  const ids = [...new Set(items.map(item => item[field] as Id | null | undefined))]
    .filter(id => id !== undefined && id !== null)
  const referred = new Map<Id, { document: Members, length: number }>()
  let all = 0
  let size = family.hasLongItems ? firstPartSize : ids.length
  while (ids.length > 0) {
    const values = ids.splice(0, size)
    const where = [{ field: 'id', op: 'eq', values } as const]
    const order = [{ field: 'id', descending: false }]
    const found = await reader.find({ where, order, offset: 0, limit: values.length, count: false })
    const before = all
    for (const item of found.items) {
      const document = pick(item)
      const { length } = JSON.stringify(document)
      referred.set(item.id, { document, length })
      all += length
    }
    if (all > maxLength) throw refuseLong(field)
    size = choosePartSize(size, { length: all - before, count: values.length })
  }
  return referred
}

function refuseLong (field: string): Error {
  const detail = `The items of ${field} are too long for a page of this size: use a smaller maxpagesize`
  return invalidQuery([{ parameter: 'expand', detail }])
}
