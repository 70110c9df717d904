import { errorCodes } from '../errors.js'
import { commandsShape } from '../family/fields.js'
import { Problem, storageUnavailable } from '../problems.js'
import { clearTimeout, performance, setTimeout } from '../runtime.js'
import { isDeadlineAware, raceSignal, RequestDeadline } from '../storage/deadline.js'
import { locateMissing } from '../storage/missing.js'
import { findByIds } from '../storage/pages.js'
import {
  BusyError, type Change, ConflictError, ConstraintError, DuplicateError, type FamilyShape, type Id, ReadOnlyError,
  type Storage, type StorageReads,
  type Stored
} from '../storage/storage.js'
import { waitInQueue } from '../storage/turns.js'
import { didYouMean } from '../values/words.js'
import { refuseByConstraint } from './refusal.js'

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
  /** The fields of a family that clients of no version read. */
  secretsOf (family: string): ReadonlySet<string>
  /** In one read, if there are few. Those that do not exist are left out. */
  getMany (family: string, ids: readonly Id[], signal?: AbortSignal): Promise<ReadonlyMap<Id, Stored>>
  /** @param ended called when it is durable, or with the error, also after a deadline has ended the waiting */
  commit (changes: readonly Change[], signal?: AbortSignal, ended?: (error?: unknown) => void): Promise<void>
}

export function guardStorage (storage: Storage): GuardedStorage {
  let safe = guarded.get(storage)
  if (safe === undefined) guarded.set(storage, safe = makeGuarded(storage))
  return safe
}

