import { createHash } from 'node:crypto'

// PostgreSQL cuts longer names without a word.
const maxNameBytes = 63

/** `holdReason` is the column `hold_reason`, `line-items` the table `line_items`: as SQL people write. */
export function toSnakeCase (name: string): string {
  const lowerCase = name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (capitals, at: number) =>
    (at === 0 ? '' : '_') + capitals.toLowerCase())
  return shortenName(lowerCase.replace(/[^\p{L}\p{N}_]/gu, '_'))
}

/** The name itself, or its beginning and a hash of the whole where a database would cut it. */
export function shortenName (name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${Buffer.from(name).subarray(0, maxNameBytes - 9).toString().replace(/\ufffd+$/, '')}_${hash}`
}

/** The name of the index over these columns of a table. */
export function nameIndex (tableName: string, columns: readonly string[]): string {
  return shortenName(`${tableName}_${columns.join('_')}_idx`)
}

export function quoteName (name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteText (text: string): string {
  return `'${text.replaceAll('\'', '\'\'')}'`
}
