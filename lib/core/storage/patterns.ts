import { RE2Set } from 're2js'
import { BoundedCache } from '../cache.js'

export class PatternSizeError extends Error {
  override readonly name = 'PatternSizeError'
  constructor (readonly maxSize: number) {
    super(`the pattern is larger than ${maxSize}`)
  }
}

// Compiling a class of Unicode takes up to a millisecond.
const sizeOfUnicodeClass = 10
// Without case, a range is compiled character by character, up to the last one that has two cases.
const lastWithCase = 0x1e943
const charactersOfRange = 3000

// Quoted text, classes, other escapes, groups, counted repetitions, characters.
const tokens = new RegExp([
  /\\Q(?<quoted>.*?)(?:\\E|$)/,
  /(?<class>\\[pP](?:\{[^}]*\}|.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])/,
  /\\(?:x\{\w*\}|.)/,
  /(?<open>\((?<prefix>\?(?:P?<\w*>|[\w-]*:?))?)|(?<close>\))/,
  /\{(?<least>\d+)(?<comma>,(?<most>\d*))?\}/,
  /./
].map(({ source }) => source).join('|'), 'gsu')

/** From the text alone, since compiling a large pattern may take seconds and hundreds of megabytes. */
export function measurePattern (text: string, maxSize: number): number {
  const ignoresCase = /\(\?[\w-]*i/.test(text)
  const sizes = [0]
  const add = (size: number): void => { sizes.push((sizes.pop() as number) + size) }
  // The size of what a repetition would repeat.
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

/** Optional repetitions cost twice as much as required ones. */
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

// Size of a pattern times length of a text: one test takes some 50 milliseconds at most.
const maxWork = 500_000
// Always searched of a text, whatever the pattern: those of clients are bounded, and hosts know theirs.
const minSearched = 2500
// For the engine's cache of states. With much more, it takes longer to make states that are used once.
const maxStateBytes = 512 * 1024

/** Takes linear time. Only the beginning of a long text is searched, so that one test never blocks for long. */
export class Pattern {
  readonly size: number
  readonly #set: RE2Set
  readonly #maxSearched: number

  /** Throws if the syntax is wrong, or the pattern is larger than `maxSize`. */
  constructor (text: string, maxSize: number) {
    this.size = measurePattern(text, maxSize)
    this.#maxSearched = Math.max(minSearched, Math.floor(maxWork / this.size))
    // A set of one: unlike a single pattern, its memory can be bounded.
    this.#set = new RE2Set(RE2Set.UNANCHORED, 0, maxStateBytes)
    this.#set.add(text)
    this.#set.compile()
  }

  test (text: string): boolean {
    return this.#set.match(text.length > this.#maxSearched ? text.slice(0, this.#maxSearched) : text).length > 0
  }
}

// Compiling takes far longer than matching, and clients repeat a pattern on every page. Each may take 1 MB.
const compiled = new BoundedCache<Pattern>(30)

export function compilePattern (text: string, maxSize = Infinity): Pattern {
  const pattern = compiled.get(text, text => new Pattern(text, maxSize))
  // It may be cached for a host, whose patterns may be larger.
  if (pattern.size > maxSize) measurePattern(text, maxSize)
  return pattern
}

// Length of the needle times length of the text: some 30 milliseconds.
const maxContainedWork = 25_000_000
const minContainedSearched = 125_000

/** Simple case folding keeps lengths, and the expression repeats nothing, so both lengths bound its time. */
export class ContainedText {
  readonly #expression: RegExp
  readonly #maxSearched: number

  constructor (text: string) {
    this.#expression = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    this.#maxSearched = Math.max(minContainedSearched, Math.floor(maxContainedWork / text.length))
  }

  test (text: string): boolean {
    return this.#expression.test(text.length > this.#maxSearched ? text.slice(0, this.#maxSearched) : text)
  }
}
