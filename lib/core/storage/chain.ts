import { randomUUID } from '../runtime.js'
import { hashText } from '../values/ids.js'
import { writeSorted } from '../values/json.js'
import type { Change, FamilyShape, Field, Stored } from './storage.js'

/** Members of an entry of a chained log. */
interface Chained {
  /** Random, so that what was erased cannot be guessed by `seal`. An erasure replaces it. */
  readonly salt?: string
  /** A digest of what may be erased, as it was at first. */
  readonly seal?: string
  /** A digest of the entry until it has its position; then one of that, the position and the hash before it. */
  readonly hash?: string
  /** The id of the entry that has the digest of what an erasure has left. */
  readonly erasure?: string
}

const chainFields: readonly Field[] = ['salt', 'seal', 'hash', 'erasure'].map(name =>
  ({ name, kind: 'string', optional: true, maxLength: 100 }))
const unsealed: ReadonlySet<string> = new Set([...chainFields.map(({ name }) => name), 'position', 'updatedAt'])
/** Members that an erasure leaves as they are. */
const facts: ReadonlySet<string> = new Set([
  'id', 'family', 'target', 'about', 'action', 'outcome', 'revision', 'createdAt', 'createdHigh', 'createdLow'
])

/** The action of the entries of erasures. No client sees them: they belong to no family. */
export const erasureAction = 'Erase'

/**
 * The shape of a log, with the fields that a chained one has besides; other shapes stay as they are. For your own
 * storage: apply it in `prepare` and `writeMigration`.
 *
 * @example
 * async prepare (given) {
 *   const shape = chainShape(given)
 *   // …
 * }
 */
export function chainShape (shape: FamilyShape): FamilyShape {
  if (shape.name !== 'commands') return shape
  const names = new Set(chainFields.map(({ name }) => name))
  return { ...shape, fields: [...shape.fields.filter(({ name }) => !names.has(name)), ...chainFields] }
}

/**
 * A new entry of a chained log, before it has its position: with a salt, and with digests of its content. For your own
 * storage: apply it to each inserted entry that has no position.
 *
 * @example
 * const entry = sealEntry(change.item)
 */
export function sealEntry<T extends Stored> (entry: T): T & { readonly hash: string } {
  const salt = randomUUID()
  const seal = sealRest(entry, salt)
  return { ...entry, salt, seal, hash: digestEntry(entry, seal) }
}

/**
 * The hash of an entry of a chained log, once it has its position.
 *
 * @param previous the hash of the last entry before it that has one; undefined if there is none
 * @param digest the `hash` that `sealEntry` has given it
 * @example
 * const numbered = { ...entry, position, hash: linkEntry(last?.hash, position, entry.hash) }
 */
export function linkEntry (previous: string | undefined, position: number, digest: string): string {
  // In PostgreSQL, a statement does the same.
  return hashText(`${previous ?? ''} ${position} ${digest}`)
}

/** An entry that has its position is a copy, or is not of the log. */
export function sealChange (change: Change): Change {
  if (change.family !== 'commands' || change.type !== 'insert' || change.item['position'] !== undefined) return change
  return { ...change, item: sealEntry(change.item) }
}

function sealRest (entry: Stored, salt: string): string {
  return hashText(`${salt} ${writeSorted(pickMembers(entry, name => !facts.has(name) && !unsealed.has(name)))}`)
}

function digestEntry (entry: Stored, seal: string): string {
  return hashText(writeSorted([pickMembers(entry, name => facts.has(name)), seal]))
}

function pickMembers (entry: Stored, has: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => has(name)))
}

/**
 * Whether an entry of a chained log is as it was written, or as an erasure has left it, and follows the one before.
 *
 * @param previous as of `linkEntry`
 * @param erasure the entry whose id is that of `erasure`, if there is one
 * @example
 * if (checkEntry(entry, last?.hash) === 'changed') console.log(entry.position)
 */
export function checkEntry (
  entry: Stored, previous: string | undefined, erasure?: Stored
): 'intact' | 'erased' | 'changed' {
  const { seal, hash } = entry as Stored & Chained
  const position = entry['position'] as number
  if (seal === undefined || hash !== linkEntry(previous, position, digestEntry(entry, seal))) return 'changed'
  if (isSealed(entry)) return 'intact'
  return erasure !== undefined && isErasedBy(entry, erasure) ? 'erased' : 'changed'
}

function isSealed (entry: Stored): boolean {
  const { salt, seal } = entry as Stored & Chained
  return salt !== undefined && sealRest(entry, salt) === seal
}

function isErasedBy (entry: Stored, erasure: Stored): boolean {
  const { id, params, action } = erasure
  const { salt, erasure: by } = entry as Stored & Chained
  const digests = params as Readonly<Record<string, unknown>> | undefined
  return salt !== undefined && id === by && action === erasureAction && isSealed(erasure) &&
    digests?.[String(entry['position'])] === sealRest(entry, salt)
}

/**
 * The changes of an erasure, which replace entries of a chained log. Their salts go, so that what was there cannot be
 * guessed. One more entry says what is left of each: otherwise any change could pass for an erasure.
 */
export function sealErasure (changes: readonly Change[], id: string, now: string): readonly Change[] {
  const params: Record<string, string> = {}
  const sealed = changes.map((change): Change => {
    if (change.type !== 'replace' || change.item['hash'] === undefined) return change
    const salt = randomUUID()
    params[String(change.item['position'])] = sealRest(change.item, salt)
    return { ...change, item: { ...change.item, salt, erasure: id } }
  })
  if (Object.keys(params).length === 0) return changes
  const entry = { id, revision: 1, createdAt: now, updatedAt: now, family: '', target: '-', action: erasureAction }
  return [...sealed, { type: 'insert', family: 'commands', item: { ...entry, outcome: 'done', params } }]
}
