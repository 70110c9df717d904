/** Finding similar names takes time, and does not help if everything is wrong. */
export const maxHints = 5

/** With a leading space; empty if no known name is close. */
export function didYouMean (name: string, known: Iterable<string>): string {
  const suggestion = nearest(name, known)
  return suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`
}

// More edits are not a typing error, and take longer to find.
const maxEdits = 4

function nearest (name: string, known: Iterable<string>): string | undefined {
  // The distance takes quadratic time, and known names are shorter.
  if (name.length > 50) return undefined
  const given = name.toLowerCase()
  let best: string | undefined
  let least = Math.min(maxEdits, Math.max(1, Math.floor(name.length / 3))) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const steps = countEdits(given, candidate.toLowerCase(), least)
    if (steps < least) {
      least = steps
      best = candidate
    }
  }
  return best
}

// Levenshtein's distance, one row at a time; two swapped letters are one edit. Stops at `tooMany`.
function countEdits (a: string, b: string, tooMany: number): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  let leastBefore = 0
  for (let i = 1; i <= a.length; i++) {
    const next = new Array<number>(b.length + 1).fill(tooMany)
    next[0] = i
    let least = i
    for (let j = Math.max(1, i - tooMany); j <= Math.min(b.length, i + tooMany); j++) {
      const substituted = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] as number) + 1 : tooMany
      const edits = Math.min(substituted, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1)
      next[j] = edits
      if (edits < least) least = edits
    }
    // A swap refers to the row before the last.
    if (least >= tooMany && leastBefore >= tooMany) return tooMany
    leastBefore = least
    before = row
    row = next
  }
  return row[b.length] as number
}

// By the sound of a word: an hour, a user, a one-off.
const vowel = /^(?:[aei]|o(?!ne)|u(?!ni|s[aeiu]|t[ei]|r[aei])|hour|honou?r|heir)/i

/** invoice -> an invoice */
export function addArticle (noun: string): string {
  return `${vowel.test(noun) ? 'an' : 'a'} ${noun}`
}

export function shorten (text: string, max = 100): string {
  // The cut may leave half a surrogate pair.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`
}

/** Whether people can see it, and click on it. */
export function isVisible (value: unknown): boolean {
  return value !== undefined && value !== null && /[^\s\p{C}]/u.test(String(value))
}
