import { Type } from '@sinclair/typebox'
import { getBase, getFamily, listShapes } from '../core/family/family.js'
import { commandsShape } from '../core/family/fields.js'
import { findFlawInPrincipal } from '../core/service/caller.js'
import { ErasedFamily } from '../core/service/erasing.js'
import { isStorage, makeStorageAccess } from '../core/service/storage-access.js'
import { findFlaw, membersOf, rules } from '../core/values/rules.js'
import { type AnyFamily, errorCodes, type Id, type Storage } from '../index.js'
import { AuthorErasure } from './erase-author.js'
import { ItemErasure } from './erase-item.js'
import { ErasedLog, type ErasureReport } from './erase-log.js'
import { makeResumable } from './rows.js'

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

const optionRules = membersOf({
  family: rules.text,
  id: Type.Union([Type.String(), Type.Integer()], { description: 'an id' }),
  principal: Principal,
  by: Principal,
  ignoreConsumers: rules.flag,
  batch: rules.size,
  signal: rules.any
})

const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_ERASURE(flaw)

/**
 * Erases the personal data of an item, which its family names in `personal`: in the item, in its log, and in what other
 * logs have of its commands. Or erases a principal as the author of commands. That something happened, when, numbers
 * and states stay, and an entry of the log says when the item was erased. It commits in small batches, so that other
 * requests are not blocked. If it is interrupted, call it again.
 *
 * @param families all of the storage, in versions that together have all fields and operations
 * @example
 * await erase(storage, [customers, orders], { family: 'customers', id: 17, by: 'dpo' })
 * await erase(storage, [customers, orders], { principal: 'ann' })
 */
export async function erase (
  storage: Storage, families: readonly AnyFamily[], options: EraseOptions
): Promise<ErasureReport> {
  const flaw = isStorage(storage) ? findFlaw(optionRules, options, 'option') : 'the first argument must be a storage'
  if (flaw !== undefined) throw refuse(flaw)
  if (!Array.isArray(families) || families.length === 0) throw refuse('"families" must be a list of all families')
  const { principal, by, ignoreConsumers = false, batch = 100, signal } = options
  const known = groupVersions(families)
  const item = principal === undefined ? findItem(known, options) : undefined
  if (principal !== undefined && (options.family ?? options.id) !== undefined) {
    throw refuse('give "family" and "id", or "principal"')
  }
  const shapes = new Set([commandsShape, ...families.flatMap(each => listShapes(getFamily(each)))])
  const { writers } = await makeStorageAccess([...shapes])(storage)
  const settings = { storage: makeResumable(storage, 'erase'), writers, batch, ignoreConsumers, by, signal }
  const log = new ErasedLog(settings)
  const erasure = item === undefined
    ? new AuthorErasure(log, known, principal as string)
    : new ItemErasure(log, known, item.family, item.id)
  await erasure.run()
  return log.report
}

type Versions = ReadonlyMap<string, ErasedFamily>

function findItem (known: Versions, { family: name, id: given }: EraseOptions) {
  if (name === undefined || given === undefined) throw refuse('give "family" and "id", or "principal"')
  const family = known.get(name)
  if (family === undefined) throw refuse(`"${name}" is not among "families", which are ${[...known.keys()].join(', ')}`)
  if (!family.isPersonal) throw refuse(`the family "${name}" declares no personal data: give it the member "personal"`)
  const id = family.readId(given)
  if (id === undefined) throw refuse(`no item of ${name} can have the id "${given}"`)
  return { family, id }
}

/** By their names. */
function groupVersions (families: readonly AnyFamily[]): Map<string, ErasedFamily> {
  const bases = new Set(families.map(family => getBase(getFamily(family))))
  const names = new Set(Array.from(bases, ({ name }) => name))
  return new Map(Array.from(names, name => [name, new ErasedFamily([...bases].filter(base => base.name === name))]))
}
