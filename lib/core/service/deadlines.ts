import { Problem } from '../problems.js'
import type { DeadlineEnd, DeadlineSettings } from '../storage/deadline.js'

/** DeadlineSettings of so many milliseconds, with the problems of those that pass. */
export function makeDeadlines (timeout: number): DeadlineSettings {
  return { timeout, explain: why => explainEnd(timeout, why) }
}

function explainEnd (timeout: number, why: DeadlineEnd): Problem {
  // No client reads this response; the status, which proxies use for it, is for the host's log.
  if (why === 'gone') return new Problem('timeout', 'The client has disconnected', { status: 499 })
  const detail = why === 'late'
    ? `It took longer than ${timeout} ms; nothing was changed`
    : `It took longer than ${timeout} ms. The change may have been made: send it again with the same id to find out`
  return new Problem('timeout', detail, { headers: { 'retry-after': '1' } })
}
