import { isDeepStrictEqual } from 'node:util'
import { type FieldChanges, listChanges } from '../family/changes.js'
import type { ErasureRule } from '../family/personal.js'
import { delay, random, uuidv7 } from '../runtime.js'
import type { CommandRecord } from '../service/record.js'
import { isConflict } from '../service/storage-access.js'
import type { Change, Id, Stored } from '../storage/storage.js'
import { type ErasedLog, findMoment } from './erase-log.js'
import { eraseChanges, type ErasedFamily } from './erasing.js'

const maxAttempts = 150

/** Runs what ends in a commit for an item, again if another process has changed that meanwhile. */
export async function attemptAlone<T> (
  { settings: { writers } }: ErasedLog, { name }: ErasedFamily, id: Id, attempt: () => Promise<T>
): Promise<T> {
  const key = `${name}/${id}`
  for (let failures = 1; ; failures++) {
    await writers.enter([key], undefined)
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error) || failures === maxAttempts) throw error
    } finally {
      writers.leave([key])
    }
    await delay(random() * Math.min(failures, 20))
  }
}

/** Replaces an item by an erased one, unless nothing of it is erased. */
export async function changeItem (
  log: ErasedLog, family: ErasedFamily, id: Id, erase: (item: Stored) => Stored, rule: ErasureRule
): Promise<void> {
  await attemptAlone(log, family, id, async () => {
    const item = await log.settings.storage.get(family.name, id)
    const erased = item && erase(item)
    if (item !== undefined && erased !== item) await log.commit(listErasure(log, family, { id, item, erased, rule }))
  })
}

interface Erasure {
  readonly id: Id
  readonly item: Stored | undefined
  readonly erased: Stored | undefined
  /** Of what the log has. */
  readonly rule: ErasureRule
  /** The last entry of the item. */
  readonly newest?: CommandRecord | undefined
}

/** The item, if there is one, and the entry that says that it was erased. */
export function listErasure (
  { settings: { by } }: ErasedLog, family: ErasedFamily, { id, item, erased, rule, newest }: Erasure
): Change[] {
  const now = findMoment(item?.updatedAt ?? newest?.createdAt ?? '1970-01-01')
  const after = item && { ...erased as Stored, revision: item.revision + 1, updatedAt: now }
  const entry: CommandRecord = {
    id: uuidv7(),
    family: family.name,
    target: String(id),
    action: family.action,
    params: {},
    outcome: 'done',
    ...item && after && { changes: compare(family, item, after, rule) },
    // A deleted item stays as it was.
    revision: after?.revision ?? newest?.revision ?? 1,
    createdAt: now,
    updatedAt: now,
    ...by !== undefined && { principal: by }
  }
  const logged: Change = { type: 'insert', family: 'commands', item: entry }
  if (item === undefined || after === undefined) return [logged]
  const { revision: expected } = item
  return [{ type: 'replace', family: family.name, item: after, expected, current: item }, logged]
}

/** What is erased has no values from before, so only what follows from it differs. */
function compare (family: ErasedFamily, before: Stored, after: Stored, rule: ErasureRule): FieldChanges {
  const changes = eraseChanges(family, listChanges(family.fields, before, after), rule)
  return Object.fromEntries(Object.entries(changes).filter(([, { from, to }]) => !isDeepStrictEqual(from, to)))
}
