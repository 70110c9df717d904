import { compilePattern } from '../storage/pattern.js'
import { PatternSizeError } from '../storage/pattern-size.js'
import type { ReadResult } from './values.js'
import { readText } from './values.js'

/** Bounds of the patterns of a query. */
export interface PatternLimits {
  /** How many there may be in all, over all fields. */
  readonly maxPatterns: number
  /** In characters. */
  readonly maxPatternLength: number
  /** How large each may be when it is compiled. */
  readonly maxPatternSize: number
}

/** Reads the text of a pattern. */
export function readPattern (
  text: string,
  { maxPatternLength, maxPatternSize }: Omit<PatternLimits, 'maxPatterns'>
): ReadResult<string> {
  if (text.length > maxPatternLength) return { expected: `must have at most ${maxPatternLength} characters` }
  const read = readText(text)
  if ('expected' in read) return read
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

/** What is wrong with a pattern that is one too many. */
export function describeTooMany ({ maxPatterns }: PatternLimits): string {
  return `is one pattern too many: a query may have at most ${maxPatterns}`
}
