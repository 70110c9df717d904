import type { FastifyRequest } from 'fastify'
import type { Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { makePicker } from '../values/json.js'
import type { Mount } from './mount.js'

/** Where an item leads: to itself, to the others, to what was done with it and to what can be. */
export interface ItemLinks extends Readonly<Record<string, string>> {
  readonly self: string
  readonly collection: string
}

/** The links of an item. */
export function linkItem (mount: Mount, request: FastifyRequest, item: Stored): ItemLinks {
  const { family, urls } = mount
  const self = urls.item(request, item.id)
  const links = { ...linkReferred(mount, request, item), self, collection: urls.collection(request) }
  return family.writable ? { ...links, log: `${self}/commands`, operations: `${self}/operations` } : links
}

/** Where the items are that an item refers to, by its fields, as far as their families are at the same prefix. */
export function linkReferred (mount: Mount, request: FastifyRequest, item: Stored): Readonly<Record<string, string>> {
  const links: Record<string, string> = {}
  for (const [field, { name }] of mount.family.references) {
    const id = item[field] as Id | null | undefined
    const other = id === undefined || id === null ? undefined : mount.neighbours.find(name, mount)
    if (other !== undefined) links[field] = other.urls.item(request, id as Id)
  }
  return links
}

/** An item as it is shown by itself, the same in every answer. @param shown the item with others in it */
export function showItem (mount: Mount, request: FastifyRequest, item: Stored, shown: Members = item): Members {
  return Object.assign(makePicker(mount.family.members)(shown), { links: linkItem(mount, request, item) })
}
