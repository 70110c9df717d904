import { Problem } from '../../problems.js'
import type { PageAffordances } from '../../representations/representation.js'
import type { Found, FoundText, Query, Stored } from '../../storage/storage.js'
import type { Members } from '../model/params.js'

/** How one kind of page is found and shown. */
export interface PageStyle {
  readonly name: string
  readonly singular: string
  /** The path of the page, from which its links are made. */
  readonly path: string
  readonly members: readonly string[]
  readonly emptyList: 'page' | 'not-found'
  /** A list has nothing but its items. */
  readonly bare?: boolean
  find (query: Query): Promise<Found>
  /** The same as text, where the storage can. */
  readonly findText?: ((query: Query) => Promise<FoundText>) | undefined
  show (item: Stored): Members
  offer? (items: readonly Stored[], hasNext: boolean): PageAffordances
}

/** An empty list may be a problem, as the mount says. */
export function refuseEmpty (count: number, { emptyList, name }: PageStyle): void {
  if (count === 0 && emptyList === 'not-found') throw new Problem('empty-list', `No ${name} are found`)
}
