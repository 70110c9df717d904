import { Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { type AnyFamily, getBase, getFamily, listShapes } from '../family/family.js'
import { commandsShape } from '../family/fields.js'
import { findFlawInPrincipal } from '../service/caller.js'
import { isStorage, makeStorageAccess } from '../service/storage-access.js'
import type { Id, Storage } from '../storage/storage.js'
import { findOptionFlaw, membersOf, rules } from '../values/rules.js'
import { AuthorErasure } from './erase-author.js'
import { ItemErasure } from './erase-item.js'
import { type EntryCopies, ErasedLog, type ErasureReport } from './erase-log.js'
import { ErasedFamily } from './erasing.js'
import { makeResumable } from './resumable.js'

/** How `erase` works. */
export interface EraseSettings {
  /** Who erases it, for the entry in the log. */
  readonly by?: string
  /** Also erases entries that a consumer or a webhook has not handled yet. Default: then nothing is done. */
  readonly ignoreConsumers?: boolean
  /** Entries of the log per commit. Default 100. */
  readonly batch?: number
  /** Stops it between two commits; the next call continues from there. */
  readonly signal?: AbortSignal
}

/** What `erase` erases: an item, by the name of its family, or a person who has done something, by the principal. */
export type EraseOptions = EraseSettings & (
  | { readonly family: string, readonly id: Id, readonly principal?: never }
  | { readonly principal: string, readonly family?: never, readonly id?: never }
)

const Principal = Type.Unsafe<string>({
  holds: (name: unknown) => typeof name === 'string' && findFlawInPrincipal(name) === undefined,
  description: 'a non-empty string'
})

const erasureRules = membersOf({
  family: rules.text,
  id: Type.Union([Type.String(), Type.Integer()], { description: 'an id' }),
  principal: Principal,
  by: Principal,
  ignoreConsumers: rules.flag,
  batch: rules.size,
  signal: rules.any
})

const refuseErasure = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_ERASURE(flaw)

/**
 * What `erase` does, for programs that read the log in their own way: it asks them instead of consumers.
 *
 * @param families all of the storage, in versions that together have all fields and operations
 * @example
 * await erasePersonal(storage, [customers], { family: 'customers', id: 17 }, {
 *   listWaiting: async (_storage, position) => relay.position < position ? ['relay'] : [],
 *   eraseErrors: async () => 0
 * })
 */
export async function erasePersonal (
  storage: Storage, families: readonly AnyFamily[], options: EraseOptions, copies: EntryCopies
): Promise<ErasureReport> {
  const flaw = isStorage(storage) ? findOptionFlaw(erasureRules, options) : 'the first argument must be a storage'
  if (flaw !== undefined) throw refuseErasure(flaw)
  if (!Array.isArray(families) || families.length === 0) {
    throw refuseErasure('"families" must be a list of all families')
  }
  const { principal, by, ignoreConsumers = false, batch = 100, signal } = options
  const known = groupVersions(families)
  const item = principal === undefined ? findErased(known, options) : undefined
  if (principal !== undefined && (options.family ?? options.id) !== undefined) {
    throw refuseErasure('give "family" and "id", or "principal"')
  }
  const shapes = new Set([commandsShape, ...families.flatMap(each => listShapes(getFamily(each)))])
  const { writers } = await makeStorageAccess([...shapes])(storage)
  const resumable = makeResumable(storage, 'erase')
  const log = new ErasedLog({ storage: resumable, writers, batch, ignoreConsumers, copies, by, signal })
  const erasure = item === undefined
    ? new AuthorErasure(log, known, principal as string)
    : new ItemErasure(log, known, item.family, item.id)
  await erasure.run()
  return log.report
}

type Versions = ReadonlyMap<string, ErasedFamily>

function findErased (known: Versions, { family: name, id: given }: EraseOptions) {
  if (name === undefined || given === undefined) throw refuseErasure('give "family" and "id", or "principal"')
  const family = known.get(name)
  if (family === undefined) {
    throw refuseErasure(`"${name}" is not among "families", which are ${[...known.keys()].join(', ')}`)
  }
  if (!family.isPersonal) {
    throw refuseErasure(`the family "${name}" declares no personal data: give it the member "personal"`)
  }
  const id = family.readId(given)
  if (id === undefined) throw refuseErasure(`no item of ${name} can have the id "${given}"`)
  return { family, id }
}

/** By their names. */
function groupVersions (families: readonly AnyFamily[]): Map<string, ErasedFamily> {
  const bases = new Set(families.map(family => getBase(getFamily(family))))
  const names = new Set(Array.from(bases, ({ name }) => name))
  return new Map(Array.from(names, name => [name, new ErasedFamily([...bases].filter(base => base.name === name))]))
}
