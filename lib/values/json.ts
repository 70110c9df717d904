import { flawOfText } from './text.js'

/** An object whose members are known only at run time. */
export type Members = Readonly<Record<string, unknown>>

const maxDepth = 64

/**
 * What is wrong with a parsed JSON value that no schema speaks of: text and numbers that a storage could not keep as they
 * are, and nesting that could exhaust the stack.
 */
export function * flawsOfJson (value: unknown, pointer = '', depth = 0): Generator<{ pointer: string, detail: string }> {
  if (typeof value === 'string') {
    const flaw = flawOfText(value)
    if (flaw !== undefined) yield { pointer, detail: flaw }
  } else if (typeof value === 'number') {
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
      yield { pointer, detail: `must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}` }
    }
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= maxDepth) {
      yield { pointer, detail: `must not be nested more than ${maxDepth} deep` }
      return
    }
    for (const [name, member] of Object.entries(value)) {
      const flaw = flawOfText(name)
      if (flaw !== undefined) yield { pointer, detail: `a name ${flaw}` }
      else yield * flawsOfJson(member, `${pointer}/${escapePointer(name)}`, depth + 1)
    }
  }
}

/** A name as a part of a JSON pointer (RFC 6901). */
export function escapePointer (name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
