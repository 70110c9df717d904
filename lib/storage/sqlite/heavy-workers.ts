import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Found, Query } from '../../core/storage/storage.js'
import type { Layout } from '../sql/layout.js'
import { isLogLong, measureLog } from './log.js'

/** What a worker is asked. */
export interface HeavyQuestion {
  readonly layout: Layout
  readonly query: Query
}

/** The last that it is told: to leave, as soon as it can. */
export const leaveMessage = 'leave'

/** What it answers, once for every question. */
export type HeavyAnswer =
  | { readonly type: 'found', readonly found: Found }
  | { readonly type: 'failed', readonly error: unknown }

export interface WorkerSettings {
  readonly file: string
  /** One number, which is not 0 where nobody waits for the answer any more. */
  readonly isEnded: Int32Array
}

// So that some commits are made while nobody reads.
const pauseMs = 100

/** Threads that read what takes long, each over a connection of its own, so that nobody else waits for it. */
export class HeavyWorkers {
  readonly #all = new Map<Worker, Int32Array>()
  readonly #idle: Worker[] = []
  readonly #running = new Set<Promise<unknown>>()
  #pausing: Promise<void> | undefined
  #logBytes = 0
  #isClosed = false

  constructor (readonly file: string) {}

  /** What is found, or what the worker says of its end; the caller knows how many may be asked at once. */
  async find (question: HeavyQuestion, signal?: AbortSignal): Promise<Found> {
    if (this.#pausing !== undefined || this.#isLogGrowing()) await (this.#pausing ??= this.#pause())
    // Who has waited until now would start a thread that nobody ends.
    if (this.#isClosed) throw makeClosed()
    signal?.throwIfAborted()
    const finding = this.#find(question, signal)
    const running = finding.catch(() => {}).finally(() => { this.#running.delete(running) })
    this.#running.add(running)
    return await finding
  }

  /** Ends the workers; who still waits is told so. */
  async close (): Promise<void> {
    this.#isClosed = true
    // They leave by themselves: with some drivers, a thread that is stopped within a statement takes the process along.
    await Promise.all([...this.#all].map(([worker, isEnded]) => new Promise(resolve => {
      Atomics.store(isEnded, 0, 1)
      worker.ref()
      worker.once('exit', resolve).postMessage(leaveMessage)
    })))
  }

  async #find (question: HeavyQuestion, signal: AbortSignal | undefined): Promise<Found> {
    const worker = this.#idle.pop() ?? this.#start()
    const isEnded = this.#all.get(worker) as Int32Array
    Atomics.store(isEnded, 0, 0)
    // A program that waits for an answer does not end.
    worker.ref()
    const end = (): void => { Atomics.store(isEnded, 0, 1) }
    signal?.addEventListener('abort', end, { once: true })
    try {
      const answer = await this.#ask(worker, question)
      this.#idle.push(worker)
      if (answer.type === 'found') return answer.found
      throw this.#isClosed ? makeClosed() : answer.error
    } finally {
      signal?.removeEventListener('abort', end)
      if (!this.#isClosed) worker.unref()
    }
  }

  /** As long as somebody reads, SQLite cannot begin its log anew, however much is written. */
  #isLogGrowing (): boolean {
    const isLong = isLogLong(this.file, this.#logBytes)
    this.#logBytes = measureLog(this.file)
    return isLong
  }

  async #pause (): Promise<void> {
    await Promise.all(this.#running)
    await delay(pauseMs)
    this.#pausing = undefined
  }

  #start (): Worker {
    const isEnded = new Int32Array(new SharedArrayBuffer(4))
    const workerData: WorkerSettings = { file: this.file, isEnded }
    const worker = new Worker(new URL('./heavy-worker.js', import.meta.url), { workerData })
    this.#all.set(worker, isEnded)
    // Who has asked is told. What happens to one that nobody waits for takes nothing else along: there will be another.
    worker.on('error', () => {})
    worker.once('exit', () => {
      this.#all.delete(worker)
      const at = this.#idle.indexOf(worker)
      if (at !== -1) this.#idle.splice(at, 1)
    })
    return worker
  }

  async #ask (worker: Worker, question: HeavyQuestion): Promise<HeavyAnswer> {
    return await new Promise<HeavyAnswer>((resolve, reject) => {
      const settle = (): void => {
        worker.off('message', answer).off('error', fail).off('exit', leave)
      }
      const answer = (message: HeavyAnswer): void => { settle(); resolve(message) }
      const fail = (error: Error): void => { settle(); reject(error) }
      const leave = (): void => { settle(); reject(makeClosed()) }
      worker.on('message', answer).on('error', fail).on('exit', leave)
      worker.postMessage(question)
    })
  }
}

function makeClosed (): Error {
  return new Error('the storage was closed')
}
