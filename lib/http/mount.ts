import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Book } from '../core/book/book.js'
import type { FamilyModel } from '../core/book/describe.js'
import { errorCodes } from '../core/errors.js'
import type { AnyFamily, Family } from '../core/family/family.js'
import type { Grammar } from '../core/query/grammar.js'
import type { Caller, Makers } from '../core/service/caller.js'
import type { Command } from '../core/service/decide.js'
import type { Outcome } from '../core/service/execute.js'
import { readTarget } from '../core/service/record.js'
import type { Called } from '../core/service/renamed.js'
import type { Id, Stored } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import type { Representation } from '../representations/representation.js'
import type { FamilyMount, RouteModel } from '../representations/target.js'
import type { Choice, Chooser } from './negotiate.js'
import type { Urls } from './request.js'
import { announceRetirement, type Endpoint, hasEnded, type Retirement } from './routes.js'

/** The feed, as mounts have it. */
export interface FeedPart {
  /** `GET …/commands`: what happened to all items of a family. */
  familyEndpoints (mount: Mount): Endpoint[]
  /** `GET /rest/commands`: what happened to the items of all families at the prefix. */
  sharedEndpoints (mount: Mount): Endpoint[]
  /** `GET …/commands/deleted`: what is deleted now. */
  deletedEndpoints (mount: Mount): Endpoint[]
  /** Whether the log of an item is asked for as a feed. */
  isAsked (request: FastifyRequest): boolean
  answer (
    scope: { readonly mount: Mount, readonly mounts: readonly Mount[], readonly id?: Id },
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply>
}

/** Many commands in one request, as mounts have them. */
export interface ManyPart {
  /** `POST /rest/commands`; the first mount at a prefix declares it. */
  endpoint (mount: Mount): Endpoint
  /** Reads one of them that is for this mount. */
  compileReader (mount: Mount): (sent: Members) => Command
}

/** What is put together with a mount: requests about single items need none of it. */
export interface MountParts {
  /** The book of a mount, for the caller of a request. */
  openBook (mount: Mount, request: FastifyRequest): Book
  /** What a mount says about its family. */
  describe (family: Family, grammar: Grammar): FamilyModel
  readonly feed: FeedPart
  readonly many: ManyPart
}

/** One registration of a family in an application: everything that its requests need. */
export interface Mount {
  readonly family: Family
  /** As the host registered it. */
  readonly plugin: AnyFamily
  readonly options: object
  readonly parts: MountParts
  readonly prefix: string
  readonly version: string | undefined
  /** The families at the same prefix, including this one. */
  readonly neighbours: Neighbours
  /** The storage, or the function that chooses one. Families with the same value share a storage. */
  readonly storage: unknown
  /** The path of the collection after the prefix. */
  readonly home: string
  readonly urls: Urls
  readonly grammar: Grammar
  readonly logGrammar: Grammar
  readonly feedGrammar: Grammar
  readonly deletedGrammar: Grammar
  readonly streams: Streams
  readonly representations: readonly Representation[]
  readonly chooser: Chooser
  readonly emptyList: 'page' | 'not-found'
  /** Milliseconds that an export or a large page waits for a client that does not read. */
  readonly exportTimeout: number
  readonly preconditions: 'optional' | 'required'
  readonly maxCommands: number | undefined
  readonly forms: ReadonlySet<string>
  /** The first of them. */
  readonly recommendedForm: string | undefined
  /** The routes that it declared, for documents. */
  readonly routes: RouteModel[]
  readonly trustedOrigins: readonly string[]
  /** Whether it claims the paths without a version; false if it leaves them to other mounts. */
  readonly unversioned: boolean | undefined
  readonly retirement: Retirement
  /** Whether it has `authorize`, so that pages depend on the reader. */
  readonly isGuarded: boolean
  readonly makers: Makers
  /** @param needed the family that a rule is written for, whose fields are read too */
  caller (request: FastifyRequest, needed?: Family): Caller
  /** The same mount of the family as a caller sees it: with its grammars, and what follows from them. */
  as (family: Family): Mount
  /** The family as the caller of a request may use it. */
  book (request: FastifyRequest): Book
  /** The same for hosts and representations. */
  readonly shown: FamilyMount
}

const mounts = new WeakMap<FamilyMount, Mount>()

export function keepMount (shown: FamilyMount, mount: Mount): FamilyMount {
  mounts.set(shown, mount)
  return shown
}

/** That of a target. */
export function mountOf (shown: FamilyMount): Mount {
  return mounts.get(shown) as Mount
}

/** What a request reads and writes a family by. */
export function callOf ({ family, caller }: Mount, request: FastifyRequest): Called {
  return { family, caller: caller(request) }
}

/** Logs the outcome, without what was sent. */
export function logOutcome (
  { mount: { family }, request }: Pick<Exchange, 'mount' | 'request'>,
  { record, item, replayed }: Outcome
): void {
  const { action, outcome, revision } = record
  const id = item?.id ?? readTarget(family, record)
  const logged = { family: family.name, action, id, outcome, revision }
  request.log.info(replayed ? { ...logged, replayed } : logged, 'command')
}

/** Functions that end the event streams and waiting pages of clients, when the application closes. */
export class Streams {
  readonly #ends = new Set<() => void>()
  #isClosed = false

