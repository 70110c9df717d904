// What neither PostgreSQL (U+0000) nor XML and HTML (the others) can carry.
// eslint-disable-next-line no-control-regex
const uncarriable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** What is wrong with a string that could not be stored and shown unchanged; undefined where nothing is. */
export function flawOfText (text: string): string | undefined {
  const found = text.match(uncarriable)?.[0]
  if (found !== undefined) return `must not contain the character U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  return text.isWellFormed() ? undefined : 'must not contain a lone surrogate'
}

/** The text with U+FFFD for whatever cannot be shown: only a problem that repeats what it refuses has such. */
export function showable (text: string): string {
  return text.replace(uncarriable, '\ufffd').toWellFormed()
}
