import { statSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { raceSignal } from '../../core/storage/deadline.js'
import type { Query } from '../../core/storage/storage.js'
import type { HeavyReadQueue } from '../../core/storage/turns.js'
import type { Column, Layout } from '../sql/layout.js'
import type { PageText } from './paths.js'
import { running, type TableStatements } from './statements.js'

/** What a worker is asked. */
export interface HeavyQuestion {
  /** Identifies the layout. */
  readonly serial: number
  /** Where it is new to the worker. */
  readonly layout: Layout | undefined
  readonly query: Query
  readonly members: readonly string[]
}

/** The last message that a worker gets: it exits as soon as it can. */
export const leaveMessage = 'leave'

/** What it answers, once for every question. */
export type HeavyAnswer = { readonly page: PageText } | { readonly error: unknown }

export interface WorkerSettings {
  readonly file: string
  /** One number, which is not 0 where nothing waits for the answer any more. */
  readonly isEnded: Int32Array
}

/** A worker thread, with its own connection. */
interface Thread {
  readonly worker: Worker
  readonly isEnded: Int32Array
  /** The layouts that it has. */
  readonly serials: Set<number>
  /** Settle the question that it was asked last. */
  resolve: (answer: HeavyAnswer) => void
  reject: (error: Error) => void
}

// So that some commits are made while nothing reads.
const pauseMs = 100

/** Reads that may take long: in worker threads, or in this one where the database has no file that they could open. */
export class HeavyReads {
  readonly #threads = new Set<Thread>()
  readonly #idle: Thread[] = []
  readonly #answers = new Set<Promise<unknown>>()
  #file: string | undefined
  #pausing: Promise<void> | undefined
  #logBytes = 0
  #isClosed = false

  /** @param script the file that a thread runs; the one beside this file unless given */
  constructor (readonly line: HeavyReadQueue, file: string | undefined, readonly script?: URL) {
    this.#file = file
  }

  async read (
    statements: TableStatements, query: Query, members: readonly Column[], signal?: AbortSignal
  ): Promise<PageText> {
    const release = await this.line.enter(signal)
    // The caller stops waiting when the signal is aborted; the next read begins when this one has ended.
    return await raceSignal(signal, this.#read(statements, query, members, signal).finally(release))
  }

  /** Ends the threads; what they were reading fails. */
  async close (): Promise<void> {
    this.#isClosed = true
    // They exit by themselves: with some drivers, terminating a thread within a statement aborts the process.
    await Promise.all(Array.from(this.#threads, ({ worker, isEnded }) => new Promise(resolve => {
      Atomics.store(isEnded, 0, 1)
      worker.ref()
      worker.once('exit', resolve).postMessage(leaveMessage)
    })))
  }

  async #read (
    statements: TableStatements, query: Query, members: readonly Column[], signal: AbortSignal | undefined
  ): Promise<PageText> {
    if (this.#file !== undefined) {
      try {
        return await this.#ask(this.#file, statements.layout, query, members, signal)
      } catch (error) {
        if (!isFileMissing(error)) throw error
        this.#warnOnce()
      }
    }
    // Others have their turn between two such reads.
    await nextTurn()
    signal?.throwIfAborted()
    running.isEnded = () => signal?.aborted === true
    try {
      return statements.readAll(query, members)
    } finally {
      running.isEnded = () => false
    }
  }

  async #ask (
    file: string, layout: Layout, query: Query, members: readonly Column[], signal: AbortSignal | undefined
  ): Promise<PageText> {
    if (this.#pausing !== undefined || this.#isLogGrowing(file)) await (this.#pausing ??= this.#pause())
    // A thread that is started now would never end.
    if (this.#isClosed) throw makeClosed()
    signal?.throwIfAborted()
    const thread = this.#idle.pop() ?? this.#start(file)
    const { worker, isEnded, serials } = thread
    Atomics.store(isEnded, 0, 0)
    const end = (): void => { Atomics.store(isEnded, 0, 1) }
    signal?.addEventListener('abort', end, { once: true })
    // The process does not exit while it waits for an answer.
    worker.ref()
    const { serial } = layout
    const answering = new Promise<HeavyAnswer>((resolve, reject) => {
      Object.assign(thread, { resolve, reject })
      const names = members.map(({ field }) => field.name)
      worker.postMessage({ serial, layout: serials.has(serial) ? undefined : layout, query, members: names })
      serials.add(serial)
    })
    this.#answers.add(answering)
    try {
      const answer = await answering
      this.#idle.push(thread)
      if ('page' in answer) return answer.page
      throw this.#isClosed ? makeClosed() : answer.error
    } finally {
      this.#answers.delete(answering)
      signal?.removeEventListener('abort', end)
      if (!this.#isClosed) worker.unref()
    }
  }

  #start (file: string): Thread {
    const isEnded = new Int32Array(new SharedArrayBuffer(4))
    const workerData: WorkerSettings = { file, isEnded }
    const script = this.script ?? new URL('./heavy-worker.js', import.meta.url)
    // Without the host's --import and --require: loading a tracer in each thread costs more than most reads.
    const execArgv = process.execArgv.filter(option => option === '--experimental-sqlite')
    const worker = new Worker(script, { workerData, execArgv })
    const thread: Thread = { worker, isEnded, serials: new Set(), resolve: () => {}, reject: () => {} }
    this.#threads.add(thread)
    worker.on('message', (answer: HeavyAnswer) => { thread.resolve(answer) })
    // An error of an idle thread affects nothing else: the next read starts a new one.
    worker.on('error', (error: Error) => { thread.reject(error) })
    worker.once('exit', () => {
      thread.reject(makeClosed())
      this.#threads.delete(thread)
      const at = this.#idle.indexOf(thread)
      if (at !== -1) this.#idle.splice(at, 1)
    })
    return thread
  }

  /** As long as something reads, SQLite cannot restart its log, however much is written. */
  #isLogGrowing (file: string): boolean {
    const bytes = measureLog(file)
    const isGrowing = bytes > Math.max(maxLogBytes, this.#logBytes)
    this.#logBytes = bytes
    return isGrowing
  }

  async #pause (): Promise<void> {
    await Promise.allSettled(this.#answers)
    await delay(pauseMs)
    this.#pausing = undefined
  }

  #warnOnce (): void {
    if (this.#file === undefined) return
    this.#file = undefined
    process.emitWarning('fastify-dealbook: heavy-worker.js was not found, as after bundling. Heavy reads of SQLite ' +
      'run in the main thread and hold it up; leave the package out of the bundle', { code: 'DEALBOOK_NO_WORKER' })
  }
}

// The file itself, or one that it imports; without an address of this module, as in CommonJS, there is no URL.
function isFileMissing (error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_INVALID_URL' ||
    code === 'FST_DEALBOOK_DRIVER_MISSING'
}

function makeClosed (): Error {
  return new Error('the storage was closed')
}

// Of SQLite's write-ahead log, which SQLite restarts after 4 MB.
const maxLogBytes = 2 ** 24

/** Whether the log of the database in this file has become long. */
export function isLogLong (file: string): boolean {
  return measureLog(file) > maxLogBytes
}

function measureLog (file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
}
