import { Problem } from '../../problems.js'
import { matcher } from '../../storage/match.js'
import { ConflictError, DuplicateError, ReadOnlyError } from '../../storage/storage.js'
import type { FamilyShape, Id, Storage, Stored } from '../../storage/storage.js'
import type { Grant } from './options.js'

/**
 * The host's storage as the pipeline uses it: prepared for these families before its first use, and whatever it throws,
 * but for conflicts and duplicates, is a problem with status 503.
 */
export function makeAccess (shapes: readonly FamilyShape[]): (storage: Storage) => Promise<Storage> {
  const known = new WeakMap<Storage, Promise<Storage>>()

  return storage => {
    let ready = known.get(storage)
    if (ready === undefined) {
      ready = prepare(storage, shapes)
      known.set(storage, ready)
      // What failed once may succeed the next time.
      ready.catch(() => known.delete(storage))
    }
    return ready
  }
}

async function prepare (storage: Storage, shapes: readonly FamilyShape[]): Promise<Storage> {
  for (const shape of shapes) await storage.prepare(shape)
  return guarded(storage)
}

// One for all mounts of a storage, so that what is kept by storage is shared by them.
const kept = new WeakMap<Storage, Storage>()

function guarded (storage: Storage): Storage {
  let safe = kept.get(storage)
  if (safe === undefined) {
    safe = {
      prepare: shape => storage.prepare(shape),
      find: (family, query) => guard(() => storage.find(family, query)),
      ...(storage.findText === undefined ? {} : { findText: (family, query, members) => guard(() => (storage as Required<Storage>).findText(family, query, members)) }),
      get: (family, id) => guard(() => storage.get(family, id)),
      commit: changes => guard(() => storage.commit(changes)),
      close: () => storage.close()
    }
    kept.set(storage, safe)
  }
  return safe
}

/** Whatever fails in there, but for conflicts and duplicates, means that the storage cannot serve now. */
export async function guard<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ConflictError || error instanceof DuplicateError) throw error
    if (error instanceof ReadOnlyError) throw new Problem('read-only', error.message)
    throw new Problem('storage-unavailable', 'The storage does not answer now. If this was a change, send it again with the same id to find out whether it was made', {
      headers: { 'retry-after': '1' },
      cause: error
    })
  }
}

/** The item, if it is there and the request may see it. */
export async function visible (storage: Storage, family: string, id: Id, { where = [] }: Grant): Promise<Stored | undefined> {
  const item = await storage.get(family, id)
  return item !== undefined && matcher(where)(item) ? item : undefined
}
