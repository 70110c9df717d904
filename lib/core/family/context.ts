import type { ItemPage, PageOptions } from '../query/grammar.js'
import type { Condition, Id } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { AnyFamily, ItemIn } from './types.js'

// What the rules of a host get besides the item.

export type AnyItems = Readonly<Record<string, Members | undefined>>

/** The context of rules, besides the item and its parameters; by the types of `items` and `newIds`. */
export interface Context<Items = AnyItems, Ids = any> {
  /** The moment of the decision, `YYYY-MM-DDTHH:mm:ss.sssZ`. */
  readonly now: string
  /** The id of the command; empty if the operation is only offered. */
  readonly command: string
  /** The name of the caller, from `authorize` or the call of the service. */
  readonly principal: string | undefined
  /** The `claims` that `authorize` returned, or an empty object. */
  // Of any type, so that a host can use its own names under every compiler option.
  readonly claims: any
  /** The other items that `with` names; undefined if there is none. If it is only offered: those of fields. */
  readonly items: Items
  /** The ids of the items that `creates` names, if they are created. */
  readonly newIds: Ids
  /** The result of `prepare`, or an empty object, such as if the operation is only offered. Of any type, too. */
  readonly facts: any
}

/** The first argument of `prepare`. */
export interface Preparation<Item> {
  /** The action of the command, such as `CreateBooking`. */
  readonly action: string
  /** The item before the command; it may change before the decision. Undefined for a creation. */
  readonly item: Item | undefined
  // Of any type, since every operation has its own.
  readonly params: any
  readonly context: Context
}

/** The result of `prepare`: an object, or nothing. */
export type Facts = object | undefined | void

/** Reads for `prepare`: any family by its plugin, or this one by name. Only items that the caller may read exist. */
export interface Lookups {
  get<Family extends AnyFamily | string> (family: Family, id: Id): Promise<ItemIn<Family> | undefined>
  /** By a query string, or by conditions that all must hold. */
  find<Family extends AnyFamily | string> (
    family: Family,
    query?: string | readonly Condition[],
    options?: PageOptions
  ): Promise<ItemPage<ItemIn<Family>>>
}
