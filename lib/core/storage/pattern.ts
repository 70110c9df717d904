import { RE2JS } from 're2js'
import { BoundedCache } from '../cache.js'
import { runAutomaton } from './pattern-automaton.js'
import type { Program } from './pattern-program.js'
import { runProgram } from './pattern-program.js'
import { measurePattern } from './pattern-size.js'
import type { Turn } from './turn.js'

// What the engine may do without a pause, as size of the pattern times length of the text: a few milliseconds.
export const maxWorkAtOnce = 250_000
// To find a plain text in another is so much cheaper.
const plainTextFactor = 20
// Work between two looks at the clock.
const workOfStep = 20_000
// Bytes of states that the engine keeps for a pattern. What it spends on making them is lost where each is used once.
const maxStateBytes = 256 * 1024
const bytesOfInstruction = 1000

/** A compiled pattern, in an engine that needs time linear to the text, whatever the pattern. */
export class Pattern {
  /** As `measurePattern` finds it. */
  readonly size: number
  /** What it takes of the memory at most, roughly. */
  readonly bytes: number
  readonly #engine: RE2JS
  readonly #isPlainText: boolean

  /** Throws where the syntax is wrong, or the pattern larger than this. */
  constructor (text: string, maxSize: number) {
    this.size = measurePattern(text, maxSize)
    this.#engine = RE2JS.compile(text)
    const re2 = this.#engine.re2()
    this.#isPlainText = re2.prefixComplete
    re2.dfa.stateBudget = re2.dfa.memBudget = maxStateBytes
    this.bytes = maxStateBytes + bytesOfInstruction * this.size + countBytes(re2)
  }

  /** Whether it is found in the text, however long that takes. */
  test (text: string): boolean {
    return this.#engine.test(text)
  }

  /** What it may cost at most to match it with a text of this length. */
  estimateWork (length: number): number {
    return this.size * length / (this.#isPlainText ? plainTextFactor : 1)
  }

  /** The same as `test`, with pauses in which other requests go on. */
  async testInTurns (text: string, turn: Turn): Promise<boolean> {
    if (turn.isOver) await turn.pass()
    if (this.estimateWork(text.length) <= maxWorkAtOnce) return this.test(text)
    const steps = this.#testInSteps(text)
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
      if (turn.isOver) await turn.pass()
    }
  }

  * #testInSteps (text: string): Generator<void, boolean> {
    const { dfa, prog } = this.#engine.re2()
    const found = yield * runAutomaton(dfa, this.size, text, workOfStep)
    return found ?? (yield * runProgram(prog as Program, text, workOfStep))
  }
}

// Of a pattern that begins with ^ and never has a choice, the engine copies each class into all that stands before it.
function countBytes ({ onepass }: ReturnType<RE2JS['re2']>): number {
  let bytes = 0
  for (const { runes, next } of (onepass?.inst ?? []) as Record<'runes' | 'next', Int32Array | null>[]) {
    bytes += (runes?.byteLength ?? 0) + (next?.byteLength ?? 0)
  }
  return bytes
}

// Compiling takes far longer than matching, and clients repeat their patterns page after page.
const compiled = new BoundedCache<Pattern>(32 * 1024 * 1024, Infinity, ({ bytes }) => bytes)

/** Throws where the syntax is wrong, or the pattern larger than this. */
export function compilePattern (text: string, maxSize = Infinity): Pattern {
  const pattern = compiled.get(text, text => new Pattern(text, maxSize))
  // It may have been compiled for somebody who may have larger ones.
  if (pattern.size > maxSize) measurePattern(text, maxSize)
  return pattern
}
