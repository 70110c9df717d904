import { keepPerProcess, performance, setTimeout, type Timer } from '../runtime.js'

export interface DeadlineSettings {
  /** In milliseconds. */
  readonly timeout: number
  /** Too late, too late after the commit began, or the client has disconnected. */
  explain (why: 'late' | 'unsure' | 'gone'): unknown
}

interface Presence {
  /** Over HTTP/2, null when the stream has ended. */
  readonly socket: { readonly destroyed?: boolean } | null
}

// In milliseconds, while something waits.
const checkEvery = 50
// One timer for all requests: making and clearing one for each takes longer than the rest of a deadline.
const getWatched = keepPerProcess(() =>
  ({ watched: new Set<RequestDeadline>(), timer: undefined as Timer | undefined }))

function watchDeadline (deadline: RequestDeadline): void {
  const state = getWatched()
  state.watched.add(deadline)
  state.timer ??= setTimeout(checkAll, checkEvery)
  if (state.watched.size === 1) state.timer.ref()
}

function unwatch (deadline: RequestDeadline): void {
  const { watched, timer } = getWatched()
  watched.delete(deadline)
  if (watched.size === 0) timer?.unref()
}

function checkAll (): void {
  const state = getWatched()
  state.timer = undefined
  for (const deadline of state.watched) deadline.check()
  if (state.watched.size > 0) state.timer ??= setTimeout(checkAll, checkEvery)
}

const refused = new WeakSet<Presence>()

/** Ends what is still read for a request that was refused. */
export function endReads (request: Presence): void {
  refused.add(request)
}

const bySignal = new WeakMap<AbortSignal, RequestDeadline>()

/** What a read is a part of, such as the request; undefined if that is unknown. */
export function findWork (signal: AbortSignal | undefined): object | undefined {
  if (signal === undefined) return undefined
  return (signal instanceof RequestDeadline ? signal : bySignal.get(signal))?.work
}

/** It is watched only while something waits; a platform signal, which costs as much as a small read, on demand. */
export class RequestDeadline implements AbortSignal {
  readonly onabort = null
  readonly #deadlines: DeadlineSettings
  readonly #presence: Presence
  #endsAt: number
  #ended: { readonly reason: unknown } | undefined
  #listeners: Set<(event: Event) => void> | undefined
  #abandonCommit: ((reason: unknown) => void) | undefined
  #controller: AbortController | undefined
  /** The request, or a part of it that may take as long as a request. */
  work: object

  constructor (deadlines: DeadlineSettings, presence: Presence) {
    this.work = presence
    this.#deadlines = deadlines
    this.#presence = presence
    this.#endsAt = performance.now() + deadlines.timeout
  }

  get aborted (): boolean {
    if (this.#ended === undefined) this.#endIfDue()
    return this.#ended !== undefined
  }

  #endIfDue (): void {
    const { socket } = this.#presence
    if (socket === null || socket.destroyed === true || refused.has(this.#presence)) this.#end('gone')
    else if (performance.now() >= this.#endsAt) this.#end('late')
  }

  get reason (): unknown {
    return this.#ended?.reason
  }

  /** A platform signal that is aborted with this one, as long as something listens to this one. */
  get signal (): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      bySignal.set(this.#controller.signal, this)
    }
    if (this.aborted) this.#controller.abort(this.reason)
    return this.#controller.signal
  }

  throwIfAborted (): void {
    if (this.aborted) throw this.reason
  }

  /** For work in many parts, each of which may take as long. */
  renew (): void {
    this.work = {}
    this.#endsAt = performance.now() + this.#deadlines.timeout
  }

  /** A commit cannot be cancelled: if it takes too long, it may be made or not. */
  waitForCommit (committing: Promise<void>): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#abandonCommit = reject
      watchDeadline(this)
      const end = <Value>(settle: (value: Value) => void) => (value: Value): void => {
        this.#endCommit()
        settle(value)
      }
      committing.then(end(resolve), end(reject))
    })
  }

  #endCommit (): void {
    this.#abandonCommit = undefined
    if (this.#listeners === undefined) unwatch(this)
  }

  check (): void {
    if (this.#abandonCommit !== undefined && performance.now() >= this.#endsAt) {
      this.#abandonCommit(this.#deadlines.explain('unsure'))
      this.#endCommit()
    }
    if (this.#listeners !== undefined) this.#endIfDue()
  }

  addEventListener (_type: 'abort', listener: (event: Event) => void): void {
    if (this.#ended !== undefined) return
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    watchDeadline(this)
  }

  removeEventListener (_type: 'abort', listener: (event: Event) => void): void {
    if (this.#listeners?.delete(listener) !== true || this.#listeners.size > 0) return
    this.#listeners = undefined
    if (this.#abandonCommit === undefined) unwatch(this)
  }

  dispatchEvent (): boolean {
    return false
  }

  #end (why: 'late' | 'gone'): void {
    const reason = this.#deadlines.explain(why)
    this.#ended = { reason }
    this.#controller?.abort(reason)
    const event = new Event('abort')
    for (const listener of this.#listeners ?? []) listener(event)
    this.#listeners = undefined
    if (this.#abandonCommit === undefined) unwatch(this)
  }
}

/** Rejects with the signal's reason if that is aborted first; the work itself may continue. */
export async function raceSignal<T> (signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return await work
  return await new Promise<T>((resolve, reject) => {
    const stop = (): void => { reject(signal.reason) }
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => { signal.removeEventListener('abort', stop) })
  })
}

const deadlineAware = new WeakSet<object>()

/** Marks a storage that stops its reads when the signal is aborted, and accepts a `RequestDeadline` as one. */
export function markDeadlineAware<T extends object> (storage: T): T {
  deadlineAware.add(storage)
  return storage
}

export function isDeadlineAware (storage: object): boolean {
  return deadlineAware.has(storage)
}
