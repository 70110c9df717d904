import { compareScalars, isAbsent } from '../../core/storage/conditions.js'
import { countFirst } from '../../core/storage/pages.js'
import type { Id, Scalar, Stored } from '../../core/storage/storage.js'

/** The items of a family by id, and in lists that are ordered by a field. */
export class MemoryItems {
  readonly #byId = new Map<Id, Stored>()
  /** By the field, from when it is first needed. Items without a value are left out. */
  #lists = new Map<string, Stored[]>()
  #readers = 0

  get (id: Id): Stored | undefined {
    return this.#byId.get(id)
  }

  listBy (field: string): readonly Stored[] {
    let list = this.#lists.get(field)
    if (list === undefined) {
      list = [...this.#byId.values()].filter(item => !isAbsent(item[field]))
        .sort((a, b) => compareScalars(a[field] as Scalar, b[field] as Scalar))
      this.#lists.set(field, list)
    }
    return list
  }

  findEqual (values: Readonly<Record<string, unknown>>): Stored[] {
    const entries = Object.entries(values)
    const [[field, value]] = entries as [[string, Scalar]]
    const list = this.listBy(field)
    return list.slice(countBelow(list, field, value), countBelow(list, field, value, true))
      .filter(item => entries.every(([field, value]) => item[field] === value))
  }

  /** Runs a search that may pause. Until it ends, changes are made to copies of the lists: it sees one state. */
  async read<Result> (search: () => Promise<Result>): Promise<Result> {
    const lists = this.#lists
    this.#readers++
    try {
      return await search()
    } finally {
      if (lists === this.#lists) this.#readers--
    }
  }

  /** `undefined` removes the item. */
  apply (edits: ReadonlyMap<Id, Stored | undefined>): void {
    if (this.#readers > 0) {
      this.#lists = new Map(Array.from(this.#lists, ([field, list]) => [field, list.slice()]))
      this.#readers = 0
    }
    for (const [id, item] of edits) {
      const before = this.#byId.get(id)
      for (const [field, list] of this.#lists) replaceIn(list, field, before, item)
      if (item === undefined) this.#byId.delete(id)
      else this.#byId.set(id, item)
    }
  }
}

function replaceIn (list: Stored[], field: string, before: Stored | undefined, item: Stored | undefined): void {
  const from = before?.[field] as Scalar | null | undefined
  const to = item?.[field] as Scalar | null | undefined
  const at = isAbsent(from) ? -1 : list.indexOf(before as Stored, countBelow(list, field, from))
  if (at !== -1 && from === to) {
    list[at] = item as Stored
    return
  }
  if (at !== -1) list.splice(at, 1)
  if (!isAbsent(to)) list.splice(countBelow(list, field, to, true), 0, item as Stored)
}

/** The number of items with a value below this one, or up to it with `through`, in a list that is ordered by it. */
export function countBelow (list: readonly Stored[], field: string, value: Scalar, through = false): number {
  return countFirst(list, item => compareScalars(item[field] as Scalar, value) < (through ? 1 : 0))
}
