import type { FastifyRequest } from 'fastify'
import type { FamilyMount, Id, Responding } from '../exports.js'

export type Here = Pick<Responding, 'mount' | 'request'>

export function listUrl ({ url }: FamilyMount, request: FastifyRequest): string {
  return url(undefined, undefined, request)
}

export function itemUrl ({ url }: FamilyMount, request: FastifyRequest, id: Id, part?: string): string {
  return url(id, part, request)
}

/** A command in the log of an item, or in the part of it that `noun` names. */
export function commandUrl (
  mount: FamilyMount, request: FastifyRequest, id: Id, command: string, noun = 'commands'
): string {
  return itemUrl(mount, request, id, `${noun}/${encodeURIComponent(command)}`)
}

/** The URL of the request without its query and a slash at the end. */
export function ownUrl ({ mount, request }: Here): string {
  return mount.selfUrl(request).replace(/\/$/, '')
}
