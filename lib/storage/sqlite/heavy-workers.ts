import { Worker } from 'node:worker_threads'
import type { Layout } from '../sql/layout.js'
import type { Found, Query } from '../storage.js'

/** What a worker is asked. */
export interface HeavyQuestion {
  readonly layout: Layout
  readonly query: Query
}

/** What it is told meanwhile: nobody waits for the answer any more. */
export const endMessage = 'end'
/** The last that it is told: to leave, as soon as it can. */
export const leaveMessage = 'leave'

/** What it answers, once for every question. */
export type HeavyAnswer =
  | { readonly type: 'found', readonly found: Found }
  | { readonly type: 'failed', readonly error: unknown }

/** Threads that read what takes long, each over a connection of its own, so that nobody else waits for it. */
export class HeavyWorkers {
  readonly #all = new Set<Worker>()
  readonly #idle: Worker[] = []
  #isClosed = false

  constructor (readonly file: string) {}

  /** What is found, or what the worker says of its end; the caller knows how many may be asked at once. */
  async find (question: HeavyQuestion, signal?: AbortSignal): Promise<Found> {
    // Who has waited in line until now would start a thread that nobody ends.
    if (this.#isClosed) throw makeClosed()
    const worker = this.#idle.pop() ?? this.#start()
    // A program that waits for an answer does not end.
    worker.ref()
    const end = (): void => { worker.postMessage(endMessage) }
    signal?.addEventListener('abort', end, { once: true })
    try {
      const answer = await this.#ask(worker, question)
      this.#idle.push(worker)
      if (answer.type === 'found') return answer.found
      throw answer.error
    } finally {
      signal?.removeEventListener('abort', end)
      if (!this.#isClosed) worker.unref()
    }
  }

  /** Ends the workers; who still waits is told so. */
  async close (): Promise<void> {
    this.#isClosed = true
    // They leave by themselves: with some drivers, a thread that is stopped within a statement takes the process along.
    await Promise.all([...this.#all].map(worker => new Promise(resolve => {
      worker.ref()
      worker.once('exit', resolve).postMessage(leaveMessage)
    })))
  }

  #start (): Worker {
    const worker = new Worker(new URL('./heavy-worker.js', import.meta.url), { workerData: this.file })
    this.#all.add(worker)
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

export function makeClosed (): Error {
  return new Error('the storage was closed')
}
