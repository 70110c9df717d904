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
  /** What a value must be, for who sent another: `must have at most 20 characters`. */
  readonly allowed?: string
  readonly cause?: unknown
}

/**
 * A rule of the database itself (unique, check, foreign key, a trigger …) refuses a change. Nothing was done, and the
 * same would be refused again as long as the data is what it is.
 */
export class ConstraintError extends Error {
  override readonly name = 'ConstraintError'
  readonly fields: readonly string[]
  readonly allowed: string | undefined

  constructor (
    readonly family: string,
    readonly id: Id,
    readonly rule: ConstraintRule,
    { fields = [], allowed, cause }: ConstraintOptions = {}
  ) {
    const reason = allowed ?? (cause instanceof Error ? cause.message : rule)
    super(`${family} ${id}: the database refuses it: ${[...fields, reason].join(' ')}`, { cause })
    this.fields = fields
    this.allowed = allowed
  }
}
