/** Keeps the values used last, at most `maxSize` of them. */
export class BoundedCache<Value> {
  readonly #entries = new Map<string, Value>()
  /** @param maxKeyLength longer keys are not cached: only attackers repeat them */
  constructor (readonly maxSize: number, readonly maxKeyLength = Infinity) {}

  get (key: string, make: (key: string) => Value): Value {
    const kept = this.#entries.get(key)
    if (kept !== undefined || this.#entries.has(key)) {
      // Until it is full, nothing is dropped and the order does not matter.
      if (this.#entries.size === this.maxSize) {
        // A Map keeps the order of insertion: inserting it again makes it the newest.
        this.#entries.delete(key)
        this.#entries.set(key, kept as Value)
      }
      return kept as Value
    }
    const made = make(key)
    if (key.length > this.maxKeyLength) return made
    if (this.#entries.size === this.maxSize) this.#entries.delete(this.#entries.keys().next().value as string)
    this.#entries.set(key, made)
    return made
  }

  get size (): number {
    return this.#entries.size
  }
}
