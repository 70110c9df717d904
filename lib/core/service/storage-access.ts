import { errorCodes } from '../errors.js'
import type { Family } from '../family/family.js'
import { Problem, storageUnavailable } from '../problems.js'
import { isDeadlineAware, raceSignal, RequestDeadline } from '../storage/deadline.js'
import {
  BusyError, type Change, ConflictError, ConstraintError, type ConstraintRule, DuplicateError, type FamilyShape,
  ReadOnlyError, type Storage, type StorageReads
} from '../storage/storage.js'
import type { MemberFlaw } from '../values/json.js'
import { didYouMean } from '../values/words.js'
import { Counters, WriteQueue } from './write-queue.js'

export type StorageAccess = (storage: Storage) => GuardedStorage | Promise<GuardedStorage>

export function makeStorageAccess (shapes: readonly FamilyShape[]): StorageAccess {
  const prepared = new WeakMap<Storage, GuardedStorage | Promise<GuardedStorage>>()

  return storage => {
    const ready = prepared.get(storage)
    if (ready !== undefined) return ready
    noteShapes(storage, shapes)
    const preparing = prepareStorage(storage, shapes)
    prepared.set(storage, preparing)
    // A failed attempt is repeated at the next call.
    preparing.then(guarded => prepared.set(storage, guarded), () => prepared.delete(storage))
    return preparing
  }
}

async function prepareStorage (storage: Storage, shapes: readonly FamilyShape[]): Promise<GuardedStorage> {
  try {
    for (const shape of shapes) await storage.prepare(shape)
  } catch (error) {
    if (!(error instanceof errorCodes.FST_DEALBOOK_MIGRATION_NEEDED)) throw error
    // The error lists everything that is missing, not only the first table.
    const names = shapes.map(({ name }) => name).join(', ')
    throw new errorCodes.FST_DEALBOOK_MIGRATION_NEEDED(names, await storage.writeMigration?.(shapes))
  }
  return guardStorage(storage)
}

// All mounts and services of a storage share its queue and its counters.
const guarded = new WeakMap<Storage, GuardedStorage>()

/** Turns failures into problems, and ends reads when the signal is aborted. */
export interface GuardedStorage extends Storage {
  readonly writers: WriteQueue
  readonly counters: Counters
  /** @param ended called when it is durable, or with the error, also after a deadline has ended the waiting */
  commit (changes: readonly Change[], signal?: AbortSignal, ended?: (error?: unknown) => void): Promise<void>
}

export function guardStorage (storage: Storage): GuardedStorage {
  let safe = guarded.get(storage)
  if (safe === undefined) guarded.set(storage, safe = makeGuarded(storage))
  return safe
}

function makeGuarded (storage: Storage): GuardedStorage {
  const { nextId, watch, replica, seen } = storage
  const endsItself = isDeadlineAware(storage)
  return {
    writers: new WriteQueue(),
    counters: new Counters(),
    prepare: shape => storage.prepare(shape),
    ...guardReads(storage),
    ...(replica !== undefined && { replica: seen => guardReads(replica.call(storage, seen)) }),
    ...(seen !== undefined && { seen: () => seen.call(storage) }),
    ...(nextId !== undefined && {
      nextId: (family, signal) => read(signal, signal => nextId.call(storage, family, signal))
    }),
    ...(watch !== undefined && { watch: wake => watch.call(storage, wake) }),
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
      signal?.throwIfAborted()
      await storage.commit(changes)
    } catch (error) {
      const refusal = toRefusalOf(signal, error)
      ended?.(refusal)
      throw refusal
    }
    ended?.()
  }

  function guardReads (source: StorageReads): StorageReads {
    const { findText } = source
    return {
      find: (family, query, signal) => read(signal, signal => source.find(family, query, signal)),
      ...(findText !== undefined && {
        findText: (family, query, members, signal) =>
          read(signal, signal => findText.call(source, family, query, members, signal))
      }),
      get: (family, id, signal) => read(signal, signal => source.get(family, id, signal))
    }
  }

  function read<T> (signal: AbortSignal | undefined, work: (signal?: AbortSignal) => Promise<T>): Promise<T> {
    const reading = endsItself ? work(signal) : race(signal, work)
    return reading.catch(error => { throw toRefusalOf(signal, error) })
  }
}

/** The storage may ignore the signal; then its result is no longer awaited. */
async function race<T> (signal: AbortSignal | undefined, read: (signal?: AbortSignal) => Promise<T>): Promise<T> {
  if (signal === undefined) return await read()
  signal.throwIfAborted()
  return await raceSignal(signal, read(signal instanceof RequestDeadline ? signal.signal : signal))
}

function toRefusalOf (signal: AbortSignal | undefined, error: unknown): unknown {
  return signal?.aborted === true && error === signal.reason ? error : toRefusal(error)
}

