import { isDeepStrictEqual } from 'node:util'
import type { MemberFlaw, Members } from '../values/json.js'
import type { Family } from './family.js'
import { toStored } from './fields.js'

/**
 * What is wrong with the members of an item that differ from those it had. What is as it was need not fit: a field may
 * have become stricter, or required, since the item was stored.
 */
export function findFlawsInChanges (
  { ownFields, validateMember }: Family,
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
