import { type Family, getFamily, listShapes } from '../core/family/family.js'
import { commandsShape } from '../core/family/fields.js'
import { findFlawInConditions } from '../core/query/filters.js'
import { type Caller, readMakers } from '../core/service/caller.js'
import { Feed, showFollowed, writePosition } from '../core/service/feed.js'
import { follow as followFeed } from '../core/service/follow.js'
import type { FeedEntry } from '../core/service/log-part.js'
import { findEnd, findKeys, findPruned, numbered } from '../core/service/log-reads.js'
import { Reader } from '../core/service/reader.js'
import { selectLog } from '../core/service/record.js'
import type { Called } from '../core/service/renamed.js'
import { type GuardedStorage, makeStorageAccess } from '../core/service/storage-access.js'
import {
  type AnyFamily, type Condition, errorCodes, type FieldCondition, type FollowedCommand, type FollowOptions, type Id,
  type Storage
} from '../index.js'

/** A condition on commands in the log; `target` is the id of the item, as text. */
export type EntryCondition = Condition<'family' | 'target' | 'action' | 'outcome' | 'principal' | 'createdAt'>

/** Options of `follow`. */
export interface FollowLogOptions extends Pick<FollowOptions, 'after' | 'from' | 'signal'> {
  /** The families whose commands it gets. */
  readonly families: readonly AnyFamily[]
  /** Conditions that must all hold, such as on the action. Default: it gets all of them. */
  readonly where?: readonly EntryCondition[]
}

const prepareLog = makeStorageAccess([commandsShape])
const names: readonly string[] =
  ['family', 'target', 'action', 'outcome', 'principal', 'createdAt'] satisfies EntryCondition['field'][]
const fields = commandsShape.fields.filter(({ name }) => names.includes(name))

/** Completes a sentence that begins with the name of the option. */
export function findFlawInWhere (where: unknown): string | undefined {
  if (!Array.isArray(where)) return 'must be a list of conditions'
  const flaw = findFlawInConditions(fields, where)
  return flaw === undefined ? undefined : `has ${flaw}`
}

/**
 * The commands of some families of a storage, in the order in which they became visible, and then those that happen,
 * until the signal is aborted. It sees everything, and keeps no position: see `consume`.
 *
 * @example
 * for await (const { family, action, changes } of follow(storage, { families: [deals], after: cursor, signal })) …
 */
export async function * follow (storage: Storage, options: FollowLogOptions): AsyncGenerator<FollowedCommand> {
  const { families: plugins, from = 'beginning', after, where = [], signal } = options
  const flaw = findFlawInWhere(where)
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_CONSUMER(`the option "where" ${flaw}`)
  const families = plugins.map(getFamily)
  const shapes = new Set([commandsShape, ...families.flatMap(listShapes)])
  const feed = makeFeed(await makeStorageAccess([...shapes])(storage), families)
  const start = after === undefined && from === 'beginning' ? undefined : await feed.findStart(after)
  for await (const { entries } of followFeed(feed, start, { signal, where })) {
    for (const entry of entries) yield showEntry(feed, entry)
  }
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
  const feed = makeFeed(await prepareLog(storage), families.map(getFamily))
  const entry = await feed.storage.get('commands', id) as FeedEntry | undefined
  const [shown] = entry?.position === undefined ? [] : await feed.filter([entry])
  return shown && showEntry(feed, shown)
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
  await prepareLog(storage)
  if (item === undefined) return writePosition(await findEnd(storage))
  const { entries: [created] } = await findKeys(storage, selectCreation(getFamily(item.family), item.id), 1)
  if (created !== undefined) return writePosition(created.position)
  return writePosition(await findPruned(storage) > 0 ? 0 : await findEnd(storage))
}

function selectCreation (family: Family, id: Id): FieldCondition[] {
  const isCreation = [{ field: 'revision', op: 'eq', values: [1] }, { field: 'outcome', op: 'eq', values: ['done'] }]
  return [...selectLog(family, id), ...isCreation as FieldCondition[], ...numbered as readonly FieldCondition[]]
}

/** The entries of these families, for a program that sees all of them. */
export function makeFeed (storage: GuardedStorage, families: readonly Family[]): Feed {
  const sources = families.map(family =>
    ({ family, reader: new Reader(makeProgram(family, families, storage), storage, {}) }))
  return new Feed(storage, sources, undefined)
}

export function showEntry (feed: Feed, entry: FeedEntry): FollowedCommand {
  return showFollowed(feed.get(entry).family, entry)
}

/** A program that sees everything of these families. */
function makeProgram (family: Family, families: readonly Family[], storage: GuardedStorage): Called {
  const caller: Caller = {
    authorize: () => ({}),
    other (other) {
      const found = families.find(({ name }) => name === (typeof other === 'string' ? other : other.name))
      return found && { family: found, caller }
    },
    storage: () => storage,
    makers: readMakers(family, {}),
    isGuarded: false,
    isProgram: true
  }
  return { family, caller }
}
