import type { FastifyRequest } from 'fastify'
import type { OneView, PageView, ProblemView, Stored } from '../exports.js'
import type { Exchange, Mount } from '../http/mount.js'
import { checkConditions, sendText } from '../http/reply.js'
import type {
  Crumb, Home, ItemAffordances, LabelTable, Many, PageAffordances, Site, WrongState
} from './affordances.js'

// What pages show beside the views that every representation gets.

/** A resource, on a page. */
export interface ShownOne extends OneView {
  /** Loads links and forms. */
  readonly affordances?: () => Promise<ItemAffordances>
  /** Set on the home page. */
  readonly home?: Home
  /** Set if an operation is run for several items. */
  readonly many?: Many
}

/** A page of resources, on a page for people. */
export interface ShownPage extends PageView {
  /** Loads links and forms. */
  readonly affordances?: () => Promise<PageAffordances>
  /** Navigation, for a page without affordances. */
  readonly around?: () => Promise<Pick<PageAffordances, 'site' | 'trail'>>
}

/** What the page of a problem shows beside it. */
export interface ProblemParts {
  readonly wrongState?: WrongState | undefined
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

/** A problem, on a page. */
export interface ShownProblem extends ProblemView, ProblemParts {}

/** Whether pages may link to it. */
export function hasPages ({ representations }: Pick<Mount, 'representations'>): boolean {
  return representations.some(({ respond }) => respond !== undefined)
}

/**
 * A page also depends on its reader, their language, other items and the clock, so that it has no tag; but a client may
 * ask for one revision.
 *
 * @param content of a tag; undefined if that only depends on the item
 */
export async function sendPage (
  exchange: Exchange,
  item: Pick<Stored, 'revision' | 'updatedAt'>,
  view: ShownOne | ShownPage,
  content?: unknown,
  ofShape?: string
): Promise<true> {
  checkConditions(exchange, item, view, content, ofShape)
  return await sendView(exchange, view)
}

/** Does not wait until the client has received it, so that what was loaded is not kept meanwhile. */
export async function sendView (exchange: Exchange, view: ShownOne | ShownPage): Promise<true> {
  const { choice: { representation }, request } = exchange
  const write = representation[view.kind] as (view: ShownOne | ShownPage, request: FastifyRequest) => Promise<string>
  sendText(exchange, await write(view, request))
  return true
}

/** Leads the browser to a different page. */
export function redirectTo ({ reply }: Pick<Exchange, 'reply'>, url: string): true {
  reply.code(303).header('location', url).send()
  return true
}
