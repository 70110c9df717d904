import { keepPerProcess, performance, setImmediate, yieldToEventLoop } from '../runtime.js'
import { findWork } from './deadline.js'
import { BusyError } from './storage.js'

// In milliseconds: how long searches may block the event loop before other requests continue.
const maxMs = 5

const getTurnState = keepPerProcess(() =>
  ({ endOfAll: undefined as number | undefined, waiting: [] as (() => void)[] }))

// Shared by all searches in a turn of the loop: many short ones block it as long as one large one.
function getEnd (): number {
  const state = getTurnState()
  if (state.endOfAll === undefined) {
    state.endOfAll = performance.now() + maxMs
    setImmediate(() => { state.endOfAll = undefined })
  }
  return state.endOfAll
}

/** Pauses if this turn of the loop was long: for long work that may never wait for anything else. */
export function endLongTurn (): Promise<void> | undefined {
  if (performance.now() <= getEnd()) return undefined
  const { waiting } = getTurnState()
  return new Promise<void>(resolve => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(resumeOne)
  })
}

// One in each turn, however long it is: none waits forever, and together they do not make one long turn.
function resumeOne (): void {
  const { waiting } = getTurnState()
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeOne)
}

export class Turn {
  #end = getEnd()
  #leaveQueue: (() => void) | undefined

  constructor (readonly signal?: AbortSignal, readonly queue?: HeavyReadQueue) {}

  get isOver (): boolean {
    return performance.now() > this.#end
  }

  /** Lets other requests run, and begins the next turn, unless the signal is aborted. */
  async pass (): Promise<void> {
    if (this.queue !== undefined) this.#leaveQueue ??= await this.queue.enter(this.signal)
    await yieldToEventLoop()
    this.signal?.throwIfAborted()
    this.#end = getEnd()
  }

  end (): void {
    this.#leaveQueue?.()
    this.#leaveQueue = undefined
  }
}

export interface QueueLimits {
  /** Default: 2. */
  readonly maxHeavyReads?: number
  /** Default: 50. */
  readonly maxWaitingReads?: number
}

/**
 * Bounds how many heavy reads run at once and how many wait; others are refused. The reads of one request count as one,
 * and those of the request that came first are served first: otherwise all pages are half done when their time is over.
 */
export class HeavyReadQueue {
  /** By the order in which requests came. */
  readonly #waiting = new Map<number, (() => void)[]>()
  readonly #orders = new WeakMap<object, number>()
  #lastOrder = 0
  running = 0
  waits = 0
  refusals = 0

  constructor (readonly limits: QueueLimits = {}) {}

  get waiting (): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0)
  }

  metrics (): Readonly<Record<string, number>> {
    return {
      heavy_reads: this.running,
      heavy_reads_waiting: this.waiting,
      heavy_reads_waited_total: this.waits,
      heavy_reads_refused_total: this.refusals
    }
  }

  async enter (signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    const work = findWork(signal)
    let order = work && this.#orders.get(work)
    const isFree = this.running < (this.limits.maxHeavyReads ?? 2)
    // What has begun is finished.
    if (!isFree && order === undefined && this.#waiting.size >= (this.limits.maxWaitingReads ?? 50)) {
      this.refusals++
      throw new BusyError(`Too many heavy reads are waiting: ${this.waiting}`)
    }
    order ??= ++this.#lastOrder
    if (work !== undefined) this.#orders.set(work, order)
    if (isFree) this.running++
    else await this.#wait(order, signal)
    const leave = (): void => { this.#leave() }
    if (signal?.aborted !== true) return leave
    leave()
    throw signal.reason
  }

  async #wait (order: number, signal: AbortSignal | undefined): Promise<void> {
    const queue = this.#waiting.get(order) ?? []
    this.#waiting.set(order, queue)
    this.waits++
    await waitInQueue(queue, signal, () => { if (queue.length === 0) this.#waiting.delete(order) })
  }

  #leave (): void {
    // Empty lists are not kept.
    const next = this.#waiting.get(Math.min(...this.#waiting.keys()))?.shift()
    if (next === undefined) this.running--
    else next()
  }
}

/** Waits for a call of the function that it adds to the queue. @param left called when it no longer waits */
export function waitInQueue (queue: (() => void)[], signal?: AbortSignal, left?: () => void): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      queue.splice(queue.indexOf(start), 1)
      left?.()
      reject((signal as AbortSignal).reason)
    }
    const start = (): void => {
      signal?.removeEventListener('abort', stop)
      left?.()
      resolve()
    }
    queue.push(start)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
