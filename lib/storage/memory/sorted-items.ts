import { compareScalars } from '../../core/storage/compare.js'
import type { Id, Query, Scalar, Stored } from '../../core/storage/storage.js'
import { Turn } from '../../core/storage/turn.js'
import type { Walk } from './sorted-index.js'
import { SortedIndex } from './sorted-index.js'

// Up to so many insertions and deletions, moving what comes after each is cheaper than writing the whole array anew.
const fewEdits = 8

// Fewer are sorted in no time.
const manyItems = 2000
// Items that are added in one go to an index that is being made: about a millisecond.
const partSize = 500

interface GrowingIndex {
  readonly index: SortedIndex
  /** What was changed since it was begun: the item before, and after. */
  readonly edits: (readonly [Stored | undefined, Stored | undefined])[]
}

/** The items of a family in one array, ordered by id, and in the orders of some indexes. */
export class SortedItems {
  #items: Stored[] = []
  /** One by its id is found here: a search among a million would look at twenty that are anywhere in memory. */
  readonly #byId = new Map<Id, Stored>()
  #indexes: SortedIndex[] = []
  /** The fields of those that are made when they are needed. */
  readonly #possible = new Map<string, readonly string[]>()
  readonly #growing: GrowingIndex[] = []
  #readers = 0

  get items (): readonly Stored[] {
    return this.#items
  }

  get (id: Id): Stored | undefined {
    return this.#byId.get(id)
  }

  /** Keeps the items in the order of these fields too, the last of which is the id. */
  addIndex (fields: readonly string[]): void {
    if (this.#indexes.some(index => index.fields.join() === fields.join())) return
    const index = new SortedIndex(fields)
    for (const item of this.#items) index.add(item)
    this.#indexes.push(index)
  }

  /**
   * The same for an order in which pages are read, which ends with the id; for others as soon as a query asks for one
   * among many items, since each makes every change dearer.
   */
  allowIndex (fields: readonly string[]): void {
    if (fields.at(-1) === 'id') this.addIndex(fields)
    else this.#possible.set([...fields, 'id'].join(), [...fields, 'id'])
  }

  /** The items that have these values in the fields of an index, in its order. */
  findEqual (values: Readonly<Record<string, unknown>>): Iterable<Stored> {
    const fields = [...Object.keys(values), 'id'].join()
    const index = this.#indexes.find(index => index.fields.join() === fields) as SortedIndex
    return index.walkEqual(Object.values(values) as Scalar[])
  }

  /** How a query is answered along an index: in its order if there is one, else by those that can match. */
  planWalk (query: Query): Walk | undefined {
    const walks = this.#indexes.flatMap(index => index.plan(query) ?? [])
    const ordered = walks.find(({ isOrdered }) => isOrdered)
    if (ordered === undefined && this.#items.length >= manyItems) this.#growIndex(query)
    return ordered ?? walks[0]
  }

  /** Makes an index in the order of a query, if there may be one, in short turns; changes meanwhile are made up for. */
  async #growIndex ({ order }: Query): Promise<void> {
    const name = order.map(({ field }) => field).join()
    const fields = this.#possible.get(name)
    if (fields === undefined) return
    this.#possible.delete(name)
    const growing: GrowingIndex = { index: new SortedIndex(fields), edits: [] }
    this.#growing.push(growing)
    const turn = new Turn()
    await this.read(async items => {
      for (const [at, item] of items.entries()) {
        // A small part of each turn, so that those who wait have most of it.
        if (at % partSize === 0) await turn.pass()
        growing.index.add(item)
      }
    })
    for (const [before, item] of growing.edits) growing.index.replace(before, item)
    this.#growing.splice(this.#growing.indexOf(growing), 1)
    this.#indexes.push(growing.index)
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

  /** Puts items in the place of what had their id, or takes them out where `undefined`. */
  apply (edits: ReadonlyMap<Id, Stored | undefined>): void {
    if (this.#readers > 0) {
      this.#items = this.#items.slice()
      this.#indexes = this.#indexes.map(index => index.copy())
      this.#readers = 0
    }
    for (const index of this.#indexes) this.#applyToIndex(index, edits)
    for (const growing of this.#growing) for (const [id, item] of edits) growing.edits.push([this.get(id), item])
    const moving = new Map<Id, Stored | undefined>()
    for (const [id, item] of edits) {
      if (item === undefined) this.#byId.delete(id)
      else this.#byId.set(id, item)
      const at = countBelow(this.#items, id)
      if (item !== undefined && at === this.#items.length) this.#items.push(item)
      else if (item !== undefined && this.#items[at]?.id === id) this.#items[at] = item
      else moving.set(id, item)
    }
    if (moving.size <= fewEdits) for (const [id, item] of moving) this.#move(id, item)
    else this.#items = merge(this.#items, moving)
  }

  #applyToIndex (index: SortedIndex, edits: ReadonlyMap<Id, Stored | undefined>): void {
    for (const [id, item] of edits) index.replace(this.get(id), item)
  }

  #move (id: Id, item: Stored | undefined): void {
    const at = countBelow(this.#items, id)
    if (item === undefined) this.#items.splice(at, 1)
    else this.#items.splice(at, 0, item)
  }
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

function merge (items: readonly Stored[], edits: ReadonlyMap<Id, Stored | undefined>): Stored[] {
  const added = [...edits.values()].filter(item => item !== undefined).sort((a, b) => compareScalars(a.id, b.id))
  const merged: Stored[] = []
  let next = 0
  for (const item of items) {
    while (next < added.length && compareScalars((added[next] as Stored).id, item.id) < 0) {
      merged.push(added[next++] as Stored)
    }
    if (!edits.has(item.id)) merged.push(item)
  }
  return merged.concat(added.slice(next))
}
