import type { Representation } from './representation.js'

/**
 * Comma-separated values (RFC 4180) with a header row, for collections. By hand: quoting is three lines, and the packages
 * for it are larger than all our representations.
 */
export const csv: Representation = {
  name: 'csv',
  extension: 'csv',
  mediaTypes: ['text/csv'],
  rows: {
    head: members => line(members),
    row: (item, members) => line(members.map(member => cell(item[member])))
  }
}

function line (cells: readonly string[]): string {
  return `${cells.map(quote).join(',')}\r\n`
}

function cell (value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'object') return JSON.stringify(value)
  // A spreadsheet would run text that begins like a formula; the apostrophe makes it text again.
  return typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value)
}

function quote (text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
