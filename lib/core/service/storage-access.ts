import { errorCodes } from '../errors.js'
import { Problem } from '../problems.js'
import { isDeadlineAware, raceSignal, RequestDeadline } from '../storage/deadline.js'
import type { Change, FamilyShape, Found, Id, Query, Storage, Stored } from '../storage/storage.js'
import { BusyError, ConflictError, ConstraintError, DuplicateError, ReadOnlyError } from '../storage/storage.js'
import { refuseByConstraint } from './constraint.js'
import { Counters } from './counters.js'
import { noteShapes } from './mapped-families.js'
import { WriteQueue } from './write-lines.js'

/** Prepares a storage before its first use, and returns it as `guardStorage` makes it. */
export type StorageAccess = (storage: Storage) => GuardedStorage | Promise<GuardedStorage>

/** Prepares storages for what they are to keep. */
export function makeStorageAccess (shapes: readonly FamilyShape[]): StorageAccess {
  const prepared = new WeakMap<Storage, GuardedStorage | Promise<GuardedStorage>>()

  return storage => {
    const ready = prepared.get(storage)
    if (ready !== undefined) return ready
    noteShapes(storage, shapes)
    const preparing = prepareStorage(storage, shapes)
    prepared.set(storage, preparing)
    // What failed once may succeed the next time.
    preparing.then(guarded => prepared.set(storage, guarded), () => prepared.delete(storage))
    return preparing
  }
}

async function prepareStorage (storage: Storage, shapes: readonly FamilyShape[]): Promise<GuardedStorage> {
  try {
    for (const shape of shapes) await storage.prepare(shape)
  } catch (error) {
    if (!(error instanceof errorCodes.FST_DEALBOOK_MIGRATION_NEEDED)) throw error
    // The error shows all that is missing, not one table after the other.
    const names = shapes.map(({ name }) => name).join(', ')
    throw new errorCodes.FST_DEALBOOK_MIGRATION_NEEDED(names, await storage.writeMigration?.(shapes))
  }
  return guardStorage(storage)
}

// One for all mounts and services of a storage, which share its queue and its counters.
const guarded = new WeakMap<Storage, GuardedStorage>()

/** A storage whose failures are problems, and whose reads end when the signal is aborted. */
export interface GuardedStorage extends Storage {
  /** The writers of this process. */
  readonly writers: WriteQueue
  readonly counters: Counters
  /**
   * The signal ends nothing once the commit has begun; where it is a `RequestDeadline`, its deadline ends the waiting.
   *
   * @param ended called when it is durable, or with why it is not, also after the waiting has ended
   */
  commit (changes: readonly Change[], signal?: AbortSignal, ended?: (error?: unknown) => void): Promise<void>
}

export function guardStorage (storage: Storage): GuardedStorage {
  let safe = guarded.get(storage)
  if (safe === undefined) guarded.set(storage, safe = makeGuarded(storage))
  return safe
}

function makeGuarded (storage: Storage): GuardedStorage {
  const { findText, nextId } = storage
  return {
    writers: new WriteQueue(),
    counters: new Counters(),
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
    commit (changes, signal, ended) {
      const committing = commit(changes, signal, ended)
      return signal instanceof RequestDeadline ? signal.waitForCommit(committing) : committing
    },
    close: () => storage.close()
  }

  async function commit (
    changes: readonly Change[],
    signal: AbortSignal | undefined,
    ended: ((error?: unknown) => void) | undefined
  ): Promise<void> {
    try {
      if (signal?.aborted === true) throw signal.reason
      await storage.commit(changes)
    } catch (error) {
      const refusal = signal?.aborted === true && error === signal.reason ? error : toRefusal(error)
      ended?.(refusal)
      throw refusal
    }
    ended?.()
  }

  // A storage that does not heed the signal is not waited for any longer, whatever it does then.
  async function read<T> (signal: AbortSignal | undefined, work: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    try {
      if (signal === undefined) return await work()
      signal.throwIfAborted()
      if (isDeadlineAware(storage)) return await work(signal)
      return await raceSignal(signal, work(signal instanceof RequestDeadline ? signal.signal : signal))
    } catch (error) {
      throw error === signal?.reason ? error : toRefusal(error)
    }
  }
}

/** A storage for one caller: what is read and committed through it heeds the caller's signal. */
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

/** At opening, a table that does not fit is a mistake of the host's; anything else may succeed the next time. */
export function guardOpening<T> (open: () => T | Promise<T>): T | Promise<T> {
  const opened = open()
  if (!(opened instanceof Promise)) return opened
  return opened.catch(error => {
    throw toRefusal(error, error => Object.hasOwn(errorCodes, (error as { code?: string } | undefined)?.code ?? ''))
  })
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
