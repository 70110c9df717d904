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

// What a class of Unicode counts at least; without regard to case it is made of two.
const sizeOfClass = 45
// The last character that has another case, and how many of a range count for one.
const lastWithCase = 0x1e943
const charactersOfRange = 100

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
  const size = 2 + new Measure(syntax, maxSize).measure(syntax)
  if (size > maxSize) throw new PatternSizeError(maxSize)
  return size
}

// What is known of a text without reading it as a pattern, which itself takes milliseconds for each of these: classes
// of Unicode, and wide ranges without regard to case, which are gone through character by character.
function estimateClasses (text: string): number {
  const classes = [...text.matchAll(/\\p/gi)].length
  if (!/\(\?[a-z-]*i/i.test(text)) return sizeOfClass * classes
  let size = 2 * sizeOfClass * classes
  for (const [, hexadecimal, character] of text.matchAll(/-(?:\\x\{?([\da-f]+)|(.))/gisu)) {
    const end = hexadecimal === undefined ? (character as string).codePointAt(0) as number : parseInt(hexadecimal, 16)
    size += Math.min(end, lastWithCase) / charactersOfRange
  }
  return size
}

class Measure {
  readonly #names: Readonly<Record<number, string>>
  /** What is repeated is in the tree again and again, and measured once. */
  readonly #known = new Map<Syntax, number>()

  constructor ({ constructor }: Syntax, readonly maxSize: number) {
    this.#names = (constructor as unknown as { readonly Op: Readonly<Record<number, string>> }).Op
  }

  measure (syntax: Syntax): number {
    const known = this.#known.get(syntax)
    if (known !== undefined) return known
    let size = this.#measureAlone(syntax)
    for (const sub of syntax.subs) {
      size += this.measure(sub)
      if (size > this.maxSize) throw new PatternSizeError(this.maxSize)
    }
    this.#known.set(syntax, size)
    return size
  }

  /** Without its parts. */
  #measureAlone ({ op, subs, runes }: Syntax): number {
    switch (this.#names[op]) {
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
}
