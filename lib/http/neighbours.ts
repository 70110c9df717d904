import type { FastifyInstance } from 'fastify'
import type { Mount } from './mount.js'
import { hasEnded } from './retirement.js'
import { unifyPath } from './router.js'
import { findDifference } from './surroundings.js'

/** The families that are mounted at one prefix, where each finds the others. */
export class Neighbours {
  readonly #scopes = new Map<Mount, FastifyInstance>()
  /** Whether there is anything at the prefix itself; undefined before anybody has looked. */
  hasHome: boolean | undefined
  /** What was found, by who asked. */
  readonly #found = new WeakMap<Mount, Map<string, Mount | undefined>>()

  add (mount: Mount, scope: FastifyInstance): void {
    this.#scopes.set(mount, scope)
  }

  /**
   * The mount of a family beside another mount: of the same version, where there is one. Undefined where there is none,
   * or where a request to it would meet other hooks, which may be what guards it. To be asked once the host is ready.
   */
  find (family: string, beside: Mount): Mount | undefined {
    let found = this.#found.get(beside)
    if (found === undefined) this.#found.set(beside, found = new Map<string, Mount | undefined>())
    if (!found.has(family)) found.set(family, this.#search(family, beside))
    return found.get(family)
  }

  /** All of them that a request of this mount may be told of, itself among them, but for those that have ended. */
  list (beside: Mount): Mount[] {
    return [...this.#scopes.keys()]
      .filter(mount => !hasEnded(mount.retirement) && (mount === beside || this.#isAlike(mount, beside)))
  }

  #search (family: string, beside: Mount): Mount | undefined {
    const mounts = [...this.#scopes.keys()].filter(mount => mount.family.name === family)
    const found = mounts.find(({ version }) => version === beside.version) ?? mounts[0]
    return found !== undefined && this.#isAlike(found, beside) ? found : undefined
  }

  #isAlike (one: Mount, other: Mount): boolean {
    const [scope, otherScope] = [this.#scopes.get(one), this.#scopes.get(other)]
    return scope !== undefined && otherScope !== undefined && findDifference(scope, otherScope) === undefined
  }
}

// By server and prefix, so that nothing of it shows on the host's instance.
const places = new WeakMap<object, Map<string, Neighbours>>()

/** Those at the prefix that a plugin is registered under. */
export function findNeighbours (app: FastifyInstance, prefix: string): Neighbours {
  let prefixes = places.get(app.server)
  if (prefixes === undefined) places.set(app.server, prefixes = new Map<string, Neighbours>())
  const path = unifyPath(app, prefix)
  let here = prefixes.get(path)
  if (here === undefined) prefixes.set(path, here = new Neighbours())
  return here
}
