import type { FastifyRequest } from 'fastify'
import type { Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { makePicker } from '../values/json.js'
import type { Mount } from './mount.js'

/** Where an item leads: to itself, to the others, to what was done with it and to what can be. */
export interface ItemLinks extends Readonly<Record<string, string>> {
  readonly self: string
  readonly collection: string
}

/** The links of an item. */
export function linkItem ({ family, urls }: Mount, request: FastifyRequest, { id }: Stored): ItemLinks {
  const self = urls.item(request, id)
  const collection = urls.collection(request)
  if (!family.writable) return { self, collection }
  return { self, collection, log: `${self}/commands`, operations: `${self}/operations` }
}

/** An item as it is shown by itself, the same in every answer. @param shown the item with others in it */
export function showItem (mount: Mount, request: FastifyRequest, item: Stored, shown: Members = item): Members {
  return Object.assign(makePicker(mount.family.members)(shown), { links: linkItem(mount, request, item) })
}
