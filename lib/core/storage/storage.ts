import { errorCodes } from '../errors.js'
import type { TextTransform } from '../values/formats.js'
import { getPathField } from '../values/paths.js'

/** A value that can be filtered and ordered. */
export type Scalar = string | number | boolean

/**
 * A condition on one field. `eq` holds for any of the values, `ne` for none of them. `regex` holds if any pattern is
 * found in the field's text, `has` if the text contains any of the texts, ignoring case (the simple case folding of
 * Unicode). `null` holds for absent and null values, or for all others. Of the other operators, only `ne` holds for an
 * absent or null value, which equals nothing.
 */
export type FieldCondition<F extends string = string> =
  | { readonly field: F, readonly op: 'eq' | 'ne', readonly values: readonly Scalar[] }
  | { readonly field: F, readonly op: 'gt' | 'gte' | 'lt' | 'lte', readonly value: Scalar }
  | { readonly field: F, readonly op: 'regex', readonly patterns: readonly string[] }
  | { readonly field: F, readonly op: 'has', readonly texts: readonly string[] }
  | { readonly field: F, readonly op: 'null', readonly is: boolean }

/** Alternatives: holds when all conditions of one of the lists hold. */
export interface AnyCondition<F extends string = string> {
  readonly op: 'any'
  readonly of: readonly (readonly FieldCondition<F>[])[]
  readonly field?: undefined
}

/** A condition on one field, or alternatives. */
export type Condition<F extends string = string> = FieldCondition<F> | AnyCondition<F>

/** Text is ordered by code point; absent and null come first, and last when descending. */
export interface Order {
  readonly field: string
  readonly descending: boolean
  /** Whether the texts of the field are decimals, ordered as numbers. */
  readonly numeric?: boolean
}

/** The id of an item: an integer or a string, the same kind in all items of a family. */
export type Id = string | number

/**
 * How the values of a field are stored. Dates are `YYYY-MM-DD`, date-times `YYYY-MM-DDTHH:mm:ss.sssZ`, so that text and
 * time have the same order. Decimals are text such as `-3.50`, and numbers in conditions: they are compared and ordered
 * as numbers. `json` is everything nested; it cannot be ordered, and only filtered by `null`.
 */
export type Kind = 'integer' | 'number' | 'decimal' | 'string' | 'boolean' | 'date' | 'date-time' | 'json'

/** One field of a family, for a storage. */
export interface Field {
  readonly name: string
  readonly kind: Kind
  readonly optional: boolean
  /** Whether its value may be null. Never of an optional field: a database has one NULL for both. */
  readonly nullable?: boolean
  /** The values of an enumeration. */
  readonly values?: readonly string[]
  /** The digits of a decimal after the point. It has at most 15 digits in all. */
  readonly scale?: number
  /** In characters, for new texts; existing ones may be longer. */
  readonly maxLength?: number
  /** Applied to the texts of clients before they are stored; a storage ignores it. */
  readonly transform?: readonly TextTransform[]
  /** Whether it is kept out of everything that clients read; a storage ignores it. */
  readonly writeOnly?: true
  /**
   * The value of items that were stored without the field, such as before it was added, in reads, filters and orders.
   * Never of an optional field. Null of a nullable one, unless it has a different one.
   */
  readonly default?: unknown
}

/** The properties of a family that a storage needs. */
export interface FamilyShape {
  readonly name: string
  /** All fields, always including `id`, `revision`, `createdAt` and `updatedAt`. */
  readonly fields: readonly Field[]
  /**
   * Rows of fields that are often filtered or ordered by. A row that ends with the id is an order in which pages are
   * read one after another: continuing should cost the same at any position.
   */
  readonly indexes: readonly (readonly string[])[]
  /** Whether clients create items. */
  readonly creates?: boolean
  /** Rows of fields whose values together are unique. Items with an absent or null value in one are not compared. */
  readonly unique?: readonly (readonly string[])[]
  /** The name of the family whose id each of these fields holds. That family is prepared in this storage too. */
  readonly references?: Readonly<Record<string, string>>
  /**
   * The same for ids within fields of the kind `json`, by their paths, such as `lines.product` or `tags`: a path leads
   * through lists.
   */
  readonly pathReferences?: Readonly<Record<string, string>>
  /**
   * An optional integer field that the storage fills with 1, 2, 3 … in the order in which new items become visible. A
   * query with a condition on it finds every item that was committed before, and later items get higher numbers. An
   * insert may have the number, such as in a copy.
   */
  readonly sequence?: string
}

/** An item as stored. An absent optional field is a missing member; only nullable fields may be `null`. */
export interface Stored {
  readonly id: Id
  /** 1 at creation, one more with every change. */
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly [field: string]: unknown
}

