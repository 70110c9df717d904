import type { FastifyRequest } from 'fastify'
import type { Id, Stored } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import type { Mount } from './mount.js'

/** Where an item leads: to itself, to the others, to what was done with it and can be, and to what it refers to. */
export interface ItemLinks extends Readonly<Record<string, string>> {
  readonly self: string
  readonly collection: string
}

/** The links of an item; those to what it refers to where that is mounted beside it. */
export function linkItem (mount: Mount, request: FastifyRequest, item: Stored): ItemLinks {
  const { family: { writable, references }, urls } = mount
  const self = urls.item(request, item.id)
  const collection = urls.collection(request)
  const links = writable
    ? { self, collection, log: `${self}/commands`, operations: `${self}/operations` }
    : { self, collection }
  return references.size === 0 ? links : { ...linkReferred(mount, request, item), ...links }
}

/** Where the items are that an item refers to, by its fields, as far as their families are at the same prefix. */
export function linkReferred (mount: Mount, request: FastifyRequest, item: Stored): Readonly<Record<string, string>> {
  const { family, neighbours } = mount
  return Object.fromEntries([...family.references].flatMap(([field, { name }]) => {
    const id = item[field] as Id | null | undefined
    const there = id === undefined || id === null ? undefined : neighbours.find(name, mount)
    return there === undefined ? [] : [[field, there.urls.item(request, id as Id)]]
  }))
}

/** The members of an item, with its links. */
type ShownItem = Members & { readonly links: ItemLinks }

/** An item as it is shown by itself, the same in every answer. @param shown the item with others in it */
export function showItem (mount: Mount, request: FastifyRequest, item: Stored, shown: Members = item): ShownItem {
  const document: Record<string, unknown> = {}
  for (const member of mount.family.members) {
    const value = shown[member]
    if (value !== undefined) document[member] = value
  }
  document.links = linkItem(mount, request, item)
  return document as ShownItem
}
