import type { Family } from '../../core/family/family.js'
import type { Reader } from '../../core/service/reader.js'
import type { Condition, Field } from '../../core/storage/storage.js'
import type { Count, HomeFamily } from '../../representations/affordances.js'

/** How many are counted: to know that there are more, no more is read. */
const enough = 1000

/** How many items there are and, of a family whose items are in one of a few states, how many in each of them. */
export async function countItems (
  { fields }: Family,
  reader: Reader,
  list: string
): Promise<Pick<HomeFamily, keyof Count | 'states'>> {
  // Under conditions of a grant, nobody knows how many are read to find so many that meet them.
  if (reader.isNarrowed) return {}
  const total = await count(reader, [])
  const field = fields.find(isState)
  if (field === undefined) return total
  const states = await Promise.all((field.values as readonly string[]).map(async state => ({
    state,
    ...await count(reader, [{ field: field.name, op: 'eq', values: [state] }]),
    href: `${list}?${field.name}=${encodeURIComponent(state)}`
  })))
  return { ...total, states }
}

function isState ({ name, values, optional }: Field): boolean {
  return (name === 'status' || name === 'state') && values !== undefined && !optional
}

async function count (reader: Reader, where: readonly Condition[]): Promise<Count> {
  const query = { where, order: [{ field: 'id', descending: false }] }
  const { items: [oneMore] } = await reader.find({ ...query, offset: enough, limit: 1, count: false })
  if (oneMore !== undefined) return { atLeast: enough }
  const { total } = await reader.find({ ...query, offset: 0, limit: 0, count: true })
  return { total: total as number }
}
