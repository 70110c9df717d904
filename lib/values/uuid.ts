import { randomUUID } from 'node:crypto'

let last = 0
let counter = 0

/**
 * A UUID of version 7: ordered by the millisecond it was made in and, within one process, by the order of the calls. By
 * hand, since Node has no maker for it and the packages that do are larger than these lines.
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
  // Variant and random digits from Node's own version 4, which asks the system for randomness only now and then.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
}
