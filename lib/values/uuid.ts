import { randomBytes } from 'node:crypto'

let last = 0
let counter = 0

/**
 * A UUID of version 7: ordered by the millisecond it was made in and, within one process, by the order of the calls. By
 * hand, since Node has no maker for it and the packages that do are larger than these lines.
 */
export function uuidv7 (now = Date.now()): string {
  if (now > last) {
    last = now
    counter = randomBytes(2).readUInt16BE() & 0x7ff
  } else if (++counter > 0xfff) {
    last++
    counter = 0
  }
  const bytes = randomBytes(16)
  bytes.writeUIntBE(last, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  bytes[8] = 0x80 | (bytes[8] as number) & 0x3f
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
