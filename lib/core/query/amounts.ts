import { BoundedCache } from '../cache.js'
import type { Kind } from '../storage/storage.js'

/** How people of a language write amounts. */
interface Spelling {
  readonly point: string
  /** Undefined if the whole part is not in the groups of the language. */
  ungroup (whole: string): string | undefined
  /** With the digits, spaces and signs of a keyboard. */
  simplify (text: string): string
}

// A formatter takes much memory. Unknown languages are cached too, as undefined.
const spellings = new BoundedCache<Spelling | undefined>(50, 100)

function findSpelling (language: string): Spelling | undefined {
  let format: Intl.NumberFormat
  try {
    format = new Intl.NumberFormat(language, { numberingSystem: 'latn', useGrouping: 'always' })
  } catch {
    return undefined
  }
  // Such as Arabic digits and separators.
  const own = new Intl.NumberFormat(language)
  const signs = new Map(Array.from('0123456789', digit => [own.format(Number(digit)), digit]))
  const [point, group] = findSeparators(format)
  for (const [index, sign] of findSeparators(own).entries()) signs.set(sign, index === 0 ? point : group)
  const simplify = (text: string): string => Array.from(text.replace(marks, ''), sign => signs.get(sign) ?? sign)
    .join('').replace(/\s/g, ' ').replace(/[\u2018\u2019]/g, "'").replace(/\u2212/g, '-')
  return {
    point,
    simplify,
    ungroup (whole) {
      const plain = whole.replaceAll(simplify(group), '')
      if (!/^\d+$/.test(plain)) return undefined
      return plain === whole || simplify(format.format(BigInt(plain))) === whole ? plain : undefined
    }
  }
}

function findSeparators (format: Intl.NumberFormat): [point: string, group: string] {
  const parts = format.formatToParts(1234567.5)
  const find = (type: string): string => parts.find(part => part.type === type)?.value ?? ''
  return [find('decimal'), find('group')]
}

// They set the direction, and cannot be seen.
const marks = /[\u061c\u200e\u200f]/g

/** Whether people write the value as a number. */
export function isAmount ({ kind }: { readonly kind?: Kind | 'choice' | undefined }): boolean {
  return kind === 'integer' || kind === 'number' || kind === 'decimal'
}

// In characters: no amount is longer, and large integers are slow.
const longestAmount = 100

/** As JSON has it. A text that is an amount in no language stays as it is. */
export function readAmount (
  language: string, kind: Kind, text: string
): { readonly value: string } | { readonly expected: string } {
  const spelling = spellings.get(language, findSpelling)
  const given = text.trim()
  if (given.length > longestAmount) return { expected: `must have at most ${longestAmount} characters` }
  if (spelling === undefined) return { value: given }
  const { point, simplify } = spelling
  const plain = simplify(given)
  // Groups of an integer cannot be meant as a fraction.
  const [, sign = '', whole = '', fraction] = kind === 'integer'
    ? []
    : /^(-?)([1-9]\d{0,2})[.,](\d{3})$/.exec(plain) ?? []
  // People of other languages mean a thousand times as much, or as little.
  if (fraction !== undefined && !plain.includes(point)) {
    const less = writeAmount(language, String(Number(`${sign}${whole}.${fraction}`)))
    return { expected: `is ambiguous: write ${sign}${whole}${fraction} or ${less}` }
  }
  const value = parse(plain, spelling)
  if (value !== undefined) return { value }
  const foreign = parse(plain, spellings.get(point === '.' ? 'de' : 'en', findSpelling) as Spelling)
  return foreign === undefined ? { value: given } : { expected: `must be written as ${writeAmount(language, foreign)}` }
}

function parse (text: string, { point, ungroup }: Omit<Spelling, 'simplify'>): string | undefined {
  const [, sign = '', number = '', exponent = ''] = /^(-?)(.*?)(e[+-]?\d+)?$/i.exec(text) ?? []
  const [given = '', fraction, ...more] = number.split(point)
  const whole = ungroup(given)
  const isPlain = exponent === '' || whole === given
  if (whole === undefined || more.length > 0 || !isPlain || !/^\d+$/.test(fraction ?? '0')) return undefined
  return `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent}`
}

/** A number or decimal as people of the language write it, without groups; any other text stays as it is. */
export function writeAmount (language: string, text: string): string {
  const point = spellings.get(language, findSpelling)?.point ?? '.'
  return /^-?\d+\.\d+(e[+-]?\d+)?$/i.test(text) ? text.replace('.', point) : text
}
