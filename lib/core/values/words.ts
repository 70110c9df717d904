/** Finding similar names takes time, and does not help if everything is wrong. */
export const maxHints = 5

/** The end of a sentence, ` Did you mean "hold"?`; empty if no known name is close. */
export function didYouMean (name: string, known: Iterable<string>): string {
  const suggestion = nearest(name, known)
  return suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`
}

// More edits are not a typing error.
const maxEdits = 4

function nearest (name: string, known: Iterable<string>): string | undefined {
  // The distance takes quadratic time, and known names are shorter.
  if (name.length > 50) return undefined
  const given = name.toLowerCase()
  let best: string | undefined
  let least = Math.min(maxEdits, Math.max(1, Math.floor(name.length / 3))) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const steps = countEdits(given, candidate.toLowerCase())
    if (steps < least) {
      least = steps
      best = candidate
    }
  }
  return best
}

// Levenshtein's distance, in which two swapped letters are one edit.
function countEdits (a: string, b: string): number {
  const rows: number[][] = []
  const at = (i: number, j: number): number => rows[i]?.[j] as number
  for (let i = 0; i <= a.length; i++) {
    const row: number[] = rows[i] = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = i === 0
        ? j
        : Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
          isSwapped ? at(i - 2, j - 2) + 1 : Infinity
        )
    }
  }
  return at(a.length, b.length)
}

// By the sound of a word: an hour, a user, a one-off.
const vowel = /^(?:[aei]|o(?!ne)|u(?!ni|s[aeiu]|t[ei]|r[aei])|hour|honou?r|heir)/i

/** invoice -> an invoice */
export function addArticle (noun: string): string {
  return `${vowel.test(noun) ? 'an' : 'a'} ${noun}`
}

/** A text that clients sent, such as for a message. @param max characters */
export function shorten (text: string, max = 100): string {
  // The cut may leave half a surrogate pair.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`
}
