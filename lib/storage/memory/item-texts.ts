import { makeItemWriter } from '../../values/json.js'
import type { Stored } from '../storage.js'

const maxTexts = 100_000
// What is longer is written anew each time: many of them would be more than the items.
const maxLength = 1000

/**
 * Writes items as JSON objects with some of their members, and keeps what was written: an item stays as it is until
 * another takes its place, and to write one takes longer than to find it.
 */
export class ItemTexts {
  readonly #kept = new Map<Stored, string>()
  readonly #write: (item: Stored) => string

  constructor (members: readonly string[]) {
    this.#write = makeItemWriter(members)
  }

  /** How many are kept. */
  get size (): number {
    return this.#kept.size
  }

  readonly write = (item: Stored): string => {
    const kept = this.#kept.get(item)
    if (kept !== undefined) return kept
    const text = this.#write(item)
    // What a host puts in the place of an item may be changed any time.
    if (text.length > maxLength || !Object.isFrozen(item)) return text
    if (this.#kept.size >= maxTexts) this.#kept.clear()
    this.#kept.set(item, text)
    return text
  }
}
