import { getBase } from '../family/family.js'
import { invalidBody, Problem } from '../problems.js'
import { completer } from '../storage/shapes.js'
import type { Id, StorageReads, Stored } from '../storage/storage.js'
import { findLastDeletion, type HistorySource, rebuild, type State } from './history.js'
import type { GuardedStorage } from './storage-access.js'

// Items as they were, for commands that bring them back.

type Source = HistorySource & { readonly storage: StorageReads & Pick<GuardedStorage, 'secretsOf'> }

/**
 * A deleted item as it was, with the revision of its deletion. Undefined if it was never there, or its log is gone.
 * Throws if the log does not have all of it.
 */
export async function findDeleted (source: Source, id: Id): Promise<Stored | undefined> {
  const deletion = await findLastDeletion(source, id)
  if (deletion === undefined) return undefined
  const { last, revision } = deletion
  if (last === undefined || listLost(source, last).length > 0) throw lacksSome(source, `"${id}"`)
  return completer(getBase(source.family).shape)({ ...last.item, revision })
}

/** An item as it was at an earlier revision; it keeps what no client reads. Throws if the log does not reach it. */
export async function findEarlier (source: Source, current: Stored, to: number): Promise<Stored> {
  const { id, revision } = current
  if (to > revision) throw refuseRevision(`must be a revision before the present one, ${revision}`)
  if (to === revision) return current
  const rebuilt = await rebuild(source, id, to, current)
  if (rebuilt === undefined) throw refuseRevision(`must not be ${to}: it was deleted then`)
  // When it was changed is not brought back.
  const lost = listLost(source, rebuilt).filter(name => name !== 'updatedAt')
  if (lost.length > 0) throw lacksSome(source, `"${id}" at revision ${to}`)
  const secrets = [...source.storage.secretsOf(source.family.name)].filter(name => current[name] !== undefined)
  return { ...rebuilt.item, ...Object.fromEntries(secrets.map(name => [name, current[name]])) }
}

/** What the log should have, and does not. It never has what clients of no version read. */
function listLost ({ family, storage }: Source, { unknown }: State): string[] {
  const secrets = storage.secretsOf(family.name)
  return [...unknown].filter(name => !secrets.has(name))
}

// The names of these are not shown: some may be hidden from the caller.
function lacksSome ({ family }: Source, which: string): Problem {
  return new Problem('pruned', `The log does not have all values of the ${getBase(family).singular} ${which}`)
}

function refuseRevision (detail: string): Problem {
  return invalidBody([{ pointer: '/to', detail }])
}
