import type { Labels, Tone } from '../core/family/presentation.js'
import type { FieldCondition, Kind } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'

/** The labels of a family, by language. */
export type LabelTable = Readonly<Record<string, Labels>>

/** A link, with its text. */
export interface Link {
  readonly href: string
  readonly title: string
}

/** A step of the trail to a page. */
export interface Crumb {
  readonly kind: 'home' | 'list' | 'item' | 'log'
  readonly href: string
  /** The name of a list, or the title of an item. */
  readonly name: string
  readonly labels?: LabelTable | undefined
}

/** The links that every page has. */
export interface Site {
  /** The URL of the home page of the prefix, if it has one. */
  readonly home?: string | undefined
  /** The families at the prefix that the caller may list. */
  readonly families: readonly SiteFamily[]
}

/** A family that a page links to. */
export interface SiteFamily {
  readonly name: string
  readonly version?: string | undefined
  readonly href: string
  readonly isCurrent: boolean
  readonly labels?: LabelTable | undefined
}

/** The number of items: exact or, where there are very many, a lower bound. */
export interface Count {
  readonly total?: number | undefined
  readonly atLeast?: number | undefined
}

/** A family on the home page. */
export interface HomeFamily extends Count, Omit<SiteFamily, 'isCurrent'> {
  readonly states?: readonly (Count & ShownState & { readonly href: string })[]
}

/** The state of an item, and how it is coloured. */
export interface ShownState {
  readonly state: string
  readonly tone: Tone
}

/** An item that another refers to. */
export interface Referred {
  readonly title: string
  readonly href?: string | undefined
}

/** The content of the home page. */
export interface Home {
  readonly families: readonly HomeFamily[]
  readonly site: Site
}

/** The kind of value of each member. */
export type Kinds = Readonly<Record<string, ShownKind>>

interface Affordances {
  readonly site: Site
  /** When the page was made, in milliseconds. */
  readonly now: number
  readonly kinds: Kinds
  /** The member by which people know an item; in a list, it links to the item. */
  readonly title: string
  readonly labels?: LabelTable | undefined
  readonly trail: readonly Crumb[]
  /** Links to the page in other representations. */
  readonly others: readonly Link[]
  readonly refused?: Refusal | undefined
  /** The outcome of the command that was just sent. */
  readonly feedback?: Feedback | undefined
}

/** What people can do with an item. */
export interface ItemAffordances extends Affordances {
  readonly state?: ShownState | undefined
  /** The items that members refer to, by their names. */
  readonly referred: Readonly<Record<string, Referred>>
  /** Lists of items that refer to this one. */
  readonly related: readonly RelatedList[]
  /** Members that the service sets, which matter to few people. */
  readonly technical: readonly string[]
  /** The operations that are allowed now, including the deletion. */
  readonly operations: readonly FormAffordance[]
  readonly unavailable: readonly UnavailableOperation[]
  /** The newest entries of the log, newest first. */
  readonly log?: { readonly href: string, readonly entries: readonly LogEntry[] } | undefined
  /** Set where the item is itself an entry of a log. */
  readonly entry?: LogEntry | undefined
  readonly confirm?: Confirmation | undefined
}

/** A list of the items of a family that refer to an item. */
export interface RelatedList extends Count {
  readonly name: string
  readonly labels?: LabelTable | undefined
  /** The field that refers to the item, if the family has several. */
  readonly field?: string | undefined
  readonly href: string
}

