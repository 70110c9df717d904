import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { errorCodes } from '../core/errors.js'
import type { Mount } from './mount.js'
import type { Retirement } from './retirement.js'
import { hasEnded, isRetiring, retire } from './retirement.js'
import { unifyPath } from './router.js'
import type { Endpoint, RouteSchema } from './routes.js'
import { findDifference } from './surroundings.js'

type Handler = Endpoint['handler']

/** What the families at one prefix share: the paths without a version, and whose each name on them is. */
export interface SharedPaths {
  /** Everything that stands on them. */
  readonly endpoints: Endpoint[]
  /** All that take part in them. */
  readonly mounts: ReadonlySet<Mount>
  /** Who takes the commands put under `/rest/commands`, by the singular of the family. */
  readonly commands: SharedNames<{ readonly mount: Mount, readonly put: Handler }>
  /** How those commands are described: every family adds its own. */
  readonly commandSchemas: { readonly bodies: TSchema[], readonly answers: TSchema[] }
  /** By the actions under `/command`. */
  readonly actions: SharedNames<Handler>
  /** By the names under `/query`. */
  readonly queries: SharedNames<Handler>
}

/** The same, with the scope that each mount has its own routes in. */
interface Place extends SharedPaths {
  readonly scopes: Map<Mount, FastifyInstance>
}

// By server and prefix, so that nothing of it shows on the host's instance.
const places = new WeakMap<object, Map<string, Place>>()

/** The names at the prefix that the plugin is registered under, shared with all others at it. */
export function joinSharedPaths (app: FastifyInstance, mount: Mount): SharedPaths {
  let prefixes = places.get(app.server)
  if (prefixes === undefined) places.set(app.server, prefixes = new Map())
  const path = unifyPath(app, mount.prefix)
  let here = prefixes.get(path)
  if (here === undefined) {
    const scopes = new Map<Mount, FastifyInstance>()
    here = {
      scopes,
      endpoints: [],
      get mounts () { return new Set(scopes.keys()) },
      commands: new SharedNames('/rest/commands', 'one route'),
      commandSchemas: { bodies: [], answers: [] },
      actions: new SharedNames('/command', 'a route each'),
      queries: new SharedNames('/query', 'a route each')
    }
    prefixes.set(path, here)
  }
  const place = here
  place.scopes.set(mount, app)
  // Only then all hooks are known.
  app.addHook('onReady', async () => { checkScopes(place, mount) })
  return place
}

/**
 * Refuses a mount that answers at a path in the scope of another, where a request would meet other hooks than at its
 * own paths: one that signs people in would be passed by.
 */
function checkScopes ({ scopes, commands, actions, queries }: Place, mount: Mount): void {
  for (const names of [commands, actions, queries]) {
    for (const holder of names.listHolders(mount)) {
      const difference = findDifference(scopes.get(mount) as FastifyInstance, scopes.get(holder) as FastifyInstance)
      if (difference === undefined) continue
      const { family, prefix } = mount
      throw new errorCodes.FST_DEALBOOK_SCOPE_TAKEN(family.name, prefix + names.path, holder.family.name, difference)
    }
  }
}

interface Claim<T> {
  readonly mount: Mount
  readonly value: T
}

/**
 * Names that each belong to one family, and of its mounts to the first, or to the one that asks for them. A mount that
 * has ended leaves them to the next.
 */
class SharedNames<T> {
  // The first of each is whose it is.
  readonly #claims = new Map<string, Claim<T>[]>()
  readonly #schemas = new Map<string, RouteSchema>()
  // Who claimed each of them first, and so has its route.
  readonly #holders = new Map<string, Mount>()

  constructor (readonly path: string, readonly routes: 'one route' | 'a route each') {}

  /**
   * Answers whether the name is new, so that its route is still to be made.
   *
   * @param schema how its route is described; that of whose the name becomes takes the place of the one before
   */
  claim (name: string, mount: Mount, value: T, schema: RouteSchema = {}): boolean {
    const claims = this.#claims.get(name) ?? []
    const owner = claims[0]?.mount
    const { name: family } = mount.family
    if (owner !== undefined && owner.family.name !== family) {
      throw new errorCodes.FST_DEALBOOK_NAME_TAKEN(family, name, owner.family.name)
    }
    if (owner?.unversioned === true && mount.unversioned) throw new errorCodes.FST_DEALBOOK_UNVERSIONED_TWICE(family)
    this.#claims.set(name, mount.unversioned ? [{ mount, value }, ...claims] : [...claims, { mount, value }])
    if (owner === undefined) {
      this.#schemas.set(name, schema)
      this.#holders.set(name, mount)
    } else if (mount.unversioned) Object.assign(this.#schemas.get(name) as RouteSchema, schema)
    return owner === undefined
  }

  /** Whose a name is when a request comes. */
  getOwner (name: string): T {
    return this.#getClaim(name).value
  }

  #getClaim (name: string): Claim<T> {
    const claims = this.#claims.get(name) as Claim<T>[]
    return claims.find(({ mount }) => !hasEnded(mount.retirement)) ?? claims[0] as Claim<T>
  }

  /** The names with whose they are. */
  listOwners (): [name: string, mount: Mount][] {
    return [...this.#claims].map(([name, claims]) => [name, (claims[0] as Claim<T>).mount])
  }

  /** Says that the name is to go, where everything that it stands for is; a problem where it has gone. */
  retire (name: string, reply: FastifyReply): void {
    const retirements = (this.#claims.get(name) as Claim<T>[]).map(({ mount }) => mount.retirement)
    if (!retirements.every(isRetiring)) return
    const endOf = ({ sunset }: Retirement) => sunset?.getTime() ?? Infinity
    retire(reply, retirements.reduce((last, each) => endOf(each) > endOf(last) ? each : last))
  }

  /** The mounts in whose scopes the routes are that another mount answers at. */
  listHolders (mount: Mount): Mount[] {
    const claimed = this.names.filter(name => this.#claims.get(name)?.some(claim => claim.mount === mount))
    const names = this.routes === 'one route' && claimed.length > 0 ? this.names.slice(0, 1) : claimed
    return [...new Set(names.map(name => this.#holders.get(name) as Mount))].filter(holder => holder !== mount)
  }

  get names (): string[] {
    return [...this.#claims.keys()]
  }
}

/** The endpoint under a shared name, answered by whose the name is; none where it was made before. */
export function shareEndpoint (
  names: SharedNames<Handler>,
  name: string,
  mount: Mount,
  endpoint: Endpoint
): Endpoint[] {
  if (!names.claim(name, mount, endpoint.handler, endpoint.schema)) return []
  return [{
    ...endpoint,
    isShared: true,
    before: reply => names.retire(name, reply),
    handler: async (request, reply) => await names.getOwner(name)(request, reply)
  }]
}
