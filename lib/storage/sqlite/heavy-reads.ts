import { statSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { raceSignal } from '../../core/storage/deadline.js'
import type { Query } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import type { Column, Layout } from '../sql/layout.js'
import type { PageText } from './paths.js'
import { running, type TableStatements } from './statements.js'

export interface HeavyRequest {
  readonly layout: Layout
  readonly query: Query
  readonly members: readonly string[]
  readonly names: readonly string[]
}

export const exitMessage = 'exit'

export type HeavyResult = { readonly page: PageText } | { readonly error: unknown }

export interface WorkerSettings {
  readonly file: string
  /** Not 0 once nothing waits for the answer. */
  readonly isEnded: Int32Array
}

interface Thread {
  readonly worker: Worker
  readonly isEnded: Int32Array
  /** Undefined while it is idle. */
  pending: Promise<HeavyResult> | undefined
  resolve: (answer: HeavyResult) => void
  reject: (error: Error) => void
}

// A pause between reads, so that a commit can restart the log.
const pauseMs = 100

/** Runs heavy reads in worker threads, or in this thread if the database has no file. */
export class HeavyReads {
  readonly #threads = new Set<Thread>()
  #file: string | undefined
  #pausing: Promise<void> | undefined
  #logBytes = 0
  #isClosed = false

  constructor (readonly queue: HeavyReadQueue, file: string | undefined, readonly script?: URL) {
    this.#file = file
  }

  async read (
    statements: TableStatements, query: Query, members: readonly Column[], signal?: AbortSignal
  ): Promise<PageText> {
    const release = await this.queue.enter(signal)
    // An abort rejects at once, but the next read begins only when this one has ended.
    return await raceSignal(signal, this.#read(statements, query, members, signal).finally(release))
  }

  async close (): Promise<void> {
    this.#isClosed = true
    // With some drivers, terminating a thread within a statement aborts the process, so threads exit by themselves.
    await Promise.all(Array.from(this.#threads, ({ worker, isEnded }) => new Promise(resolve => {
      Atomics.store(isEnded, 0, 1)
      worker.ref()
      worker.once('exit', resolve).postMessage(exitMessage)
    })))
  }

  async #read (
    statements: TableStatements, query: Query, members: readonly Column[], signal: AbortSignal | undefined
  ): Promise<PageText> {
    if (this.#file !== undefined) {
      try {
        return await this.#readInThread(this.#file, statements.layout, query, members, signal)
      } catch (error) {
        if (!isFileMissing(error)) throw error
        if (this.#file !== undefined) process.emitWarning(noWorker, { code: 'DEALBOOK_NO_WORKER' })
        this.#file = undefined
      }
    }
    // Lets other work run between two heavy reads.
    await nextTurn()
    signal?.throwIfAborted()
    running.isEnded = () => signal?.aborted === true
    try {
      return statements.readAll(query, members)
    } finally {
      running.isEnded = () => false
    }
  }

  async #readInThread (
    file: string, layout: Layout, query: Query, members: readonly Column[], signal: AbortSignal | undefined
  ): Promise<PageText> {
    if (this.#pausing !== undefined || this.#isLogGrowing(file)) await (this.#pausing ??= this.#pause())
    // A thread started now would never end.
    if (this.#isClosed) throw makeClosed()
    signal?.throwIfAborted()
    const thread = [...this.#threads].find(({ pending }) => pending === undefined) ?? this.#start(file)
    const { worker, isEnded } = thread
    Atomics.store(isEnded, 0, 0)
    const end = (): void => { Atomics.store(isEnded, 0, 1) }
    signal?.addEventListener('abort', end, { once: true })
    // Keeps the process alive until the answer.
    worker.ref()
    thread.pending = new Promise((resolve, reject) => {
      Object.assign(thread, { resolve, reject })
      const fields = members.map(({ field }) => field.name)
      const names = members.map(({ field, written = field.name }) => written)
      const request: HeavyRequest = { layout, query, members: fields, names }
      worker.postMessage(request)
    })
    try {
      const answer = await thread.pending
      if ('page' in answer) return answer.page
      throw this.#isClosed ? makeClosed() : answer.error
    } finally {
      thread.pending = undefined
      signal?.removeEventListener('abort', end)
      if (!this.#isClosed) worker.unref()
    }
  }

  #start (file: string): Thread {
    const isEnded = new Int32Array(new SharedArrayBuffer(4))
    const workerData: WorkerSettings = { file, isEnded }
    const script = this.script ?? new URL('./heavy-worker.js', import.meta.url)
    // Without the host's --import and --require: loading a tracer in each thread costs more than most reads.
    const { execArgv, env: { NODE_OPTIONS = '', ...env } } = process
    const kept = [...execArgv, ...NODE_OPTIONS.split(' ')].filter(option => option === '--experimental-sqlite')
    const worker = new Worker(script, { workerData, execArgv: kept, env })
    const thread: Thread = { worker, isEnded, pending: undefined, resolve: () => {}, reject: () => {} }
    this.#threads.add(thread)
    worker.on('message', (answer: HeavyResult) => { thread.resolve(answer) })
    const end = (error: Error): void => {
      this.#threads.delete(thread)
      thread.reject(error)
    }
    // An error of an idle thread is ignored: the next read starts a new one.
    worker.on('error', end)
    worker.once('exit', () => { end(makeClosed()) })
    return thread
  }

  /** SQLite cannot restart its log while anything reads. */
  #isLogGrowing (file: string): boolean {
    const bytes = measureLog(file)
    const isGrowing = bytes > Math.max(maxLogBytes, this.#logBytes)
    this.#logBytes = bytes
    return isGrowing
  }

  async #pause (): Promise<void> {
    await Promise.allSettled(Array.from(this.#threads, ({ pending }) => pending))
    await delay(pauseMs)
    this.#pausing = undefined
  }
}

const noWorker = 'fastify-dealbook: heavy-worker.js was not found, probably due to bundling. Heavy SQLite reads run ' +
  'in the main thread and block it; exclude the package from the bundle'

// Bundles may lack the worker file; in CommonJS there is no URL of this module.
function isFileMissing (error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return code.endsWith('MODULE_NOT_FOUND') || code === 'ERR_INVALID_URL' || code === 'FST_DEALBOOK_DRIVER_MISSING'
}

function makeClosed (): Error {
  return new Error('the storage was closed')
}

// SQLite restarts its write-ahead log after 4 MB.
const maxLogBytes = 2 ** 24

export function isLogLong (file: string): boolean {
  return measureLog(file) > maxLogBytes
}

function measureLog (file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
