import { isObject, type Members, replaceUnsupported } from '../core/values/json.js'
import {
  type OneView, type PageView, type ProblemView, type Representation, type View, writeInTurns
} from './representation.js'

/** The default representation: the unchanged document. */
export const json: Representation = {
  name: 'json',
  extension: 'json',
  mediaTypes: ['application/json'],
  problemType: 'application/problem+json',
  one: writeDocument,
  page: writeDocument,
  problem: writeDocument,
  pageOfText: (items, others) => others === undefined
    ? `[${items}]`
    : `{"items":[${items}],${JSON.stringify(others).slice(1)}`
}

/** One JSON object per line, for collections. */
export const ndjson: Representation = {
  name: 'ndjson',
  extension: 'ndjson',
  mediaTypes: ['application/x-ndjson', 'application/ndjson'],
  rows: { head: () => '', row: item => `${JSON.stringify(item)}\n` }
}

function writeDocument (view: View): string {
  return JSON.stringify(view.document)
}

/** CSV (RFC 4180) with a header row, for collections. Without a package, since quoting takes three lines. */
export const csv: Representation = {
  name: 'csv',
  extension: 'csv',
  mediaTypes: ['text/csv'],
  rows: {
    head: writeLine,
    row: (item, members) => writeLine(members.map(member => toText(item[member])))
  },
  download: {
    // With this mark, spreadsheets read it as UTF-8.
    head: members => `\ufeff${writeLine(members)}`,
    row: (item, members) => writeLine(members.map(member => toText(writePlainly(item[member]))))
  }
}

function writeLine (cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\r\n`
}

function toText (value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return escapeFormula(JSON.stringify(value))
  return typeof value === 'string' ? escapeFormula(value) : String(value)
}

/** Lists and objects as people write them; anything else stays. */
function writePlainly (value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) return writeParts(value as Members)
  const isTable = value.length > 0 && value.every(entry => isObject(entry))
  return isTable ? value.map(writeParts).join('\n') : value.map(writeNested).join('; ')
}

function writeParts (object: Members): string {
  return Object.entries(object).map(([name, value]) => `${name}: ${writeNested(value)}`).join('; ')
}

function writeNested (value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? `(${writePlainly(value)})` : String(value)
}

// Blanks and invisible characters, which some spreadsheets skip; in one class, so that it takes linear time.
const unseenCharacters = ' \\p{Z}\\p{Cf}\\p{Mn}\\u0085\\u115f\\u1160\\u2800\\u3164\\uffa0'
const formula = '[=+\\-@＝＋－＠]'
const atBeginning = new RegExp(`^(?:[${unseenCharacters};]*${formula}|[\\t\\r\\n])`, 'u')
// For spreadsheets that separate cells by other characters and ignore quotes inside a cell.
const inside = new RegExp(`([;\\t\\r\\n])(?=[${unseenCharacters}]*${formula})`, 'gu')

// A decimal: a negative number is not a formula.
const number = /^-\d+(\.\d+)?$/

/** Spreadsheets run text that begins like a formula; the apostrophe makes it text again. */
function escapeFormula (text: string): string {
  const inner = /[;\t\r\n]/.test(text) ? text.replace(inside, "$1'") : text
  return atBeginning.test(text) && !number.test(text) ? `'${inner}` : inner
}

function quoteCell (text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** XML: members and entries of lists become elements. Without a package: four replacements are enough and faster. */
export const xml: Representation = {
  name: 'xml',
  extension: 'xml',
  mediaTypes: ['application/xml', 'text/xml'],
  problemType: 'application/problem+xml',
  one: ({ name, document }: OneView) => writeFile(writeElement(name, document, 'item')),
  page: writePage,
  // The names of RFC 9457, appendix B.
  problem: ({ document }: ProblemView) =>
    writeFile(`<problem xmlns="urn:ietf:rfc:7807">${writeMembers(document, 'i')}</problem>`)
}

async function writePage ({ name, singular, items, document }: PageView): Promise<string> {
  const written = (await writeInTurns(items, item => writeElement(singular, item, 'item'))).join('')
  if (Array.isArray(document)) return writeFile(wrap(name, written))
  const { items: _, ...others } = document as Members
  return writeFile(wrap(name, wrap('items', written) + writeMembers(others, singular)))
}

function writeFile (root: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`
}

/** `entry` is the name of the elements of a list. */
function writeElement (name: string, value: unknown, entry: string): string {
  // An empty element would be an empty text.
  return value === null ? `<${writeName(name)} ${nil}/>` : wrap(name, writeContent(value, entry))
}

function wrap (name: string, content: string): string {
  const open = writeName(name)
  return `<${open}>${content}</${open === name ? name : 'member'}>`
}

// A member of a nested value can have any name.
function writeName (name: string): string {
  return /^[A-Za-z_][\w.-]*$/.test(name) ? name : `member name="${escape(name, /[&<>"\r\n\t]/g)}"`
}

const nil = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"'

function writeContent (value: unknown, entry: string): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map(each => writeElement(entry, each, 'item')).join('')
  return typeof value === 'object' ? writeMembers(value as Members, entry) : escape(String(value))
}

function writeMembers (members: Members, entry: string): string {
  return Object.entries(members).map(([name, value]) => writeElement(name, value, entry)).join('')
}

const xmlReferences: Record<string, string> =
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;', '\n': '&#10;', '\t': '&#9;' }

// A bare carriage return would be read as a line feed; in an attribute, line feeds and tabs as spaces.
function escape (text: string, special = /[&<>"\r]/g): string {
  return replaceUnsupported(text).replace(special, character => xmlReferences[character] as string)
}

/** Those that show the document of a view, and nothing else. */
export const plainFormats: ReadonlySet<Representation> = new Set([json, ndjson, csv, xml])
