/** What is wrong with a string that no storage could keep unchanged; undefined where nothing is. */
export function flawOfText (text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain the character U+0000'
  if (!text.isWellFormed()) return 'must not contain a lone surrogate'
  return undefined
}
