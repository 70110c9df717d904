/** The beginning of a text that a client sent, to quote it. */
export function shorten (text: string, max = 100): string {
  // Half a surrogate pair may be left at the cut.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`
}
