import type { Operation } from './operation.js'

const path = /^[a-z][a-z0-9-]*$/
const action = /^[A-Z][A-Za-z0-9]*$/

/** Names what is wrong with the words of a family's operations: malformed, or the same word meant for two things. */
export function flawOfWords (operations: Readonly<Record<string, Operation>>, taken: readonly string[]): string | undefined {
  // Every path below an item, and every action, and whose it is.
  const owners = new Map<string, string>([['commands', 'the log'], ...taken.map(word => [word, 'creating and deleting'] as const)])
  for (const [key, operation] of Object.entries(operations)) {
    if (operation.name !== key) return `the operation "${key}" is named "${operation.name}"; key and name must be the same`
    for (const word of ['verb', 'participle', 'noun'] as const) {
      if (!path.test(operation[word])) return `the operation "${key}" has the ${word} "${operation[word]}", which must be lower-case letters, digits and hyphens`
    }
    if (Object.hasOwn(operation.params.properties, 'id')) return `the operation "${key}" has a parameter "id", which is the item's`
    if (!action.test(operation.action)) return `the operation "${key}" has the action "${operation.action}", which must be letters and digits, beginning with a capital`
    for (const word of new Set([operation.verb, operation.participle, operation.noun, operation.action])) {
      const owner = owners.get(word)
      if (owner !== undefined) return `the operation "${key}" uses the word "${word}", which belongs to ${owner}`
      owners.set(word, `the operation "${key}"`)
    }
  }
  return undefined
}
