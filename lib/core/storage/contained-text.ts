import type { Turn } from './turn.js'

// To look for a text takes so much less than a step of the engine for patterns.
const plainTextFactor = 20
// Characters of both texts together, multiplied, between two looks at the clock.
const workOfStep = 500_000

/**
 * A text that is looked for in others, without regard to case: by the simple case folding of Unicode, which knows of no
 * language and changes no length. It is one of JavaScript's expressions without anything in it to repeat or to choose,
 * so the time for it is bounded by the lengths of both texts.
 */
export class ContainedText {
  readonly #expression: RegExp
  readonly #length: number

  constructor (text: string) {
    this.#expression = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    this.#length = Math.max(1, text.length)
  }

  /** Whether the text has it, however long that takes. */
  test (text: string): boolean {
    return this.#expression.test(text)
  }

  /** What it may cost at most to look for it in a text of this length. */
  estimateWork (length: number): number {
    return this.#length * length / plainTextFactor
  }

  /** The same as `test`, with pauses in which other requests go on. */
  async testInTurns (text: string, turn: Turn): Promise<boolean> {
    const step = Math.ceil(workOfStep / this.#length)
    for (let from = 0; from < text.length; from += step) {
      if (turn.isOver) await turn.pass()
      // As much further as it may be long itself, so that it is found at the edge of a part too.
      if (this.test(text.slice(from, from + step + 2 * this.#length))) return true
    }
    return this.test('')
  }
}
