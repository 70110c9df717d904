import type { Condition } from '../../core/storage/storage.js'

/** An index over these fields. */
export interface Index {
  readonly name: string
  readonly fields: readonly string[]
  /** Whether entries with equal values are known to be in the order of the id. */
  readonly sortedById: boolean
  /** The fields of which it has the first `indexedLength` characters only. */
  readonly cut?: readonly string[]
}

/** Every index ends with the id, whether that is said or not; here it is not. */
export function makeIndex (name: string, fields: readonly string[], sortedById: boolean): Index {
  return fields.length > 1 && fields.at(-1) === 'id'
    ? { name, fields: fields.slice(0, -1), sortedById: true }
    : { name, fields, sortedById }
}

/** Bounds of what a step may cost. */
export interface PlanLimits {
  /** Rows that a first look may pass: most pages are full long before. */
  readonly lookRows: number
  /** Up to so many rows, gathering and sorting them is cheaper than going on along the key. */
  readonly fewEntries: number
  /** Rows that may be passed over along an index, or the key, in one go. */
  readonly skipRows: number
}

export const planLimits: PlanLimits = { lookRows: 2000, fewEntries: 4000, skipRows: 60_000 }

/**
 * One step of reading a page. Steps are tried in turn until one settles the page; the last always does. What a step
 * costs is bounded, whatever is in the table, but for `heavy`.
 */
export type Step =
  /** Reads the page as the database likes. */
  | { readonly type: 'read' }
  /** Reads the page along an index in which its rows are in the wanted order. */
  | { readonly type: 'read-index', readonly index: Index } & Bounds
  /** Looks at so many rows along such an index, or along the key, filtered by what is left; settles a page it fills. */
  | { readonly type: 'look', readonly index: Index | undefined, readonly filters: readonly Condition[] } & Bounds &
    { readonly rows: number }
  /**
   * Looks at the first rows along an index that has the order of the first field only: so many, and those that equal
   * the last of them, if they are few. Settles a page that they fill.
   */
  | { readonly type: 'window', readonly index: Index, readonly range: readonly Condition[], readonly rows: number } &
    { readonly maxEntries: number }
  /** Reads by the index that has fewest entries for its conditions, if they are few. */
  | { readonly type: 'fewest', readonly choices: readonly IndexChoice[], readonly maxEntries: number }
  /** Reads all rows within these bounds of the id, if they are few. */
  | { readonly type: 'few', readonly range: readonly Condition[], readonly maxEntries: number }
  /** Reads whatever there is: along the key, however far. */
  | { readonly type: 'heavy' }

/** The conditions that bound a part of an index, or of the key where `equal` is empty. */
export interface Bounds {
  /** One value for each field of the index. */
  readonly equal: readonly Equality[]
  /** Bounds of what comes next in it: the id, or a field of the order. */
  readonly range: readonly Condition[]
}

/** A condition that leaves one value of a field, or none at all. */
export type Equality = Extract<Condition, { readonly values: unknown } | { readonly op: 'null' }>

/** An index, and the conditions on its first fields. */
export interface IndexChoice {
  readonly index: Index
  readonly where: readonly Condition[]
}
