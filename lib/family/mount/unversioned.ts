import type { FastifyInstance, FastifyReply } from 'fastify'
import { hasEnded, isRetiring, retire } from '../../http/retirement.js'
import type { Retirement } from '../../http/retirement.js'
import type { Endpoint } from '../../http/routes.js'
import type { SharedSchemas } from '../openapi/writes.js'
import type { Mount } from './mount.js'

type Handler = Endpoint['handler']

/** What the families at one prefix share: the paths without a version, and whose each name on them is. */
export interface Unversioned {
  /** Who takes the commands put under `/rest/commands`, by the singular of the family. */
  readonly commands: Names<{ readonly mount: Mount, readonly put: Handler }>
  /** How those commands are described. */
  readonly schemas: SharedSchemas
  /** By the actions under `/command`. */
  readonly actions: Names<Handler>
  /** By the results under `/query`. */
  readonly results: Names<Handler>
}

// By server and prefix, so that nothing of it shows on the host's instance.
const places = new WeakMap<object, Map<string, Unversioned & { readonly parent: object }>>()

/** The names at the prefix that the plugin is registered under, shared with those registered beside it. */
export function joinUnversioned (app: FastifyInstance, prefix: string, family: string): Unversioned {
  let prefixes = places.get(app.server)
  if (prefixes === undefined) places.set(app.server, prefixes = new Map())
  // A scope's prototype is the scope it was made in, whose hooks guard these paths for all who share them.
  const parent = Object.getPrototypeOf(app) as object
  let here = prefixes.get(prefix)
  if (here === undefined) prefixes.set(prefix, here = { parent, commands: new Names(), schemas: { bodies: [], answers: [] }, actions: new Names(), results: new Names() })
  if (here.parent !== parent) {
    throw new Error(`fastify-dealbook, ${family}: another scope has /rest/commands, /command and /query at "${prefix || '/'}" already; ` +
      'register the families of one prefix in one scope, or choose another prefix')
  }
  return here
}

interface Claim<T> {
  readonly mount: Mount
  readonly value: T
}

/**
 * Names that each belong to one family, and of its mounts to the first, or to the one that asks for them. A mount that has
 * ended leaves them to the next.
 */
export class Names<T> {
  // The first of each is whose it is.
  readonly #claims = new Map<string, Claim<T>[]>()

  /** Answers whether the name is new, so that its route is still to be made. */
  claim (name: string, mount: Mount, value: T): boolean {
    const claims = this.#claims.get(name) ?? []
    const owner = claims[0]?.mount
    if (owner !== undefined && owner.family.name !== mount.family.name) {
      throw new Error(`fastify-dealbook, ${mount.family.name}: the name "${name}" belongs to ${owner.family.name} at the same prefix`)
    }
    if (owner?.unversioned === true && mount.unversioned) {
      throw new Error(`fastify-dealbook, ${mount.family.name}: two mounts at one prefix have the option "unversioned"`)
    }
    this.#claims.set(name, mount.unversioned ? [{ mount, value }, ...claims] : [...claims, { mount, value }])
    return owner === undefined
  }

  /** Whose a name is when a request comes. */
  owner (name: string): T {
    const claims = this.#claims.get(name) as Claim<T>[]
    return (claims.find(({ mount }) => !hasEnded(mount.retirement)) ?? claims[0] as Claim<T>).value
  }

  /** Says that the name is to go, where everything that it stands for is; a problem where it has gone. */
  retire (name: string, reply: FastifyReply): void {
    const retirements = (this.#claims.get(name) as Claim<T>[]).map(({ mount }) => mount.retirement)
    if (!retirements.every(isRetiring)) return
    const end = ({ sunset }: Retirement) => sunset?.getTime() ?? Infinity
    retire(reply, retirements.reduce((last, each) => end(each) > end(last) ? each : last))
  }

  get known (): string[] {
    return [...this.#claims.keys()]
  }
}
