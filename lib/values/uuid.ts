import { randomUUID } from 'node:crypto'

let last = 0
let counter = 0

/**
 * Makes a UUID of version 7, ordered by time and, within one process, by the order of the calls. By hand: Node cannot
 * make them, and the packages that can are larger than these lines.
 */
export function uuidv7 (now = Date.now()): string {
  if (now > last) {
    last = now
    counter = 0
  } else if (++counter > 0xfff) {
    last++
    counter = 0
  }
  const time = last.toString(16).padStart(12, '0')
  // Node keeps randomness for its own UUIDs ready, so variant and random digits are cheapest from there.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
}
