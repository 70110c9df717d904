import type { Family } from '../family/family.js'
import type { Id, Query, Storage, Stored } from '../storage/storage.js'
import { uuidv7 } from '../values/ids.js'
import { selectLog } from './log.js'

/** Whether the next id depends on those before it, so that creations wait for each other. */
export function isCounted ({ idKind, makeId }: Family): boolean {
  return idKind === 'integer' && makeId === undefined
}

/** The id of a new item: the host's, the next integer, or a UUID. */
export async function makeNewId (family: Family, storage: Storage): Promise<Id> {
  return isCounted(family) ? await countOn(family, storage) : family.makeId?.() ?? uuidv7()
}

async function countOn (family: Family, storage: Storage): Promise<number> {
  const last = await findFirst(storage, family.name, { where: [], order: [{ field: 'id', descending: true }] })
  let id = last === undefined ? 1 : last.id as number + 1
  // What was deleted keeps its log, so its id is not given again. Doubling the step passes over many in few reads.
  for (let step = 1; await hasLog(storage, family, id); step *= 2) id += step
  return id
}

async function hasLog (storage: Storage, family: Family, id: Id): Promise<boolean> {
  const order = [{ field: 'revision', descending: false }, { field: 'id', descending: false }]
  return await findFirst(storage, 'commands', { where: selectLog(family, id), order }) !== undefined
}

type Selection = Pick<Query, 'where' | 'order'>

async function findFirst (storage: Storage, family: string, selection: Selection): Promise<Stored | undefined> {
  const { items } = await storage.find(family, { ...selection, offset: 0, limit: 1, count: false })
  return items[0]
}
