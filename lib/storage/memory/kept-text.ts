import { makeListWriter, makePicker } from '../../values/json.js'
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
 * and to write one takes longer than to find it. A map by item would take longer, and keep what was replaced.
 */
class KeptText extends Bearer {
  #members: readonly string[] | undefined
  #text = ''

  /** @param members the list itself, which a family has one of */
  static read (item: Stored, members: readonly string[]): string | undefined {
    // What a host puts in the place of an item may be changed any time, and has none.
    return #text in item && item.#members === members ? item.#text : undefined
  }

  static keep (item: Stored, members: readonly string[], text: string): void {
    if (!(#text in item) || text.length > maxLength) return
    const bearer = item as unknown as KeptText
    bearer.#members = members
    bearer.#text = text
  }
}

/** Makes room for the text of an item, which is frozen then. */
export function bearText<T extends object> (item: T): T {
  return new KeptText(item) as unknown as T
}

const seen = new WeakSet<readonly string[]>()

/** Writes items as JSON objects with these members, and keeps what it writes where the same list comes again. */
export function makeKeepingWriter (members: readonly string[]): (items: readonly Stored[]) => string {
  if (!seen.has(members)) {
    seen.add(members)
    return makeListWriter(members)
  }
  const pick = makePicker(members)
  return items => items.map(item => KeptText.read(item, members) ?? write(item)).join()

  function write (item: Stored): string {
    const text = JSON.stringify(pick(item))
    KeptText.keep(item, members, text)
    return text
  }
}
