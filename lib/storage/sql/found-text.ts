import type { Found, FoundText, Id } from '../storage.js'

/** A page as text from its items, of which there may be one more than the page has. */
export function writeItems ({ items, total }: Found, members: readonly string[], limit: number): FoundText {
  const shown = items.slice(0, limit)
  const texts = shown.map(item => JSON.stringify(Object.fromEntries(members.map(name => [name, item[name]]))))
  return joinTexts(texts, shown.at(-1)?.id, items.length > limit, total)
}

/** A page as text from the texts of its items. */
function joinTexts (texts: readonly string[], last: Id | undefined, more: boolean, total?: number): FoundText {
  return {
    text: texts.join(','),
    count: texts.length,
    more,
    ...last === undefined ? {} : { last },
    ...total === undefined ? {} : { total }
  }
}
