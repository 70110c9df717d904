import type { Kind, Labels, Tone } from '../exports.js'

/** The labels of a family, by language; those under the empty name are for every language that has no others. */
export type LabelTable = Readonly<Record<string, Labels>>

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

/**
 * The kind of value of each member and, by their paths such as `lines.price`, of what is in lists and objects; that of
 * the entries of a list has the path `tags.`.
 */
export type Kinds = Readonly<Record<string, ShownKind>>

/** The items that members of rows refer to, by the paths of the members and the ids. */
export type RowReferences = Readonly<Record<string, ReadonlyMap<string, Referred>>>

/** The kind of a value, for people: a choice is one of a few words. */
export type ShownKind = Kind | 'choice'

/** A member of an item, or a parameter of a command, as it is shown. */
export interface ShownMember {
  readonly name: string
  /** Its label, unless the language has another. */
  readonly title?: string | undefined
  readonly value: unknown
  readonly kind?: ShownKind | undefined
  /** The kinds of what is in it, by their paths. */
  readonly kinds?: Kinds | undefined
  /** Set where the value is the id of another item that the reader may see. */
  readonly referred?: Referred | undefined
  readonly inRows?: RowReferences | undefined
}

/** A member before and after a change; both are undefined if no one reads it. */
export interface ShownChange extends Omit<ShownMember, 'value' | 'referred'> {
  readonly from?: unknown
  readonly to?: unknown
  /** The values that were too long to keep. */
  readonly omitted?: readonly string[]
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

/** A form with one button, which takes back what was done. */
export interface TakeBack {
  readonly action: string
  readonly entered: readonly (readonly [name: string, value: string])[]
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
  /** Undefined if it cannot be taken back, or someone has changed the item since. */
  readonly undo?: TakeBack | undefined
}

/** An entry of the log, as pages show it. */
export interface LogEntry extends Feedback {
  /** The item, in a log of many. */
  readonly item?: LoggedItem | undefined
  /** Undefined if the family has no pages. */
  readonly href?: string | undefined
  /** The URL of the item as it was after it, or before it was deleted. */
  readonly then?: string | undefined
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

/** The item that an entry of a log is about. */
export interface LoggedItem {
  readonly id: string
  /** Undefined where it is gone. */
  readonly title: string | undefined
  readonly href?: string | undefined
  /** Of one that is gone. */
  readonly restore?: TakeBack | undefined
  readonly labels?: LabelTable | undefined
  /** Whether entries of several families are listed. */
  readonly isShared: boolean
}

/** When an item was as its page shows it, and what it is now. */
export interface Past {
  readonly revision: number
  /** Undefined if the log does not have it. */
  readonly at: string | undefined
  /** The URL of the item; undefined if it was deleted. */
  readonly current: string | undefined
  readonly prev: string | undefined
  readonly next: string | undefined
  /** The members whose values the log does not have. */
  readonly missing: readonly string[]
  /** The members that are different now. */
  readonly now: Readonly<Record<string, { readonly value: unknown }>>
}
