import { compareScalars, isAbsent } from '../../core/storage/conditions.js'
import type { Id, Scalar, Stored } from '../../core/storage/storage.js'
import { listPathValues } from '../../core/values/paths.js'

// With more insertions and removals, sorting once is faster than moving all later items for each.
const fewMoves = 8

/** The items of a family, in an array ordered by id and in maps by id and by the values of keys. */
export class MemoryItems {
  #items: Stored[] = []
  readonly #byId = new Map<Id, Stored>()
  readonly #keys: ItemKeys[] = []
  /** Ids by the fields and values of a key. An item that lacks one of the fields is not included. */
  readonly #byKey = new Map<string, Set<Id>>()
  #readers = 0
  /** The field of the sequence, and the items in its order. */
  #sequence: string | undefined
  #inSequence: Stored[] = []

  get items (): readonly Stored[] {
    return this.#items
  }

  /** Items in the order of the field, if they are kept so. */
  listBy (field: string): readonly Stored[] | undefined {
    return field === 'id' ? this.#items : field === this.#sequence ? this.#inSequence : undefined
  }

  /** The number of the last item in the sequence. */
  get last (): number {
    return this.#inSequence.at(-1)?.[this.#sequence as string] as number | undefined ?? 0
  }

  /** The last item in the sequence that has a hash. */
  get lastLinked (): Stored | undefined {
    return this.#inSequence.findLast(({ hash }) => hash !== undefined)
  }

  addSequence (field: string): void {
    if (this.#sequence !== undefined) return
    this.#sequence = field
    this.#inSequence = this.#items.filter(item => item[field] !== undefined).sort(this.#compareNumbers)
  }

  get (id: Id): Stored | undefined {
    return this.#byId.get(id)
  }

  addKey (fields: readonly string[]): void {
    this.#addKeys({ name: fields.join(), list: item => listKey(nameKey(fields, item)) })
  }

  /** An item has a key for each value that the path leads to. */
  addPath (path: string): void {
    this.#addKeys({
      name: `path ${path}`,
      list: item => new Set(listPathValues(item, path).map(({ value }) => nameKey([path], { [path]: value }) as string))
    })
  }

  #addKeys (keys: ItemKeys): void {
    if (this.#keys.some(({ name }) => name === keys.name)) return
    this.#keys.push(keys)
    for (const item of this.#items) this.#addTo(keys, item)
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
    if (this.#sequence !== undefined) this.#applyToSequence(edits, this.#sequence)
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

  #applyToSequence (edits: ReadonlyMap<Id, Stored | undefined>, field: string): void {
    const added = [...edits.values()].filter(item => item?.[field] !== undefined) as Stored[]
    const { last } = this
    const isAppended = added.length === edits.size && added.every(item => item[field] as number > last)
    // A new array if it is not only appended to: a search may be reading the old one.
    const kept = isAppended ? this.#inSequence : this.#inSequence.filter(({ id }) => !edits.has(id))
    kept.push(...added)
    this.#inSequence = isAppended && added.length === 1 ? kept : kept.sort(this.#compareNumbers)
  }

  readonly #compareNumbers = (a: Stored, b: Stored): number =>
    compareScalars(a[this.#sequence as string] as number, b[this.#sequence as string] as number)

  /** Returns false if other items must move. */
  #put (id: Id, item: Stored | undefined): boolean {
    const before = this.#byId.get(id)
    for (const keys of this.#keys) {
      for (const key of before === undefined ? noKeys : keys.list(before)) {
        const ids = this.#byKey.get(key)
        if (ids?.delete(id) === true && ids.size === 0) this.#byKey.delete(key)
      }
      if (item !== undefined) this.#addTo(keys, item)
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

  #addTo ({ list }: ItemKeys, item: Stored): void {
    for (const key of list(item)) {
      const ids = this.#byKey.get(key)
      if (ids === undefined) this.#byKey.set(key, new Set([item.id]))
      else ids.add(item.id)
    }
  }
}

interface ItemKeys {
  readonly name: string
  list (item: Stored): Iterable<string>
}

const noKeys: readonly never[] = []

function listKey (key: string | undefined): readonly string[] {
  return key === undefined ? noKeys : [key]
}

function nameKey (fields: readonly string[], item: Readonly<Record<string, unknown>>): string | undefined {
  const values = fields.map(field => item[field])
  return values.some(isAbsent) ? undefined : JSON.stringify([fields, values])
}

/** The number of items with an id below this one, or up to it with `through`. Items are ordered by the id. */
export function countBelow (items: readonly Stored[], id: Scalar, through = false, field = 'id'): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = compareScalars((items[middle] as Stored)[field] as Scalar, id)
    if (order < 0 || (through && order === 0)) low = middle + 1
    else high = middle
  }
  return low
}
