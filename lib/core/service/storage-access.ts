import { errorCodes } from '../errors.js'
import { Problem } from '../problems.js'
import { ConstraintError } from '../storage/constraint-error.js'
import { isHeeding, Patience, raceSignal } from '../storage/patience.js'
import type { Change, FamilyShape, Found, Id, Query, Storage, Stored } from '../storage/storage.js'
import { BusyError, ConflictError, DuplicateError, ReadOnlyError } from '../storage/storage.js'
import { refuseByConstraint } from './constraint.js'
import { noteShapes } from './mapped-families.js'

/** Prepares a storage before its first use, and answers it as `guardStorage` makes it. */
export type StorageAccess = (storage: Storage) => Promise<GuardedStorage>

/** Prepares storages for what they are to keep. */
export function makeStorageAccess (shapes: readonly FamilyShape[]): StorageAccess {
  const prepared = new WeakMap<Storage, Promise<GuardedStorage>>()

  return storage => {
    let ready = prepared.get(storage)
    if (ready === undefined) {
      noteShapes(storage, shapes)
      ready = prepareStorage(storage, shapes)
      prepared.set(storage, ready)
      // What failed once may succeed the next time.
      ready.catch(() => prepared.delete(storage))
    }
    return ready
  }
}

async function prepareStorage (storage: Storage, shapes: readonly FamilyShape[]): Promise<GuardedStorage> {
  try {
    for (const shape of shapes) await storage.prepare(shape)
  } catch (error) {
    if (!(error instanceof errorCodes.FST_DEALBOOK_MIGRATION_NEEDED)) throw error
    // What is missing is told at once, and not one table after the other.
    const names = shapes.map(({ name }) => name).join(', ')
    throw new errorCodes.FST_DEALBOOK_MIGRATION_NEEDED(names, await storage.writeMigration?.(shapes))
  }
  return guardStorage(storage)
}

// One for all who use a storage, so that what is kept by storage (as locks are) is shared by them.
const guarded = new WeakMap<Storage, GuardedStorage>()

/** A storage whose failures are problems, and for which nobody waits longer than the signal says. */
export interface GuardedStorage extends Storage {
  /**
   * The signal ends nothing once the commit has begun; where it is a `Patience`, its deadline ends the waiting.
   *
   * @param ended called when it is durable, or with why it is not, whether or not somebody still waits for it
   */
  commit (changes: readonly Change[], signal?: AbortSignal, ended?: (error?: unknown) => void): Promise<void>
}

export function guardStorage (storage: Storage): GuardedStorage {
  let safe = guarded.get(storage)
  if (safe === undefined) {
    const { findText, nextId } = storage
    safe = {
      prepare: shape => storage.prepare(shape),
      find: (family, query, signal) => read(signal, signal => storage.find(family, query, signal)),
      ...(findText !== undefined && {
        findText: (family, query, members, signal) =>
          read(signal, signal => findText.call(storage, family, query, members, signal))
      }),
      get: (family, id, signal) => read(signal, signal => storage.get(family, id, signal)),
      ...(nextId !== undefined && {
        nextId: (family, signal) => read(signal, signal => nextId.call(storage, family, signal))
      }),
      async commit (changes, signal, ended) {
        if (signal?.aborted === true) {
          ended?.(signal.reason)
          throw signal.reason
        }
        const committing = commit(changes, ended)
        await (signal instanceof Patience ? signal.waitForCommit(committing) : committing)
      },
      close: () => storage.close()
    }
    guarded.set(storage, safe)
  }
  return safe

  async function commit (changes: readonly Change[], ended: ((error?: unknown) => void) | undefined): Promise<void> {
    try {
      await storage.commit(changes)
    } catch (error) {
      const refusal = toRefusal(error)
      ended?.(refusal)
      throw refusal
    }
    ended?.()
  }

  // Who waits for a storage that does not heed the signal is told when it is over, whatever the storage does then.
  async function read<T> (signal: AbortSignal | undefined, work: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    try {
      // Many who have left at once, as streams that are reset, are not worth a look.
      signal?.throwIfAborted()
      if (signal === undefined || isHeeding(storage)) return await work(signal)
      return await raceSignal(signal, work(signal instanceof Patience ? signal.signal : signal))
    } catch (error) {
      throw error === signal?.reason ? error : toRefusal(error)
    }
  }
}

/** A storage for one caller: what is read and committed through it heeds his signal. */
export class BoundStorage {
  readonly #storage: GuardedStorage
  readonly #signal: AbortSignal | undefined

  constructor (storage: GuardedStorage, signal: AbortSignal | undefined) {
    this.#storage = storage
    this.#signal = signal
  }

  find (family: string, query: Query): Promise<Found> {
    return this.#storage.find(family, query, this.#signal)
  }

  get (family: string, id: Id): Promise<Stored | undefined> {
    return this.#storage.get(family, id, this.#signal)
  }

  async nextId (family: string): Promise<Id | undefined> {
    return await this.#storage.nextId?.(family, this.#signal)
  }

  commit (changes: readonly Change[], ended?: (error?: unknown) => void): Promise<void> {
    return this.#storage.commit(changes, this.#signal, ended)
  }
}

/** At opening, a table that does not fit is a mistake of the host's; anything else may be better the next time. */
export async function guardOpening<T> (open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    throw toRefusal(error, error => Object.hasOwn(errorCodes, (error as { code?: string } | undefined)?.code ?? ''))
  }
}

/** Whatever fails in a storage, but for conflicts and duplicates, means that it cannot serve now. */
function toRefusal (error: unknown, isKnown = isRefusal): unknown {
  if (isKnown(error)) return error
  if (error instanceof ConstraintError) return refuseByConstraint(error)
  if (error instanceof ReadOnlyError) return new Problem('read-only', error.message)
  if (error instanceof BusyError) return new Problem('busy', error.message, { headers: { 'retry-after': '1' } })
  const detail = 'The storage does not answer now. If this was a change, send it again with the same id ' +
    'to find out whether it was made'
  return new Problem('storage-unavailable', detail, { headers: { 'retry-after': '1' }, cause: error })
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
