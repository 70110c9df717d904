import type { FastifyRequest } from 'fastify'
import type { Id } from '../../storage/storage.js'

/** The addresses of one mount's resources, path-absolute or absolute, never from the Host header. */
export interface Urls {
  collection (request: FastifyRequest): string
  item (request: FastifyRequest, id: Id): string
  /** A command in the log of an item, or in that part of it which a noun names. */
  command (request: FastifyRequest, id: Id, command: string, noun?: string): string
  /** The address that was asked for, without its query. */
  self (request: FastifyRequest): string
}

/** @param home the path of the collection after the prefix */
export function makeUrls (prefix: string, home: string, publicUrl = ''): Urls {
  // A host may mount under a path with parameters, such as /:tenant; their values are those of the request.
  const parametric = /[:*]/.test(prefix)
  const base = (request: FastifyRequest) => publicUrl + (parametric ? fill(prefix, request) : prefix)

  const item = (request: FastifyRequest, id: Id) => `${base(request)}${home}/${encodeURIComponent(id)}`

  return {
    collection: request => `${base(request)}${home}`,
    item,
    command: (request, id, command, noun = 'commands') => `${item(request, id)}/${noun}/${encodeURIComponent(command)}`,
    self: request => publicUrl + splitUrl(request).path
  }
}

/** The path and the query string of a request, as they were sent. */
export function splitUrl (request: FastifyRequest): { path: string, search: string } {
  const url = request.raw.url as string
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark + 1) }
}

function fill (prefix: string, request: FastifyRequest): string {
  const params = request.params as Record<string, string>
  return prefix.replace(/:([A-Za-z0-9_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}
