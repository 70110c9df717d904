/** Random numbers that depend on the seed alone. */
export class Random {
  #state: number

  constructor (seed: number, name = '') {
    this.#state = [...name].reduce((hash, letter) => mix(hash ^ letter.charCodeAt(0)), mix(seed + 0x9e3779b9))
  }

  /** From 0 up to 1. */
  next (): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    return mix(this.#state) / 2 ** 32
  }

  /** From 0 to below the limit. */
  int (limit: number): number {
    return Math.floor(this.next() * limit)
  }

  between (low: number, high: number): number {
    return low + this.int(high - low + 1)
  }

  chance (probability: number): boolean {
    return probability > 0 && this.next() < probability
  }

  pick<T> (list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }

  hex (digits: number): string {
    let text = ''
    while (text.length < digits) text += this.int(0x10000).toString(16).padStart(4, '0')
    return text.slice(0, digits)
  }
}

/** The finalizer of a well-known hash of integers: every bit of the result depends on every bit given. */
function mix (value: number): number {
  let hash = value | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
