import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

/** The time and randomness of the process. Tests and simulations replace them. */
export const system = {
  /** Milliseconds since 1970. */
  now: (): number => Date.now(),
  delay: (time: number, signal?: AbortSignal): Promise<void> => delay(time, undefined, signal && { signal }),
  /** From 0 up to 1. */
  random: (): number => Math.random(),
  randomBytes: (size: number): Buffer => randomBytes(size)
}
