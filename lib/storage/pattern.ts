import { RE2JS } from 're2js'
import { BoundedCache } from '../cache.js'

// Compiling takes far longer than matching, and clients repeat their patterns page after page.
const compiled = new BoundedCache<RE2JS>(200)

/** A client's pattern in an engine that needs linear time, whatever the pattern. Throws where the syntax is wrong. */
export function compilePattern (pattern: string): RE2JS {
  return compiled.get(pattern, text => RE2JS.compile(text))
}
