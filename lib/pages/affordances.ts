import type { Count, Kind, Members, OperatorName } from '../exports.js'
import type {
  Feedback, Kinds, LabelTable, LogEntry, Past, Referred, RowReferences, ShownChange, ShownKind, ShownMember, ShownState,
  WrongState
} from './shown.js'

export type * from './shown.js'

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

/** A family on the home page. */
export interface HomeFamily extends Count, Omit<SiteFamily, 'isCurrent'> {
  readonly states?: readonly (Count & ShownState & { readonly href: string })[]
}

/** The content of the home page. */
export interface Home {
  readonly families: readonly HomeFamily[]
  readonly site: Site
  /** When the page was made, in milliseconds. */
  readonly now: number
  /** The newest commands of all families, and the URL of all of them. */
  readonly activity?: { readonly href?: string | undefined, readonly entries: readonly LogEntry[] } | undefined
}

/** What the script of a page waits for, to say that there is something new. */
export interface Live {
  /** The URL of the events after this page. */
  readonly href: string
  /** Their names. */
  readonly actions: readonly string[]
  /** The URL that shows what is new. */
  readonly show: string
  /** The revision of the item that the page shows; undefined for a list of commands. */
  readonly revision?: number | undefined
}

interface Affordances {
  readonly site: Site
  /** When the page was made, in milliseconds. */
  readonly now: number
  readonly kinds: Kinds
  /** The member that identifies an item; in a list, it links to the item. */
  readonly title: string
  readonly labels?: LabelTable | undefined
  readonly trail: readonly Crumb[]
  /** Links to the page in other representations. */
  readonly others: readonly Link[]
  readonly refused?: Refusal | undefined
  /** The outcome of the command that was just sent. */
  readonly feedback?: Feedback | undefined
  readonly live?: Live | undefined
}

/** The page of an item: operations, links and log. */
export interface ItemAffordances extends Affordances {
  readonly state?: ShownState | undefined
  /** The items that members refer to, by their names. */
  readonly referred: Readonly<Record<string, Referred>>
  readonly inRows?: RowReferences | undefined
  /** Lists of items that refer to this one. */
  readonly related: readonly RelatedList[]
  /** The items of these lists that belong to this one. */
  readonly children?: readonly ChildList[] | undefined
  /** Members that the service sets, which few people need. */
  readonly technical: readonly string[]
  /** The operations that are allowed now, including the deletion. */
  readonly operations: readonly FormAffordance[]
  readonly unavailable: readonly UnavailableOperation[]
  /** The newest entries of the log, newest first. */
  readonly log?: { readonly href: string, readonly entries: readonly LogEntry[] } | undefined
  /** Set if the item is itself an entry of a log. */
  readonly entry?: LogEntry | undefined
  readonly confirm?: Confirmation | undefined
  /** Set if the item is shown as it was. */
  readonly past?: Past | undefined
}

/** A list of the items of a family that refer to an item. */
export interface RelatedList extends Count {
  readonly name: string
  readonly labels?: LabelTable | undefined
  /** The field that refers to the item, if the family has several. */
  readonly field?: string | undefined
  readonly href: string
}

/** The first items of a family that are created with an item, in a list, and refer to it: as a table. */
export interface ChildList extends RelatedList {
  /** The member that identifies an item. */
  readonly title: string
  readonly columns: readonly string[]
  readonly kinds: Kinds
  readonly inRows: RowReferences
  readonly items: readonly ChildItem[]
}

/** A row of such a table. */
export interface ChildItem {
  readonly id: string
  readonly document: Members
  readonly href?: string | undefined
  readonly state?: ShownState | undefined
  readonly referred: Readonly<Record<string, Referred>>
  readonly operations: readonly ChildOperation[]
}

/** An operation that is allowed now: a form without inputs, or a link to the page that has its form. */
export interface ChildOperation {
  readonly name: string
  readonly singular: string
  readonly form?: FormAffordance | undefined
  readonly href?: string | undefined
}

/** The page of a list: filters, columns, links and forms. */
export interface PageAffordances extends Affordances {
  readonly columns: readonly string[]
  /** The columns to choose from; empty if they cannot be chosen. */
  readonly members: readonly string[]
  /** The zone of the days in filters, if the address names one. */
  readonly zone?: string | undefined
  /** The states to filter by, and the URL of the list in all of them. */
  readonly states: readonly (Count & ShownState & { readonly href: string, readonly isCurrent: boolean })[]
  readonly everyState?: string | undefined
  /** The search text; undefined if the list has no search. */
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
  /** Undefined if the page is read from a cursor. */
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
  /** The entries, if the list is a log. */
  readonly timeline?: readonly LogEntry[] | undefined
  /** Whether the entries are those of many items. */
  readonly isActivity?: boolean
  /** Whether these are the deletions of items that have not come back. */
  readonly isDeleted?: boolean
  /** The URL of the commands of all items of the list. */
  readonly activity?: string | undefined
  /** The URL of what is deleted now, from which items can be restored. */
  readonly deleted?: string | undefined
  /** The URL of the page with some parameters changed; `undefined` removes one. */
  url (changes: Readonly<Record<string, string | undefined>>): string
  /** The URL of the item in a row, and of the item that one of its members refers to. */
  address (index: number): string
  readonly refer?: ((index: number, member: string) => Referred | undefined) | undefined
  readonly inRows?: RowReferences | undefined
  /** The state of the item in a row. */
  readonly stateOf?: ((index: number) => ShownState | undefined) | undefined
  /** How a form names the item in a row, and the revision that is shown. */
  readonly identify: (index: number) => { readonly id: string, readonly revision: number }
}

