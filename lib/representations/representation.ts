import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Offer } from '../core/book/book.js'
import type { Problem } from '../core/problems.js'
import type { Id } from '../core/storage/storage.js'
import { Turn } from '../core/storage/turns.js'
import type { Members } from '../core/values/json.js'
import type { Aim, FamilyMount, SentForm } from './target.js'

/** A resource, a page of resources, or a problem to show. */
export type View = OneView | PageView | ProblemView

/** A resource to show. */
export interface OneView {
  readonly kind: 'one'
  /** The singular of the family, or `command`. */
  readonly name: string
  /** The members to show, with links if the response has them. */
  readonly document: Members
  /** The family, to find out more. Of a resource of several families: one of them. */
  readonly mount: FamilyMount
  /** Of an item: what the caller may do with it now. */
  readonly offers?: () => Promise<readonly Offer[]>
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
  /** The family, to find out more. Of a page of several families: one of them. */
  readonly mount: FamilyMount
  /** Of a list: what the caller may do now with the item at this index. */
  readonly offers?: (index: number) => Promise<readonly Offer[]>
}

/** A problem to show. */
export interface ProblemView {
  readonly kind: 'problem'
  readonly document: Members
  readonly problem: Problem
  /** The URL of the log, if the item was deleted. */
  readonly log?: string | undefined
  /** The family that answers, which is one of those at its prefix. */
  readonly mount: FamilyMount
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
  readonly one?: (view: OneView, request: FastifyRequest) => string | Promise<string>
  readonly page?: (view: PageView, request: FastifyRequest) => string | Promise<string>
  /** Makes the page from JSON text of a storage and the page's other members; a bare list has none. */
  readonly pageOfText?: (items: string, others: Members | undefined) => string
  /** Instead of `page`: streams the whole collection unless the client asks for a page or its size. */
  readonly rows?: Rows
  /** Instead of `rows` for a person, whose browser saves it as a file: the titles of referred items are added. */
  readonly download?: Rows
  readonly problem?: (view: ProblemView, request: FastifyRequest) => string | Promise<string>
  /**
   * Answers a read by itself, for what is more than a view, such as a page with forms. Nothing was authorized or read
   * before. False if what is asked for does not exist, and nothing was sent.
   */
  readonly respond?: (target: Target, request: FastifyRequest, reply: FastifyReply) => Promise<boolean>
  /** Answers a form by itself, which was sent to create an item, or to run an operation by its noun. */
  readonly submit?: (
    target: SubmitTarget, form: SentForm, request: FastifyRequest, reply: FastifyReply
  ) => Promise<void>
}

interface Chosen {
  readonly mount: FamilyMount
  /** The representation that was chosen, and its media type. */
  readonly representation: Representation
  readonly mediaType: string
}

/** What a read asks for, where, and how it is to be shown. */
export type Target = Aim & Chosen & {
  /** The query string and, of a QUERY, the parameters in its body. */
  readonly search: string
  /** The path suffix that chose the representation. */
  readonly suffix?: string | undefined
}

/** What a form is sent for: a new item or, with an id, an operation. */
export type SubmitTarget = Chosen & {
  /** As `authorize` has it. */
  readonly action: string
  readonly id?: Id
}

/** Whether a representation has items, or pages. */
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
