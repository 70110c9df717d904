import { Type } from '@sinclair/typebox'
import { errorCodes } from '../../core/errors.js'
import type { FieldCondition } from '../../core/storage/storage.js'
import { findFlaw, membersOf, rules } from '../../core/values/rules.js'
import type { ColumnTexts, Flag } from './dialect.js'

/**
 * A column that keeps a boolean as one of two texts, or of two integers.
 *
 * @example
 * columns: { active: { name: 'AKTIV_KZ', true: 'J', false: 'N' } }
 */
export interface MappedFlag extends Flag {
  /** The name of the column; default: the field's name in snake_case. */
  readonly name?: string
}

const isFlagValue = (value: unknown): boolean => typeof value === 'string' || Number.isSafeInteger(value)
const flagValue = Type.Unsafe({ holds: isFlagValue, description: 'a text or an integer' })
const mapping = membersOf({ name: rules.text, true: flagValue, false: flagValue }, ['true', 'false'])

interface NamedColumn {
  readonly name: string | undefined
  readonly flag: Flag | undefined
}

/** @param what the family and the field, for an error */
export function readMappedColumn (given: string | MappedFlag | undefined, ...what: readonly string[]): NamedColumn {
  if (typeof given !== 'object') return { name: given, flag: undefined }
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_FLAG(...what, flaw)
  const flaw = findFlaw(mapping, given)
  if (flaw !== undefined) throw refuse(flaw)
  const { name, true: yes, false: no } = given
  if (typeof yes !== typeof no) throw refuse('one value is a text and the other an integer')
  if (yes === no) throw refuse('both values are the same')
  return { name, flag: { true: yes, false: no } }
}

export function refuseFlagColumn (family: string, field: string, column: string, flag: Flag, flaw: string): Error {
  const values = [flag.true, flag.false].map(value => JSON.stringify(value)).join(' and ')
  const reason = `the column "${column}" cannot have ${values}: ${flaw}`
  return new errorCodes.FST_DEALBOOK_INVALID_FLAG(family, field, reason)
}

/** The value in the column; others, such as null, stay as they are. */
export function encodeFlag (flag: Flag, value: unknown): unknown {
  return value === true ? flag.true : value === false ? flag.false : value
}

/** What a condition compares: the values of the column if it is an equality; otherwise false, true, and then others. */
export function encodeFlagOperand (flag: Flag, op: FieldCondition['op'], value: unknown): unknown {
  if (op === 'eq' || op === 'ne') return encodeFlag(flag, value)
  return value === true ? trueRank : value === false ? falseRank : otherRank + String(value)
}

const falseRank = '0'
const trueRank = '1'
const otherRank = '2'

interface FlagTerms {
  /** The column, or an expression with its value, in which only equal values are equal. */
  readonly column: string
  readonly as: string
  readonly text: string
  literal (value: string | number): string
  quote (text: string): string
}

/**
 * A value that the column should not have is shown as text, as those of other mapped columns.
 *
 * @param writeJson writes a text as JSON, and NULL as NULL
 */
export function writeFlag (
  flag: Flag, { column, as, text, literal, quote }: FlagTerms, writeJson: (text: string) => string
): Pick<ColumnTexts, 'selected' | 'compared' | 'equated' | 'equatedAs'> {
  const choose = (yes: string, no: string, other: string): string => `CASE ${column} ` +
    `WHEN ${literal(flag.true)} THEN ${quote(yes)} WHEN ${literal(flag.false)} THEN ${quote(no)} ELSE ${other} END`
  return {
    selected: choose('true', 'false', writeJson(text)),
    compared: choose(trueRank, falseRank, `${quote(otherRank)} || ${text}`),
    equated: column,
    equatedAs: as
  }
}

/** The value of a row: its column is selected as JSON. */
export function decodeFlag (value: unknown): unknown {
  return JSON.parse(value as string) as unknown
}
