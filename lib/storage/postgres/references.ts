import type { Write } from './writer.js'

/**
 * The items that the commits of a batch refer to, make or delete. All parts of a statement see the data as it was when
 * it began, so no commit may refer to what another one in it makes or deletes.
 */
export class References {
  readonly #used = new Set<string>()
  readonly #changed = new Set<string>()

  /** Adds what a commit needs; answers whether it goes with those before it. */
  add (writes: readonly Write[]): boolean {
    let isFree = true
    for (const { key, uses, isReferred } of writes) {
      if (uses.some(used => this.#changed.has(used)) || (isReferred && this.#used.has(key))) isFree = false
    }
    for (const { key, uses, isReferred } of writes) {
      for (const used of uses) this.#used.add(used)
      if (isReferred) this.#changed.add(key)
    }
    return isFree
  }
}
