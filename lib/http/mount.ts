import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorCodes } from '../core/errors.js'
import type { Family } from '../core/family/family.js'
import type { Grammar } from '../core/query/grammar.js'
import type { Caller, Makers } from '../core/service/caller.js'
import type { Id, Stored } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import type { Representation } from '../representations/representation.js'
import type { Choice, Chooser } from './negotiate.js'
import type { Urls } from './request.js'
import { announceRetirement, type Endpoint, hasEnded, type Retirement } from './routes.js'

/** One registration of a family in an application: everything that its requests need. */
export interface Mount {
  readonly family: Family
  readonly prefix: string
  readonly version: string | undefined
  /** The families at the same prefix, itself among them. */
  readonly neighbours: Neighbours
  /** The storage, or the function that chooses one: families with the same are in one storage. */
  readonly storage: unknown
  /** The path of the collection after the prefix. */
  readonly home: string
  readonly urls: Urls
  readonly grammar: Grammar
  readonly logGrammar: Grammar
  readonly representations: readonly Representation[]
  readonly chooser: Chooser
  readonly emptyList: 'page' | 'not-found'
  /** Milliseconds that an export, or a large page, waits for a client that takes nothing. */
  readonly exportTimeout: number
  readonly preconditions: 'optional' | 'required'
  /** The names of the forms of its operations. */
  readonly forms: ReadonlySet<string>
  /** The schemas that descriptions of its routes refer to, by their ids; the descriptions put them there. */
  readonly schemas: Map<string, TSchema>
  readonly trustedOrigins: readonly string[]
  /** Whether it asks for the paths without a version; false where it leaves them to others. */
  readonly unversioned: boolean | undefined
  readonly retirement: Retirement
  /** Whether it has an `authorize`, so that pages differ by their reader. */
  readonly isGuarded: boolean
  readonly makers: Makers
  /** Who reads and writes by a request. */
  caller (request: FastifyRequest): Caller
}

/** A request under way, and the representation to answer it in. */
export interface Exchange {
  readonly mount: Mount
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly choice: Choice
  /** The suffix of the path that chose the representation. */
  readonly suffix?: string | undefined
}

/** Something that belongs to a mount. */
type Owned<T> = T & { readonly mount: Mount }

/** The families that are registered in one scope at one prefix, and what they share. */
export class Neighbours {
  readonly mounts: Mount[] = []
  /** All that can be asked for here. */
  readonly endpoints: Owned<{ readonly endpoint: Endpoint }>[] = []
  /** Whether there is anything at the prefix itself. */
  hasHome = false
  /** The families whose commands are put under `/rest/commands`, by their singulars. */
  readonly commands = new Map<string, Owned<{ readonly put: Endpoint['handler'] }>>()
  /** How those commands are described: every family adds its own. */
  readonly commandSchemas = { bodies: [] as TSchema[], answers: [] as TSchema[] }
  readonly #unversioned = new Map<string, Owned<{ endpoint: Endpoint }>>()

  /** The mount of a family beside another one: of the same version, where there is one. */
  find (family: string, beside: Mount): Mount | undefined {
    const mounts = this.mounts.filter(mount => mount.family.name === family)
    return mounts.find(({ version }) => version === beside.version) ?? mounts[0]
  }

  /** All but those that have ended. */
  list (): Mount[] {
    return this.mounts.filter(({ retirement }) => !hasEnded(retirement))
  }

  /** Adds a family to those under `/rest/commands`. Returns whether no version of it was there. */
  addCommands (mount: Mount, put: Endpoint['handler']): boolean {
    const { singular } = mount.family
    const before = this.commands.get(singular)?.mount
    if (takesOver(mount, before, `/rest/commands with "${singular}"`)) this.commands.set(singular, { mount, put })
    return before === undefined
  }

  /**
   * What a mount has to declare of an endpoint that has no version in its path: nothing where another version of the
   * family has declared it, whether that one keeps it or not.
   */
  addUnversioned (mount: Mount, endpoint: Endpoint): Endpoint[] {
    const key = `${endpoint.method} ${endpoint.path}`
    const before = this.#unversioned.get(key)
    if (!takesOver(mount, before?.mount, endpoint.path)) return []
    const owned = { mount, endpoint: announceRetirement(endpoint, mount.retirement) }
    this.#unversioned.set(key, owned)
    if (before !== undefined) {
      Object.assign(before.endpoint.schema, { deprecated: false }, owned.endpoint.schema)
      return []
    }
    const get = (): Endpoint => (this.#unversioned.get(key) as typeof owned).endpoint
    return [{
      ...owned.endpoint,
      before: reply => get().before?.(reply),
      handler: (request, reply) => get().handler(request, reply)
    }]
  }
}

/** Of several versions of a family, the first has the paths without a version, or the one that asks for them. */
function takesOver (mount: Mount, before: Mount | undefined, path: string): boolean {
  if (before === undefined) return true
  const { name } = mount.family
  if (before.family.name !== name) throw new errorCodes.FST_DEALBOOK_NAME_TAKEN(name, path, before.family.name)
  if (before.unversioned === true && mount.unversioned === true) {
    throw new errorCodes.FST_DEALBOOK_UNVERSIONED_TWICE(name)
  }
  return mount.unversioned === true
}

// By scope and prefix. In one scope all have the same hooks, so that a route of one may answer for another.
const places = new WeakMap<FastifyInstance, Map<string, Neighbours>>()

/** The families that are registered in a scope at a prefix. */
export function findNeighbours (scope: FastifyInstance, prefix: string): Neighbours {
  const prefixes = places.get(scope) ?? new Map<string, Neighbours>()
  const here = prefixes.get(prefix) ?? new Neighbours()
  places.set(scope, prefixes.set(prefix, here))
  return here
}

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
