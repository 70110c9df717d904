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
