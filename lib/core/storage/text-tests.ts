import { isAbsent } from './compare.js'
import { ContainedText } from './contained-text.js'
import { compilePattern } from './pattern.js'
import type { Condition, FieldCondition, Stored } from './storage.js'

/** A condition that searches the text of a field: JavaScript does that, so that it means the same on every storage. */
export type TextCondition = Extract<FieldCondition, { readonly op: 'regex' | 'has' }>

/** Whether no text has to be searched for it. */
export function isPlain (condition: Condition): boolean {
  if (condition.op === 'any') return condition.of.every(all => all.every(isPlain))
  return condition.op !== 'regex' && condition.op !== 'has'
}

/** Whether one of the patterns or texts is found in the field. */
export function makeTextTest (condition: TextCondition): { holds (item: Stored): boolean } {
  const { field } = condition
  const searches = condition.op === 'regex'
    ? condition.patterns.map(text => compilePattern(text))
    : condition.texts.map(text => new ContainedText(text))
  return {
    holds (item) {
      const value = item[field]
      return !isAbsent(value) && searches.some(search => search.test(String(value)))
    }
  }
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