/** At opening, a table that does not fit is the host's mistake; after other errors, a retry may succeed. */
export function guardOpening<T> (open: () => T | Promise<T>): T | Promise<T> {
  const opened = open()
  if (!(opened instanceof Promise)) return opened
  return opened.catch(error => {
    throw toRefusal(error, error => Object.hasOwn(errorCodes, (error as { code?: string } | undefined)?.code ?? ''))
  })
}

/** Except for conflicts and duplicates, an unknown failure means that the storage is unavailable. */
function toRefusal (error: unknown, isKnown = isRefusal): unknown {
  if (isKnown(error)) return error
  if (error instanceof ConstraintError) return refuseByConstraint(error)
  if (error instanceof ReadOnlyError) return new Problem('read-only', error.message)
  if (error instanceof BusyError) return new Problem('busy', error.message, { headers: { 'retry-after': '1' } })
  return storageUnavailable(error)
}

function isRefusal (error: unknown): boolean {
  return error instanceof ConflictError || error instanceof DuplicateError
}

export function isStorage (value: unknown): value is Storage {
  const methods = ['prepare', 'find', 'get', 'commit', 'close'] as const
  return typeof value === 'object' && value !== null &&
    methods.every(name => typeof (value as Storage)[name] === 'function')
}

// For a field, or for the item if no field is known. The database's names and texts are never shown.
const reasons: Record<ConstraintRule, { readonly field: string, readonly whole: string }> = {
  unique: { field: 'is already taken', whole: 'it already exists' },
  required: { field: 'must be given', whole: 'a required value is missing' },
  reference: { field: 'refers to something that does not exist', whole: 'it refers to something that does not exist' },
  'in-use': { field: 'is referred to by something else', whole: 'something else refers to it' },
  value: { field: 'has a value that is not allowed', whole: 'it has a value that is not allowed' },
  other: { field: 'is not allowed', whole: 'a rule of the database rejects it' }
}

export function refuseByConstraint (error: ConstraintError): Problem {
  const { rule, other, declared } = error
  if (!declared) return refuseByDatabase(error)
  if (rule === 'in-use') {
    const detail = `It cannot be deleted while ${other} refer to it. Nothing was done`
    return new Problem('in-use', detail, { members: { family: other }, cause: error })
  }
  const isDangling = rule === 'reference'
  const errors = listErrors(error, isDangling ? `must be an existing id of ${other}` : undefined)
  const detail = `${errors[0]?.pointer} ${errors[0]?.detail}`
  return isDangling
    ? new Problem('invalid-body', detail, { errors, cause: error })
    : new Problem('taken', `${detail}. Nothing was done`, { errors, cause: error })
}

function refuseByDatabase (error: ConstraintError): Problem {
  const { rule, allowed } = error
  const errors = listErrors(error, allowed)
  const [first] = errors
  const reason = first === undefined ? reasons[rule].whole : `${first.pointer} ${first.detail}`
  const detail = `The database does not allow this: ${reason}. Nothing was done`
  return new Problem('constraint', detail, { cause: error, ...(first === undefined ? {} : { errors }) })
}

/** With the text that the family has for the constraint. */
export function explainConstraint (families: readonly Family[], error: unknown): unknown {
  if (!(error instanceof Problem && error.cause instanceof ConstraintError)) return error
  const { cause } = error
  const { constraints = {} } = families.find(({ name }) => name === cause.family) ?? {}
  const name = cause.constraint ?? ''
  const said = Object.hasOwn(constraints, name) ? constraints[name] : undefined
  if (said === undefined) return error
  const { detail, pointers } = typeof said === 'string' ? { detail: said, pointers: [] } : said
  const errors = pointers.map(pointer => ({ pointer, detail }))
  return new Problem('constraint', detail, { cause, ...(errors.length === 0 ? {} : { errors }) })
}

function listErrors ({ rule, fields }: ConstraintError, reason: string = reasons[rule].field): MemberFlaw[] {
  const pointers = fields.map(field => `/${field}`)
  return pointers.map(pointer => {
    const others = pointers.filter(other => other !== pointer)
    const together = others.length === 0 ? '' : `, together with ${others.join(', ')}`
    return { pointer, detail: `${reason}${together}` }
  })
}

const kept = new WeakMap<Storage, Set<string>>()

export function noteShapes (storage: Storage, shapes: readonly FamilyShape[]): void {
  let names = kept.get(storage)
  if (names === undefined) kept.set(storage, names = new Set())
  for (const { name } of shapes) names.add(name)
}

/** Refuses settings for an unknown family: its name is misspelt, and the family would get a different table. */
export function checkMappedFamilies (storage: Storage): void {
  const names = [...kept.get(storage) ?? []]
  const unknown = storage.mappedFamilies?.find(name => !names.includes(name))
  if (unknown === undefined) return
  throw new errorCodes.FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY(unknown, names.join(', '), didYouMean(unknown, names))
}
