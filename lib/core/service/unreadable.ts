import type { Family } from '../family/family.js'
import { isAbsent } from '../storage/conditions.js'
import { listNewIds, locateMissing } from '../storage/missing.js'
import { ConstraintError, type Id, type Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { intendToRead } from './caller.js'
import { type Reader, tryReader } from './reader.js'
import { refuseByConstraint } from './refusal.js'
import { type Called, findMounted } from './renamed.js'

/** A client must not refer to items that it may not read. */
export async function refuseUnreadable (
  { family, caller }: Called,
  params: Members,
  current: Stored | undefined,
  after: Stored
): Promise<void> {
  const refuse = (field: string, its: Family, missing?: Id): Error => {
    const rule = { fields: [field], other: its.name, declared: true, ...missing !== undefined && { missing } }
    return refuseByConstraint(locateMissing(new ConstraintError(family.name, after.id, 'reference', rule), after))
  }
  for (const [field, its] of family.references) {
    const id = after[field] as Id | null | undefined
    if (isAbsent(id) || id === current?.[field] || !includesValue(params, id)) continue
    if (await findUnreadable({ family, caller }, its, [id]) !== undefined) throw refuse(field, its)
  }
  if (family.pathReferences.size === 0) return
  // A document may have thousands of lines.
  const sent = collectValues(params)
  for (const [path, its] of family.pathReferences) {
    const ids = listNewIds(path, after, current).filter(id => sent.has(id))
    const unreadable = await findUnreadable({ family, caller }, its, ids)
    if (unreadable !== undefined) throw refuse(path, its, unreadable)
  }
}

/** The first id of an item that the caller may not read. A missing item is refused by the storage itself. */
async function findUnreadable (own: Called, its: Family, ids: readonly Id[]): Promise<Id | undefined> {
  const other = ids.length === 0 ? undefined : findMounted(own, its === own.family ? undefined : its)
  if (other === undefined) return undefined
  // Grants mostly have the same conditions for all ids: then one read finds all items.
  const narrowed = new Map<string, { readonly reader: Reader, readonly ids: Id[] }>()
  for (const id of ids) {
    const reader = await tryReader(other.family, other.caller, intendToRead(its, id))
    if (reader === undefined) return id
    if (!reader.isNarrowed) continue
    const key = JSON.stringify(reader.grant.where)
    const same = narrowed.get(key)
    if (same === undefined) narrowed.set(key, { reader, ids: [id] })
    else same.ids.push(id)
  }
  for (const { reader, ids: [first, ...more], ids } of narrowed.values()) {
    const found = more.length === 0
      ? new Set(await reader.get(first as Id) === undefined ? [] : ids)
      : await reader.findIds(ids)
    const unreadable = ids.find(id => !found.has(id))
    if (unreadable !== undefined) return unreadable
  }
  return undefined
}

function collectValues (value: unknown, into = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null) return into.add(value)
  for (const each of Object.values(value)) collectValues(each, into)
  return into
}

function includesValue (value: unknown, wanted: Id): boolean {
  if (typeof value !== 'object' || value === null) return value === wanted
  return Object.values(value).some(each => includesValue(each, wanted))
}
