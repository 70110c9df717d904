// By how a word sounds: an hour, a user, a one-off.
const vowel = /^(?:[aei]|o(?!ne)|u(?!ni|s[aeiu]|t[ei]|r[aei])|hour|honou?r|heir)/i

/** invoice -> an invoice */
export function addArticle (noun: string): string {
  return `${vowel.test(noun) ? 'an' : 'a'} ${noun}`
}
