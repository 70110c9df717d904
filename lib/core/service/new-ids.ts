import type { TSchema } from '@sinclair/typebox'
import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import { uuidv7 } from '../runtime.js'
import { DuplicateError, type Id, type Storage } from '../storage/storage.js'
import type { Makers } from './caller.js'
import { hasLog, prunedId, readHighest } from './record.js'

type IdStorage = Pick<Storage, 'find' | 'get' | 'nextId'>

// A client may have chosen a very high id.
function refuseBeyond ({ schema, singular }: Family, id: number): void {
  const { maximum = Number.MAX_SAFE_INTEGER, exclusiveMaximum = Infinity } = schema.properties.id as TSchema
  if (id <= maximum && id < exclusiveMaximum) return
  throw new Problem('taken', `No id is left for a new ${singular}: ${id - 1} is taken, and ids are counted`)
}

/** Whether the next id depends on existing ones, so that creations wait for each other. */
export function isCounted ({ idKind }: Family, { makeId }: Makers): boolean {
  return idKind === 'integer' && makeId === undefined
}

/** Never the id of a deleted item, whose log is still stored. */
export async function makeNewId (
  family: Family,
  makers: Makers,
  storage: IdStorage,
  signal: AbortSignal | undefined
): Promise<Id> {
  const given = await takeGivenId(family, makers, storage, signal)
  if (given !== undefined) return given
  if (!isCounted(family, makers)) return uuidv7()
  const query = { where: [], order: [{ field: 'id', descending: true }], offset: 0, limit: 1, count: false }
  let pruned = 0
  const findLast = async (): Promise<number> =>
    Math.max((await storage.find(family.name, query, signal)).items[0]?.id as number | undefined ?? 0, pruned)
  for (;;) {
    const last = await findLast()
    let id = last + 1
    // Ids of deleted items, which keep their logs, are not reused. Doubling the step skips many in few reads.
    for (let step = 1; await hasLog(storage, family, id, signal); step *= 2) id += step
    refuseBeyond(family, id)
    // After the log, which may be pruned meanwhile.
    pruned = readHighest(await storage.get('commands', prunedId, signal))[family.name] ?? 0
    if (id <= pruned) continue
    // Unless another process has created items meanwhile: stepping over them would leave a gap.
    if (id === last + 1 || await findLast() === last) return id
  }
}

/** The next id of the host, or of a sequence of the storage. */
async function takeGivenId (
  family: Family,
  makers: Makers,
  storage: IdStorage,
  signal: AbortSignal | undefined
): Promise<Id | undefined> {
  const given = makers.makeId?.() ?? await storage.nextId?.(family.name, signal)
  // The caller retries with the next id.
  if (given !== undefined && await hasLog(storage, family, given, signal)) throw new DuplicateError(family.name, given)
  return given
}

/** The ids of several new items: if they are counted, the next ones. */
export async function makeNewIds (
  family: Family,
  makers: Makers,
  storage: IdStorage,
  signal: AbortSignal | undefined,
  count: number
): Promise<Id[]> {
  const makeOne = (): Promise<Id> => makeNewId(family, makers, storage, signal)
  const given = await takeGivenId(family, makers, storage, signal)
  if (given !== undefined || !isCounted(family, makers)) {
    const more = await Promise.all(Array.from({ length: count - (given === undefined ? 0 : 1) }, makeOne))
    return given === undefined ? more : [given, ...more]
  }
  const isFree = async (id: Id | readonly Id[]): Promise<boolean> => !await hasLog(storage, family, id, signal)
  const ids: Id[] = [await makeOne()]
  let last = Number(ids[0])
  while (ids.length < count) {
    const next = Array.from({ length: count - ids.length }, () => ++last)
    if (await isFree(next)) ids.push(...next)
    else for (const id of next) if (await isFree(id)) ids.push(id)
  }
  refuseBeyond(family, last)
  return ids
}
