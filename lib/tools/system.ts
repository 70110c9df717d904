import { randomUUID } from 'node:crypto'

// Taken at import, so that fake timers in a host's tests do not stop consumers.
const { setTimeout, setInterval, clearTimeout, clearInterval, setImmediate, performance } = globalThis

/** A timer that repeats. */
export type Interval = object

/** The time, timers and randomness of the process. Tests and simulations replace them. */
export const toolRuntime = {
  /** Milliseconds since 1970. */
  now: (): number => Date.now(),
  /** Milliseconds since any moment; never set back. */
  elapsed: (): number => performance.now(),
  /** From 0 up to 1. */
  random: (): number => Math.random(),
  randomUUID: (): string => randomUUID(),
  setInterval: (run: () => void, time: number): Interval => setInterval(run, time),
  clearInterval (interval: Interval): void { clearInterval(interval as NodeJS.Timeout) },
  /** Lets other requests run. */
  pause: (): Promise<void> => new Promise(resolve => { setImmediate(resolve) }),
  /** Ends early when the signal is aborted. */
  delay: (time: number, signal: AbortSignal): Promise<void> => new Promise(resolve => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, time)
    signal.addEventListener('abort', end, { once: true })
  })
}
