import type { FastifyRequest } from 'fastify'
import type { Family } from '../core/family/family.js'
import { notFound, Problem } from '../core/problems.js'
import type { Id } from '../core/storage/storage.js'
import { isTextId, textIdRule } from '../core/values/ids.js'
import { splitUrl } from './request.js'

/** The addresses of one mount's resources, path-absolute or absolute, never from the Host header. */
export interface Urls {
  /** Where the families of the prefix are listed. */
  home (request: FastifyRequest): string
  collection (request: FastifyRequest): string
  item (request: FastifyRequest, id: Id): string
  /** A command in the log of an item, or in that part of it which a noun names. */
  command (request: FastifyRequest, id: Id, command: string, noun?: string): string
  /** The address that was asked for, without its query. */
  self (request: FastifyRequest): string
}

/**
 * @param home the path of the collection after the prefix
 * @param publicUrl where clients see the host, with the path that a proxy strips
 */
export function makeUrls (prefix: string, home: string, publicUrl = ''): Urls {
  const origin = publicUrl.replace(/\/+$/, '')
  // A host may mount under a path with parameters, such as /:tenant; their values are those of the request.
  const isParametric = /[:*]/.test(prefix)
  const base = (request: FastifyRequest) => origin + (isParametric ? fillIn(prefix, request) : prefix)

  const item = (request: FastifyRequest, id: Id) => `${base(request)}${home}/${encodeURIComponent(id)}`

  return {
    home: request => `${base(request)}/`,
    collection: request => `${base(request)}${home}`,
    item,
    command: (request, id, command, noun = 'commands') => `${item(request, id)}/${noun}/${encodeURIComponent(command)}`,
    self: request => origin + splitUrl(request).path
  }
}

function fillIn (prefix: string, request: FastifyRequest): string {
  const params = request.params as Record<string, string>
  const path = prefix.replace(/:([A-Za-z0-9_]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  // Of an empty value two slashes are left, and what comes after them in a link is a host.
  return `/${path.replace(/^\/+/, '')}`.replace(/\/$/, '')
}

/** The item in a path below it, and the suffix, which is a separate parameter there. */
export function locateBelowItem (request: FastifyRequest): { name: string, suffix: string | undefined } {
  const { id, extension } = request.params as { id: string, extension?: string }
  return { name: id, suffix: extension }
}

/** The id of the item in the path; 404 where it cannot be one. */
export function readItemId (family: Family, request: FastifyRequest): Id {
  return requireId(family, (request.params as { id: string }).id)
}

/** The same for an id in a body. */
export function requireId ({ readId, singular }: Family, text: string): Id {
  const id = readId(text)
  if (id === undefined) throw notFound(singular, text)
  return id
}

/** The command id in the path, as the client chose it. */
export function readCommandId (request: FastifyRequest): string {
  const { command } = request.params as { command: string }
  if (isTextId(command)) return command
  const detail = `A command id ${textIdRule}`
  throw new Problem('bad-request', detail, { errors: [{ parameter: 'command_id', detail }] })
}