/** A form that chooses an operation for several items. */
export interface ManyAffordance {
  readonly action: string
  /** The query of the list, to return to. */
  readonly from: string
  readonly operations: readonly Pick<FormAffordance, 'name' | 'singular'>[]
}

/** An operation for several items, before and after it is run. */
export interface Many {
  readonly form: FormAffordance
  readonly name: string
  readonly items: readonly ManyItem[]
  readonly isDone: boolean
  readonly refused?: Refusal | undefined
  /** The URL of the list that they were selected from, and its query. */
  readonly list: string
  readonly from: string
}

/** One of several items: its outcome, or its problem, after the operation. */
export interface ManyItem {
  readonly id: string
  readonly revision: string
  readonly title: string
  readonly href: string
  /** Undefined if it is not known, such as when its log was pruned. */
  readonly outcome?: Feedback['outcome'] | undefined
  readonly reason?: string | undefined
  /** Whether it was refused because someone else has changed the item. */
  readonly isStale?: boolean | undefined
  readonly wrongState?: WrongState | undefined
}

type Entries = readonly (readonly [name: string, value: string])[]

/** An active filter of a list; `href` is the list without it. */
export interface ActiveFilter {
  readonly field: string
  readonly kind: ShownKind
  readonly op: OperatorName
  readonly value: string
  /** Whether it is a value of the field, and not part of one or a pattern. */
  readonly isValue: boolean
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
  /** The query of the list from which the page was opened, to return to. */
  readonly from?: string | undefined
}

/** A field of a form. */
export interface FormField {
  readonly name: string
  /** The name of the member; in rows and groups its path, such as `lines.price`. */
  readonly label: string
  /** Its label, unless the language has another. */
  readonly title?: string | undefined
  /** The condition of a filter, unless it is equality. */
  readonly bound?: 'from' | 'to' | 'has' | undefined
  /** Of a list of amounts, one per line: that of each. */
  readonly kind: Kind
  readonly required: boolean
  readonly description?: string | undefined
  readonly values?: readonly string[] | undefined
  /** Operations to choose from, by their actions. */
  readonly actions?: readonly ActionChoice[] | undefined
  readonly families?: readonly Pick<SiteFamily, 'name' | 'labels'>[] | undefined
  readonly maxLength?: number | undefined
  /** What was entered before, or the value of the item, or the default. */
  readonly value?: string | undefined
  /** Whether a person typed it in the language of a page; otherwise an amount is as in JSON. */
  readonly isTyped?: boolean | undefined
  /** How the value is entered if it is not a single text: lines of a list, rows of a table, or members. */
  readonly shape?: 'lines' | 'rows' | 'group' | undefined
  /** The fields of each row, or of the only one. */
  readonly rows?: readonly (readonly FormField[])[] | undefined
  /** How many rows it can have. */
  readonly mostRows?: number | undefined
  /** Of a field in a row: the number of the row. */
  readonly row?: number | undefined
  /** Whether it is the first to fill in, after a row was added or removed. */
  readonly isFocused?: boolean | undefined
  /** Set if the value is the id of another item. */
  readonly reference?: ReferenceField | undefined
  /** The value that someone else has given it since the page was opened. */
  readonly theirs?: ShownMember | undefined
  /** The value of the item, in a form that edits it; sent too, so that only edited fields count. */
  readonly was?: string | undefined
  readonly error?: string | undefined
  /** Whether the whole row is wrong, not only this field of it. */
  readonly isRowError?: boolean | undefined
  /** If only one line of a list is wrong, its number. */
  readonly line?: number | undefined
}

/** An operation to choose, by its action. */
export interface ActionChoice {
  readonly value: string
  readonly name: string
  readonly singular: string
  readonly labels?: LabelTable | undefined
}

/** How a person chooses an item: from a few, or by a part of its title. */
export interface ReferenceField {
  readonly singular: string
  readonly labels?: LabelTable | undefined
  readonly choices?: readonly { readonly value: string, readonly title: string }[] | undefined
  /** The URL that finds items as JSON; the search text is added to it. */
  readonly lookup?: string | undefined
  /** The member of these items that is shown. */
  readonly title?: string | undefined
}

/** A different item that changes too. */
export interface ChangedItem {
  readonly singular: string
  readonly labels?: LabelTable | undefined
  /** Undefined if it is created, and only its id would identify it. */
  readonly title: string | undefined
  readonly href?: string | undefined
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
