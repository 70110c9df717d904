import { makeItemWriter } from '../../values/json.js'
import type { Stored } from '../storage.js'

// What is longer is written anew each time: many of them would be more than the items.
const maxLength = 1000

/** Makes what it is given an instance, so that a class can put private fields on it. */
class Bearer {
  constructor (item: object) {
    return item as Bearer
  }
}

/**
 * The JSON of an item, kept with it where nobody else sees it: an item stays as it is until another takes its place,
 * and to write one takes longer than to find it. In a map by item it would cost as much to look up as to write.
 */
class KeptText extends Bearer {
  #members: readonly string[] | undefined
  #text = ''

  /** @param members the list itself, which a family has one of */
  static write (item: Stored, members: readonly string[], write: (item: Stored) => string): string {
    // What a host puts in the place of an item may be changed any time.
    if (!(#text in item)) return write(item)
    const kept = item as unknown as KeptText
    if (kept.#members === members) return kept.#text
    const text = write(item)
    if (text.length > maxLength) return text
    kept.#members = members
    kept.#text = text
    return text
  }
}

/** Makes room for the text of an item, which is frozen then. */
export function bearText<T extends object> (item: T): T {
  return new KeptText(item) as unknown as T
}

const seen = new WeakSet<readonly string[]>()

/** Writes items as JSON objects with these members, and keeps what it writes where the same list comes again. */
export function makeTextWriter (members: readonly string[]): (item: Stored) => string {
  const write = makeItemWriter(members)
  if (seen.has(members)) return item => KeptText.write(item, members, write)
  seen.add(members)
  return write
}
