import {
  type AnyFamily, type EntryCondition, type FollowedCommand, type FollowOptions, type Id, openLog, type Storage,
  tablesOf, writePosition
} from '../index.js'

/** Options of `follow`. */
export interface FollowLogOptions extends Pick<FollowOptions, 'after' | 'from' | 'signal'> {
  /** The families whose commands it gets. */
  readonly families: readonly AnyFamily[]
  /** Conditions that must all hold, such as on the action. Default: it gets all of them. */
  readonly where?: readonly EntryCondition[]
}

/**
 * The commands of some families of a storage, in the order in which they became visible, and then those that happen,
 * until the signal is aborted. It sees everything, and keeps no position: see `consume`.
 *
 * @example
 * for await (const { family, action, changes } of follow(storage, { families: [deals], after: cursor, signal })) …
 */
export async function * follow (storage: Storage, options: FollowLogOptions): AsyncGenerator<FollowedCommand> {
  const { signal, after, from, families, where = [] } = options
  const log = await openLog(storage, { families, where, tables: families.flatMap(tablesOf) })
  const start = await log.findStart({ ...after !== undefined && { after }, ...from !== undefined && { from } })
  for await (const { entries } of log.follow({ start, ...signal && { signal } })) yield * entries
}

/**
 * Finds an entry by the `id` that a follower or a consumer got; undefined if it was pruned, or is of another family.
 *
 * @example
 * for (const { id } of parked) console.log(await findEntry(storage, [deals], id))
 */
export async function findEntry (
  storage: Storage, families: readonly AnyFamily[], id: string
): Promise<FollowedCommand | undefined> {
  return await (await openLog(storage, { families })).findEntry(id)
}

/**
 * The cursor of the end of the log, for `after`: read it first, then the items, and follow from there. With an item,
 * the cursor after its creation: a follower that starts there gets everything since, or the problem `pruned`. An item
 * without a log, such as one that was loaded, begins at the end.
 *
 * @example
 * const after = await findCursor(storage)
 */
export async function findCursor (
  storage: Storage, item?: { readonly family: AnyFamily, readonly id: Id }
): Promise<string> {
  const log = await openLog(storage)
  return writePosition(await (item === undefined ? log.findEnd() : log.findCreation(item.family, item.id)))
}
