import type { Family } from '../../core/family/family.js'
import { invalidQuery } from '../../core/problems.js'
import { type Caller, intendToList, intendToRead } from '../../core/service/caller.js'
import { authorizeReader, type Reader } from '../../core/service/reader.js'
import type { Id, Stored } from '../../core/storage/storage.js'
import { makePicker, type Members } from '../../core/values/json.js'
import { toProblem } from '../reply.js'
import { choosePartSize, firstPartSize, type Listing, maxLength } from './page.js'

/** Ids stay where the caller may not see the items, or their family is not mounted. Pages take one query per field. */
export async function makeExpand (
  family: Family,
  caller: Caller,
  fields: readonly string[],
  one?: Stored
): Promise<NonNullable<Listing['expand']>> {
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
  const expanded = opened.filter(each => each !== undefined)
  return async items => {
    const referred = await Promise.all(expanded.map(each => findReferred(each, items)))
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

/** One query; where items may be long, one for each part of them. */
async function findReferred (
  { field, family, reader }: { readonly field: string, readonly family: Family, readonly reader: Reader },
  items: readonly Stored[]
): Promise<ReadonlyMap<Id, { document: Members, length: number }>> {
  const ids = [...new Set(items.map(item => item[field] as Id | null | undefined))]
    .filter(id => id !== undefined && id !== null)
  const pick = makePicker(family.members)
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
  const detail = `The items of ${field} are too long for a page of so many: ask for fewer by maxpagesize`
  return invalidQuery([{ parameter: 'expand', detail }])
}
