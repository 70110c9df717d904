import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Params, readParams } from '../core/family/params.js'
import { invalidBody, invalidQuery, Problem } from '../core/problems.js'
import { startParameters } from '../core/query/grammar.js'
import { decodeText, maxParameters, splitQuery } from '../core/query/query-string.js'
import { hashText } from '../core/values/ids.js'
import {
  type BodyLimits, escapePointer, explainMembers, findFlawInJson, findJsonFlaws, isObject, type Members
} from '../core/values/json.js'
import type { SentForm } from '../representations/target.js'
import { readFormEntries } from './form-values.js'
import { readIdempotencyKey, splitUrl } from './request.js'

/** No bytes are the empty object, so that an operation without parameters needs no body. */
function readJson (bytes: Buffer, limits: BodyLimits): unknown {
  if (bytes.length === 0) return {}
  const text = bytes.toString('utf8')
  // Invalid bytes become U+FFFD, which may also be in the text itself.
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new Problem('malformed-json', 'The body is not valid UTF-8')
  // Before parsing, so that too large a body costs little.
  const flaw = findFlawInJson(text, limits)
  if (flaw !== undefined) throw invalidBody([flaw])
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Problem('malformed-json', (error as Error).message)
  }
  const flaws = findJsonFlaws(value)
  if (flaws.length > 0) throw invalidBody(flaws)
  return value
}

function readForm (bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Problem('invalid-body', 'The form is not valid UTF-8')
  // Browsers encode braces in a form, but curl -d sends JSON under this type.
  if (bytes[0] === 0x7b) {
    const detail = 'This is JSON with the media type of a form; send it with content-type: application/json'
    throw new Problem('unsupported-media-type', detail)
  }
  return bytes.toString('utf8')
}

// Names with a meaning for pages alone; no representation reads them as members.
const ofPages = /^_(?:add|remove|operation|ready|from|item\..*)$/s

/** A form, with what the members that ours have say about it. */
export class FormBody implements SentForm {
  readonly entries: ReadonlyMap<string, string>
  readonly revision: string | undefined
  readonly key: string | undefined
  readonly asksFirst: boolean
  readonly zone: string | undefined
  readonly language: string | undefined
  readonly sent: readonly (readonly [name: string, text: string])[]

  constructor (bytes: Buffer, { maxMembers }: BodyLimits) {
    const entries = splitForm(readForm(bytes), maxMembers)
    const take = (name: string): string | undefined => {
      const text = entries.get(name)
      entries.delete(name)
      return text
    }
    this.sent = [...entries]
    const key = take('_key')
    this.revision = take('_revision')
    this.asksFirst = take('_confirm') !== undefined
    this.zone = take('_zone')
    this.language = take('_language')
    for (const name of entries.keys()) if (ofPages.test(name)) entries.delete(name)
    dropUntouched(entries)
    this.entries = entries
    // Includes the content, so that a corrected form is a different request.
    this.key = key === undefined ? undefined : hashText(JSON.stringify([key, ...entries]))
  }
}

// Copies of what a form showed.
const shown = '_was.'

function splitForm (form: string, maxMembers: number): Map<string, string> {
  // Each field may have its copy.
  const parts = form.split('&', 2 * maxMembers + 1)
  const count = parts.length > maxMembers ? parts.filter(part => !part.startsWith(shown)).length : 0
  if (parts.length > 2 * maxMembers || count > maxMembers) throw invalidBody([explainMembers(maxMembers)])
  const entries = new Map<string, string>()
  for (const part of parts) {
    if (part === '') continue
    const equals = part.includes('=') ? part.indexOf('=') : part.length
    const rawName = part.slice(0, equals)
    const name = decodeText(rawName)
    const text = decodeText(part.slice(equals + 1))
    const flaw = name === undefined || text === undefined
      ? 'is not valid percent-encoding'
      : entries.has(name) ? 'is given twice' : undefined
    if (flaw !== undefined) throw invalidBody([{ pointer: `/${escapePointer(name ?? rawName)}`, detail: flaw }])
    // Browsers send every line end of a text as CR LF.
    entries.set(name as string, (text as string).replaceAll('\r\n', '\n'))
  }
  return entries
}

