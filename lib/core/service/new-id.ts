import type { Family } from '../family/family.js'
import type { Id, Storage } from '../storage/storage.js'
import { DuplicateError } from '../storage/storage.js'
import { uuidv7 } from '../values/ids.js'
import { hasLog } from './log.js'
import type { Makers } from './makers.js'

/** Whether the next id depends on those before it, so that creations wait for each other. */
export function isCounted ({ idKind }: Family, { makeId }: Makers): boolean {
  return idKind === 'integer' && makeId === undefined
}

type IdSource = Pick<Storage, 'find' | 'nextId'>

/**
 * The id of a new item: the host's, the storage's, the next integer, or a UUID. Never that of a deleted item, whose log
 * is still stored.
 */
export async function makeNewId (family: Family, makers: Makers, storage: IdSource): Promise<Id> {
  const id = makers.makeId?.() ?? await storage.nextId?.(family.name)
  if (id === undefined) return isCounted(family, makers) ? await countOn(family, storage) : uuidv7()
  // A deleted item keeps its log: try the next id, as for one that is taken.
  if (await hasLog(storage, family, id)) throw new DuplicateError(family.name, id)
  return id
}

async function countOn (family: Family, storage: IdSource): Promise<number> {
  const order = [{ field: 'id', descending: true }]
  const { items: [last] } = await storage.find(family.name, { where: [], order, offset: 0, limit: 1, count: false })
  let id = last === undefined ? 1 : last.id as number + 1
  // A deleted item keeps its log, so its id is not used again. Doubling the step skips many in few reads.
  for (let step = 1; await hasLog(storage, family, id); step *= 2) id += step
  return id
}
