import { createHash, randomUUID } from 'node:crypto'

/** Ids that are text, of items and of commands: no encoding in a URL, and no longer than Fastify's `maxParamLength`. */
export const textIdPattern = '^[A-Za-z0-9._~-]{1,100}$'
export const textIdRule = 'has 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -'
export const idempotencyKeyRule = 'must be 1 to 255 printable ASCII characters'

const textId = new RegExp(textIdPattern)

/** Whether the text can be an id. */
export function isTextId (text: string): boolean {
  return textId.test(text)
}

/** Whether the text can be an Idempotency-Key: 1 to 255 printable ASCII characters. */
export function isIdempotencyKey (text: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(text)
}

/** Reads the id from a path; undefined where no item can have it. */
export function readId (kind: 'integer' | 'string', text: string): string | number | undefined {
  if (kind === 'string') return isTextId(text) ? text : undefined
  const value = Number(text)
  // Only in the spelling of our own links, so that an item has one address.
  return Number.isSafeInteger(value) && String(value) === text ? value : undefined
}

/** A name for a text that no other text has. */
export function hashText (text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

let last = 0
let counter = 0
let prefix = ''

/**
 * Makes a UUID of version 7, ordered by time and, within one process, by the order of the calls. By hand: Node cannot
 * make them, and the packages that can are larger than these lines.
 */
export function uuidv7 (now = Date.now()): string {
  if (now > last || ++counter > 0xfff) {
    last = Math.max(now, last + 1)
    counter = 0
    const time = last.toString(16).padStart(12, '0')
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`
  }
  // Node keeps randomness for its own UUIDs ready, so variant and random digits are cheapest from there.
  return `${prefix}${counter.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
}