  add (end: () => void): void {
    if (this.#isClosed) end()
    else this.#ends.add(end)
  }

  delete (end: () => void): void {
    this.#ends.delete(end)
  }

  close (): void {
    this.#isClosed = true
    for (const end of this.#ends) end()
  }
}

/** A request in progress, with the representation of its response. */
export interface Exchange {
  readonly mount: Mount
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly choice: Choice
  /** The path suffix that chose the representation. */
  readonly suffix?: string | undefined
}

type Owned<T> = T & { readonly mount: Mount }

/** The families that are registered in one scope at one prefix, and their shared routes. */
export class Neighbours {
  readonly mounts: Mount[] = []
  readonly endpoints: Owned<{ readonly endpoint: Endpoint }>[] = []
  /** Whether the prefix itself has a route. */
  hasHome = false
  /** The families under `/rest/commands`, by their singulars: to read one of many commands, and to run one alone. */
  readonly commands = new Map<string, Owned<{ read (sent: Members): Command }>>()
  /** Only those with operations. */
  readonly puts = new Map<string, Owned<{ readonly put: Endpoint['handler'] }>>()
  /** The actions under `/command`, and the mounts that answer. */
  readonly actions = new Map<string, Mount>()
  readonly #unversioned = new Map<string, Owned<{ endpoint: Endpoint }>>()

  /** Prefers the same version, then the one of the paths without a version, and one that has not ended. */
  find (family: string, beside: Mount): Mount | undefined {
    const mounts = this.mounts.filter(mount => mount.family.name === family)
    const same = mounts.find(({ version }) => version === beside.version)
    if (same !== undefined || mounts.length <= 1) return same ?? mounts[0]
    const current = mounts.filter(({ retirement }) => !hasEnded(retirement))
    return current.find(({ unversioned }) => unversioned === true) ?? current[0] ?? mounts[0]
  }

  list (): Mount[] {
    return this.mounts.filter(({ retirement }) => !hasEnded(retirement))
  }

  addCommands<T> (mount: Mount, known: Map<string, Owned<T>>, value: T): void {
    const { singular } = mount.family
    if (takesOver(mount, known.get(singular)?.mount, `/rest/commands with "${singular}"`)) {
      known.set(singular, { mount, ...value })
    }
  }

  /** Empty if another version of the family has already declared the route, which then calls its current owner. */
  addUnversioned (mount: Mount, endpoint: Endpoint): Endpoint[] {
    const key = `${endpoint.method} ${endpoint.path}`
    const before = this.#unversioned.get(key)
    if (!takesOver(mount, before?.mount, endpoint.path)) return []
    const owned = { mount, endpoint: announceRetirement(endpoint, mount.retirement) }
    this.#unversioned.set(key, owned)
    if (before !== undefined) return []
    const get = () => this.#unversioned.get(key) as typeof owned
    const { documented } = endpoint
    return [{
      ...owned.endpoint,
      ...(documented && { documented: { ...documented, targets: () => [{ mount: get().mount.shown }] } }),
      before: reply => get().endpoint.before?.(reply),
      handler: (request, reply) => get().endpoint.handler(request, reply)
    }]
  }
}

/** The first version has the paths without a version, unless another one asks for them. */
function takesOver (mount: Mount, before: Mount | undefined, path: string): boolean {
  if (before === undefined) return true
  const { name } = mount.family
  if (before.family.name !== name) throw new errorCodes.FST_DEALBOOK_NAME_TAKEN(name, path, before.family.name)
  if (before.unversioned === true && mount.unversioned === true) {
    throw new errorCodes.FST_DEALBOOK_UNVERSIONED_TWICE(name)
  }
  return mount.unversioned === true
}

// By scope and prefix. A scope shares its hooks, so that a route of one family may answer for another.
const neighboursByScope = new WeakMap<FastifyInstance, Map<string, Neighbours>>()

export function findNeighbours (scope: FastifyInstance, prefix: string): Neighbours {
  const prefixes = neighboursByScope.get(scope) ?? new Map<string, Neighbours>()
  const here = prefixes.get(prefix) ?? new Neighbours()
  neighboursByScope.set(scope, prefixes.set(prefix, here))
  return here
}

/** Those of a scope or, if it has none, of the nearest one around it. */
export function listMounts (scope: FastifyInstance): Mount[] {
  for (let each = scope; typeof each === 'object' && each !== null; each = Object.getPrototypeOf(each)) {
    const mounts = [...neighboursByScope.get(each)?.values() ?? []].flatMap(({ mounts }) => mounts)
    if (mounts.length > 0) return mounts
  }
  return []
}

export interface ItemLinks extends Readonly<Record<string, string>> {
  readonly self: string
  readonly collection: string
}

export function linkItem (mount: Mount, request: FastifyRequest, item: Stored): ItemLinks {
  const { family: { writable, references }, urls } = mount
  const self = urls.item(request, item.id)
  const collection = urls.collection(request)
  const links = writable
    ? { self, collection, log: `${self}/commands`, operations: `${self}/operations` }
    : { self, collection }
  return references.size === 0 ? links : { ...linkReferred(mount, request, item), ...links }
}

export function linkReferred (
  mount: Mount,
  request: FastifyRequest,
  item: Stored,
  isLinked: (there: Mount) => boolean = () => true
): Readonly<Record<string, string>> {
  const { family, neighbours } = mount
  return Object.fromEntries([...family.references].flatMap(([field, { name }]) => {
    const id = item[field] as Id | null | undefined
    const there = id === undefined || id === null ? undefined : neighbours.find(name, mount)
    return there === undefined || !isLinked(there) ? [] : [[field, there.urls.item(request, id as Id)]]
  }))
}

type ShownItem = Members & { readonly links: ItemLinks }

/** The same in every response. `shown` is the item with others expanded in it. */
export function showItem (mount: Mount, request: FastifyRequest, item: Stored, shown: Members = item): ShownItem {
  const document: Record<string, unknown> = {}
  for (const member of mount.family.members) {
    const value = shown[member]
    if (value !== undefined) document[member] = value
  }
  document.links = linkItem(mount, request, item)
  return document as ShownItem
}
