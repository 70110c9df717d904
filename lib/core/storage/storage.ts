import { errorCodes } from '../errors.js'

/** What a filter or an order can work on. */
export type Scalar = string | number | boolean

/**
 * One condition on one field. `eq` holds for any of the values, `ne` for none of them; `regex` holds when any of the
 * patterns is found in the field's text, `has` when the text contains any of these, without regard to case (the simple
 * case folding of Unicode); `null` holds for what is absent or null, or for what is not. What is absent or null equals
 * nothing, so of the others only `ne` holds for it.
 */
export type FieldCondition =
  | { readonly field: string, readonly op: 'eq' | 'ne', readonly values: readonly Scalar[] }
  | { readonly field: string, readonly op: 'gt' | 'gte' | 'lt' | 'lte', readonly value: Scalar }
  | { readonly field: string, readonly op: 'regex', readonly patterns: readonly string[] }
  | { readonly field: string, readonly op: 'has', readonly texts: readonly string[] }
  | { readonly field: string, readonly op: 'null', readonly is: boolean }

/** Alternatives: holds when all conditions of one of the lists hold. */
export interface AnyCondition {
  readonly op: 'any'
  readonly of: readonly (readonly FieldCondition[])[]
  /** It is on no one field. */
  readonly field?: undefined
}

/** One condition on one field, or a choice of such. */
export type Condition = FieldCondition | AnyCondition

/** Text is ordered by code point; absent and null come before every value, and after them when descending. */
export interface Order {
  readonly field: string
  readonly descending: boolean
}

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
  findText? (family: string, query: Query, members: readonly string[], signal?: AbortSignal): Promise<FoundText>
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

/**
 * What a rule of the database requires: that a value is unique, that it is present, that the item that it refers to
 * exists, that nothing refers to an item, that a value is allowed; or anything else, such as a trigger.
 */
export type ConstraintRule = 'unique' | 'required' | 'reference' | 'in-use' | 'value' | 'other'

/** Details of a change that a rule of the database refuses. */
export interface ConstraintOptions {
  /** The fields that the rule is about. */
  readonly fields?: readonly string[]
  /** Whether the family itself declares the rule, by `unique` or `references`. */
  readonly declared?: boolean
  /** The family that is referred to, or that refers to the item, where it is known. */
  readonly other?: string
  /** What a value must be, for the client: `must have at most 20 characters`. */
  readonly allowed?: string
  readonly cause?: unknown
}

/**
 * A rule of the family (`unique`, `references`), or of the database itself (check, foreign key, a trigger …), refuses a
 * change. Nothing was done, and a retry fails as long as the data stays as it is.
 */
export class ConstraintError extends Error {
  override readonly name = 'ConstraintError'
  readonly fields: readonly string[]
  readonly allowed: string | undefined
  readonly declared: boolean
  readonly other: string | undefined

  constructor (
    readonly family: string,
    readonly id: Id,
    readonly rule: ConstraintRule,
    { fields = [], declared = false, other, allowed, cause }: ConstraintOptions = {}
  ) {
    const reason = allowed ?? (cause instanceof Error ? cause.message : [rule, other].join(' ').trim())
    super(`${family} ${id}: the database refuses it: ${[...fields, reason].join(' ')}`, { cause })
    this.fields = fields
    this.allowed = allowed
    this.declared = declared
    this.other = other
  }
}

/** The id of the item that a change is about. */
export function getId (change: Change): Id {
  return 'item' in change ? change.item.id : change.id
}

/**
 * Throws where a commit has more than one change of one item: a storage calls it before anything else, so that all
 * refuse alike. Of two inserts with one id the second finds it taken (`DuplicateError`), as it would in a commit of its
 * own.
 *
 * @example
 * async commit (changes) {
 *   checkChanges(changes)
 *   // …
 * }
 */
export function checkChanges (changes: readonly Change[]): void {
  const [first, second] = changes
  // An item and its entry in the log, as most commits are.
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
