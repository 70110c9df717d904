import { RE2JS } from 're2js'

// Compiling takes far longer than matching, and clients repeat their patterns page after page.
const kept = new Map<string, RE2JS>()
const keptAtMost = 200

/** A client's pattern in an engine that needs linear time, whatever the pattern. Throws where the syntax is wrong. */
export function compilePattern (pattern: string): RE2JS {
  let compiled = kept.get(pattern)
  if (compiled === undefined) {
    compiled = RE2JS.compile(pattern)
    if (kept.size >= keptAtMost) kept.clear()
    kept.set(pattern, compiled)
  }
  return compiled
}
