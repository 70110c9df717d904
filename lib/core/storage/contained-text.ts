// Length of the text to contain times length of the text that is searched: some 30 milliseconds.
const maxWork = 25_000_000
const minSearched = 125_000

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
    this.#maxSearched = Math.max(minSearched, Math.floor(maxWork / text.length))
  }

  /** Whether the text has it. */
  test (text: string): boolean {
    return this.#expression.test(text.length > this.#maxSearched ? text.slice(0, this.#maxSearched) : text)
  }
}
