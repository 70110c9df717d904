/** What is used of a program of re2js. */
export interface Program {
  readonly inst: readonly Instruction[]
  readonly start: number
}

interface Instruction {
  readonly op: number
  readonly out: number
  readonly arg: number
  matchRune (rune: number): boolean
}

// The operations of the instructions. From `rune` on they take a character.
const operations = { alternative: 1, alternativeMatch: 2, capture: 3, empty: 4, fail: 5, match: 6, nothing: 7, rune: 8 }

/**
 * Looks for a match in time linear to the text whatever the pattern, all possibilities at once along the text, and
 * pauses after so much work.
 */
export function * runProgram ({ inst, start }: Program, text: string, pause: number): Generator<void, boolean> {
  const states = new States(inst)
  let seeds = new Int32Array(inst.length)
  let nextSeeds = new Int32Array(inst.length)
  let count = 0
  let work = 0
  let before = -1
  for (let at = 0; ; at += before > 0xffff ? 2 : 1) {
    const rune = text.codePointAt(at) ?? -1
    states.clear(describePosition(before, rune))
    states.follow(start)
    for (let index = 0; index < count; index++) states.follow(seeds[index] as number)
    if (states.isMatch) return true
    if (rune === -1) return false

    count = 0
    for (let index = 0; index < states.size; index++) {
      const instruction = inst[states.list[index] as number] as Instruction
      if (instruction.op >= operations.rune && instruction.matchRune(rune)) nextSeeds[count++] = instruction.out
    }
    [seeds, nextSeeds] = [nextSeeds, seeds]
    before = rune
    work += states.size + 1
    if (work < pause) continue
    work = 0
    yield
  }
}

/** The instructions that can be reached at one position of the text without taking a character. */
class States {
  size = 0
  isMatch = false
  readonly list: Int32Array
  readonly #inst: readonly Instruction[]
  readonly #places: Int32Array
  readonly #waiting: Int32Array
  #position = 0

  constructor (inst: readonly Instruction[]) {
    this.#inst = inst
    this.list = new Int32Array(inst.length)
    this.#places = new Int32Array(inst.length)
    // Each is entered once, and has two ways out at most.
    this.#waiting = new Int32Array(2 * inst.length + 1)
  }

  clear (position: number): void {
    this.size = 0
    this.isMatch = false
    this.#position = position
  }

  follow (from: number): void {
    const waiting = this.#waiting
    let count = 0
    waiting[count++] = from
    while (count > 0) {
      const index = waiting[--count] as number
      if (this.#has(index)) continue
      this.#places[index] = this.size
      this.list[this.size++] = index
      const { op, out, arg } = this.#inst[index] as Instruction
      if (op === operations.match) this.isMatch = true
      else if (op === operations.capture || op === operations.nothing) waiting[count++] = out
      else if (op === operations.alternative || op === operations.alternativeMatch) {
        waiting[count++] = out
        waiting[count++] = arg
      } else if (op === operations.empty && (arg & ~this.#position) === 0) waiting[count++] = out
    }
  }

  #has (index: number): boolean {
    const place = this.#places[index] as number
    return place < this.size && this.list[place] === index
  }
}

// What can be asked of a position: beginning and end of a line, of the text, of a word.
const lineBegin = 1
const lineEnd = 2
const textBegin = 4
const textEnd = 8
const wordEdge = 16
const noWordEdge = 32
const newline = 10

/** @param before the character before it, -1 at the beginning; `after` likewise */
function describePosition (before: number, after: number): number {
  let position = isOfWord(before) === isOfWord(after) ? noWordEdge : wordEdge
  if (before === -1) position |= textBegin | lineBegin
  else if (before === newline) position |= lineBegin
  if (after === -1) position |= textEnd | lineEnd
  else if (after === newline) position |= lineEnd
  return position
}

function isOfWord (rune: number): boolean {
  return (rune >= 97 && rune <= 122) || (rune >= 65 && rune <= 90) || (rune >= 48 && rune <= 57) || rune === 95
}
