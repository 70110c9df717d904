import type { Family } from '../family/family.js'
import { isAbsent } from '../storage/conditions.js'
import { listNewIds, locateMissing } from '../storage/missing.js'
import { ConstraintError, type Id, type Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { intendToRead } from './caller.js'
import { type Reader, tryReader } from './reader.js'
import { refuseByConstraint } from './refusal.js'
import { type Called, findMounted } from './renamed.js'
import { pointToParams } from './sent-values.js'

/** An item that a command changes or creates. */
export interface WrittenItem extends Called {
  /** Whether it is the item of the command, which the client knows. */
  readonly isOwn?: boolean
  readonly current?: Stored | undefined
  readonly after: Stored
}

/** A reference that an item did not have before. */
interface NewReference {
  readonly from: WrittenItem
  /** The field, or the path of ids in it. */
  readonly field: string
  readonly isPath: boolean
  readonly to: Family
  readonly id: Id
}

/**
 * A client must not refer to items that it may not read, neither from the item of its command nor from others that
 * rules make of what it sent.
 *
 * @param known the items (`nameItem`) that the command was allowed to use, or has made: others may refer to them
 */
export async function refuseUnreadable (
  params: Members, items: readonly WrittenItem[], known: ReadonlySet<string>
): Promise<void> {
  const all = items.flatMap(listNewReferences).filter(({ from, to, id }) =>
    from.isOwn === true ? id !== from.after.id || to !== from.family : !known.has(nameItem(to, id)))
  if (all.length === 0) return
  // A document may have thousands of lines.
  const sent = collectValues(params)
  const groups = new Map<string, NewReference[]>()
  for (const each of all) {
    if (!sent.has(each.id)) continue
    const key = `${each.from.family.name} ${each.to.name}`
    groups.set(key, [...groups.get(key) ?? [], each])
  }
  for (const group of groups.values()) {
    const [{ from, to }] = group as [NewReference]
    const unreadable = await findUnreadable(from, to, [...new Set(group.map(({ id }) => id))])
    const first = group.find(({ id }) => unreadable.has(id))
    if (first === undefined) continue
    const same = group.filter(each =>
      each.from === first.from && each.field === first.field && unreadable.has(each.id))
    const problem = refuseReference(first, same.map(({ id }) => id))
    throw first.from.isOwn === true ? problem : pointToParams(problem, [first.from], params)
  }
}

export function nameItem ({ name }: Family, id: Id): string {
  return `${name}/${id}`
}

function listNewReferences (from: WrittenItem): NewReference[] {
  const { family: { references, pathReferences }, current, after } = from
  const plain = Array.from(references, ([field, to]) => ({ from, field, isPath: false, to, id: after[field] as Id }))
    .filter(({ field, id }) => !isAbsent(id) && id !== current?.[field])
  const nested = Array.from(pathReferences, ([field, to]) =>
    listNewIds(field, after, current).map(id => ({ from, field, isPath: true, to, id })))
  return [...plain, ...nested.flat()]
}

function refuseReference ({ from: { family, after }, field, isPath, to }: NewReference, ids: readonly Id[]): Error {
  const rule = { fields: [field], other: to.name, declared: true, ...isPath && { missing: ids } }
  return refuseByConstraint(locateMissing(new ConstraintError(family.name, after.id, 'reference', rule), after))
}

/** The ids of items that the caller may not read. If it may read all, the storage refuses missing ones. */
async function findUnreadable (own: Called, its: Family, ids: readonly Id[]): Promise<ReadonlySet<Id>> {
  const unreadable = new Set<Id>()
  const other = findMounted(own, its === own.family ? undefined : its)
  if (other === undefined) return unreadable
  // Grants mostly have the same conditions for all ids: then one read finds all items.
  const narrowed = new Map<string, { readonly reader: Reader, readonly ids: Id[] }>()
  for (const id of ids) {
    const reader = await tryReader(other.family, other.caller, intendToRead(its, id))
    if (reader === undefined) unreadable.add(id)
    if (reader === undefined || !reader.isNarrowed) continue
    const key = JSON.stringify(reader.grant.where)
    const same = narrowed.get(key)
    if (same === undefined) narrowed.set(key, { reader, ids: [id] })
    else same.ids.push(id)
  }
  for (const { reader, ids: [first, ...more], ids } of narrowed.values()) {
    const found = more.length === 0
      ? new Set(await reader.get(first as Id) === undefined ? [] : ids)
      : await reader.findIds(ids)
    for (const id of ids) if (!found.has(id)) unreadable.add(id)
  }
  return unreadable
}

function collectValues (value: unknown, into = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null) return into.add(value)
  for (const each of Object.values(value)) collectValues(each, into)
  return into
}