/** A page of the items that meet all conditions. */
export interface Query {
  /**
   * All must hold. A search (`regex`, `has`) must not run on an item that a condition without a search, or one before
   * it, excludes: its duration would reveal what the text is.
   */
  readonly where: readonly Condition[]
  /** Ends with `id`, so that the order is total. */
  readonly order: readonly Order[]
  /** Matching items to skip. */
  readonly offset: number
  readonly limit: number
  /** Whether `total` is wanted: the number of all matching items, regardless of offset and limit. */
  readonly count: boolean
  /**
   * In characters. A storage that can measure items before it reads them returns only as many as fit, at least one,
   * and sets `isPartial`. Others ignore it.
   */
  readonly maxLength?: number
}

/** The result of a query. */
export interface Found {
  readonly items: readonly Stored[]
  readonly total?: number
  /** Whether further items of the page did not fit into `maxLength`. Undefined if the storage has not measured them. */
  readonly isPartial?: boolean
}

/** The position of an item in an order: its values in the fields of the order, by their names in the storage. */
export interface ItemKey {
  readonly id: Id
  readonly [field: string]: unknown
}

/** A page as text that can be sent unchanged. */
export interface FoundText {
  /** The items as `JSON.stringify` writes each, joined by commas, with the members in the order asked for. */
  readonly text: string
  /** Whether the text has the names that were asked for instead of those of the members. */
  readonly isNamed?: boolean
  readonly count: number
  /** The key of the first item; only needed if the query has an offset. */
  readonly first?: ItemKey
  /** The key of the last item. */
  readonly last?: ItemKey
  /** Whether more items match after these. */
  readonly more: boolean
  readonly total?: number
}

/**
 * A change of one item; a commit has at most one for each item. The item must be at the revision `expected`. `current`
 * is the item at that revision, if the caller has it: the item must have the same `updatedAt`, since after a failover
 * a different change may have led to the same revision. A storage need not write values that are the same in both.
 * `require` changes nothing: it only checks the revision.
 */
export type Change =
  | { readonly type: 'insert', readonly family: string, readonly item: Stored }
  | { readonly family: string, readonly expected: number, readonly current?: Stored } & (
    | { readonly type: 'replace', readonly item: Stored }
    | { readonly type: 'delete', readonly id: Id }
    | { readonly type: 'require', readonly id: Id }
  )

/** The reads of a storage. */
export interface StorageReads {
  find (family: string, query: Query, signal?: AbortSignal): Promise<Found>
  /**
   * The page as text, for a storage that can make it without objects. Default: `find` is used.
   *
   * @param names what the members are called in the text, in their order. A storage that heeds it sets `isNamed`; the
   *   text of others is changed afterwards, which takes longer.
   */
  findText? (
    family: string, query: Query, members: readonly string[], signal?: AbortSignal, names?: readonly string[]
  ): Promise<FoundText>
  get (family: string, id: Id, signal?: AbortSignal): Promise<Stored | undefined>
}

/**
 * Where items are stored. A storage knows nothing of HTTP. `commit` may throw `ConflictError`, `DuplicateError`,
 * `ConstraintError` and `ReadOnlyError`, and any method `BusyError`; any other error means that it is unavailable.
 *
 * The signal of a read is aborted when its result is no longer needed (a deadline has passed, or the client has
 * disconnected): the storage may then stop and throw the signal's reason.
 */
export interface Storage extends StorageReads {
  /** Creates, or checks, what this family needs. Called for every mount and version, so it must be safe to repeat. */
  prepare (family: FamilyShape): Promise<void>
  /** The id of a new item, if other programs take ids from the storage too, such as from a sequence. */
  nextId? (family: string, signal?: AbortSignal): Promise<Id | undefined>
  /** All changes or none; durable when the promise resolves. Call `checkChanges` to refuse two changes of one item. */
  commit (changes: readonly Change[]): Promise<void>
  /**
   * Resolves once an item that was read can no longer be lost, and fails if it was. Commands that ran before are
   * confirmed before their result is sent again. Default: what can be read cannot be lost.
   */
  confirm? (family: string, id: Id, signal?: AbortSignal): Promise<void>
  /** Safe to repeat. */
  close (): Promise<void>
  /** The SQL that creates what these families lack; empty if nothing is missing. */
  writeMigration? (families: readonly FamilyShape[]): Promise<string>
  /** Families that it has settings for. One that no mount or service of this storage has is an error at boot. */
  readonly mappedFamilies?: readonly string[]
  /**
   * Calls `wake` after commits, of this process at once and of others soon, until the returned function is called. It
   * may also call it for nothing. Default: readers that wait for new items look every second.
   */
  watch? (wake: () => void): () => void
  /**
   * Reads that decide nothing, for clients. They may come from a copy that has at least what this process has
   * committed, and what a process had committed or read when its `seen` returned this. Default: the storage itself.
   */
  replica? (seen?: string): StorageReads
  /** The current state, for `replica` in all processes: a short token for a header. Undefined if it is unknown. */
  seen? (): Promise<string | undefined>
  /** The characters of a value, as JSON, that the log keeps of a change; longer ones are left out. Default: all. */
  readonly maxLogged?: number
  /**
   * Whether each entry of the log has a hash over itself and the entry before it, by `chainShape`, `sealEntry` and
   * `linkEntry`.
   */
  readonly chain?: boolean
  /** Metrics by name, such as the depth of a queue. It must be cheap. */
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
    super(`${family} is read-only: its table has no column for the revision`)
  }
}

