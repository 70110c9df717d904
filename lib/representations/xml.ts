import { showable } from '../values/text.js'
import type { Document, OneView, PageView, ProblemView, Representation } from './representation.js'

/**
 * XML: members become elements, lists elements of the same name. By hand: the strings that we accept need four
 * replacements to be well-formed, and the packages that check names and characters are slower than that.
 */
export const xml: Representation = {
  name: 'xml',
  extension: 'xml',
  mediaTypes: ['application/xml', 'text/xml'],
  problemType: 'application/problem+xml',
  one: ({ name, document }: OneView) => file(element(name, document, 'item')),
  page: ({ name, singular, document }: PageView) => file(element(name, document, singular)),
  // The names of RFC 9457, appendix B.
  problem: ({ document }: ProblemView) => file(`<problem xmlns="urn:ietf:rfc:7807">${members(document, 'i')}</problem>`)
}

function file (root: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}\n`
}

/** @param entry the name of the elements of a list */
function element (name: string, value: unknown, entry: string): string {
  // A member of a nested value can have any name.
  const open = /^[A-Za-z_][\w.-]*$/.test(name) ? name : `member name="${escapeAttribute(name)}"`
  const close = open === name ? name : 'member'
  return `<${open}>${content(value, entry)}</${close}>`
}

function content (value: unknown, entry: string): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(each => element(entry, each, 'item')).join('')
  return typeof value === 'object' ? members(value as Document, entry) : escape(String(value))
}

function members (document: Document, entry: string): string {
  return Object.entries(document).map(([name, value]) => element(name, value, entry)).join('')
}

const references: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\r': '&#13;', '\n': '&#10;', '\t': '&#9;' }

// A bare carriage return would be read as a line feed.
function escape (text: string): string {
  return showable(text).replace(/[&<>"\r]/g, character => references[character] as string)
}

// In an attribute, line feeds and tabs would be read as spaces.
function escapeAttribute (text: string): string {
  return showable(text).replace(/[&<>"\r\n\t]/g, character => references[character] as string)
}
