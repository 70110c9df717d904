import type { Exchange } from '../mount/mount.js'
import { Problem } from '../problems.js'
import type { PageAffordances } from '../representations/representation.js'
import type { Found, FoundText, Query, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'

/** A list: how its items are found, and how they are shown. */
export interface Listing {
  readonly name: string
  readonly singular: string
  readonly members: readonly string[]
  readonly emptyList: 'page' | 'not-found'
  /** A bare list has nothing but its items. */
  readonly isBare?: boolean
  find (query: Query): Promise<Found>
  /** The same as text, where the storage can. */
  readonly findText?: ((query: Query) => Promise<FoundText>) | undefined
  show (item: Stored): Members
  /** What people can do with a page of it. */
  afford? (exchange: Exchange, page: LoadedItems): PageAffordances
}

/** The items of a page. */
export interface LoadedItems {
  readonly items: readonly Stored[]
  readonly hasNext: boolean
  readonly total: number | undefined
}

/** An empty list may be a problem, as the mount says. */
export function refuseEmpty ({ emptyList, name }: Listing, count: number): void {
  if (count === 0 && emptyList === 'not-found') throw new Problem('empty-list', `No ${name} are found`)
}
