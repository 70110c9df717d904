import type { Kind } from '../storage/storage.js'

/** The members of a resource as they are shown. */
export type Document = Readonly<Record<string, unknown>>

/** One resource or one problem, or a page of resources, about to be shown. */
export type View = OneView | PageView | ProblemView

/** One resource about to be shown. */
export interface OneView {
  readonly kind: 'one'
  /** The singular of the family, or `command`. */
  readonly name: string
  /** The members to show, links included where the answer has them. */
  readonly document: Document
  /** What people can do from here; worked out only for representations that show it. */
  readonly offer?: () => Promise<ItemOffer>
}

/** A page of resources about to be shown. */
export interface PageView {
  readonly kind: 'page'
  /** The plural, as in the URL. */
  readonly name: string
  /** The singular, for one item of the page. */
  readonly singular: string
  readonly items: readonly Document[]
  /** The members that the items can have, in order. */
  readonly members: readonly string[]
  /** The whole page as JSON shows it: an object with `items` among its members, or the bare list of them. */
  readonly document: Document | readonly Document[]
  /** What people can do from here; worked out only for representations that show it. */
  readonly offer?: () => PageOffer
}

/** A problem about to be shown. */
export interface ProblemView {
  readonly kind: 'problem'
  readonly document: Document
}

/** A place to go to, and what it is called. */
export interface Link {
  readonly href: string
  readonly title: string
}

/** What kinds of values members have. */
export type Kinds = Readonly<Record<string, Kind>>

/** What people can do with an item. */
export interface ItemOffer {
  readonly kinds: Kinds
  /** What the item belongs to. */
  readonly up: Link
  /** The same in other representations. */
  readonly others: readonly Link[]
  /** The operations that are allowed now. */
  readonly operations: readonly FormOffer[]
  readonly remove?: FormOffer
  readonly log?: { readonly href: string, readonly entries: readonly Document[], readonly kinds: Kinds }
  readonly refused?: Refusal
}

/** What people can do with a page. */
export interface PageOffer {
  readonly kinds: Kinds
  /** What the page belongs to. */
  readonly up?: Link
  /** The same, or all of it, in other representations. */
  readonly others: readonly Link[]
  readonly page: number
  readonly hasNext: boolean
  /** Fields to filter by. */
  readonly filters: readonly FormField[]
  /** Parameters that stay when other filters are chosen. */
  readonly kept: readonly (readonly [name: string, value: string])[]
  /** Members to sort by. */
  readonly sortable: readonly string[]
  readonly sort: string | undefined
  readonly create?: FormOffer
  readonly refused?: Refusal
  /** The page with other values of some parameters; undefined takes one away. */
  url (changes: Readonly<Record<string, string | undefined>>): string
  /** Where the item at this place of the page is. */
  address (index: number): string
}

/** Why what a person sent was refused. */
export interface Refusal {
  readonly problem: Document
  /** What was entered, where the form that it was entered in is offered no more. */
  readonly entered: readonly (readonly [name: string, value: string])[]
}

/** A form that POSTs what a person enters. */
export interface FormOffer {
  readonly name: string
  readonly title: string
  readonly action: string
  readonly fields: readonly FormField[]
  /** Sent along, so that sending the form twice does nothing twice. */
  readonly key: string
  /** Sent along where a write must say what it was decided on. */
  readonly revision?: number
}

/** A field of a form. */
export interface FormField {
  readonly name: string
  readonly label: string
  readonly kind: Kind
  readonly required: boolean
  readonly description?: string
  readonly values?: readonly string[]
  readonly minimum?: number
  readonly maxLength?: number
  /** What was entered before. */
  readonly value?: string
  /** What was wrong with it. */
  readonly error?: string
}

/** Collections line by line, so that a page can be of any length. */
export interface Rows {
  head (members: readonly string[]): string
  row (item: Document, members: readonly string[]): string
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
  /** Behind the dot of a path suffix. */
  readonly extension: string
  /** What Accept can ask for; the first is what it is by itself. */
  readonly mediaTypes: readonly [string, ...string[]]
  /** The media type of its problems. */
  readonly problemType?: string
  /** Headers of all its answers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether people use it: forms are answered by redirection or by the page they stand on, and empty filters are left out. */
  readonly interactive?: boolean
  readonly one?: (view: OneView) => string | Promise<string>
  readonly page?: (view: PageView) => string | Promise<string>
  /** The page from items that a storage hands over as JSON text, and its other members; undefined where it is a bare list. */
  readonly pageOfText?: (items: string, others: Document | undefined) => string
  /** In place of `page`: without a page size, everything is sent as it is read. */
  readonly rows?: Rows
  readonly problem?: (view: ProblemView) => string
}

/** Whether a representation can show this kind of view. */
export function canShow (representation: Representation, kind: View['kind']): boolean {
  return representation[kind] !== undefined || (kind === 'page' && representation.rows !== undefined)
}

/** What is wrong with a host's list of representations; undefined where nothing is. */
export function flawOfRepresentations (value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.some(each => each?.problem !== undefined)) return 'must be a list of representations, one of which shows problems'
  const representations = value as readonly Representation[]
  for (const member of ['name', 'extension'] as const) {
    const words = representations.map(each => each[member])
    const odd = words.find(word => !/^[A-Za-z0-9_-]+$/.test(word))
    if (odd !== undefined) return `has the ${member} "${odd}", which must be letters, digits, hyphens and underscores`
    const twice = words.find((word, index) => words.indexOf(word) < index)
    if (twice !== undefined) return `must not have the same one twice: two of them have the ${member} "${twice}"`
  }
  for (const { name, mediaTypes, ...functions } of representations) {
    if (!Array.isArray(mediaTypes) || mediaTypes.length === 0) return `is wrong: "${name}" needs a media type`
    const odd = mediaTypes.find(type => !/^[\w.+-]+\/[\w.+-]+$/.test(type))
    if (odd !== undefined) return `is wrong: "${name}" has the media type "${odd}", which must be like application/xml`
    if (functions.one === undefined && functions.page === undefined && functions.rows === undefined) return `is wrong: "${name}" shows nothing`
  }
  return undefined
}