/** What people can do with a page. */
export interface PageAffordances extends Affordances {
  readonly columns: readonly string[]
  /** The columns to choose from; empty where they cannot be chosen. */
  readonly members: readonly string[]
  /** The zone of the days in filters, if the address names one. */
  readonly zone?: string | undefined
  /** The states to filter by, and the URL of the list in all of them. */
  readonly states: readonly (Count & ShownState & { readonly href: string, readonly isCurrent: boolean })[]
  readonly everyState?: string | undefined
  /** What is searched for; undefined where there is nothing to search. */
  readonly search?: string | undefined
  /** The field by which the last days are chosen, such as `createdAt`. */
  readonly recent?: string | undefined
  /** The number of all items that match. */
  readonly found: Count
  /** The number of the first item of the page, if it is known. */
  readonly from?: number | undefined
  readonly first?: string | undefined
  readonly last?: string | undefined
  readonly exported?: string | undefined
  /** Operations that can be run for several items at once. */
  readonly many?: ManyAffordance | undefined
  /** Undefined where the page is read from a cursor. */
  readonly page?: number | undefined
  readonly prev?: string | undefined
  readonly next?: string | undefined
  readonly pageSize: number
  readonly pageSizes: readonly number[]
  /** Whether `count=exact` is available. */
  readonly isCountable: boolean
  readonly filters: readonly FormField[]
  /** The active filters, and the URL of the list without them. */
  readonly active: readonly ActiveFilter[]
  readonly clear?: string | undefined
  /** Parameters to keep when filters change, and when columns are chosen. */
  readonly kept: Entries
  readonly given: Entries
  readonly sortable: readonly string[]
  readonly sort: string | undefined
  readonly create?: FormAffordance | undefined
  /** The entries, where the list is a log. */
  readonly timeline?: readonly LogEntry[] | undefined
  /** The URL of the page with some parameters changed; `undefined` removes one. */
  url (changes: Readonly<Record<string, string | undefined>>): string
  /** The URL of the item in a row, and of the item that one of its members refers to. */
  address (index: number): string
  readonly refer?: ((index: number, member: string) => Referred | undefined) | undefined
  /** The state of the item in a row. */
  readonly stateOf?: ((index: number) => ShownState | undefined) | undefined
  /** How a form names the item in a row, and the revision that is shown. */
  readonly identify: (index: number) => { readonly id: string, readonly revision: number }
}

/** A form that chooses an operation for several items. */
export interface ManyAffordance {
  readonly action: string
  readonly operations: readonly Pick<FormAffordance, 'name' | 'singular'>[]
}

/** An operation for several items, before and after it is run. */
export interface Many {
  readonly form: FormAffordance
  readonly name: string
  readonly items: readonly ManyItem[]
  /** Whether it was run. */
  readonly isDone: boolean
  readonly refused?: Refusal | undefined
  /** The URL of the list. */
  readonly list: string
}

/** One of several items: its outcome, or its problem, after the operation. */
export interface ManyItem {
  readonly id: string
  readonly revision: string
  readonly title: string
  readonly href: string
  readonly outcome?: Feedback['outcome'] | undefined
  readonly reason?: string | undefined
  readonly wrongState?: WrongState | undefined
}

type Entries = readonly (readonly [name: string, value: string])[]

/** An active filter of a list; `href` is the list without it. */
export interface ActiveFilter {
  readonly field: string
  readonly kind: ShownKind
  readonly op: FieldCondition['op']
  /** As it was sent. */
  readonly value: string
  readonly referred?: Referred | undefined
  /** Whether it belongs to an `or` group, of which one filter must hold. */
  readonly isAlternative: boolean
  readonly href: string
}

/** Why a form was refused. */
export interface Refusal {
  readonly problem: Members
  readonly wrongState?: WrongState | undefined
  /** What was entered, if the page no longer has the form. */
  readonly entered: Entries
  /** What others did since the page was opened, if that is why; newest first. */
  readonly meanwhile: readonly LogEntry[]
}

/** A form that POSTs what a person enters. */
export interface FormAffordance {
  /** The name of the operation, `create` or `delete`. */
  readonly name: string
  readonly singular: string
  /** The `summary` of the operation. */
  readonly title?: string | undefined
  /** Both ask for confirmation; `final` also warns that it cannot be undone. */
  readonly danger?: boolean | undefined
  readonly final?: boolean | undefined
  readonly isRefused: boolean
  readonly request?: SampleRequest | undefined
  readonly action: string
  readonly fields: readonly FormField[]
  /** The idempotency key, so that sending the form twice has one effect. */
  readonly key: string
  /** The revision that the page shows: the form is refused if there is a newer one. */
  readonly revision?: number | undefined
}

