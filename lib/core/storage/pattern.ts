import { RE2Set } from 're2js'
import { BoundedCache } from '../cache.js'
import { measurePattern } from './pattern-size.js'

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
