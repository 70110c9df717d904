/** Keeps the values used last; what falls out is made again when it is asked for. */
export class Bounded<Value> {
  readonly #kept = new Map<string, Value>()
  readonly #atMost: number

  constructor (atMost: number) {
    this.#atMost = atMost
  }

  get (key: string, make: () => Value): Value {
    let value = this.#kept.get(key)
    if (value === undefined) {
      value = make()
      if (this.#kept.size >= this.#atMost) {
        // A Map is in order of insertion, so its first half is what was made longest ago.
        let surplus = this.#atMost >> 1
        for (const old of this.#kept.keys()) {
          if (surplus-- === 0) break
          this.#kept.delete(old)
        }
      }
      this.#kept.set(key, value)
    }
    return value
  }

  get size (): number {
    return this.#kept.size
  }
}
