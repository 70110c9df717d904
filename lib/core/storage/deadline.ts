/** Why a request ends: too late, too late after its commit began, or the client has disconnected. */
export type DeadlineEnd = 'late' | 'unsure' | 'gone'

export interface DeadlineSettings {
  /** In milliseconds. */
  readonly timeout: number
  explain (why: DeadlineEnd): unknown
}

interface Presence {
  /** Over HTTP/2, null when the stream has ended. */
  readonly socket: { readonly destroyed?: boolean } | null
}

// In milliseconds, while something listens.
const checkEvery = 200

/** A timer exists only while something listens; a platform signal, which costs as much as a small read, on demand. */
export class RequestDeadline implements AbortSignal {
  readonly onabort = null
  readonly #deadlines: DeadlineSettings
  readonly #presence: Presence
  #endsAt: number
  #ended: { readonly reason: unknown } | undefined
  #listeners: Set<(event: Event) => void> | undefined
  #timer: NodeJS.Timeout | undefined
  #controller: AbortController | undefined

  constructor (deadlines: DeadlineSettings, presence: Presence) {
    this.#deadlines = deadlines
    this.#presence = presence
    this.#endsAt = performance.now() + deadlines.timeout
  }

  get aborted (): boolean {
    if (this.#ended === undefined) {
      const { socket } = this.#presence
      if (socket === null || socket.destroyed === true) this.#end('gone')
      else if (performance.now() >= this.#endsAt) this.#end('late')
    }
    return this.#ended !== undefined
  }

  get reason (): unknown {
    return this.#ended?.reason
  }

  /** A platform signal that is aborted with this one, as long as something listens to this one. */
  get signal (): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort(this.reason)
    return this.#controller.signal
  }

  throwIfAborted (): void {
    if (this.aborted) throw this.reason
  }

  /** For work in many parts, each of which may take as long. */
  renew (): void {
    this.#endsAt = performance.now() + this.#deadlines.timeout
  }

  /** A commit cannot be cancelled: if it takes too long, it may be made or not. */
  async waitForCommit (committing: Promise<void>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const reason = this.#deadlines.explain('unsure')
        reject(reason)
      }, this.#endsAt - performance.now())
      committing.then(() => {
        clearTimeout(timer)
        resolve()
      }, error => {
        clearTimeout(timer)
        reject(error)
      })
    })
  }

  addEventListener (_type: 'abort', listener: (event: Event) => void): void {
    if (this.#ended !== undefined) return
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    if (this.#timer === undefined) this.#watch()
  }

  removeEventListener (_type: 'abort', listener: (event: Event) => void): void {
    this.#listeners?.delete(listener)
    if (this.#listeners?.size === 0) this.#unwatch()
  }

  dispatchEvent (): boolean {
    return false
  }

  #watch (): void {
    const wait = Math.min(checkEvery, this.#endsAt - performance.now())
    this.#timer = setTimeout(() => { if (!this.aborted) this.#watch() }, wait)
  }

  #unwatch (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #end (why: DeadlineEnd): void {
    const reason = this.#deadlines.explain(why)
    this.#ended = { reason }
    this.#unwatch()
    this.#controller?.abort(reason)
    const event = new Event('abort')
    for (const listener of this.#listeners ?? []) listener(event)
    this.#listeners = undefined
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

const heeding = new WeakSet<object>()

/** Marks a storage that stops its reads when the signal is aborted, and accepts a `RequestDeadline` as one. */
export function markDeadlineAware<T extends object> (storage: T): T {
  heeding.add(storage)
  return storage
}

export function isDeadlineAware (storage: object): boolean {
  return heeding.has(storage)
}
