import { type TString, Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { maxDigits, readDecimal } from '../values/decimals.js'
import { findFlaw, membersOf, rules } from '../values/rules.js'

/** Options of a decimal: those of every schema, and its bounds. */
export interface DecimalOptions {
  /** Digits after the point: 2 for cents. */
  readonly scale: number
  readonly minimum?: string | number
  readonly maximum?: string | number
  readonly default?: string | number
  readonly title?: string
  readonly description?: string
  readonly examples?: readonly string[]
  readonly deprecated?: boolean
}

const { any, flag, word, words } = rules
const scaleRule = Type.Integer({ minimum: 0, maximum: maxDigits, description: `an integer from 0 to ${maxDigits}` })

const optionRule = membersOf({
  scale: scaleRule,
  minimum: any,
  maximum: any,
  default: any,
  title: word,
  description: word,
  examples: words,
  deprecated: flag
} satisfies Record<keyof DecimalOptions, unknown>, ['scale'])

/**
 * The schema of a decimal number, such as money: a text with exactly `scale` digits after the point, and at most 15
 * digits in all. Clients may send fewer digits, or a number. It is compared, filtered and ordered as a number. To
 * calculate, take whole cents: `Math.round(Number(total) * 100)`.
 *
 * @example
 * fields: Type.Object({ id: Type.Integer(), total: decimal({ scale: 2, minimum: 0 }) })
 */
export function decimal (options: DecimalOptions): TString {
  const flaw = findFlaw(optionRule, options, 'option')
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_DECIMAL(flaw)
  const { scale, minimum, maximum, default: value, examples, ...others } = options
  const read = (name: string, given: unknown): string | undefined => {
    const text = given === undefined ? undefined : readDecimal(given, scale)
    if (given === undefined || text !== undefined) return text
    throw new errorCodes.FST_DEALBOOK_INVALID_DECIMAL(`the option "${name}" must be a decimal number with at most ` +
      `${scale} digits after the point and ${maxDigits} in all`)
  }
  const [least, most] = [read('minimum', minimum), read('maximum', maximum)]
  const [low, high] = [Number(least ?? -Infinity), Number(most ?? Infinity)]
  if (low > high) throw new errorCodes.FST_DEALBOOK_INVALID_DECIMAL('the option "minimum" is above "maximum"')
  const usual = read('default', value)
  if (usual !== undefined && (Number(usual) < low || Number(usual) > high)) {
    throw new errorCodes.FST_DEALBOOK_INVALID_DECIMAL('the option "default" must be from "minimum" to "maximum"')
  }
  const samples = [(19.99).toFixed(scale), (0).toFixed(scale), least, most].filter(text =>
    text !== undefined && readDecimal(text, scale) !== undefined && Number(text) >= low && Number(text) <= high)
  return Type.String({
    ...others,
    format: 'decimal',
    pattern: `^-?(0|[1-9][0-9]*)${scale === 0 ? '' : `\\.[0-9]{${scale}}`}$`,
    scale,
    examples: examples?.map(text => read('examples', text)) ?? samples.slice(0, 1),
    ...(least === undefined ? {} : { minimum: low }),
    ...(most === undefined ? {} : { maximum: high }),
    ...(usual === undefined ? {} : { default: usual })
  })
}
