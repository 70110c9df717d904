import { createHash } from 'node:crypto'

/** Text ids of items and commands: not encoded in a URL, and no longer than Fastify's `maxParamLength`. */
export const textIdPattern = '^[A-Za-z0-9._~-]{1,100}$'
export const textIdRule = 'has 1 to 100 of the characters A-Z a-z 0-9 . _ ~ -'
/** Words in URLs below a list: at the URL of an item with such an id, the client would find something else. */
export const reservedIds: readonly string[] = ['commands']
// A router may ignore the case.
const anyCase = reservedIds.join('|').replace(/[a-z]/g, letter => `[${letter}${letter.toUpperCase()}]`)
/** Text ids of new items. A URL that ends in . or .. leads elsewhere, too. */
export const newIdPattern = `^(?!\\.\\.?$|(?:${anyCase})(?:\\.|$))${textIdPattern.slice(1)}`
export const newIdRule = `${textIdRule}, and is not ., .. or ${reservedIds.join(', ')}, also with a suffix`
/** Integer ids that a client gives to items: as many are left to be counted. */
export const maxChosenId = 2 ** 52
export const idempotencyKeyRule = 'must be 1 to 255 printable ASCII characters'

const textId = new RegExp(textIdPattern)
const newId = new RegExp(newIdPattern)

export function isTextId (text: string): boolean {
  return textId.test(text)
}

export function isIdempotencyKey (text: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(text)
}

/** Whether a new item may have the id, which one of its family can have. */
export function isNewId (id: string | number): boolean {
  return typeof id === 'number' || newId.test(id)
}

/** Undefined if no item can have the id. */
export function readId (kind: 'integer' | 'string', text: string): string | number | undefined {
  if (kind === 'string') return isTextId(text) ? text : undefined
  const value = Number(text)
  // Only in the spelling of our links, so that an item has one URL.
  return Number.isSafeInteger(value) && String(value) === text ? value : undefined
}

export function hashText (text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
