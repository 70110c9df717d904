/** What a text field does with the texts of clients, under the names of ajv-keywords. */
export type TextTransform =
  'trim' | 'trimStart' | 'trimLeft' | 'trimEnd' | 'trimRight' | 'toLowerCase' | 'toUpperCase'

const transforms: Record<TextTransform, (text: string) => string> = {
  trim: text => text.trim(),
  trimStart: text => text.trimStart(),
  trimLeft: text => text.trimStart(),
  trimEnd: text => text.trimEnd(),
  trimRight: text => text.trimEnd(),
  toLowerCase: text => text.toLowerCase(),
  toUpperCase: text => text.toUpperCase()
}

export const transformNames = Object.keys(transforms)

export function transformText (names: readonly TextTransform[], text: string): string {
  return names.reduce((changed, name) => transforms[name](changed), text)
}
