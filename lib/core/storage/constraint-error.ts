import type { Id } from './storage.js'

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
