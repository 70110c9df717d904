import { isDeepStrictEqual } from 'node:util'
import type { Field } from '../storage/storage.js'
import type { MemberFlaw, Members } from '../values/json.js'
import type { MemberValidator } from '../values/validate.js'
import { toStored } from './fields.js'

/** The fields of a family, and how each is checked. */
interface CheckedFields {
  readonly ownFields: readonly Field[]
  readonly validateMember: MemberValidator
}

/**
 * What is wrong with the members of an item that were changed. Unchanged ones need not fit: a field may have become
 * stricter, or required, since the item was stored.
 */
export function findFlawsInChanges (
  { ownFields, validateMember }: CheckedFields,
  item: Members,
  before: Members
): MemberFlaw[] {
  const kinds = new Map(ownFields.map(({ name, kind }) => [name, kind]))
  const names = new Set([...kinds.keys(), ...Object.keys(item)])
  return [...names].flatMap(name => {
    const kind = kinds.get(name) ?? 'json'
    const isSame = isDeepStrictEqual(toStored(kind, item[name]), toStored(kind, before[name]))
    return isSame ? [] : validateMember(name, item[name])
  })
}

/** Members that were changed, with their values before and after, where they had one. */
export type Changes = Readonly<Record<string, { readonly from?: unknown, readonly to?: unknown }>>

// Longer values are in the item, and need not be in its log twice more.
const maxKept = 200

/** What an operation changed, for the log. Of long values, it has only the names. */
export function listChanges (fields: readonly Field[], before: Members, after: Members): Changes {
  const changes: Record<string, { from?: unknown, to?: unknown }> = {}
  for (const { name, kind } of fields) {
    const [from, to] = [before[name], after[name]]
    if (from === to || (kind === 'json' && isDeepStrictEqual(from, to))) continue
    const change: { from?: unknown, to?: unknown } = changes[name] = {}
    if (!isShort(from) || !isShort(to)) continue
    if (from !== undefined) change.from = from
    if (to !== undefined) change.to = to
  }
  return changes
}

function isShort (value: unknown): boolean {
  if (typeof value === 'string') return value.length <= maxKept
  return typeof value !== 'object' || value === null || JSON.stringify(value).length <= maxKept
}
