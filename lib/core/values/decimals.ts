/** Digits that a double keeps: decimals with at most that many stay distinct, and in the same order, as numbers. */
export const maxDigits = 15

const decimalPattern = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?$/

/** The text with exactly `scale` digits after the point; undefined for more digits, and for any other spelling. */
export function readDecimal (value: unknown, scale: number): string | undefined {
  const text = typeof value === 'number' ? value.toFixed(scale) : value
  const parts = typeof text === 'string' ? decimalPattern.exec(text) : null
  if (parts === null || (typeof value === 'number' && Number(text) !== value)) return undefined
  const [, sign, whole, fraction = ''] = parts as unknown as [string, string, string, string?]
  if (fraction.length > scale || (whole === '0' ? 0 : whole.length) + scale > maxDigits) return undefined
  const digits = scale === 0 ? whole : `${whole}.${fraction.padEnd(scale, '0')}`
  // No negative zero.
  return sign === '-' && Number(digits) !== 0 ? `-${digits}` : digits
}

/** The number to compare with: foreign values that the field cannot hold stay text. */
export function toOperand (value: unknown, scale: number): unknown {
  const text = readDecimal(value, scale)
  return text === undefined ? value : Number(text)
}

export function describeDecimal (scale: number): string {
  const digits = scale === 0 ? 'no digit' : `at most ${scale} digit${scale === 1 ? '' : 's'}`
  return `must be a decimal number with ${digits} after the point and ${maxDigits} in all, ` +
    `such as "${writeExample(scale)}"`
}

export function writeExample (scale: number): string {
  return (scale < maxDigits - 1 ? 19.99 : 0.5).toFixed(scale)
}

/** The members of a decimal's schema that are used. */
export interface DecimalSchema {
  readonly format?: string
  readonly scale?: number
  readonly minimum?: number
  readonly maximum?: number
}

/** The values of an item or of parameters already have the canonical form. */
export function findFlawInDecimal (schema: DecimalSchema, value: unknown): string | undefined {
  const { format, scale = 0, minimum = -Infinity, maximum = Infinity } = schema
  if (format !== 'decimal') return undefined
  const text = readDecimal(value, scale)
  if (text === undefined) return describeDecimal(scale)
  if (text !== value) return `must be the text "${text}", with ${scale} digits after the point`
  if (Number(text) < minimum) return `must be at least ${minimum.toFixed(scale)}`
  return Number(text) > maximum ? `must be at most ${maximum.toFixed(scale)}` : undefined
}

export function countDecimals (value: number): number {
  const [digits = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (digits.split('.')[1] ?? '').length - Number(exponent))
}

/** By decimal digits: as doubles, 0.29 is not a multiple of 0.01. */
export function isMultiple (value: number, step: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(step)) return value % step === 0
  const decimals = Math.max(countDecimals(value), countDecimals(step))
  return toUnits(value, decimals) % toUnits(step, decimals) === 0n
}

function toUnits (value: number, decimals: number): bigint {
  const [digits = '', exponent = '0'] = String(value).split('e')
  const [whole, fraction = ''] = digits.split('.')
  return BigInt(`${whole}${fraction}`) * 10n ** BigInt(decimals - fraction.length + Number(exponent))
}

/** Whether a 64-bit integer is too large for a number. */
export function isBigInteger (text: string): boolean {
  return /^-?[1-9]\d{15,18}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)
}
