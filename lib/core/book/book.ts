import type { TProperties } from '@sinclair/typebox'
import type { OperationParams } from '../family/definition.js'
import type { AnyTypes, FamilyTypes, IdOf, ItemOf } from '../family/types.js'
import type { CallOptions, LoggedCommand, Service } from '../service/service.js'

/** Something that the caller may do with a family, or with an item of it. */
export interface Offer {
  /** As `run` and `runAll` have it: an operation, `edit`, `create` or `remove`. Of reading: `find` or `get`. */
  readonly name: string
  /** As `authorize` has it: such as `HoldDeal`, `list` or `read`. */
  readonly action: string
  /** Whether the state of the item allows it now. Without an item: true. */
  readonly allowed: boolean
  /** Why the state does not allow it. */
  readonly reason?: string
}

/** What a command would do now. */
export interface Preview<Item = Readonly<Record<string, unknown>>> {
  /** Whether it would change anything. */
  readonly changed: boolean
  /** The item after it; undefined if it would be gone, or if the caller may not read it. */
  readonly item: Item | undefined
}

/**
 * A family as a caller may use it: what `service` returns and, for the caller of a request, `book` of a mount. Every
 * rule about what the caller may see and do holds in it.
 */
export interface Book<
  Fields extends TProperties = TProperties,
  Params extends OperationParams = OperationParams,
  Types extends FamilyTypes = AnyTypes
> extends Service<Fields, Params, Types> {
  /**
   * What the caller may do with an item, and whether its state allows it now; without an id, what it may do at all.
   * Throws the problem of `authorize` if that refuses everything.
   */
  offers (id?: IdOf<Fields>, options?: CallOptions): Promise<readonly Offer[]>
  /**
   * Whether the caller may do it now: an operation, `edit`, `create`, `remove`, `find` or `get`. With an id, false if
   * the caller may not read the item.
   */
  can (name: string, id?: IdOf<Fields>, options?: CallOptions): Promise<boolean>
  /**
   * What an operation, `edit` or `remove` would do now. Throws the problem with which it would be refused, except by
   * constraints of the storage.
   */
  preview (
    name: string, id: IdOf<Fields>, params?: object, options?: CallOptions & { readonly revision?: number }
  ): Promise<Preview<ItemOf<Fields>>>
  /** A command in the log of an item. Throws the problem `not-found` if it is not there. */
  entry (id: IdOf<Fields>, command: string, options?: CallOptions): Promise<LoggedCommand>
}
