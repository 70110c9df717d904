import { RE2Set } from 're2js'
import { BoundedCache } from '../cache.js'

/** A pattern is larger than it may be. */
export class PatternSizeError extends Error {
  override readonly name = 'PatternSizeError'
  constructor (readonly maxSize: number) {
    super(`the pattern is larger than ${maxSize}`)
  }
}

// Reading a class of Unicode takes up to a millisecond.
const sizeOfUnicodeClass = 10
// Without regard to case, a range is read character by character, up to the last that has another case.
const lastWithCase = 0x1e943
const charactersOfRange = 3000

// What a pattern is made of: quoted text, classes, other escapes, groups, counted repetitions, characters.
const tokens = new RegExp([
  /\\Q(?<quoted>.*?)(?:\\E|$)/,
  /(?<class>\\[pP](?:\{[^}]*\}|.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])/,
  /\\(?:x\{\w*\}|.)/,
  /(?<open>\((?<prefix>\?(?:P?<\w*>|[\w-]*:?))?)|(?<close>\))/,
  /\{(?<least>\d+)(?<comma>,(?<most>\d*))?\}/,
  /./
].map(({ source }) => source).join('|'), 'gsu')

/**
 * How large a pattern is, from its text alone, since compiling a large one may take seconds and hundreds of megabytes:
 * its characters and classes, with all counted repetitions written out, and what it takes to read large classes.
 * Throws where it is larger than this.
 */
export function measurePattern (text: string, maxSize: number): number {
  const ignoresCase = /\(\?[\w-]*i/.test(text)
  // Of the whole, and of the groups that are open.
  const sizes = [0]
  const add = (size: number): void => { sizes.push((sizes.pop() as number) + size) }
  // Of what a repetition would repeat.
  let last = 0
  let reading = 0
  for (const { groups = {} } of text.matchAll(tokens)) {
    const { quoted, class: characters, open, prefix, close, least } = groups
    if (open !== undefined) {
      sizes.push(prefix?.endsWith(':') === true ? 0 : 2)
    } else if (least !== undefined) {
      const times = countTimes(groups)
      add(last * (times - 1))
      last *= times
    } else {
      if (close !== undefined && sizes.length > 1) last = sizes.pop() as number
      else if (quoted !== undefined) last = quoted.length
      else last = 1
      if (characters !== undefined) reading += measureReading(characters, ignoresCase)
      add(last)
    }
  }
  const size = sizes.reduce((sum, size) => sum + size, reading)
  if (size > maxSize) throw new PatternSizeError(maxSize)
  return size
}

/** What need not be there takes twice as much as what must. */
function countTimes ({ least, comma, most }: Readonly<Record<string, string | undefined>>): number {
  const count = Math.max(1, Number(least))
  if (comma === undefined) return count
  return most === '' ? count + 1 : count + 2 * Math.max(0, Number(most) - count)
}

function measureReading (characters: string, ignoresCase: boolean): number {
  let size = sizeOfUnicodeClass * [...characters.matchAll(/\\p/gi)].length
  if (!ignoresCase) return size
  for (const [, hexadecimal, character] of characters.matchAll(/-(?:\\x\{?([\da-f]+)|(.))/gisu)) {
    const end = hexadecimal === undefined ? (character as string).codePointAt(0) as number : parseInt(hexadecimal, 16)
    size += Math.floor(Math.min(end, lastWithCase) / charactersOfRange)
  }
  return size
}

// Size of a pattern times length of a text: up to this, one test takes some 50 milliseconds at most.
const maxWork = 500_000
// What is searched of a text whatever the size: that of clients is bounded, and hosts know theirs.
const minSearched = 2500
// What the engine keeps of its states. With much more, it takes longer to make states that are used once.
const maxStateBytes = 512 * 1024

/**
 * A compiled pattern, in an engine that needs time linear to the text, whatever the pattern. Only the beginning of a
 * long text is searched, so that one test never holds the event loop for long: alike on every storage.
 */
export class Pattern {
  /** As `measurePattern` finds it. */
  readonly size: number
  readonly #set: RE2Set
  readonly #maxSearched: number

  /** Throws where the syntax is wrong, or the pattern larger than this. */
  constructor (text: string, maxSize: number) {
    this.size = measurePattern(text, maxSize)
    this.#maxSearched = Math.max(minSearched, Math.floor(maxWork / this.size))
    // A set of one: unlike a single pattern, it takes a bound for its memory.
    this.#set = new RE2Set(RE2Set.UNANCHORED, 0, maxStateBytes)
    this.#set.add(text)
    this.#set.compile()
  }

  /** Whether it is found in the text. */
  test (text: string): boolean {
    return this.#set.match(text.length > this.#maxSearched ? text.slice(0, this.#maxSearched) : text).length > 0
  }
}

// Compiling takes far longer than matching, and clients repeat their patterns page after page. Each may take 1 MB.
const compiled = new BoundedCache<Pattern>(30)

/** Throws where the syntax is wrong, or the pattern larger than this. */
export function compilePattern (text: string, maxSize = Infinity): Pattern {
  const pattern = compiled.get(text, text => new Pattern(text, maxSize))
  // It may have been compiled for a host, whose patterns may be larger.
  if (pattern.size > maxSize) measurePattern(text, maxSize)
  return pattern
}

// Length of the text to contain times length of the text that is searched: some 30 milliseconds.
const maxContainedWork = 25_000_000
const minContainedSearched = 125_000

/**
 * A text that is looked for in others, without regard to case: by the simple case folding of Unicode, which knows of no
 * language and changes no length. It is one of JavaScript's expressions without anything in it to repeat or to choose,
 * so the time for it is bounded by the lengths of both texts. Of a very long text, only the beginning is searched.
 */
export class ContainedText {
  readonly #expression: RegExp
  readonly #maxSearched: number

  constructor (text: string) {
    this.#expression = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    this.#maxSearched = Math.max(minContainedSearched, Math.floor(maxContainedWork / text.length))
  }

  /** Whether the text has it. */
  test (text: string): boolean {
    return this.#expression.test(text.length > this.#maxSearched ? text.slice(0, this.#maxSearched) : text)
  }
}
