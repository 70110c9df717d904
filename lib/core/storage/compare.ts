import type { Order, Scalar, Stored } from './storage.js'

/** Compares two values of one kind; text by code point, as databases with a binary collation do. */
export function compareScalars (a: Scalar, b: Scalar): number {
  if (typeof a === 'string') return compareText(a, b as string)
  return a === b ? 0 : a < b ? -1 : 1
}

function compareText (a: string, b: string): number {
  if (a === b) return 0
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rankUnit(left) - rankUnit(right)
  }
  return a.length - b.length
}

// Surrogates stand for the code points above U+FFFF, so they come after U+E000 to U+FFFF.
function rankUnit (unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** A function for `sort` that brings items into this order. */
export function makeComparator (order: readonly Order[]): (a: Stored, b: Stored) => number {
  return (a, b) => {
    for (const { field, descending } of order) {
      const result = compareOptional(a[field] as Optional, b[field] as Optional)
      if (result !== 0) return descending ? -result : result
    }
    return 0
  }
}

type Optional = Scalar | null | undefined

function compareOptional (a: Optional, b: Optional): number {
  if (isAbsent(a)) return isAbsent(b) ? 0 : -1
  return isAbsent(b) ? 1 : compareScalars(a, b)
}

/** Whether a field has no value: neither is equal to anything, nor comes after it. */
export function isAbsent (value: unknown): value is null | undefined {
  return value === undefined || value === null
}
