// Of two parameters with one name the last counts, and a storage would be chosen by the id of an item.
const ownParameters = ['id', 'command', 'extension', 'parameter']

/** What is wrong with the path that a mount stands under; undefined if nothing is. */
export function findFlawInPrefix (prefix: string): string | undefined {
  // Two colons are one that begins no parameter.
  const names = [...prefix.replaceAll('::', '').matchAll(/:(\w+)/g)].map(([, name]) => name as string)
  const taken = names.find(name => ownParameters.includes(name))
  if (taken === undefined) return undefined
  return `the prefix "${prefix}" has a parameter "${taken}", which is ours; name it otherwise than ` +
    ownParameters.join(', ')
}
