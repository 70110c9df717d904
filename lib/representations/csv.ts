import type { Representation } from './representation.js'

/**
 * Comma-separated values (RFC 4180) with a header row, for collections. By hand: quoting takes three lines, and the
 * packages for it are larger than all our representations.
 */
export const csv: Representation = {
  name: 'csv',
  extension: 'csv',
  mediaTypes: ['text/csv'],
  rows: {
    head: members => writeLine(members),
    row: (item, members) => writeLine(members.map(member => toText(item[member])))
  }
}

function writeLine (cells: readonly string[]): string {
  return `${cells.map(quote).join(',')}\r\n`
}

function toText (value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return disarm(JSON.stringify(value))
  return typeof value === 'string' ? disarm(value) : String(value)
}

// Blanks and what is not seen at all, which some pass over; in one class, so that it takes linear time.
const unseen = ' \\p{Z}\\p{Cf}\\p{Mn}\\u0085\\u115f\\u1160\\u2800\\u3164\\uffa0'
const formula = '[=+\\-@＝＋－＠]'
const atBeginning = new RegExp(`^(?:[${unseen};]*${formula}|[\\t\\r\\n])`, 'u')
// Where cells are parted otherwise than here, and a quote inside of a cell counts as nothing.
const inside = new RegExp(`([;\\t\\r\\n])(?=[${unseen}]*${formula})`, 'gu')

/** A spreadsheet would run text that begins like a formula; the apostrophe makes it text again. */
function disarm (text: string): string {
  const inner = /[;\t\r\n]/.test(text) ? text.replace(inside, "$1'") : text
  return atBeginning.test(text) ? `'${inner}` : inner
}

function quote (text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