/** A field of a form. */
export interface FormField {
  readonly name: string
  /** The name of the member. */
  readonly label: string
  /** The condition of a filter, unless it is equality. */
  readonly bound?: 'from' | 'to' | 'has' | undefined
  readonly kind: Kind
  readonly required: boolean
  readonly description?: string | undefined
  readonly values?: readonly string[] | undefined
  /** Operations to choose from, by their actions. */
  readonly actions?: readonly { readonly value: string, readonly name: string, readonly singular: string }[] | undefined
  readonly minimum?: number | undefined
  /** Of a decimal: the digits after the point. */
  readonly scale?: number | undefined
  readonly maxLength?: number | undefined
  /** What was entered before, or the value of the item. */
  readonly value?: string | undefined
  /** How the value is entered where it is no single text: lines of a list, rows of a table, or members. */
  readonly shape?: 'lines' | 'rows' | 'group' | undefined
  /** The fields of each row, or of the only one. */
  readonly rows?: readonly (readonly FormField[])[] | undefined
  /** Set where the value is the id of another item. */
  readonly reference?: ReferenceField | undefined
  /** The value that someone else has given it since the page was opened. */
  readonly theirs?: ShownMember | undefined
  /** The value of the item, in a form that edits it; sent too, so that only edited fields count. */
  readonly was?: string | undefined
  readonly error?: string | undefined
  /** Where only this line of a list is wrong, its number. */
  readonly line?: number | undefined
}

/** How a person chooses an item: from a few, or by a part of its title. */
export interface ReferenceField {
  readonly singular: string
  readonly labels?: LabelTable | undefined
  readonly choices?: readonly { readonly value: string, readonly title: string }[] | undefined
  /** The URL that finds items as JSON; what is searched for is added to it. */
  readonly lookup?: string | undefined
  /** The member of these items that is shown. */
  readonly title?: string | undefined
}

/** The kind of a value, for people: a choice is one of a few words. */
export type ShownKind = Kind | 'choice'

/** A member of an item, or a parameter of a command, as it is shown. */
export interface ShownMember {
  readonly name: string
  readonly value: unknown
  readonly kind?: ShownKind | undefined
  /** Set where the value is the id of another item that the reader may see. */
  readonly referred?: Referred | undefined
}

/** A member before and after a change; both are undefined where they were too long to keep. */
export interface ShownChange extends Omit<ShownMember, 'value' | 'referred'> {
  readonly from?: unknown
  readonly to?: unknown
  /** The items that the values refer to. */
  readonly referred?: { readonly from?: Referred | undefined, readonly to?: Referred | undefined } | undefined
}

/** An operation that only the state of an item forbids; a refusal for a different reason has none. */
export interface WrongState {
  readonly operation: string
  readonly singular: string
  readonly state?: string | undefined
  readonly allowed: readonly string[]
}

/** The outcome of a command. */
export interface Feedback {
  /** The name of the operation, `create` or `delete`; the action, if the family no longer has the operation. */
  readonly name: string
  readonly singular: string
  readonly outcome: 'done' | 'unchanged' | 'refused'
  /** The revision after the command. */
  readonly revision: number
  /** The current revision, if the item exists. */
  readonly current?: number | undefined
  /** The URL of the log, if the item was deleted. */
  readonly log?: string | undefined
}

/** An entry of the log, as pages show it. */
export interface LogEntry extends Feedback {
  readonly href: string
  readonly at: string
  readonly principal?: string | undefined
  /** The item that the command was for, if it changed this one too. */
  readonly about?: {
    readonly singular: string
    readonly labels?: LabelTable | undefined
    readonly id: string
    readonly href?: string | undefined
  } | undefined
  readonly params: readonly ShownMember[]
  readonly changes: readonly ShownChange[]
  /** Why it was refused, as in the problem. */
  readonly reason?: string | undefined
  readonly wrongState?: WrongState | undefined
}

/** A different item that changes too. */
export interface ChangedItem {
  readonly singular: string
  readonly labels?: LabelTable | undefined
  /** Undefined where it is created, and only its id would identify it. */
  readonly title: string | undefined
  readonly href?: string | undefined
  /** Whether it is created. */
  readonly isNew: boolean
  readonly changes: readonly ShownChange[]
}

/** A question before a change, which is shown instead of everything else. */
export interface Confirmation {
  readonly form: Pick<FormAffordance, 'name' | 'singular' | 'title' | 'final' | 'action'>
  /** The URL of the item. */
  readonly item: string
  readonly params: readonly ShownMember[]
  readonly changes: readonly ShownChange[]
  /** Other items that change or are created too, if the caller may read them. */
  readonly others: readonly ChangedItem[]
  /** Sent with the confirmation. */
  readonly entered: Entries
}

/** An operation that cannot be done now, and why not. */
export interface UnavailableOperation extends Pick<LogEntry, 'name' | 'wrongState'> {
  readonly reason: string
}

/** The API request that does the same as the button of a form. */
export interface SampleRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Members | undefined
}
