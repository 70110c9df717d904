/** What is to end at a time. */
interface Ending {
  readonly endsAt: number
  end (): void
}

/** Why somebody waits no longer: it took too long, before or after the commit began; or whoever asked has gone. */
export type EndOfPatience = 'late' | 'unsure' | 'gone'

/** Ends what has lasted too long, with one timer for all of it. */
export class Deadlines {
  readonly #endings = new Set<Ending>()
  #timer: NodeJS.Timeout | undefined

  /** @param explain makes the reason that those who waited are told */
  constructor (readonly timeout: number, readonly explain: (why: EndOfPatience) => unknown) {}

  add (ending: Ending): void {
    this.#endings.add(ending)
    if (this.#timer === undefined) this.#timer = this.#start()
    else if (this.#endings.size === 1) this.#timer.ref()
  }

  delete (ending: Ending): void {
    // A program with nothing left to do ends; one that waits does not.
    if (this.#endings.delete(ending) && this.#endings.size === 0) this.#timer?.unref()
  }

  // A twentieth later than it should be is early enough, and costs those nothing who are done in time.
  #start (): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = undefined
      const now = performance.now()
      for (const ending of this.#endings) {
        if (ending.endsAt > now) continue
        this.#endings.delete(ending)
        ending.end()
      }
      if (this.#endings.size > 0) this.#timer ??= this.#start()
    }, Math.max(1, this.timeout / 20))
  }
}

/** What tells whether whoever asked is still there, as a request does. */
export interface Presence {
  /** Null when it has gone, over HTTP/2. */
  readonly socket: Connection | null
}

interface Connection {
  readonly destroyed?: boolean
  once (event: 'close', listener: () => void): unknown
}

// By connection, since a request itself is closed as soon as its body was read; with one listener for all its requests.
const leavings = new WeakMap<Connection, Set<() => void>>()

/** What is called when a connection ends. */
function getLeavings (connection: Connection): Set<() => void> {
  let those = leavings.get(connection)
  if (those === undefined) {
    const added = those = new Set()
    leavings.set(connection, added)
    connection.once('close', () => { for (const leave of added) leave() })
  }
  return those
}

/**
 * How long one caller waits, as a signal that costs next to nothing where nobody looks at it: a real one takes as long
 * to make as a small read. It is looked at in two ways: between two steps of some work (`aborted`), or by listening.
 */
export class Patience implements AbortSignal {
  endsAt: number
  onabort = null
  #listeners: Set<(event: Event) => void> | undefined
  #ended: { readonly reason: unknown } | undefined
  #controller: AbortController | undefined
  #leave: (() => void) | undefined

  constructor (readonly deadlines: Deadlines, readonly presence: Presence) {
    this.endsAt = performance.now() + deadlines.timeout
  }

  get aborted (): boolean {
    if (this.#ended === undefined) {
      const { socket } = this.presence
      if (socket === null || socket.destroyed === true) this.#end('gone')
      else if (performance.now() >= this.endsAt) this.#end('late')
    }
    return this.#ended !== undefined
  }

  get reason (): unknown {
    return this.#ended?.reason
  }

  throwIfAborted (): void {
    if (this.aborted) throw this.reason
  }

  /** Begins anew, for work of many parts of which each may take its time. */
  renew (): void {
    this.endsAt = performance.now() + this.deadlines.timeout
  }

  /** Waits for a commit. It cannot be taken back: where it takes too long, nobody knows whether it was made. */
  async waitForCommit (committing: Promise<void>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        const reason = this.deadlines.explain('unsure')
        reject(reason)
      }
      const ending = { endsAt: this.endsAt, end }
      this.deadlines.add(ending)
      committing.then(resolve, reject).then(() => { this.deadlines.delete(ending) })
    })
  }

  /** Does work that is given a signal of the platform, and waits for it no longer than this says. */
  async lend<T> (work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = this.#controller ??= new AbortController()
    const abort = (): void => { controller.abort(this.reason) }
    if (this.aborted) abort()
    this.addEventListener('abort', abort)
    try {
      return await raceSignal(this, work(controller.signal))
    } finally {
      // Whoever listens is kept until the deadline, with all that belongs to his request.
      this.removeEventListener('abort', abort)
    }
  }

  addEventListener (_type: 'abort', listener: (event: Event) => void): void {
    if (this.#ended !== undefined) return
    this.#listeners ??= new Set()
    if (this.#listeners.size === 0) {
      this.deadlines.add(this)
      this.#leave ??= () => { this.#end('gone') }
      if (this.presence.socket !== null) getLeavings(this.presence.socket).add(this.#leave)
    }
    this.#listeners.add(listener)
  }

  removeEventListener (_type: 'abort', listener: (event: Event) => void): void {
    if (this.#listeners?.delete(listener) === true && this.#listeners.size === 0) this.#stopWatching()
  }

  dispatchEvent (): boolean {
    return false
  }

  /** Called when the time has come. */
  end (): void {
    // It may have begun anew.
    if (performance.now() >= this.endsAt) this.#end('late')
    else this.deadlines.add(this)
  }

  #end (why: EndOfPatience): void {
    if (this.#ended !== undefined) return
    this.#ended = { reason: this.deadlines.explain(why) }
    this.#stopWatching()
    if (this.#listeners === undefined) return
    const event = new Event('abort')
    for (const listener of this.#listeners) listener(event)
    this.#listeners.clear()
  }

  #stopWatching (): void {
    this.deadlines.delete(this)
    const { socket } = this.presence
    if (this.#leave !== undefined && socket !== null) leavings.get(socket)?.delete(this.#leave)
  }
}

/** What the work brings, or the reason of the signal where that is aborted first; the work itself may go on. */
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

/** Marks a storage that ends its reads itself when the signal says so, and takes a `Patience` for one. */
export function markHeeding<T extends object> (storage: T): T {
  heeding.add(storage)
  return storage
}

export function isHeeding (storage: object): boolean {
  return heeding.has(storage)
}
