import { Turn } from '../core/storage/turns.js'
import type { Members } from '../core/values/json.js'
import type { Crumb, Home, ItemAffordances, PageAffordances, WrongState } from './affordances.js'

/** One resource or one problem, or a page of resources, about to be shown. */
export type View = OneView | PageView | ProblemView

/** One resource about to be shown. */
export interface OneView {
  readonly kind: 'one'
  /** The singular of the family, or `command`. */
  readonly name: string
  /** The members to show, links included where the answer has them. */
  readonly document: Members
  /** What people can do from here; only representations that show it call this. */
  readonly affordances?: () => Promise<ItemAffordances>
  /** Where this is the home: what it shows to people. */
  readonly home?: Home
}

/** A page of resources about to be shown. */
export interface PageView {
  readonly kind: 'page'
  /** The plural, as in the URL. */
  readonly name: string
  /** The singular, for one item of the page. */
  readonly singular: string
  readonly items: readonly Members[]
  /** The members that the items can have, in order. */
  readonly members: readonly string[]
  /** The whole page as JSON shows it: an object with `items` among its members, or the bare list of them. */
  readonly document: Members | readonly Members[]
  /** What people can do from here; only representations that show it call this. */
  readonly affordances?: () => Promise<PageAffordances>
  /** Where people can go from here, where there is nothing to do. */
  readonly around?: () => Promise<Pick<PageAffordances, 'site' | 'trail'>>
}

/** A problem about to be shown. */
export interface ProblemView {
  readonly kind: 'problem'
  readonly document: Members
  /** The same, where it is for the state alone. */
  readonly wrongState?: WrongState | undefined
  /** The log of an item that was deleted. */
  readonly log?: string | undefined
  /** Where people can go from here. */
  readonly onward: readonly Crumb[]
}

/** Writes collections line by line, so that they can be of any length. */
export interface Rows {
  head (members: readonly string[]): string
  row (item: Members, members: readonly string[]): string
}

/**
 * A way to show resources. What it has no function for, it cannot show, and the client's other choices are tried.
 *
 * @example
 * const yaml: Representation = {
 *   name: 'yaml', extension: 'yaml', mediaTypes: ['application/yaml'],
 *   one: view => stringify(view.document),
 *   page: view => stringify(view.document)
 * }
 */
export interface Representation {
  /** In `?format=` and in entity tags. */
  readonly name: string
  /** The path suffix, without its dot. */
  readonly extension: string
  /** What Accept can ask for; the first is what it is by itself. */
  readonly mediaTypes: readonly [string, ...string[]]
  /** The media type of its problems. */
  readonly problemType?: string
  /** Headers of all its answers. */
  readonly headers?: Readonly<Record<string, string>>
  /** For people: forms are answered by a redirect or by the page they are on, and empty filters are ignored. */
  readonly interactive?: boolean
  readonly one?: (view: OneView) => string | Promise<string>
  readonly page?: (view: PageView) => string | Promise<string>
  /** The page from items that a storage returns as JSON text and the page's other members; a bare list has none. */
  readonly pageOfText?: (items: string, others: Members | undefined) => string
  /** Instead of `page`: where neither a page nor its size is asked for, everything is streamed. */
  readonly rows?: Rows
  readonly problem?: (view: ProblemView) => string
}

/** Whether a representation can show this kind of view. */
export function canShow (representation: Representation, kind: View['kind']): boolean {
  return representation[kind] !== undefined || (kind === 'page' && representation.rows !== undefined)
}

/** Writes items one by one, and lets other requests run in between: what people enter can be long. */
export async function writeInTurns<Item, Written> (
  items: readonly Item[],
  write: (item: Item, index: number) => Written
): Promise<Written[]> {
  const turn = new Turn()
  const written: Written[] = []
  for (const item of items) {
    written.push(write(item, written.length))
    if (turn.isOver) await turn.pass()
  }
  return written
}
