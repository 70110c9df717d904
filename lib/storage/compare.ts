import type { Scalar } from './storage.js'

/** Compares two values of one kind; text by code point, as databases with a binary collation do. */
export function compareScalars (a: Scalar, b: Scalar): number {
  if (typeof a === 'string') return compareText(a, b as string)
  return a === b ? 0 : a < b ? -1 : 1
}

function compareText (a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

// Surrogates stand for the code points above U+FFFF, so they come after U+E000 to U+FFFF.
function rank (unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
