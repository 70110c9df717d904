import type { FieldCondition, Kind } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'

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
export interface HomeFamily extends Count, Omit<SiteFamily, 'isCurrent'> {
  readonly states?: readonly (Count & { readonly state: string, readonly href: string })[]
}

/** What people see on the home. */
export interface Home {
  readonly families: readonly HomeFamily[]
  readonly site: Site
}

/** The kind of value of each member. */
export type Kinds = Readonly<Record<string, ShownKind>>

/** What every page has, of an item or of a list. */
interface Affordances {
  readonly site: Site
  readonly kinds: Kinds
  /** The member by which people know an item; in a list, it leads to the item. */
  readonly title: string
  /** What the page belongs to. */
  readonly trail: readonly Crumb[]
  /** The same in other representations. */
  readonly others: readonly Link[]
  readonly refused?: Refusal | undefined
  /** What was just done. */
  readonly feedback?: Feedback | undefined
}

/** What people can do with an item. */
export interface ItemAffordances extends Affordances {
  /** The state in a word. */
  readonly state?: string | undefined
  /** Members that the service sets, which matter to few people. */
  readonly technical: readonly string[]
  /** The operations that are allowed now, and the deletion. */
  readonly operations: readonly FormAffordance[]
  /** Those that are not. */
  readonly unavailable: readonly UnavailableOperation[]
  /** The newest entries of the log, the last first. */
  readonly log?: { readonly href: string, readonly entries: readonly LogEntry[] } | undefined
  /** Where it is itself an entry of a log: the same for people. */
  readonly entry?: LogEntry | undefined
  readonly confirm?: Confirmation | undefined
}

/** What people can do with a page. */
export interface PageAffordances extends Affordances {
  readonly columns: readonly string[]
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
  readonly filters: readonly FormField[]
  /** The active filters, and the list without any of them. */
  readonly active: readonly ActiveFilter[]
  readonly clear?: string | undefined
  /** Parameters that stay when other filters are chosen. */
  readonly kept: Entries
  readonly sortable: readonly string[]
  readonly sort: string | undefined
  readonly create?: FormAffordance | undefined
  /** The items as entries of a log, where they are such. */
  readonly timeline?: readonly LogEntry[] | undefined
  /** The page with other values of some parameters; undefined takes one away. */
  url (changes: Readonly<Record<string, string | undefined>>): string
  /** The address of the item in a row, and of the item that a member of it refers to, if it does. */
  address (index: number): string
  readonly refer?: ((index: number, member: string) => string | undefined) | undefined
}

/** Names, each with its text. */
type Entries = readonly (readonly [name: string, value: string])[]

/** An active filter of a list; `href` is the list without it. */
export interface ActiveFilter {
  readonly field: string
  readonly kind: ShownKind
  readonly op: FieldCondition['op']
  /** As it was sent. */
  readonly value: string
  /** Whether it need not hold where another one does. */
  readonly isAlternative: boolean
  readonly href: string
}

/** Why a form was refused. */
export interface Refusal {
  readonly problem: Members
  /** The same, where it was for the state alone. */
  readonly wrongState?: WrongState | undefined
  /** What was entered, if the form it was entered in is no longer on the page. */
  readonly entered: Entries
}

/** A form that POSTs what a person enters. */
export interface FormAffordance {
  /** Of the operation, `create` or `delete`. */
  readonly name: string
  readonly singular: string
  /** Its summary in the definition. */
  readonly title?: string | undefined
  /** Whether the person is asked first; if `final`, with the warning that it cannot be undone. */
  readonly danger?: boolean | undefined
  readonly final?: boolean | undefined
  readonly isRefused: boolean
  /** The same as a request of a program. */
  readonly request?: SampleRequest | undefined
  readonly action: string
  readonly fields: readonly FormField[]
  /** Sent along as the idempotency key, so that sending the form twice does nothing twice. */
  readonly key: string
  /** Sent along where a write must name the revision that it is based on. */
  readonly revision?: number | undefined
}

/** A field of a form. */
export interface FormField {
  readonly name: string
  /** The name of the member that it is about. */
  readonly label: string
  /** What a filter asks of it, where it is not to be equal. */
  readonly bound?: 'from' | 'to' | 'has' | undefined
  readonly kind: Kind
  readonly required: boolean
  readonly description?: string | undefined
  readonly values?: readonly string[] | undefined
  readonly minimum?: number | undefined
  readonly maxLength?: number | undefined
  /** What was entered before, or what the item has. */
  readonly value?: string | undefined
  /** What the item has, where the form changes it; sent along, so that only what was touched counts. */
  readonly was?: string | undefined
  readonly error?: string | undefined
}

/** The kind of a value, for people: a choice is one of a few words. */
export type ShownKind = Kind | 'choice'

/** A member as it is shown: of an item, or of what was sent with a command. */
export interface ShownMember {
  readonly name: string
  readonly value: unknown
  readonly kind?: ShownKind | undefined
}

/** A member before and after a change; neither, where they were too long to be kept. */
export interface ShownChange extends Omit<ShownMember, 'value'> {
  readonly from?: unknown
  readonly to?: unknown
}

/** An operation that the state of an item does not allow, for no other reason. */
export interface WrongState {
  readonly operation: string
  readonly singular: string
  readonly state?: string | undefined
  /** The operations that are allowed now. */
  readonly allowed: readonly string[]
}

/** The outcome of a command. */
export interface Feedback {
  /** The name of the operation, `create` or `delete`; the action, where the family has no such operation now. */
  readonly name: string
  readonly singular: string
  readonly outcome: 'done' | 'unchanged' | 'refused'
  /** That of the item after it. */
  readonly revision: number
  /** That of the item now, if it exists. */
  readonly current?: number | undefined
  /** The log of the item, where it was deleted. */
  readonly log?: string | undefined
}

/** An entry of the log, for people. */
export interface LogEntry extends Feedback {
  readonly href: string
  readonly at: string
  readonly principal?: string | undefined
  /** The item that it was done to, where it changed this one too. */
  readonly about?: { readonly singular: string, readonly id: string, readonly href?: string | undefined } | undefined
  readonly params: readonly ShownMember[]
  readonly changes: readonly ShownChange[]
  /** Why it was refused, as in the problem. */
  readonly reason?: string | undefined
  /** The same, where it was for the state alone. */
  readonly wrongState?: WrongState | undefined
}

/** A different item that changes too. */
export interface ChangedItem {
  readonly singular: string
  readonly title: string
  readonly href?: string | undefined
  readonly changes: readonly ShownChange[]
}

/** A question before something is done, which is shown instead of everything else. */
export interface Confirmation {
  readonly form: Pick<FormAffordance, 'name' | 'singular' | 'title' | 'final' | 'action'>
  /** Where the item is. */
  readonly item: string
  readonly params: readonly ShownMember[]
  readonly changes: readonly ShownChange[]
  /** The others that change with it, as far as the caller may read them. */
  readonly others: readonly ChangedItem[]
  /** What is sent along, field by field. */
  readonly entered: Entries
}

/** An operation that cannot be done now, and why not. */
export interface UnavailableOperation extends Pick<LogEntry, 'name' | 'wrongState'> {
  readonly reason: string
}

/** A request of a program that does the same as the button of a form. */
export interface SampleRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Members | undefined
}
