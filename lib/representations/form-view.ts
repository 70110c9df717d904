import type { Kind } from '../core/storage/storage.js'
import type { Members } from '../core/values/json.js'
import type { SampleRequest, WrongState } from './item-view.js'

/** Why a form was refused. */
export interface Refusal {
  readonly problem: Members
  /** The same, where it was for the state alone. */
  readonly wrongState?: WrongState | undefined
  /** What was entered, if the form it was entered in is no longer on the page. */
  readonly entered: readonly (readonly [name: string, value: string])[]
}

/** A form that POSTs what a person enters. */
export interface FormAffordance {
  /** Of the operation, `create` or `delete`. */
  readonly name: string
  /** The singular of the family. */
  readonly singular: string
  /** Its summary in the definition. */
  readonly title?: string | undefined
  /** Whether the person is asked first. */
  readonly danger?: boolean | undefined
  /** Whether the person is asked first, and warned that it cannot be undone. */
  readonly final?: boolean | undefined
  /** Whether this is what was refused. */
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
  /** What was wrong with it. */
  readonly error?: string | undefined
}
