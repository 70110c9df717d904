import type { FamilyMount, Members } from '../exports.js'

// Longer titles are not useful beside other content.
export const maxTitle = 200

export function titleOf ({ model: { title } }: FamilyMount, item: Members): string {
  return String(isVisible(item[title]) ? item[title] : item['id']).slice(0, maxTitle)
}

/** Whether people can see it, and click on it. */
export function isVisible (value: unknown): boolean {
  return value !== undefined && value !== null && /[^\s\p{C}]/u.test(String(value))
}
