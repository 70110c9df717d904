import { errorCodes } from '../errors.js'
import { commandsShape } from '../family/command-schema.js'
import type { Family } from '../family/family.js'
import { Problem } from '../problems.js'
import type { FamilyShape, Storage } from '../storage/storage.js'
import { ConflictError, DuplicateError, ReadOnlyError } from '../storage/storage.js'

/** Prepares a storage for a family, and for the log, before its first use; answers it as `guardStorage` makes it. */
export function makeStorageAccess (
  { shape, writable }: Pick<Family, 'shape' | 'writable'>
): (storage: Storage) => Promise<Storage> {
  const shapes = writable ? [shape, commandsShape] : [shape]
  const prepared = new WeakMap<Storage, Promise<Storage>>()

  return storage => {
    let ready = prepared.get(storage)
    if (ready === undefined) {
      ready = prepareStorage(storage, shapes)
      prepared.set(storage, ready)
      // What failed once may succeed the next time.
      ready.catch(() => prepared.delete(storage))
    }
    return ready
  }
}

async function prepareStorage (storage: Storage, shapes: readonly FamilyShape[]): Promise<Storage> {
  for (const shape of shapes) await storage.prepare(shape)
  return guardStorage(storage)
}

// One for all who use a storage, so that what is kept by storage (as locks are) is shared by them.
const guarded = new WeakMap<Storage, Storage>()

/** The storage, whose failures are problems. */
export function guardStorage (storage: Storage): Storage {
  let safe = guarded.get(storage)
  if (safe === undefined) {
    const { findText } = storage
    safe = {
      prepare: shape => storage.prepare(shape),
      find: (family, query) => guard(() => storage.find(family, query)),
      ...(findText !== undefined && {
        findText: (family, query, members) => guard(() => findText.call(storage, family, query, members))
      }),
      get: (family, id) => guard(() => storage.get(family, id)),
      commit: changes => guard(() => storage.commit(changes)),
      close: () => storage.close()
    }
    guarded.set(storage, safe)
  }
  return safe
}

/** At opening, a table that does not fit is a mistake of the host's; anything else may be better the next time. */
export async function guardOpening<T> (open: () => Promise<T>): Promise<T> {
  return await guard(open, error => Object.hasOwn(errorCodes, (error as { code?: string } | undefined)?.code ?? ''))
}

/** Whatever fails in there, but for conflicts and duplicates, means that the storage cannot serve now. */
async function guard<T> (work: () => Promise<T>, isKnown = isRefusal): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isKnown(error)) throw error
    if (error instanceof ReadOnlyError) throw new Problem('read-only', error.message)
    const detail = 'The storage does not answer now. If this was a change, send it again with the same id ' +
      'to find out whether it was made'
    throw new Problem('storage-unavailable', detail, { headers: { 'retry-after': '1' }, cause: error })
  }
}

function isRefusal (error: unknown): boolean {
  return error instanceof ConflictError || error instanceof DuplicateError
}

/** Whether a value has what a storage has. */
export function isStorage (value: unknown): value is Storage {
  const methods = ['prepare', 'find', 'get', 'commit', 'close'] as const
  return typeof value === 'object' && value !== null &&
    methods.every(name => typeof (value as Storage)[name] === 'function')
}
