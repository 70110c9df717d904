/** The beginning of a text that somebody sent, so that to repeat it costs little. */
export function shorten (text: string, max = 100): string {
  // Half a surrogate pair may be left at the cut.
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`
}
