import { Problem } from '../problems.js'
import type { CommandRecord } from './command.js'

/** What became of the commands of a storage since the process began. */
export class Counters {
  readonly outcomes: Record<CommandRecord['outcome'] | 'failed', number> =
    { done: 0, unchanged: 0, refused: 0, failed: 0 }

  /** Commands whose earlier outcome was returned again. */
  replays = 0
  /** Decisions that were made again because another process was faster. */
  retries = 0

  /** Counts an error, unless it is the caller's fault. */
  countFailure (error: unknown): void {
    if (!(error instanceof Problem) || error.statusCode >= 500) this.outcomes.failed++
  }
}
