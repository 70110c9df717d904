import type { Kind } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import type { FormAffordance } from './form-view.js'

/** The kind of a value, for people: a choice is one of a few words. */
export type ShownKind = Kind | 'choice'

/** A member as it is shown: of an item, or of what was sent with a command. */
export interface ShownMember {
  readonly name: string
  readonly value: unknown
  readonly kind?: ShownKind | undefined
}

/** A member before and after a change; neither, where they were too long to be kept. */
export interface ShownChange {
  readonly name: string
  readonly kind?: ShownKind | undefined
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
  /** Of the item. */
  readonly singular: string
  readonly outcome: 'done' | 'unchanged' | 'refused'
  /** That of the item after it. */
  readonly revision: number
  /** That of the item now, where it is there. */
  readonly current?: number | undefined
  /** The log of the item, where it was deleted. */
  readonly log?: string | undefined
}

/** An entry of the log, for people. */
export interface LogEntry extends Feedback {
  /** Where it is. */
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
  /** What it is called. */
  readonly title: string
  /** Where it is, as far as that is known. */
  readonly href?: string | undefined
  readonly changes: readonly ShownChange[]
}

/** A question before something is done. */
export interface Confirmation {
  /** The form that does it. */
  readonly form: Pick<FormAffordance, 'name' | 'singular' | 'title' | 'final' | 'action'>
  /** Where the item is. */
  readonly item: string
  readonly params: readonly ShownMember[]
  readonly changes: readonly ShownChange[]
  /** The others that change with it, as far as the caller may read them. */
  readonly others: readonly ChangedItem[]
  /** What is sent along, field by field. */
  readonly entered: readonly (readonly [name: string, value: string])[]
}

/** An operation that cannot be done now, and why not. */
export interface UnavailableOperation {
  readonly name: string
  /** As in a problem. */
  readonly reason: string
  /** The same, where it is for the state alone. */
  readonly wrongState?: WrongState | undefined
}

/** A request of a program that does the same as the button of a form. */
export interface SampleRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Members | undefined
}
