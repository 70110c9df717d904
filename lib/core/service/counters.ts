import { Problem } from '../problems.js'
import type { CommandRecord } from './command.js'

type Counted = CommandRecord['outcome'] | 'failed'

/** What has become of the commands of a storage since the process began. */
export class Counters {
  readonly outcomes: Record<Counted, number> = { done: 0, unchanged: 0, refused: 0, failed: 0 }
  /** Commands that were answered again. */
  replays = 0
  /** Decisions that were made again, since another process was faster. */
  retries = 0

  /** Counts what was thrown, where it was by no fault of the caller's. */
  countFailure (error: unknown): void {
    if (!(error instanceof Problem) || error.statusCode >= 500) this.outcomes.failed++
  }
}

const counters = new WeakMap<object, Counters>()

/** The counters of a storage, which all who write to it share. */
export function getCounters (storage: object): Counters {
  let those = counters.get(storage)
  if (those === undefined) counters.set(storage, those = new Counters())
  return those
}
