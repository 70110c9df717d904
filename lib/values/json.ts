/** An object whose members are known only at run time. */
export type Members = Readonly<Record<string, unknown>>

// Deeper nesting could exhaust the stack of whoever walks through it.
const maxDepth = 64

// PostgreSQL cannot store U+0000; XML and HTML cannot show the others.
// eslint-disable-next-line no-control-regex
const unsupported = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** What is wrong with a parsed JSON value, whatever its schema: text, numbers or nesting that we could not store. */
export function * findJsonFlaws (
  value: unknown,
  pointer = '',
  depth = 0
): Generator<{ pointer: string, detail: string }> {
  if (typeof value === 'string') {
    const flaw = findTextFlaw(value)
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
      const flaw = findTextFlaw(name)
      if (flaw !== undefined) yield { pointer, detail: `a name ${flaw}` }
      else yield * findJsonFlaws(member, `${pointer}/${escapePointer(name)}`, depth + 1)
    }
  }
}

/** What is wrong with text that could not be stored and shown unchanged; undefined if nothing is. */
export function findTextFlaw (text: string): string | undefined {
  const character = text.match(unsupported)?.[0]
  if (character !== undefined) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
    return `must not contain the character U+${code}`
  }
  return text.isWellFormed() ? undefined : 'must not contain a lone surrogate'
}

/** Puts U+FFFD for what cannot be shown. Only a problem that quotes what it refuses has such text. */
export function replaceUnsupported (text: string): string {
  return text.replace(unsupported, '\ufffd').toWellFormed()
}

/** Escapes a name as a part of a JSON pointer (RFC 6901). */
export function escapePointer (name: string): string {
  // Hardly any name has them, and to look is far cheaper than to replace.
  return /[~/]/.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name
}

/** Picks these members of an item, in this order, leaving out what is absent. */
export function makePicker (members: readonly string[]): (item: Members) => Members {
  return item => {
    const picked: Record<string, unknown> = {}
    for (const member of members) {
      const value = item[member]
      if (value !== undefined) picked[member] = value
    }
    return picked
  }
}