/** Too many requests wait for the storage. Nothing was done; a retry may succeed. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
}

/**
 * The kind of a rule of the database: the value must be unique, must not be missing, must refer to an existing item,
 * must not be referred to, must be allowed; or anything else, such as a trigger.
 */
export type ConstraintRule = 'unique' | 'required' | 'reference' | 'in-use' | 'value' | 'other'

/** Details of a `ConstraintError`. */
export interface ConstraintOptions {
  readonly fields?: readonly string[]
  /** Whether the family declares the rule, by `unique`, `references` or `pathReferences`. */
  readonly declared?: boolean
  /** The family that is referred to, or that refers to the item, if known. */
  readonly other?: string | undefined
  /** The ids that do not exist, of a reference by a path: the service finds out where the item has them. */
  readonly missing?: readonly Id[]
  /** Where it is in the item, if not in all of the field. */
  readonly pointers?: readonly string[]
  /** What a value must be, for the client, such as `must have at most 20 characters`. */
  readonly allowed?: string
  /** Its name in the database, or the message of a trigger. */
  readonly constraint?: string | undefined
  readonly cause?: unknown
}

/**
 * A rule of the family (`unique`, references) or of the database (check, foreign key, trigger …) refuses a change.
 * Nothing was done, and a retry fails as long as the data is the same.
 */
export class ConstraintError extends Error {
  override readonly name = 'ConstraintError'
  readonly fields: readonly string[]
  readonly allowed: string | undefined
  readonly declared: boolean
  readonly other: string | undefined
  readonly missing: readonly Id[] | undefined
  readonly pointers: readonly string[]
  readonly constraint: string | undefined

  constructor (
    readonly family: string,
    readonly id: Id,
    readonly rule: ConstraintRule,
    { fields = [], declared = false, other, missing, pointers, allowed, constraint, cause }: ConstraintOptions = {}
  ) {
    const reason = allowed ?? (cause instanceof Error ? cause.message : [rule, other].join(' ').trim())
    super(`${family} ${id}: the database refuses it: ${[...fields, reason].join(' ')}`, { cause })
    this.fields = fields
    this.allowed = allowed
    this.declared = declared
    this.other = other
    this.missing = missing
    this.pointers = pointers ?? fields.map(field => `/${getPathField(field)}`)
    this.constraint = constraint
  }
}

export function getId (change: Change): Id {
  return 'item' in change ? change.item.id : change.id
}

/**
 * Whether the item that is stored is the one that a change expects; otherwise `commit` throws a `ConflictError`.
 *
 * @example
 * if (change.type !== 'insert' && !isExpected(item, change)) throw new ConflictError(change.family, id)
 */
export function isExpected (item: Stored | undefined, change: Exclude<Change, { readonly type: 'insert' }>): boolean {
  const { expected, current } = change
  return item?.revision === expected && (current === undefined || item.updatedAt === current.updatedAt)
}

/**
 * Throws if a commit has two changes of one item. Call it first in `commit`, so that all storages throw alike. The
 * second of two inserts with one id is a `DuplicateError`, as it would be in a separate commit.
 *
 * @example
 * async commit (changes) {
 *   checkChanges(changes)
 *   // …
 * }
 */
export function checkChanges (changes: readonly Change[]): void {
  const [first, second] = changes
  // Most commits are an item and its log entry.
  if (changes.length < 2 || (changes.length === 2 && first?.family !== second?.family)) return
  const types = new Map<string, Change['type']>()
  for (const change of changes) {
    const { type, family } = change
    const id = getId(change)
    const key = `${family} ${id}`
    const earlier = types.get(key)
    if (earlier === 'insert' && type === 'insert') throw new DuplicateError(family, id)
    if (earlier !== undefined) throw new errorCodes.FST_DEALBOOK_REPEATED_CHANGE(family, id)
    types.set(key, type)
  }
}

/** Functions to call after commits, for `watch`. */
export class Watchers {
  readonly #wakes = new Set<() => void>()

  /** Returns a function that removes it. */
  add (wake: () => void): () => void {
    // Another function each time, so that adding one twice is not adding it once.
    const own = (): void => { wake() }
    this.#wakes.add(own)
    return () => { this.#wakes.delete(own) }
  }

  get size (): number {
    return this.#wakes.size
  }

  get isEmpty (): boolean {
    return this.#wakes.size === 0
  }

  notify (): void {
    for (const wake of this.#wakes) wake()
  }
}
