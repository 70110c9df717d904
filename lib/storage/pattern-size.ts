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

// What each class of Unicode counts at least.
const sizeOfClass = 25
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

// What is known of a text without reading it as a pattern, which itself takes milliseconds for each of these: classes
// of Unicode, and wide ranges without regard to case, which are gone through character by character.
function estimateClasses (text: string): number {
  let size = sizeOfClass * [...text.matchAll(/\\p/gi)].length
  if (!/\(\?[a-z-]*i/i.test(text)) return size
  for (const [, hexadecimal, character] of text.matchAll(/-(?:\\x\{?([\da-f]+)|(.))/gisu)) {
    const end = hexadecimal === undefined ? (character as string).codePointAt(0) as number : parseInt(hexadecimal, 16)
    size += Math.min(end, lastWithCase) / charactersOfRange
  }
  return size
}

// What is repeated is in the tree again and again, and measured once.
function measure (syntax: Syntax, names: Operations, known: Map<Syntax, number>): number {
  const before = known.get(syntax)
  if (before !== undefined) return before
  let size = measureAlone(syntax, names)
  for (const sub of syntax.subs) size += measure(sub, names, known)
  known.set(syntax, size)
  return size
}

/** Without its parts. */
function measureAlone ({ op, subs, runes }: Syntax, names: Operations): number {
  switch (names[op]) {
    case 'LITERAL': return Math.max(1, runes.length)
    case 'CHAR_CLASS': return 1 + Math.floor(runes.length / numbersOfRanges)
    case 'PLUS':
    case 'QUEST': return 1
    case 'CAPTURE':
    case 'STAR': return 2
    case 'CONCAT': return subs.length === 0 ? 1 : 0
    case 'ALTERNATE': return Math.max(1, subs.length - 1)
    default: return 1
  }
}

type Operations = Readonly<Record<number, string>>

function listOperations ({ constructor }: Syntax): Operations {
  return (constructor as unknown as { readonly Op: Operations }).Op
}
