import type { Id } from './storage.js'

/**
 * What a rule of the database asks for: that a value is there only once, that there is one, that what is referred to is
 * there, that nothing refers to an item, that a value is one of those allowed; or anything else, as a trigger does.
 */
export type ConstraintRule = 'unique' | 'required' | 'reference' | 'in-use' | 'value' | 'other'

/** What is known of a change that a rule of the database refuses. */
export interface ConstraintOptions {
  /** The fields that the rule is about. */
  readonly fields?: readonly string[]
  /** Whether the family itself declares the rule, by `unique` or `references`. */
  readonly declared?: boolean
  /** The family that is referred to, or that refers to the item, where it is known. */
  readonly other?: string
  /** What a value must be, for who sent another: `must have at most 20 characters`. */
  readonly allowed?: string
  readonly cause?: unknown
}

/**
 * A rule of the family (`unique`, `references`), or of the database itself (check, foreign key, a trigger …), refuses a
 * change. Nothing was done, and the same would be refused again as long as the data is what it is.
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
