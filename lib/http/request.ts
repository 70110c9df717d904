import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Family } from '../core/family/family.js'
import { invalidQuery, notFound, Problem } from '../core/problems.js'
import { readTextParameter, splitQuery } from '../core/query/query-string.js'
import type { Id } from '../core/storage/storage.js'
import { idempotencyKeyRule, isIdempotencyKey, isTextId, textIdRule } from '../core/values/ids.js'
import { shorten } from '../core/values/words.js'
import type { RequestedFormat } from './negotiate.js'

/** The URL of the request, without a host that the client chose. */
export function splitUrl (request: FastifyRequest): { readonly path: string, readonly search: string } {
  let url = request.raw.url as string
  // A target may name a host (RFC 9112, 3.2.2), which the router skips. In a link, leading slashes would name one too.
  if (!url.startsWith('/') || url[1] === '/' || url[1] === '\\') {
    url = `/${url.replace(/^https?:\/\/[^/?]*/i, '').replace(/^[/\\]+/, '')}`
  }
  let mark = url.indexOf('?')
  const semicolon = url.indexOf(';')
  // The host's router may also begin the query at a semicolon.
  const isFirst = semicolon !== -1 && (mark === -1 || semicolon < mark)
  if (isFirst && isRouterSet(request.server, 'useSemicolonDelimiter')) mark = semicolon
  return mark === -1 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark + 1) }
}

export function readRequestedFormat (
  { accept }: IncomingHttpHeaders,
  search: string,
  suffix?: string
): RequestedFormat {
  // The name of the parameter may be encoded.
  const mayHave = search.includes('format') || search.includes('%')
  return { suffix, format: mayHave ? readTextParameter(search, 'format') : undefined, accept }
}

export function refuseParameters (search: string): undefined {
  if (search === '') return
  let formats = 0
  const wrong = splitQuery(search).filter(({ name }) => name !== 'format' || ++formats > 1)
  if (wrong.length === 0) return
  const detail = 'The only parameter allowed here is format, once'
  throw invalidQuery(wrong.map(({ name, raw }) => ({ parameter: name ?? raw, detail })))
}

/** A string of RFC 9651, or bare. A comma outside of a string is that of a second header. */
export function readIdempotencyKey (headers: IncomingHttpHeaders): string | undefined {
  const header = headers['idempotency-key']
  if (header === undefined) return undefined
  const [, quoted, bare = quoted?.replace(/\\(.)/g, '$1')] =
    /^(?:"((?:[^"\\]|\\["\\])*)"|([^",]+))$/.exec(String(header)) ?? []
  if (bare !== undefined && isIdempotencyKey(bare)) return bare
  throw new Problem('invalid-header', `Idempotency-Key ${idempotencyKeyRule}, in quotes if there is a comma or quote`)
}

/** `Prefer: return=…` (RFC 7240); the first valid one counts. */
export function readPreference ({ prefer }: IncomingHttpHeaders): 'minimal' | 'representation' | undefined {
  if (typeof prefer !== 'string') return undefined
  for (const preference of prefer.split(',')) {
    const value = /^\s*return\s*=\s*(?:"(\w+)"|(\w+))\s*(?:;|$)/i.exec(preference)
    const wanted = value?.[1] ?? value?.[2]
    if (wanted === 'minimal' || wanted === 'representation') return wanted
  }
  return undefined
}

/** Refuses a POST that browsers send from other sites without a preflight: as a form, or without a body. */
export function refuseCrossSite (request: FastifyRequest, trusted: readonly string[]): void {
  if (request.method !== 'POST' || jsonType.test(request.headers['content-type'] ?? '')) return
  // Over HTTP/2 the host is in :authority.
  const { origin, 'sec-fetch-site': site, ':authority': authority, host = authority } = request.headers
  if (origin !== undefined && trusted.includes(origin)) return
  const isForeign = site === undefined
    ? origin !== undefined && /^https?:\/\/([^/]+)$/.exec(origin)?.[1] !== host
    : site !== 'same-origin' && site !== 'none'
  if (!isForeign) return
  const page = `A page of ${shorten(origin ?? 'another site')}`
  throw new Problem('cross-site', `${page} may not send this; the option trustedOrigins can allow it`)
}

const jsonType = /^application\/(json|merge-patch\+json)\b/i

/** Reads `routerOptions`, or the older setting beside it. */
export function isRouterSet (
  { initialConfig }: FastifyInstance,
  name: 'ignoreTrailingSlash' | 'useSemicolonDelimiter' | 'caseSensitive',
  value = true
): boolean {
  type Settings = Partial<Record<typeof name, boolean>>
  const config = initialConfig as Settings & { readonly routerOptions?: Settings }
  return config.routerOptions?.[name] === value || config[name] === value
}

export type Urls = ReturnType<typeof makeUrls>

/** URLs never use the Host header. `publicUrl` has the path that a proxy strips, if any. */
export function makeUrls (prefix: string, home: string, publicUrl = '') {
  const origin = publicUrl.replace(/\/+$/, '')
  // The prefix may have parameters, such as /:tenant; the request has their values.
  const isParametric = /[:*]/.test(prefix)
  const base = ({ params }: FastifyRequest): string => {
    if (!isParametric) return origin + prefix
    const path = prefix.replace(/:([A-Za-z0-9_]+)/g, (_, name: string) =>
      encodeURIComponent((params as Record<string, string>)[name] ?? ''))
    // An empty value leaves two slashes, and a link would take the next word for a host.
    return origin + `/${path.replace(/^\/+/, '')}`.replace(/\/$/, '')
  }
  const item = (request: FastifyRequest, id: Id): string => `${base(request)}${home}/${encodeURIComponent(id)}`
  return {
    home: (request: FastifyRequest): string => `${base(request)}/`,
    collection: (request: FastifyRequest): string => `${base(request)}${home}`,
    item,
    /** In the log of an item, or in the part of it that `noun` names. */
    command: (request: FastifyRequest, id: Id, command: string, noun = 'commands'): string =>
      `${item(request, id)}/${noun}/${encodeURIComponent(command)}`,
    /** The requested URL without its query. */
    self: (request: FastifyRequest): string => origin + splitUrl(request).path
  }
}

export function readParameter ({ params }: FastifyRequest, name: 'id' | 'command' | 'parameter' = 'id'): string {
  return (params as Partial<Record<typeof name, string>>)[name] ?? ''
}

export function readItemId (family: Family, request: FastifyRequest): Id {
  return requireId(family, readParameter(request))
}

export function requireId ({ readId, singular }: Family, text: string): Id {
  const id = readId(text)
  if (id === undefined) throw notFound(singular, text)
  return id
}

export function readCommandId (request: FastifyRequest): string {
  const command = readParameter(request, 'command')
  if (isTextId(command)) return command
  const detail = `A command id ${textIdRule}`
  throw new Problem('bad-request', detail, { errors: [{ parameter: 'command_id', detail }] })
}
