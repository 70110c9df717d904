/** Keeps what was used last, up to a size in all; what falls out is made again when it is asked for. */
export class BoundedCache<Value> {
  readonly #entries = new Map<string, Value>()
  #newest: string | undefined
  #weight = 0
  #heaviest = 0
  readonly #maxSize: number
  readonly #maxKeyLength: number
  readonly #weigh: (value: Value) => number

  /**
   * @param maxKeyLength longer keys are not kept: nobody repeats them but to fill the memory
   * @param weigh what a value counts, always the same for one; without it each counts 1
   */
  constructor (maxSize: number, maxKeyLength = Infinity, weigh: (value: Value) => number = () => 1) {
    this.#maxSize = maxSize
    this.#maxKeyLength = maxKeyLength
    this.#weigh = weigh
  }

  get (key: string, make: (key: string) => Value): Value {
    const kept = this.#entries.get(key)
    if (kept !== undefined || this.#entries.has(key)) {
      // As long as nothing falls out, the order need not be kept.
      if (key === this.#newest || this.#weight + this.#heaviest <= this.#maxSize) return kept as Value
      // A Map is in the order of insertion: putting it in again makes it the youngest.
      this.#entries.delete(key)
      this.#entries.set(key, kept as Value)
      this.#newest = key
      return kept as Value
    }
    const made = make(key)
    const weight = this.#weigh(made)
    if (key.length > this.#maxKeyLength || weight > this.#maxSize) return made
    while (this.#weight + weight > this.#maxSize) this.#dropOldest()
    this.#entries.set(key, made)
    this.#newest = key
    this.#weight += weight
    this.#heaviest = Math.max(this.#heaviest, weight)
    return made
  }

  #dropOldest (): void {
    const [key, value] = this.#entries.entries().next().value as [string, Value]
    this.#entries.delete(key)
    this.#weight -= this.#weigh(value)
  }

  get size (): number {
    return this.#entries.size
  }

  /** What all that is kept counts. */
  get weight (): number {
    return this.#weight
  }
}
