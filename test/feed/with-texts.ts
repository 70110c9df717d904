import type { Storage } from '../../lib/index.js'

/** Writes texts, as databases do. */
export function withTexts (storage: Storage): Storage {
  return {
    ...storage,
    async findText (family, query, members, signal) {
      const { items, total } = await storage.find(family, { ...query, limit: query.limit + 1 }, signal)
      const shown = items.slice(0, query.limit).map(item => Object.fromEntries(members
        .flatMap(name => item[name] === undefined ? [] : [[name, item[name]]]))) as unknown as typeof items
      const [first, last] = [shown[0], shown.at(-1)]
      return {
        text: shown.map(item => JSON.stringify(item)).join(),
        count: shown.length,
        more: items.length > query.limit,
        ...(first && last && { first, last }),
        ...(total !== undefined && { total })
      }
    }
  }
}
