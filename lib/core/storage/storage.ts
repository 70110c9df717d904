import type { Condition, Order } from './condition.js'

export type { AnyCondition, Condition, FieldCondition, Order, Scalar } from './condition.js'

/** The identifier of an item: an integer or a string, the same kind for all items of a family. */
export type Id = string | number

/**
 * How the values of a field are kept. Dates are `YYYY-MM-DD`, date-times `YYYY-MM-DDTHH:mm:ss.sssZ`, so that the order
 * of their text is the order of time; `json` is everything nested. It can be neither ordered nor filtered, except by
 * whether it is present.
 */
export type Kind = 'integer' | 'number' | 'string' | 'boolean' | 'date' | 'date-time' | 'json'

/** One field of a family, as a storage sees it. */
export interface Field {
  readonly name: string
  readonly kind: Kind
  readonly optional: boolean
  /** Whether its value may be null. Never of an optional field: a database has one NULL for both. */
  readonly nullable?: boolean
  /** The only possible values (enumerations). */
  readonly values?: readonly string[]
  /** The maximum length of a new text, in characters; existing ones may be longer. */
  readonly maxLength?: number
  /**
   * The value of items that were stored without the field, such as before it was added: in reads, filters and orders.
   * Never of an optional field; null of a nullable one, unless it has a different one.
   */
  readonly default?: unknown
}

/** What a storage needs to know of a family to keep its items. */
export interface FamilyShape {
  readonly name: string
  /** All fields; `id`, `revision`, `createdAt` and `updatedAt` are always among them. */
  readonly fields: readonly Field[]
  /**
   * Fields, or rows of fields, that are often filtered or ordered by. A row that ends with the id is an order in which
   * pages are read one after another: continuing should cost the same at any position.
   */
  readonly indexes: readonly (readonly string[])[]
  /** Whether items are created by clients. */
  readonly creates?: boolean
  /**
   * Rows of fields whose values together no two items may have. An item that has nothing in one of them, or null, is
   * not compared.
   */
  readonly unique?: readonly (readonly string[])[]
  /**
   * The families that fields refer to, by the fields: a value is the id of an item of that family, or absent. That
   * family is prepared in this storage as well.
   */
  readonly references?: Readonly<Record<string, string>>
}

/** An item as it is stored. An absent optional field is a missing member; only nullable ones are ever `null`. */
export interface Stored {
  readonly id: Id
  /** 1 at creation, one more with every change. */
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly [field: string]: unknown
}

/** Which items are wanted, in which order. */
export interface Query {
  /**
   * All of them must hold. No text is searched (`regex`, `has`) of an item that a condition without a search, or one
   * before it, excludes: the time that it takes would reveal what the text is.
   */
  readonly where: readonly Condition[]
  /** Ends with `id`, so that the order is total. */
  readonly order: readonly Order[]
  /** How many matching items to pass over. */
  readonly offset: number
  /** How many items at most. */
  readonly limit: number
  /** Whether `total` is wanted: how many items match, whatever offset and limit are. */
  readonly count: boolean
}

/** What a query found. */
export interface Found {
  readonly items: readonly Stored[]
  readonly total?: number
}

/** The values of an item in the fields of an order: its position in it. */
export interface ItemKey {
  readonly id: Id
  readonly [field: string]: unknown
}

/** A page as text that can be sent as it is. */
export interface FoundText {
  /**
   * The items as JSON objects with commas between them: what `JSON.stringify` makes of each, with the members in the
   * order asked for.
   */
  readonly text: string
  readonly count: number
  /** The fields of the order that the first of them has; only needed where an offset was asked for. */
  readonly first?: ItemKey
  /** The same of the last of them. */
  readonly last?: ItemKey
  /** Whether more items match after these. */
  readonly more: boolean
  readonly total?: number
}

/**
 * One change of one item, with the revision that must be there for it. A commit has at most one for an item. `current`
 * is the item at that revision, where the caller has it: a storage need not write what is the same in both. `require`
 * changes nothing: the item must only exist at that revision when the other changes are made.
 */
export type Change =
  | { readonly type: 'insert', readonly family: string, readonly item: Stored }
  | { readonly type: 'replace', readonly family: string, readonly item: Stored, readonly expected: number } &
    { readonly current?: Stored }
  | { readonly type: 'delete', readonly family: string, readonly id: Id, readonly expected: number }
  | { readonly type: 'require', readonly family: string, readonly id: Id, readonly expected: number }

/**
 * Where items live. A storage knows nothing of HTTP. It may throw `ConflictError`, `DuplicateError`, `ConstraintError`
 * and `ReadOnlyError` from `commit`, and `BusyError` from anything; any other error means that it is unavailable.
 *
 * A read may come with a signal. It is aborted when the result is no longer needed (a deadline has passed, or the
 * client has disconnected): the storage may then end the work and throw the signal's reason.
 */
export interface Storage {
  /**
   * Makes, or checks, what this family needs. Called for every mount, so it is safe to repeat; for other versions of
   * the family too, which may have more fields or fewer.
   */
  prepare (family: FamilyShape): Promise<void>
  /** The items that meet the query, in its order. */
  find (family: string, query: Query, signal?: AbortSignal): Promise<Found>
  /** The same as text, for a storage that needs no objects to make it. Without it, `find` is used. */
  findText? (
    family: string,
    query: Query,
    members: readonly string[],
    signal?: AbortSignal
  ): Promise<FoundText>
  /** One item, or undefined. */
  get (family: string, id: Id, signal?: AbortSignal): Promise<Stored | undefined>
  /** The id of a new item, where other programs take ids from the storage too, such as from a sequence. */
  nextId? (family: string, signal?: AbortSignal): Promise<Id | undefined>
  /**
   * All changes or none of them; durable when the promise is fulfilled. Two changes of one item in one commit are
   * refused, as `checkChanges` does.
   */
  commit (changes: readonly Change[]): Promise<void>
  /** Safe to repeat. */
  close (): Promise<void>
  /** The SQL that creates what these families lack, as one text; empty where nothing is missing. For SQL storages. */
  writeMigration? (families: readonly FamilyShape[]): Promise<string>
  /** Families that it has settings for. One that is neither mounted with it nor served from it is an error at boot. */
  readonly mappedFamilies?: readonly string[]
  /** Metrics by their names, such as the depth of a queue. Cheap: it only reads them. */
  metrics? (): Readonly<Record<string, number>>
}

/** The item does not exist, or not at the revision that the change expects. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError'
  constructor (readonly family: string, readonly id: Id) {
    super(`${family} ${id}: not at the expected revision`)
  }
}

/** The id of an insert is taken. */
export class DuplicateError extends Error {
  override readonly name = 'DuplicateError'
  constructor (readonly family: string, readonly id: Id) {
    super(`${family} ${id}: the id is taken`)
  }
}

/** The family is read-only, such as in a mapped table without a revision. */
export class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError'
  constructor (readonly family: string) {
    super(`${family} can only be read: its table has no column for the revision`)
  }
}

/** Too many requests wait for the storage. Nothing was done; a retry may succeed. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
}