function makeGuarded (storage: Storage): GuardedStorage {
  const { nextId, confirm, watch, replica, seen, maxLogged } = storage
  const endsItself = isDeadlineAware(storage)
  const reads = guardReads(storage)
  return {
    writers: new WriteQueue(),
    counters: makeCounters(),
    prepare: shape => storage.prepare(shape),
    ...reads,
    getMany: (family, ids, signal) => findByIds(reads, family, ids, signal),
    secretsOf: family => notedSecrets.get(storage)?.get(family) ?? noSecrets,
    ...(maxLogged !== undefined && { maxLogged }),
    ...(replica !== undefined && { replica: seen => guardReads(replica.call(storage, seen)) }),
    ...(seen !== undefined && { seen: () => seen.call(storage) }),
    ...(nextId !== undefined && {
      nextId: (family, signal) => read(signal, signal => nextId.call(storage, family, signal))
    }),
    ...(confirm !== undefined && {
      confirm: (family, id, signal) => read(signal, signal => confirm.call(storage, family, id, signal))
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
      const refusal = toRefusalOf(signal, addPointers(error, changes))
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
        findText: (family, query, members, signal, names) =>
          read(signal, signal => findText.call(source, family, query, members, signal, names))
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
export function guardOpening<T> (opened: T | Promise<T>): T | Promise<T> {
  if (!(opened instanceof Promise)) return opened
  return opened.catch(error => {
    throw Object.hasOwn(errorCodes, (error as { code?: string } | undefined)?.code ?? '') ? error : toRefusal(error)
  })
}

/** Of a reference by a path. */
function addPointers (error: unknown, changes: readonly Change[]): unknown {
  if (!(error instanceof ConstraintError) || error.missing === undefined) return error
  const { family, id } = error
  const change = changes.find(change => change.family === family && 'item' in change && change.item.id === id)
  return change !== undefined && 'item' in change ? locateMissing(error, change.item) : error
}

/** After it, a command is decided again. */
export function isConflict (error: unknown): boolean {
  return error instanceof ConflictError || error instanceof DuplicateError
}

/** Except for conflicts and duplicates, an unknown failure means that the storage is unavailable. */
function toRefusal (error: unknown): unknown {
  if (isConflict(error)) return error
  // The log has the creation of an item with this id.
  if (error instanceof ConstraintError && error.family === 'commands' && error.rule === 'unique') {
    return new DuplicateError('commands', error.id)
  }
  if (error instanceof ConstraintError) return refuseByConstraint(error)
  if (error instanceof ReadOnlyError) return new Problem('read-only', error.message)
  if (error instanceof BusyError) return new Problem('busy', error.message, { headers: { 'retry-after': '1' } })
  return storageUnavailable(error)
}

/**
 * Whether a value has the methods of a storage, for checks of what a host gives.
 *
 * @example
 * if (!isStorage(storage)) throw new TypeError('The first argument must be a storage')
 */
export function isStorage (value: unknown): value is Storage {
  const methods = ['prepare', 'find', 'get', 'commit', 'close'] as const
  return typeof value === 'object' && value !== null &&
    methods.every(name => typeof (value as Storage)[name] === 'function')
}

const notedNames = new WeakMap<Storage, Set<string>>()
const notedSecrets = new WeakMap<Storage, Map<string, ReadonlySet<string>>>()
const noSecrets: ReadonlySet<string> = new Set()

export function noteShapes (storage: Storage, shapes: readonly FamilyShape[]): void {
  let names = notedNames.get(storage)
  if (names === undefined) notedNames.set(storage, names = new Set())
  const secrets = notedSecrets.get(storage) ?? new Map<string, ReadonlySet<string>>()
  notedSecrets.set(storage, secrets)
  for (const { name, fields } of shapes) {
    names.add(name)
    const own = fields.flatMap(({ name, writeOnly }) => writeOnly === true ? name : [])
    // A version that lacks a field may delete an item that has it.
    if (own.length > 0) secrets.set(name, new Set([...secrets.get(name) ?? noSecrets, ...own]))
  }
}

/** Refuses settings for an unknown family: its name is misspelt, and the family would get a different table. */
export function checkMappedFamilies (storage: Storage): void {
  const names = [...notedNames.get(storage) ?? []]
  const unknown = storage.mappedFamilies?.find(name => !names.includes(name))
  if (unknown === undefined) return
  throw new errorCodes.FST_DEALBOOK_UNKNOWN_MAPPED_FAMILY(unknown, names.join(', '), didYouMean(unknown, names))
}

// Longer queues only time out.
const maxWaitingPerItem = 100
const maxWaitingForItems = 1000
// Apart from the others, so that many creations do not keep writers of items from waiting.
const maxWaitingForIds = 1000

const nextIdOf = 'next id of '

/** The key of creations whose ids are counted: each needs the id of the one before. */
export function keyNextId (family: string): string {
  return nextIdOf + family
}

/** One writer of this process at a time per key. Between processes, the storage detects conflicts. */
export class WriteQueue {
  // Waiting writers by key.
  readonly #queues = new Map<string, (() => void)[]>()
  #forItems = 0
  #forIds = 0

  get waiting (): number {
    return this.#forItems + this.#forIds
  }

  /** Undefined if it can begin at once. @param keys sorted, so that no two writers wait for each other */
  enter (keys: readonly string[], signal: AbortSignal | undefined): Promise<void> | undefined {
    if (keys.some(key => this.#queues.has(key))) return this.#wait(keys, signal)
    for (const key of keys) this.#queues.set(key, [])
    return undefined
  }

  leave (keys: readonly string[]): void {
    for (const key of keys) {
      const next = this.#queues.get(key)?.shift()
      if (next === undefined) this.#queues.delete(key)
      else next()
    }
  }

  async #wait (keys: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const entered: string[] = []
    try {
      for (const key of keys) {
        const queue = this.#queues.get(key)
        if (queue === undefined) this.#queues.set(key, [])
        else if (key.startsWith(nextIdOf)) await this.#waitForId(queue, signal)
        else await this.#waitForItem(queue, signal)
        entered.push(key)
      }
    } catch (error) {
      this.leave(entered)
      throw error
    }
  }

  async #waitForItem (queue: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
    if (queue.length >= maxWaitingPerItem || this.#forItems >= maxWaitingForItems) {
      throw refuseToWait(`${queue.length} of them for this item`)
    }
    signal?.throwIfAborted()
    this.#forItems++
    await waitInQueue(queue, signal, () => { this.#forItems-- })
  }

  async #waitForId (queue: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
    if (this.#forIds >= maxWaitingForIds) throw refuseToWait(`${queue.length} of them for the next id`)
    signal?.throwIfAborted()
    this.#forIds++
    await waitInQueue(queue, signal, () => { this.#forIds-- })
  }
}

function refuseToWait (which: string): Problem {
  const detail = `Too many writers are waiting, ${which}; nothing was done`
  return new Problem('busy', detail, { headers: { 'retry-after': '1' } })
}

export type Counters = ReturnType<typeof makeCounters>

/** By the names of metrics. */
export function makeCounters () {
  return {
    commands_done_total: 0,
    commands_unchanged_total: 0,
    commands_refused_total: 0,
    commands_failed_total: 0,
    replays_total: 0,
    /** Decisions repeated because another process was faster. */
    retries_total: 0
  }
}

export function countFailure (counters: Counters, error: unknown): void {
  if (!(error instanceof Problem) || error.statusCode >= 500) counters.commands_failed_total++
}

/**
 * Metrics of this process for a storage, by name, including the storage's. A name that ends with `_total` counts since
 * the process began; any other is a current value.
 *
 * @example
 * for (const [name, value] of Object.entries(readMetrics(storage))) console.log(`dealbook_${name} ${value}`)
 */
export function readMetrics (storage: Storage): Readonly<Record<string, number>> {
  const { writers, counters } = guardStorage(storage)
  return { ...counters, writers_waiting: writers.waiting, ...storage.metrics?.() }
}

/** Whether a storage answers. */
export interface Health {
  readonly healthy: boolean
  /** Milliseconds until it answered, or until the timeout. */
  readonly duration: number
  /** For the log only. */
  readonly error?: unknown
}

const prepareLog = makeStorageAccess([commandsShape])

/**
 * Checks whether a storage answers, by the cheapest read: one of a command that does not exist.
 *
 * @param options timeout: milliseconds; default 1000
 * @example
 * app.get('/health', async (request, reply) => {
 *   const { healthy } = await checkHealth(storage)
 *   return reply.code(healthy ? 200 : 503).send({ healthy })
 * })
 */
export async function checkHealth (
  storage: Storage,
  { timeout = 1000 }: { readonly timeout?: number } = {}
): Promise<Health> {
  const began = performance.now()
  const late = new AbortController()
  const timer = setTimeout(() => { late.abort(new Error(`no answer in ${timeout} ms`)) }, timeout)
  const ask = async () => { await prepareLog(storage); await storage.get('commands', 'health') }
  try {
    await raceSignal(late.signal, ask())
    return { healthy: true, duration: performance.now() - began }
  } catch (error) {
    return { healthy: false, duration: performance.now() - began, error }
  } finally {
    clearTimeout(timer)
  }
}
