import { isDeepStrictEqual } from 'node:util'
import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { ConstraintError, type Stored } from '../storage/storage.js'
import { escapePointer, isObject, type Members, unescapePointer } from '../values/json.js'
import { refuseByConstraint } from './refusal.js'

// Rules make items of what a client sent. A flaw of such an item points to the parameter that has its value: the client
// does not know the item.

// Those that point into the parameters.
const located = new WeakSet<ConstraintError>()

export function pointsToParams (error: ConstraintError): boolean {
  return located.has(error)
}

/** @param items those that rules made or changed; a problem about the command's own item stays as it is */
export function pointToParams (
  error: unknown, items: readonly { readonly family: Family, readonly after: Stored }[], params: Members
): unknown {
  const cause = error instanceof Problem ? error.cause : undefined
  if (!(cause instanceof ConstraintError)) return error
  const item = items.find(({ family, after }) => family.name === cause.family && after.id === cause.id)?.after
  const found = new Set(item && cause.pointers.flatMap(pointer => findSent(pointer, item, params)))
  if (found.size === 0) return error
  const { family, id, rule, fields, declared, other, missing, allowed, constraint } = cause
  const pointing = new ConstraintError(family, id, rule, {
    fields,
    declared,
    other,
    constraint,
    pointers: [...found],
    cause: cause.cause,
    ...missing !== undefined && { missing },
    ...allowed !== undefined && { allowed }
  })
  located.add(pointing)
  return refuseByConstraint(pointing)
}

/** The same pointer, if the value was sent there; otherwise those of members with the same name and value. */
function findSent (pointer: string, item: Stored, params: Members): string[] {
  const segments = pointer.split('/').slice(1).map(unescapePointer)
  const value = readAt(item, segments)
  if (value === undefined || value === null) return []
  if (isDeepStrictEqual(readAt(params, segments), value)) return [pointer]
  const name = segments.findLast(segment => !/^\d+$/.test(segment))
  return listSentMembers(params).filter(each => each.name === name && isDeepStrictEqual(each.value, value))
    .map(each => each.pointer)
}

function readAt (value: unknown, segments: readonly string[]): unknown {
  return segments.reduce<unknown>((at, name) =>
    typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Members)[name] : undefined, value)
}

interface SentMember {
  readonly name: string
  readonly value: unknown
  readonly pointer: string
}

/** All members at any depth; the entries of a list have its name. */
function listSentMembers (value: unknown, name = '', pointer = ''): SentMember[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => listSentMembers(each, name, `${pointer}/${index}`))
  if (!isObject(value)) return [{ name, value, pointer }]
  return Object.entries(value).flatMap(([name, each]) =>
    listSentMembers(each, name, `${pointer}/${escapePointer(name)}`))
}
