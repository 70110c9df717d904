import { RE2Set } from 're2js'

/** What is used of the syntax tree of re2js, in which repetitions are written out. */
interface Syntax {
  readonly op: number
  readonly subs: readonly Syntax[]
  readonly runes: ArrayLike<number>
}

/** A pattern is larger than it may be. */
export class PatternSizeError extends Error {
  override readonly name = 'PatternSizeError'
  constructor (readonly maxSize: number) {
    super(`the pattern is larger than ${maxSize} instructions`)
  }
}

// A class of characters counts one more for so many numbers, two for each range in it.
const numbersOfRanges = 32

// The last character that has another case, and how many of a range count for one.
const lastWithCase = 0x1e943
const charactersOfRange = 200

/**
 * How large a pattern is when it is compiled: in instructions, of which a class with many ranges, as `\pL`, counts for
 * several. Known before it is compiled, which may take seconds and hundreds of megabytes. Throws where it is larger
 * than this, or the syntax wrong.
 */
export function measurePattern (text: string, maxSize: number): number {
  if (estimateClasses(text) > maxSize) throw new PatternSizeError(maxSize)
  const set = new RE2Set()
  set.add(text)
  const [syntax] = set.regexps as [Syntax]
  // One to begin and one to end with.
  const size = 2 + measure(syntax, listOperations(syntax), new Map())
  if (size > maxSize) throw new PatternSizeError(maxSize)
  return size
}

// What is known of a text without reading it as a pattern, which itself takes milliseconds for each of these: classes of
// Unicode, and wide ranges without regard to case, which are gone through character by character.
function estimateClasses (text: string): number {
  let size = 0
  for (const { length } of text.matchAll(/\\p/gi)) size += 10 * length
  if (!/\(\?[a-z-]*i/i.test(text)) return size
  for (const [, hexadecimal, character] of text.matchAll(/-(?:\\x\{?([\da-f]+)|(.))/gisu)) {
    const end = hexadecimal === undefined ? (character as string).codePointAt(0) as number : parseInt(hexadecimal, 16)
    size += Math.min(end, lastWithCase) / charactersOfRange
  }
  return size
}

// What is repeated is in the tree again and again, and measured once.
function measure (syntax: Syntax, names: Operations, known: Map<Syntax, number>): number {
  const { op, subs, runes } = syntax
  let size = known.get(syntax)
  if (size !== undefined) return size
  size = 0
  for (const sub of subs) size += measure(sub, names, known)
  switch (names[op]) {
    case 'LITERAL': size += runes.length
      break
    case 'CHAR_CLASS': size += 1 + Math.floor(runes.length / numbersOfRanges)
      break
    case 'CONCAT': break
    case 'ALTERNATE': size += subs.length - 1
      break
    default: size += subs.length === 0 ? 1 : 2
  }
  known.set(syntax, Math.max(1, size))
  return Math.max(1, size)
}

type Operations = Readonly<Record<number, string>>

function listOperations ({ constructor }: Syntax): Operations {
  return (constructor as unknown as { readonly Op: Operations }).Op
}
