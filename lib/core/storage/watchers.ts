/** Functions to call after commits. */
export class Watchers {
  readonly #wakes = new Set<() => void>()

  /** Returns a function that removes it. */
  add (wake: () => void): () => void {
    // Another function each time, so that adding one twice is not adding it once.
    const own = (): void => { wake() }
    this.#wakes.add(own)
    return () => { this.#wakes.delete(own) }
  }

  get isEmpty (): boolean {
    return this.#wakes.size === 0
  }

  notify (): void {
    for (const wake of this.#wakes) wake()
  }
}
