import { compareScalars, isAbsent } from '../../core/storage/compare.js'
import type { Id, Stored } from '../../core/storage/storage.js'

// Up to so many insertions and deletions, moving what comes after each is cheaper than sorting the whole array.
const fewEdits = 8

/** The items of a family: in one array, ordered by id, and in maps by id and by the values that must be found fast. */
export class MemoryItems {
  #items: Stored[] = []
  readonly #byId = new Map<Id, Stored>()
  /** By the names of the fields. */
  readonly #keys = new Map<string, KeyMap>()
  #readers = 0

  /** All, ordered by id. */
  get items (): readonly Stored[] {
    return this.#items
  }

  get (id: Id): Stored | undefined {
    return this.#byId.get(id)
  }

  /** Makes items findable by the values of these fields. */
  addKey (fields: readonly string[]): void {
    const name = fields.join()
    if (this.#keys.has(name)) return
    const key = new KeyMap(fields)
    for (const item of this.#items) key.add(item)
    this.#keys.set(name, key)
  }

  /** The items that have these values in the fields of a key. */
  findEqual (values: Readonly<Record<string, unknown>>): Iterable<Stored> {
    const key = this.#keys.get(Object.keys(values).join()) as KeyMap
    return key.find(values).map(id => this.get(id) as Stored)
  }

  /** Runs a search that may pause. Until it ends, changes are made to a copy, so that it sees one state throughout. */
  async read<Result> (search: (items: readonly Stored[]) => Promise<Result>): Promise<Result> {
    const items = this.#items
    this.#readers++
    try {
      return await search(items)
    } finally {
      if (items === this.#items) this.#readers--
    }
  }

  /** Replaces what has these ids, or removes it where there is `undefined`. */
  apply (edits: ReadonlyMap<Id, Stored | undefined>): void {
    if (this.#readers > 0) {
      this.#items = this.#items.slice()
      this.#readers = 0
    }
    const moving = new Map<Id, Stored | undefined>()
    for (const [id, item] of edits) if (!this.#put(id, item)) moving.set(id, item)
    if (moving.size <= fewEdits) {
      for (const [id, item] of moving) this.#move(id, item)
    } else {
      const added = [...moving.values()].filter(item => item !== undefined)
      this.#items = this.#items.filter(({ id }) => !moving.has(id)).concat(added).sort(compareIds)
    }
  }

  /** Returns whether the array needs nothing to be moved for it. */
  #put (id: Id, item: Stored | undefined): boolean {
    const before = this.#byId.get(id)
    for (const key of this.#keys.values()) key.replace(before, item)
    if (item === undefined) return !this.#byId.delete(id)
    this.#byId.set(id, item)
    const items = this.#items
    const last = items.at(-1)
    if (last === undefined || compareScalars(last.id, id) < 0) items.push(item)
    else if (before !== undefined) items[countBelow(items, id)] = item
    else return false
    return true
  }

  #move (id: Id, item: Stored | undefined): void {
    const at = countBelow(this.#items, id)
    if (item === undefined) this.#items.splice(at, 1)
    else this.#items.splice(at, 0, item)
  }
}

/** The ids of items by the values of some fields; an item that has nothing in one of them is in none. */
class KeyMap {
  readonly #ids = new Map<string, Set<Id>>()

  constructor (readonly fields: readonly string[]) {}

  find (values: Readonly<Record<string, unknown>>): Id[] {
    const key = this.#nameOf(values)
    return key === undefined ? [] : [...this.#ids.get(key) ?? []]
  }

  add (item: Stored): void {
    const key = this.#nameOf(item)
    if (key === undefined) return
    const ids = this.#ids.get(key)
    if (ids === undefined) this.#ids.set(key, new Set([item.id]))
    else ids.add(item.id)
  }

  replace (before: Stored | undefined, item: Stored | undefined): void {
    const key = before && this.#nameOf(before)
    if (key !== undefined) {
      const ids = this.#ids.get(key)
      ids?.delete((before as Stored).id)
      if (ids?.size === 0) this.#ids.delete(key)
    }
    if (item !== undefined) this.add(item)
  }

  #nameOf (item: Readonly<Record<string, unknown>>): string | undefined {
    const values = this.fields.map(field => item[field])
    return values.some(isAbsent) ? undefined : JSON.stringify(values)
  }
}

function compareIds (a: Stored, b: Stored): number {
  return compareScalars(a.id, b.id)
}

/** How many of the items, which are ordered by id, have an id below this one; with `through`, up to it. */
export function countBelow (items: readonly Stored[], id: Id, through = false): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = compareScalars((items[middle] as Stored).id, id)
    if (order < 0 || (through && order === 0)) low = middle + 1
    else high = middle
  }
  return low
}
