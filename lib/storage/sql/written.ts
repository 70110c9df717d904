import type { Stored } from '../../core/storage/storage.js'
import { type Column, getMembers, type Layout } from './layout.js'

/** The members of a page whose items a storage writes as text. */
export interface Written {
  readonly members: readonly string[]
  readonly columns: readonly Column[]
  /** The members by what they are called, if that differs. */
  readonly fields: ReadonlyMap<string, string> | undefined
}

/** By the list of names, of which a route has one as long as the client does not choose. */
export class WrittenMembers {
  readonly #known = new WeakMap<readonly string[], Written>()

  constructor (readonly layout: Layout) {}

  get (members: readonly string[], names: readonly string[] | undefined): Written {
    const key = names ?? members
    const known = this.#known.get(key)
    if (known?.members === members) return known
    const columns = getMembers(this.layout, members, names)
    const fields = names && new Map(names.map((name, index) => [name, members[index] as string]))
    const written = { members, columns, fields }
    this.#known.set(key, written)
    return written
  }
}

/** Reads an item of such a page. */
export function parseRow (text: string, fields: Written['fields']): Stored {
  const row = JSON.parse(text) as Stored
  if (fields === undefined) return row
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [fields.get(name), value])) as unknown as Stored
}
