import { Problem } from '../problems.js'
import type { Deadlines, EndOfPatience } from '../storage/patience.js'

/** The deadline of requests that may take so many milliseconds. */
export function makeDeadlines (timeout: number): Deadlines {
  return { timeout, explain: why => explainEnd(timeout, why) }
}

function explainEnd (timeout: number, why: EndOfPatience): Problem {
  // Nobody reads this answer; its status, which proxies have for it, is for the host's log.
  if (why === 'gone') return new Problem('timeout', 'Whoever asked has left', { status: 499 })
  const detail = why === 'late'
    ? `It took longer than ${timeout} ms; nothing was changed`
    : `It took longer than ${timeout} ms. The change may have been made: send it again with the same id to find out`
  return new Problem('timeout', detail, { headers: { 'retry-after': '1' } })
}
