import {
  type ArrayOptions, type IntegerOptions, type NumberOptions, type SchemaOptions, type StringOptions, type TArray,
  type TBoolean, type TInteger, type TNumber, type TSchema, type TString, Type as TypeBox, type Union
} from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { describeDecimal, maxDigits, readDecimal, writeExample } from '../values/decimals.js'
import { findFlaw, membersOf, rules } from '../values/rules.js'

type WithDefault<T, O> = O extends { readonly default: infer D } ? T & { readonly default: D } : T

/** `Type` of @sinclair/typebox; its types also have the default. */
export interface TypeBuilder
  extends Omit<typeof TypeBox, 'Array' | 'Boolean' | 'Integer' | 'Number' | 'String' | 'Union'> {
  Array<T extends TSchema, O extends ArrayOptions = {}> (items: T, options?: O): WithDefault<TArray<T>, O>
  Boolean<O extends SchemaOptions = {}> (options?: O): WithDefault<TBoolean, O>
  Integer<O extends IntegerOptions = {}> (options?: O): WithDefault<TInteger, O>
  Number<O extends NumberOptions = {}> (options?: O): WithDefault<TNumber, O>
  String<O extends StringOptions = {}> (options?: O): WithDefault<TString, O>
  Union<T extends TSchema[], O extends SchemaOptions = {}> (types: [...T], options?: O): WithDefault<Union<T>, O>
}

/**
 * Makes the types of fields and parameters.
 *
 * @example
 * fields: Type.Object({ id: Type.Integer(), title: Type.String({ maxLength: 100 }) })
 */
export const Type = TypeBox as TypeBuilder

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
}

const { any, word, words } = rules
const optionRule = membersOf({
  scale: TypeBox.Integer({ minimum: 0, maximum: maxDigits, description: `an integer from 0 to ${maxDigits}` }),
  minimum: any,
  maximum: any,
  default: any,
  title: word,
  description: word,
  examples: words
} satisfies Record<keyof DecimalOptions, unknown>, ['scale'])

/**
 * The schema of a decimal number, such as money: a text with exactly `scale` digits after the point, and at most 15
 * digits in all. Clients may send fewer digits, or a number. It is compared, filtered and ordered as a number. To
 * calculate, take whole cents: `Math.round(Number(total) * 100)`.
 *
 * @example
 * fields: Type.Object({ id: Type.Integer(), total: decimal({ scale: 2, minimum: 0 }) })
 */
export function decimal (
  options: DecimalOptions & { readonly default: string | number }
): TString & { readonly default: string }
export function decimal (options: DecimalOptions): TString
export function decimal (options: DecimalOptions): TString {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_DECIMAL(flaw)
  const flaw = findFlaw(optionRule, options, 'option')
  if (flaw !== undefined) throw refuse(flaw)
  const { scale, examples, ...others } = options
  const read: Record<string, string> = {}
  for (const name of ['minimum', 'maximum', 'default'] as const) {
    const text = readDecimal(options[name], scale)
    if (text !== undefined) read[name] = text
    else if (options[name] !== undefined) throw refuse(`the option "${name}" ${describeDecimal(scale)}`)
  }
  const minimum = Number(read['minimum'] ?? -Infinity)
  const maximum = Number(read['maximum'] ?? Infinity)
  if (minimum > maximum) throw refuse('the option "minimum" is above "maximum"')
  const isWithin = (text: string | undefined): boolean => Number(text) >= minimum && Number(text) <= maximum
  return TypeBox.String({
    ...others,
    format: 'decimal',
    pattern: `^-?(0|[1-9][0-9]*)${scale === 0 ? '' : `\\.[0-9]{${scale}}`}$`,
    scale,
    examples: examples ?? [writeExample(scale), read['minimum'], read['maximum']].filter(isWithin).slice(0, 1),
    ...('minimum' in read ? { minimum } : {}),
    ...('maximum' in read ? { maximum } : {}),
    ...('default' in read ? { default: read['default'] } : {})
  })
}
