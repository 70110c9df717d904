import type { FieldCondition } from '../core/storage/storage.js'
import type { FormAffordance, FormField, Refusal } from './form-view.js'
import type { Confirmation, Feedback, LogEntry, ShownKind, UnavailableOperation } from './item-view.js'

/** A link, with its text. */
export interface Link {
  readonly href: string
  readonly title: string
}

/** A step of the trail to a page. */
export interface Crumb {
  readonly kind: 'home' | 'list' | 'item' | 'log'
  readonly href: string
  /** Of a list, its name; of an item, what it is called. */
  readonly name: string
}

/** The links that every page has. */
export interface Site {
  /** The home of the prefix, where there is one. */
  readonly home?: string | undefined
  /** The families at the prefix that the caller may list. */
  readonly families: readonly SiteFamily[]
}

/** A family that a page leads to. */
export interface SiteFamily {
  readonly name: string
  readonly version?: string | undefined
  readonly href: string
  /** Whether the page belongs to it. */
  readonly isCurrent: boolean
}

/** The number of items: exact or, where there are very many, a lower bound; neither where counting takes long. */
export interface Count {
  readonly total?: number | undefined
  readonly atLeast?: number | undefined
}

/** A family as the home shows it. */
export interface HomeFamily extends Count {
  readonly name: string
  readonly version?: string | undefined
  /** Its list. */
  readonly href: string
  readonly states?: readonly (Count & { readonly state: string, readonly href: string })[]
}

/** What people see on the home. */
export interface Home {
  readonly families: readonly HomeFamily[]
  readonly site: Site
}

/** The kind of value of each member. */
export type Kinds = Readonly<Record<string, ShownKind>>

/** What people can do with an item. */
export interface ItemAffordances {
  readonly site: Site
  readonly kinds: Kinds
  /** The member by which people know the item. */
  readonly title: string
  /** What the item belongs to. */
  readonly trail: readonly Crumb[]
  /** The same in other representations. */
  readonly others: readonly Link[]
  /** The state in a word. */
  readonly state?: string | undefined
  /** Members that the service itself gives, which matter to few people. */
  readonly technical: readonly string[]
  /** The operations that are allowed now, and the deletion. */
  readonly operations: readonly FormAffordance[]
  /** Those that are not. */
  readonly unavailable: readonly UnavailableOperation[]
  /** The newest entries of the log, the last first. */
  readonly log?: { readonly href: string, readonly entries: readonly LogEntry[] } | undefined
  /** Where it is itself an entry of a log: the same for people. */
  readonly entry?: LogEntry | undefined
  readonly refused?: Refusal | undefined
  /** What was just done. */
  readonly feedback?: Feedback | undefined
  /** A question, which is shown instead of everything else. */
  readonly confirm?: Confirmation | undefined
}

/** What people can do with a page. */
export interface PageAffordances {
  readonly site: Site
  readonly kinds: Kinds
  /** The members that its rows show. */
  readonly columns: readonly string[]
  /** The member that leads to the item. */
  readonly title: string
  /** What the page belongs to. */
  readonly trail: readonly Crumb[]
  /** The same, or all of it, in other representations. */
  readonly others: readonly Link[]
  /** Its number; undefined where it is read from a cursor. */
  readonly page?: number | undefined
  /** The pages around it, as in the links of JSON. */
  readonly prev?: string | undefined
  readonly next?: string | undefined
  /** How many items a page has, and how many it could have. */
  readonly pageSize: number
  readonly pageSizes: readonly number[]
  /** Whether the page can have a total (`count=exact`). */
  readonly isCountable: boolean
  /** Fields to filter by. */
  readonly filters: readonly FormField[]
  /** The active filters, and the list without any of them. */
  readonly active: readonly ActiveFilter[]
  readonly clear?: string | undefined
  /** Parameters that stay when other filters are chosen. */
  readonly kept: readonly (readonly [name: string, value: string])[]
  /** Members to sort by. */
  readonly sortable: readonly string[]
  readonly sort: string | undefined
  readonly create?: FormAffordance | undefined
  readonly refused?: Refusal | undefined
  /** What was just done. */
  readonly feedback?: Feedback | undefined
  /** The items as entries of a log, where they are such. */
  readonly timeline?: readonly LogEntry[] | undefined
  /** The page with other values of some parameters; undefined takes one away. */
  url (changes: Readonly<Record<string, string | undefined>>): string
  /** The address of the item in this row. */
  address (index: number): string
  /** The address of the item that a member of it refers to; undefined where it refers to none. */
  readonly refer?: ((index: number, member: string) => string | undefined) | undefined
}

/** A filter of a list as it is used. */
export interface ActiveFilter {
  readonly field: string
  readonly kind: ShownKind
  readonly op: FieldCondition['op']
  /** As it was sent. */
  readonly value: string
  /** Whether it need not hold where another one does. */
  readonly isAlternative: boolean
  /** The list without it. */
  readonly href: string
}