// Browsers may alter texts, so a field is untouched if it equals its copy in the form, not the stored value.
function dropUntouched (entries: Map<string, string>): void {
  const before = new Map([...entries].filter(([name]) => name.startsWith(shown)))
  for (const name of before.keys()) entries.delete(name)
  // Rows and members of one field are changed together.
  const fieldOf = (name: string) => /^(?:_find\.)?([^.]*)/.exec(name)?.[1]
  const isTouched = ([name, text]: readonly [string, string]) => (before.get(shown + name) ?? '') !== text
  // The script of a page removes rows, and leaves their copies.
  const removed = [...before].filter(([name, text]) => text !== '' && !entries.has(name.slice(shown.length)))
    .map(([name]) => name.slice(shown.length)).filter(name => /\.\d{1,3}\.[^.]*$/.test(name))
  const touched = new Set([...[...entries].filter(isTouched).map(([name]) => name), ...removed].map(fieldOf))
  const compared = new Set([...before.keys()].map(name => fieldOf(name.slice(shown.length))))
  for (const name of entries.keys()) {
    const field = fieldOf(name)
    if (compared.has(field) && !touched.has(field)) entries.delete(name)
  }
}

/** Ignores the host's body parsers and compilers: route schemas are only documentation here. */
export function isolateScope (app: FastifyInstance): void {
  // Without a validator, Fastify skips validation.
  app.setValidatorCompiler(() => undefined as never)
  app.setSerializerCompiler(() => payload => JSON.stringify(payload))
  app.removeAllContentTypeParsers()
}

export function parseJson (app: FastifyInstance, types: readonly string[], limits: BodyLimits): void {
  addParser(app, types, bytes => readJson(bytes, limits))
}

export function parseForms (app: FastifyInstance, limits: BodyLimits): void {
  addParser(app, ['application/x-www-form-urlencoded'], (bytes, { method }) =>
    method === 'QUERY' ? readForm(bytes) : new FormBody(bytes, limits))
}

function addParser (
  app: FastifyInstance, types: readonly string[], parse: (bytes: Buffer, request: FastifyRequest) => unknown
): void {
  // A callback costs less than a promise.
  app.addContentTypeParser<Buffer>([...types], { parseAs: 'buffer' }, (request, bytes, done) => {
    let body: unknown
    try {
      body = parse(bytes, request)
    } catch (error) {
      done(error as Error)
      return
    }
    done(null, body)
  })
}

export function getJsonBody ({ body = {} }: FastifyRequest): Members {
  if (body instanceof FormBody) {
    throw new Problem('unsupported-media-type', 'A form cannot be sent here; send application/json')
  }
  if (isObject(body)) return body
  throw invalidBody([{ pointer: '', detail: 'must be an object' }])
}

/** The query string and, of a QUERY, the parameters in its body. Where both name a page, the query string counts. */
export function readSearch (request: FastifyRequest): string {
  const { search } = splitUrl(request)
  const { method, body } = request
  if (method !== 'QUERY') return search
  const sent = typeof body === 'string' ? body : writeQuery(getJsonBody(request))
  // Before the rest is split: a body may be much longer than a URL. Empty parts are not parameters.
  if (sent.split('&', 10 * maxParameters).length === 10 * maxParameters) {
    throw invalidQuery([{ parameter: '?', detail: `A query may have at most ${maxParameters} parameters` }])
  }
  if (search === '') return sent
  const isStart = (raw: string): boolean => splitQuery(raw).some(({ name = '' }) => startParameters.includes(name))
  const all = sent.split('&')
  return [search, ...isStart(search) ? all.filter(raw => !isStart(raw)) : all].join('&')
}

function writeQuery (members: Members): string {
  return Object.entries(members).flatMap(([name, value]) => [value].flat().map(each => {
    if (['string', 'number', 'boolean'].includes(typeof each)) {
      return `${encodeURIComponent(name)}=${encodeURIComponent(String(each))}`
    }
    const detail = 'must be a text, a number, true or false, or a list of these'
    throw invalidBody([{ pointer: `/${escapePointer(name)}`, detail }])
  })).join('&')
}

export function readJsonParams (params: Params, request: FastifyRequest): Members {
  return readParams(params, getJsonBody(request))
}

/** Also reads a form of a page, and converts its texts to the types of the schema. */
export function readSentParams (params: Params, request: FastifyRequest): Members {
  const { body } = request
  if (!(body instanceof FormBody)) return readJsonParams(params, request)
  const { zone, language, key } = body
  return readFormEntries(params, body.entries, { zone, language, isOwn: key !== undefined })
}

/** The Idempotency-Key header, or the key of one of our forms. */
export function readKey ({ headers, body }: FastifyRequest): string | undefined {
  return readIdempotencyKey(headers) ?? (body instanceof FormBody ? body.key : undefined)
}
