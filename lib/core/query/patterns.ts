import { compilePattern, PatternSizeError } from '../storage/patterns.js'
import type { Operator } from './names.js'
import type { ReadResult } from './values.js'
import { readText } from './values.js'

/** Bounds of the patterns of a query, and of the texts that are to be contained. */
export interface PatternLimits {
  /** How many there may be in all, over all fields. */
  readonly maxPatterns: number
  /** In characters. */
  readonly maxPatternLength: number
  /** How large each may be when it is compiled. */
  readonly maxPatternSize: number
}

/** Bounds of one of them. */
export type PatternSizes = Omit<PatternLimits, 'maxPatterns'>

/** Whether something is looked for in the texts of a field. */
export function isSearch (op: Operator): op is 'regex' | 'has' {
  return op === 'regex' || op === 'has'
}

/** Reads what is looked for in a text: a pattern, or a part of the text itself. */
export function readSearch (op: 'regex' | 'has', text: string, limits: PatternSizes): ReadResult<string> {
  const { maxPatternLength, maxPatternSize } = limits
  if (text.length > maxPatternLength) return { expected: `must have at most ${maxPatternLength} characters` }
  const read = readText(text)
  if (op === 'has' || 'expected' in read) return read
  try {
    // Compiled patterns are cached, so that the storage need not compile it again.
    compilePattern(text, maxPatternSize)
    return read
  } catch (error) {
    if (error instanceof PatternSizeError) return { expected: describeTooLarge(error) }
    return { expected: `must be a pattern in RE2 syntax: ${(error as Error).message}` }
  }
}

function describeTooLarge ({ maxSize }: PatternSizeError): string {
  return `must be a smaller pattern: with its repetitions written out it may have a size of at most ${maxSize}`
}

/** What is wrong with a search that is one too many. */
export function describeTooMany ({ maxPatterns }: PatternLimits): string {
  return `is one pattern too many: a query may have at most ${maxPatterns}`
}
