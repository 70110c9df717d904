import type { Test } from 'tap'
import { real, useRuntime } from '../../lib/core/runtime.js'

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
