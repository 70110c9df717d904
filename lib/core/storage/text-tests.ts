import { isAbsent } from './compare.js'
import { ContainedText } from './contained-text.js'
import { compilePattern } from './pattern.js'
import type { Condition, FieldCondition, Stored } from './storage.js'
import type { Turn } from './turn.js'

/** A condition that searches the text of a field: JavaScript does that, so that it means the same on every storage. */
export type TextCondition = Extract<FieldCondition, { readonly op: 'regex' | 'has' }>

/** A condition that takes no time worth counting, and that every database understands. */
export type PlainCondition = Exclude<Condition, TextCondition>

/** Whether no text has to be searched for it. */
export function isPlain (condition: Condition): boolean {
  if (condition.op === 'any') return condition.of.every(all => all.every(isPlain))
  return condition.op !== 'regex' && condition.op !== 'has'
}

/** What is looked for in a text. */
interface TextSearch {
  /** Whether it is found, however long that takes. */
  test (text: string): boolean
  /** What it may cost at most to look for it in a text of this length. */
  estimateWork (length: number): number
  /** The same as `test`, with pauses in which other requests go on. */
  testInTurns (text: string, turn: Turn): Promise<boolean>
}

/** A condition that may take long, for one item. */
export interface SlowTest {
  holds (item: Stored): boolean
  estimateWork (item: Stored): number
  /** The same as `holds`, with pauses. */
  holdsInTurns (item: Stored, turn: Turn): Promise<boolean>
}

/** Whether one of the searches finds something in the field. */
export function makeTextTest (condition: TextCondition): SlowTest {
  const { field } = condition
  const searches: TextSearch[] = condition.op === 'regex'
    ? condition.patterns.map(text => compilePattern(text))
    : condition.texts.map(text => new ContainedText(text))
  return {
    holds (item) {
      const value = item[field]
      return !isAbsent(value) && searches.some(search => search.test(String(value)))
    },
    estimateWork (item) {
      const value = item[field]
      if (isAbsent(value)) return 0
      const { length } = String(value)
      return searches.reduce((sum, search) => sum + search.estimateWork(length), 0)
    },
    async holdsInTurns (item, turn) {
      const value = item[field]
      if (isAbsent(value)) return false
      for (const search of searches) if (await search.testInTurns(String(value), turn)) return true
      return false
    }
  }
}

/** One of several alternatives: what is quickly seen of it, and what is searched where that does not exclude it. */
interface Alternative {
  isPossible (item: Stored): boolean
  readonly tests: readonly SlowTest[]
}

/** Whether all of one alternative holds. No text is searched where an alternative holds without. */
export function makeAnyTest (alternatives: readonly Alternative[]): SlowTest {
  const inOrder = [...alternatives].sort((a, b) => Number(a.tests.length > 0) - Number(b.tests.length > 0))
  return {
    holds: item => inOrder.some(({ isPossible, tests }) => isPossible(item) && tests.every(test => test.holds(item))),
    estimateWork (item) {
      const possible = inOrder.filter(({ isPossible }) => isPossible(item))
      if (possible[0]?.tests.length === 0) return 0
      return possible.flatMap(({ tests }) => tests).reduce((sum, test) => sum + test.estimateWork(item), 0)
    },
    async holdsInTurns (item, turn) {
      for (const { isPossible, tests } of inOrder) if (isPossible(item) && await allHold(tests, item, turn)) return true
      return false
    }
  }
}

/** Whether all tests hold, with pauses. */
export async function allHold (tests: readonly SlowTest[], item: Stored, turn: Turn): Promise<boolean> {
  for (const test of tests) if (!await test.holdsInTurns(item, turn)) return false
  return true
}

/** The conditions on fields, those of alternatives among them. */
export function listFieldConditions (where: readonly Condition[]): FieldCondition[] {
  const conditions: FieldCondition[] = []
  for (const condition of where) {
    if (condition.op === 'any') conditions.push(...condition.of.flat())
    else conditions.push(condition)
  }
  return conditions
}
