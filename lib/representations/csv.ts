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
  if (value === undefined) return ''
  if (typeof value === 'object') return JSON.stringify(value)
  // A spreadsheet would run text that begins like a formula; the apostrophe makes it text again.
  return typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value)
}

function quote (text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
