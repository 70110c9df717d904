import { createHash } from 'node:crypto'

// PostgreSQL cuts names at 63 bytes without a word.
const longest = 63

/** `holdReason` is the column `hold_reason`, `line-items` the table `line_items`. All in lower case, as SQL people write. */
export function snakeCase (name: string): string {
  return shorten(name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (capitals, at: number) => (at === 0 ? '' : '_') + capitals.toLowerCase())
    .replace(/[^\p{L}\p{N}_]/gu, '_'))
}

/** The name itself, or its beginning and a hash of the whole where a database would cut it. */
export function shorten (name: string): string {
  if (Buffer.byteLength(name) <= longest) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${Buffer.from(name).subarray(0, longest - 9).toString().replace(/\ufffd+$/, '')}_${hash}`
}

export function quote (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
