import type { FastifyRequest } from 'fastify'
import {
  type FamilyMount, type FamilyOptions, type OneView, type PageView, type ProblemView, type Representation,
  type Responding, sendPage
} from '../exports.js'
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
export function hasPages (mount: FamilyMount): boolean {
  return listRepresentations(mount).some(({ respond }) => respond !== undefined)
}

export function listRepresentations ({ options }: FamilyMount): readonly Representation[] {
  return (options as Pick<FamilyOptions, 'representations'>).representations ?? []
}

/** Does not wait until the client has received it, so that what was loaded is not kept meanwhile. */
export async function sendView (responding: Responding, view: ShownOne | ShownPage): Promise<true> {
  const { representation, request } = responding
  const write = representation[view.kind] as (view: ShownOne | ShownPage, request: FastifyRequest) => Promise<string>
  sendPage(responding, await write(view, request))
  return true
}

/** Leads the browser to a different page. */
export function redirectTo ({ reply }: Pick<Responding, 'reply'>, url: string): true {
  reply.code(303).header('location', url).send()
  return true
}
