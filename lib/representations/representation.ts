import type { Field, Kind } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { FormAffordance, FormField, Refusal } from './form-view.js'
import type { Confirmation, Feedback, LogEntry, UnavailableOperation } from './item-view.js'

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
}

/** A problem about to be shown. */
export interface ProblemView {
  readonly kind: 'problem'
  readonly document: Members
  /** The log of what is not there any more. */
  readonly log?: string | undefined
}

/** A link, with its text. */
export interface Link {
  readonly href: string
  readonly title: string
}

/** A place on the way to a page, from the outside. */
export interface Crumb {
  readonly kind: 'list' | 'item' | 'log'
  readonly href: string
  /** Of a list, its name; of an item, what it is called. */
  readonly name: string
}

/** The kind of value of each member. */
export type Kinds = Readonly<Record<string, Kind>>

/** What people can do with an item. */
export interface ItemAffordances {
  readonly kinds: Kinds
  /** What the item belongs to. */
  readonly trail: readonly Crumb[]
  /** The same in other representations. */
  readonly others: readonly Link[]
  /** The state in a word. */
  readonly state?: string
  /** Members that the service itself gives, and few people look at. */
  readonly technical: readonly string[]
  /** The operations that are allowed now. */
  readonly operations: readonly FormAffordance[]
  /** Those that are not. */
  readonly unavailable: readonly UnavailableOperation[]
  readonly remove?: FormAffordance
  /** The newest entries of the log, the last first. */
  readonly log?: { readonly href: string, readonly entries: readonly LogEntry[] }
  readonly refused?: Refusal
  /** What has just been done. */
  readonly feedback?: Feedback
  /** What is asked about in the place of everything else, with the form that does it. */
  readonly confirm?: Confirmation & { readonly form: FormAffordance }
}

/** What people can do with a page. */
export interface PageAffordances {
  readonly kinds: Kinds
  /** What the page belongs to. */
  readonly trail: readonly Crumb[]
  /** The same, or all of it, in other representations. */
  readonly others: readonly Link[]
  /** Its number; undefined where it is read from a place. */
  readonly page?: number
  /** The pages around it, as in the links of JSON. */
  readonly prev?: string
  readonly next?: string
  /** Fields to filter by. */
  readonly filters: readonly FormField[]
  /** Parameters that stay when other filters are chosen. */
  readonly kept: readonly (readonly [name: string, value: string])[]
  /** Members to sort by. */
  readonly sortable: readonly string[]
  readonly sort: string | undefined
  readonly create?: FormAffordance
  readonly refused?: Refusal
  /** What has just been done. */
  readonly feedback?: Feedback
  /** The items as entries of a log, where they are such. */
  readonly timeline?: readonly LogEntry[]
  /** The page with other values of some parameters; undefined takes one away. */
  url (changes: Readonly<Record<string, string | undefined>>): string
  /** Where the item at this place of the page is. */
  address (index: number): string
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

/** What kinds of values the members have. */
export function listKinds (fields: readonly Field[]): Kinds {
  return Object.fromEntries(fields.map(({ name, kind }) => [name, kind]))
}
