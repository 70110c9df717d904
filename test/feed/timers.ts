import '../process-time.js'
import type { Test } from 'tap'
import { real, type Runtime, type Timer, useRuntime } from '../../lib/core/runtime.js'

/** The times, in milliseconds, of all timers that are set from now on. */
export function captureTimers (t: Test): number[] {
  const times: number[] = []
  useRuntime({
    ...real,
    setTimeout (run, time) {
      times.push(time)
      return real.setTimeout(run, time)
    }
  })
  t.teardown(() => { useRuntime() })
  return times
}

/** Time stands still, and nothing is repeated by itself. */
export function stopClock (t: Test) {
  const repeats = new Map<Timer, { readonly run: () => void, readonly time: number }>()
  const clock = {
    /** Milliseconds. */
    time: 10_000,
    /** The times of what is to be repeated. */
    get repeated (): number[] {
      return [...repeats.values()].map(({ time }) => time)
    },
    /** Runs what is to be repeated, once. */
    ring (): void {
      for (const { run } of repeats.values()) run()
    }
  }
  useRuntime({
    ...real,
    elapsed: () => clock.time,
    setInterval (run, time) {
      const timer: Timer = { ref: () => {}, unref: () => timer }
      repeats.set(timer, { run, time })
      return timer
    },
    clear (timer) {
      if (timer === undefined || !repeats.delete(timer)) real.clear(timer)
    }
  })
  t.teardown(() => { useRuntime() })
  return clock
}

/**
 * Pauses of at least `shortest` milliseconds end when they are ended here, nothing is repeated, and nothing is left to
 * chance.
 */
export function holdPauses (t: Test, shortest: number, members: Partial<Runtime> = {}) {
  const held = new Map<Timer, { readonly run: () => void, readonly time: number }>()
  useRuntime({
    ...real,
    random: () => 0,
    setTimeout (run, time) {
      if (time < shortest) return real.setTimeout(run, time)
      const timer: Timer = { ref: () => {}, unref: () => timer }
      held.set(timer, { run, time })
      return timer
    },
    setInterval: () => {
      const timer: Timer = { ref: () => {}, unref: () => timer }
      return timer
    },
    clear (timer) {
      if (timer === undefined || !held.delete(timer)) real.clear(timer)
    },
    ...members
  })
  t.teardown(() => { useRuntime() })
  return {
    /** The times of those that are held. */
    get times (): number[] {
      return [...held.values()].map(({ time }) => time)
    },
    end (): void {
      for (const [timer, { run }] of held) {
        held.delete(timer)
        run()
      }
    }
  }
}
