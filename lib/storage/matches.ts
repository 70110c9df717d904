import { compareScalars } from './compare.js'
import type { Order, Scalar, Stored } from './storage.js'

/**
 * The first so many matches in the wanted order, without keeping the others. Where no order is given they come in it
 * already.
 */
export class Matches {
  total = 0
  #kept: Stored[] = []
  readonly #compare: ((a: Stored, b: Stored) => number) | undefined
  readonly #wanted: number

  constructor (order: readonly Order[], wanted: number) {
    this.#compare = order.length === 0 ? undefined : comparator(order)
    this.#wanted = wanted
  }

  /** Answers whether no further match can be among the first. */
  add (item: Stored): boolean {
    this.total++
    if (this.#compare === undefined) {
      if (this.#kept.length < this.#wanted) this.#kept.push(item)
      return this.#kept.length >= this.#wanted
    }
    this.#kept.push(item)
    if (this.#kept.length >= 2 * this.#wanted + 1000) this.#kept = this.first()
    return false
  }

  first (): Stored[] {
    return this.#compare === undefined ? this.#kept : this.#kept.sort(this.#compare).slice(0, this.#wanted)
  }
}

function comparator (order: readonly Order[]): (a: Stored, b: Stored) => number {
  return (a, b) => {
    for (const { field, descending } of order) {
      const result = compareValues(a[field] as Scalar | undefined, b[field] as Scalar | undefined)
      if (result !== 0) return descending ? -result : result
    }
    return 0
  }
}

function compareValues (a: Scalar | undefined, b: Scalar | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1
  return compareScalars(a, b)
}
