import { compareScalars, isAbsent } from '../../core/storage/conditions.js'
import type { Id, Stored } from '../../core/storage/storage.js'

// With more insertions and removals, sorting once is faster than moving all later items for each.
const fewMoves = 8

/** The items of a family, in an array ordered by id and in maps by id and by the values of keys. */
export class MemoryItems {
  #items: Stored[] = []
  readonly #byId = new Map<Id, Stored>()
  readonly #keys: (readonly string[])[] = []
  /** Ids by the fields and values of a key. An item that lacks one of the fields is not included. */
  readonly #byKey = new Map<string, Set<Id>>()
  #readers = 0

  get items (): readonly Stored[] {
    return this.#items
  }

  get (id: Id): Stored | undefined {
    return this.#byId.get(id)
  }

  addKey (fields: readonly string[]): void {
    if (this.#keys.some(key => key.join() === fields.join())) return
    this.#keys.push(fields)
    for (const item of this.#items) this.#addTo(fields, item)
  }

  findEqual (values: Readonly<Record<string, unknown>>): Stored[] {
    const ids = this.#byKey.get(nameKey(Object.keys(values), values) ?? '') ?? []
    return Array.from(ids, id => this.get(id) as Stored)
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

  /** `undefined` removes the item. */
  apply (edits: ReadonlyMap<Id, Stored | undefined>): void {
    if (this.#readers > 0) {
      this.#items = this.#items.slice()
      this.#readers = 0
    }
    const moving = new Map([...edits].filter(([id, item]) => !this.#put(id, item)))
    if (moving.size > fewMoves) {
      const added = [...moving.values()].filter(item => item !== undefined)
      const kept = this.#items.filter(({ id }) => !moving.has(id))
      this.#items = [...kept, ...added].sort((a, b) => compareScalars(a.id, b.id))
      return
    }
    for (const [id, item] of moving) {
      this.#items.splice(countBelow(this.#items, id), item === undefined ? 1 : 0, ...item === undefined ? [] : [item])
    }
  }

  /** Returns false if others must be moved for it. */
  #put (id: Id, item: Stored | undefined): boolean {
    const before = this.#byId.get(id)
    for (const fields of this.#keys) {
      const key = before && nameKey(fields, before)
      const ids = key === undefined ? undefined : this.#byKey.get(key)
      if (ids?.delete(id) === true && ids.size === 0) this.#byKey.delete(key as string)
      if (item !== undefined) this.#addTo(fields, item)
    }
    if (item === undefined) return !this.#byId.delete(id)
    this.#byId.set(id, item)
    const items = this.#items
    const last = items.at(-1)
    if (last === undefined || compareScalars(last.id, id) < 0) items.push(item)
    else if (before !== undefined) items[countBelow(items, id)] = item
    else return false
    return true
  }

  #addTo (fields: readonly string[], item: Stored): void {
    const key = nameKey(fields, item)
    if (key === undefined) return
    const ids = this.#byKey.get(key)
    if (ids === undefined) this.#byKey.set(key, new Set([item.id]))
    else ids.add(item.id)
  }
}

function nameKey (fields: readonly string[], item: Readonly<Record<string, unknown>>): string | undefined {
  const values = fields.map(field => item[field])
  return values.some(isAbsent) ? undefined : JSON.stringify([fields, values])
}

/** The number of items with an id below this one, or up to it with `through`. Items are ordered by id. */
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
