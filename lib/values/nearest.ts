/** A hint for the end of a message, with a blank before it; nothing where no known name is near. */
export function didYouMean (name: string, known: Iterable<string>): string {
  const meant = nearest(name, known)
  return meant === undefined ? '' : ` Did you mean "${meant}"?`
}

/** The known name that is most like the given one, if one is near enough to be meant. */
export function nearest (name: string, known: Iterable<string>): string | undefined {
  if (name.length > 50) return undefined
  let best: string | undefined
  let least = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const steps = distance(name.toLowerCase(), candidate.toLowerCase())
    if (steps < least) {
      least = steps
      best = candidate
    }
  }
  return best
}

// Levenshtein's distance, one row at a time; two letters that changed places are one step.
function distance (a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] as number) + 1 : Infinity
      next.push(Math.min(substitution, swapped, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] as number
}
