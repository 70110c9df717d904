import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../problems.js'

/** The client's key for a POST, bare or as a quoted string; undefined where it sent none. */
export function readIdempotencyKey (headers: IncomingHttpHeaders): string | undefined {
  const header = headers['idempotency-key']
  if (header === undefined) return undefined
  const key = /^"((?:[^"\\]|\\["\\])*)"$/.exec(String(header))?.[1]?.replace(/\\(.)/g, '$1') ?? String(header)
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new Problem('invalid-header', 'Idempotency-Key must be 1 to 255 printable ASCII characters')
  return key
}

/** The command id that a key stands for: always the same for one principal, and no other principal's. */
export function idOfKey (key: string, principal: string | undefined): string {
  const hash = createHash('sha256').update(JSON.stringify([principal ?? null, key])).digest('hex')
  // In the shape of a UUID of version 8, which is free for such uses.
  const variant = (8 | parseInt(hash[16] as string, 16) & 3).toString(16)
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}
