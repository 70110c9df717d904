import { isDeepStrictEqual } from 'node:util'
import type { Field, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'

type End = 'from' | 'to'

/** A field before and after a change; a member that is missing means that the field was absent. */
export interface FieldChange {
  readonly from?: unknown
  readonly to?: unknown
  /** The values that the log does not have, since they were too long for it. */
  readonly omitted?: readonly End[]
}

/**
 * What changed of an item, by field. A field that clients never read has no values. A deletion has the whole item, with
 * its id.
 */
export type FieldChanges = Readonly<Record<string, FieldChange>>

/** @param maxLogged the characters of a value that the log takes */
export function listChanges (
  fields: readonly Field[], before: Members, after: Members, maxLogged?: number
): FieldChanges {
  const changes: Record<string, FieldChange> = {}
  for (const { name, kind, writeOnly } of fields) {
    const [from, to] = [before[name], after[name]]
    if (from === to || (kind === 'json' && isDeepStrictEqual(from, to))) continue
    const change: { from?: unknown, to?: unknown } = {}
    if (writeOnly !== true) {
      if (from !== undefined) change.from = from
      if (to !== undefined) change.to = to
    }
    changes[name] = bound(change, maxLogged)
  }
  return changes
}

// They are short, and no item can be rebuilt without them.
const alwaysLogged: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt'])

/**
 * What goes with an item, also what only other versions have.
 *
 * @param secrets the fields that clients of no version read
 */
export function listRemoved (
  fields: readonly Field[], { revision, ...item }: Stored, secrets: ReadonlySet<string>, maxLogged?: number
): FieldChanges {
  const changes: Record<string, FieldChange> = {}
  // In the same order on every storage.
  for (const name of new Set(['id', ...fields.map(({ name }) => name), ...Object.keys(item).sort()])) {
    const from = (item as Members)[name]
    if (from === undefined) continue
    changes[name] = secrets.has(name) ? {} : alwaysLogged.has(name) ? { from } : bound({ from }, maxLogged)
  }
  return changes
}

/** Earlier versions left out both values where one was long. */
export function isUnknown ({ from, to, omitted }: FieldChange): boolean {
  return from === undefined && to === undefined && omitted === undefined
}

export function lacks ({ omitted = [] }: FieldChange, end: End): boolean {
  return omitted.includes(end)
}

function bound (change: FieldChange, maxLogged = Infinity): FieldChange {
  if (maxLogged === Infinity) return change
  const kept = Object.entries(change).filter(([, value]) => measure(value) <= maxLogged)
  const omitted = (Object.keys(change) as End[]).filter(end => !kept.some(([name]) => name === end))
  return omitted.length === 0 ? change : { ...Object.fromEntries(kept), omitted }
}

function measure (value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' ? JSON.stringify(value).length : 0
}
