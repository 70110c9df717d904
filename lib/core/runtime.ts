import * as crypto from 'node:crypto'

/** A timer that does not keep the process alive after `unref`. */
export interface Timer {
  ref (): unknown
  unref (): Timer
}

/** The time, timers and randomness of a process. A simulation gives each of its processes a different one. */
export interface Runtime {
  /** Milliseconds since 1970. */
  now (): number
  /** Milliseconds since any moment; never set back. */
  elapsed (): number
  setTimeout (run: () => void, time: number): Timer
  setInterval (run: () => void, time: number): Timer
  /** Ends what `setTimeout` or `setInterval` began. */
  clear (timer: Timer | undefined): void
  setImmediate (run: () => void): unknown
  /** From 0 up to 1. */
  random (): number
  randomUUID (): string
  randomBytes (size: number): Buffer
  /** What modules keep for the process, by `keepPerProcess`. */
  readonly kept: unknown[]
}

// Taken at import, so that fake timers in a host's tests do not stop requests.
const { setTimeout: startTimeout, setInterval: startInterval, setImmediate: startImmediate } = globalThis
const { clearTimeout: stopTimer, performance: clock } = globalThis

/** That of the system. */
export const real: Runtime = {
  now: () => Date.now(),
  elapsed: () => clock.now(),
  setTimeout: (run, time) => startTimeout(run, time),
  setInterval: (run, time) => startInterval(run, time),
  clear: timer => { stopTimer(timer as NodeJS.Timeout) },
  setImmediate: startImmediate,
  random: () => Math.random(),
  randomUUID: () => crypto.randomUUID(),
  randomBytes: size => crypto.randomBytes(size),
  kept: []
}

let current = real

/** Until it is reset by a call without one. */
export function useRuntime (runtime: Runtime = real): void {
  current = runtime
}

let keepers = 0

/** For the state of a module: returns a function that gets it, and makes it at the first call. */
export function keepPerProcess<T extends object> (make: () => T): () => T {
  const index = keepers++
  return () => (current.kept[index] ??= make()) as T
}

export const now = (): number => current.now()
export const performance = { now: (): number => current.elapsed() }
export const setTimeout = (run: () => void, time: number): Timer => current.setTimeout(run, time)
export const setInterval = (run: () => void, time: number): Timer => current.setInterval(run, time)
export const clearTimeout = (timer: Timer | undefined): void => { current.clear(timer) }
export const clearInterval = (timer: Timer | undefined): void => { current.clear(timer) }
export const setImmediate = (run: () => void): void => { current.setImmediate(run) }
export const random = (): number => current.random()
export const randomUUID = (): string => current.randomUUID()
export const randomBytes = (size: number): Buffer => current.randomBytes(size)

export function yieldToEventLoop (): Promise<void> {
  return new Promise(resolve => { setImmediate(resolve) })
}

/** Rejects when the signal is aborted, like that of `node:timers/promises`. */
export function delay (time: number, _value?: undefined, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject((signal as AbortSignal).reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, time)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

const getLastUuid = keepPerProcess(() => ({ last: 0, counter: 0, prefix: '' }))

/** UUID version 7, ordered by time and, within a process, by call. Node has none, and packages are larger than this. */
export function uuidv7 (time = now()): string {
  const state = getLastUuid()
  if (time > state.last || ++state.counter > 0xfff) {
    state.last = Math.max(time, state.last + 1)
    state.counter = 0
    const digits = state.last.toString(16).padStart(12, '0')
    state.prefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
  }
  // Node caches random bytes for its UUIDs, so variant and random digits are cheapest from there.
  return `${state.prefix}${state.counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
}
