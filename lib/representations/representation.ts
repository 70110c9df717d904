import type { FastifyRequest } from 'fastify'
import { Turn } from '../core/storage/turns.js'
import type { Members } from '../core/values/json.js'
import type {
  Crumb, Home, ItemAffordances, LabelTable, Many, PageAffordances, Site, WrongState
} from './affordances.js'

/** A resource, a page of resources, or a problem to show. */
export type View = OneView | PageView | ProblemView

/** A resource to show. */
export interface OneView {
  readonly kind: 'one'
  /** The singular of the family, or `command`. */
  readonly name: string
  /** The members to show, with links if the response has them. */
  readonly document: Members
  /** Loads links and forms; only representations that show them call this. */
  readonly affordances?: () => Promise<ItemAffordances>
  /** Set on the home page. */
  readonly home?: Home
  /** Set if an operation is run for several items. */
  readonly many?: Many
}

/** A page of resources to show. */
export interface PageView {
  readonly kind: 'page'
  /** The plural, as in the URL. */
  readonly name: string
  readonly singular: string
  readonly items: readonly Members[]
  /** The members that the items can have, in order. */
  readonly members: readonly string[]
  /** The whole page as JSON shows it: an object with `items` among its members, or the bare list of them. */
  readonly document: Members | readonly Members[]
  /** Loads links and forms; only representations that show them call this. */
  readonly affordances?: () => Promise<PageAffordances>
  /** Navigation, for a page without affordances. */
  readonly around?: () => Promise<Pick<PageAffordances, 'site' | 'trail'>>
}

/** A problem to show. */
export interface ProblemView {
  readonly kind: 'problem'
  readonly document: Members
  readonly wrongState?: WrongState | undefined
  /** The URL of the log, if the item was deleted. */
  readonly log?: string | undefined
  /** Links to continue from. */
  readonly onward: readonly Crumb[]
  readonly site?: Site | undefined
  readonly labels?: LabelTable | undefined
  /** What a person had entered into a form. */
  readonly entered?: readonly (readonly [name: string, value: string])[] | undefined
  /** Sends the form again, if that may help. */
  readonly again?: {
    readonly action: string
    readonly sent: readonly (readonly [name: string, value: string])[]
  } | undefined
}

/** Writes collections line by line, so that they can be of any length. */
export interface Rows {
  head (members: readonly string[]): string
  row (item: Members, members: readonly string[]): string
}

/**
 * A format for resources. Without a function for a kind of view, the client's next choice is tried.
 *
 * @example
 * const yaml: Representation = {
 *   name: 'yaml', extension: 'yaml', mediaTypes: ['application/yaml'],
 *   one: view => stringify(view.document),
 *   page: view => stringify(view.document)
 * }
 */
export interface Representation {
  /** Used in `?format=` and in entity tags. */
  readonly name: string
  /** The path suffix, without its dot. */
  readonly extension: string
  /** Matched against Accept; the first is the default. */
  readonly mediaTypes: readonly [string, ...string[]]
  /** Default: the first media type. */
  readonly problemType?: string
  /** Sent with all its responses. */
  readonly headers?: Readonly<Record<string, string>>
  /** For people: forms are answered by a redirect or by the page they are on, and empty filters are ignored. */
  readonly interactive?: boolean
  readonly one?: (view: OneView, request: FastifyRequest) => string | Promise<string>
  readonly page?: (view: PageView, request: FastifyRequest) => string | Promise<string>
  /** Makes the page from JSON text of a storage and the page's other members; a bare list has none. */
  readonly pageOfText?: (items: string, others: Members | undefined) => string
  /** Instead of `page`: streams the whole collection unless the client asks for a page or its size. */
  readonly rows?: Rows
  /** Instead of `rows` for a person, whose browser saves it as a file: the titles of referred items are added. */
  readonly download?: Rows
  readonly problem?: (view: ProblemView, request: FastifyRequest) => string | Promise<string>
}

export function canShow (representation: Representation, kind: View['kind']): boolean {
  return representation[kind] !== undefined || (kind === 'page' && representation.rows !== undefined)
}

/** Lets other requests run between items, which can be long. */
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
