import { isDeepStrictEqual } from 'node:util'
import {
  type AnyFamily, chainShape, type Change, checkMappings, type Condition, ConstraintError, errorCodes,
  type FamilyShape, type Id, isStorage, logTable, makeResumable, shapeOf, type Storage, type Stored
} from '../index.js'
import { copyPlaces } from './consumer-places.js'
import { selectAfter, walk } from './rows.js'

/** Options of `copyStorage`. */
export interface CopyOptions {
  /** All families of the storage, in versions that together have all fields. The log is always copied. */
  readonly families: readonly AnyFamily[]
  /** Called for each family before its first commit, and after every commit. */
  readonly onProgress?: (progress: CopyProgress) => void
  /** Stops it between two commits; the next copy continues from there. */
  readonly signal?: AbortSignal
}

/** The progress of a copy. */
export interface CopyProgress {
  /** The name of the family; `commands` is the log. */
  readonly family: string
  /** How many are in the target, including those of an interrupted copy. */
  readonly copied: number
  readonly total: number
}

/**
 * Copies everything from one storage into another, such as from SQLite to PostgreSQL: items with their revisions and
 * dates, and logs with the results of commands for retries. Stop all writes to both before. If the target holds
 * anything but the beginning of this copy, nothing is written. An interrupted copy (`FST_DEALBOOK_INTERRUPTED`)
 * continues when it is called again.
 *
 * @example
 * await copyStorage(sqliteStorage({ file: 'dealbook.db' }), postgresStorage({ connectionString }), {
 *   families: [customers, deals]
 * })
 * @returns how many of each family are in the target; `commands` are the entries of all logs
 */
export async function copyStorage (
  source: Storage,
  target: Storage,
  options: CopyOptions
): Promise<Readonly<Record<string, number>>> {
  const parts = listCopied(source, target, options?.families)
  const { families, onProgress, signal } = options
  for (const storage of [source, target]) checkMappings(storage, families)
  const [from, to] = [makeResumable(source, 'copyStorage'), makeResumable(target, 'copyStorage')]
  for (const { shapes } of parts) {
    for (const shape of shapes) {
      await from.prepare(shape)
      // Without references: an item may refer to one that is copied later, or does not exist.
      const { references, pathReferences, ...copied } = shape
      await to.prepare(copied)
    }
  }
  // The row that keeps the last pruned position has no family.
  const unnamed: Condition = { field: 'family', op: 'ne', values: ['', ...parts.map(({ name }) => name)] }
  // A condition on the position numbers all entries.
  const numbered: Condition = { field: 'position', op: 'gte', value: 1 }
  await from.find('commands', { ...selectAfter(undefined, 1), where: [numbered] })
  const { items: [entry] } = await from.find('commands', { ...selectAfter(undefined, 1), where: [unnamed] })
  if (entry !== undefined) throw refuseCopy(`the log has commands of "${entry.family}", which is not among "families"`)
  const begun = new Map<CopiedFamily, CopyPlace>()
  for (const part of parts) begun.set(part, await findCopied(from, to, part, signal))
  const copied: Record<string, number> = {}
  for (const [part, position] of begun) copied[part.name] = await copyPart(part, position)
  await copyPlaces(from, to)
  return copied

  async function copyPart (part: CopiedFamily, { after, count }: CopyPlace): Promise<number> {
    const { name: family } = part
    const { total = 0 } = await from.find(family, { ...selectAfter(undefined, 0), count: true })
    let copied = count
    onProgress?.({ family, copied, total })
    for await (const items of walk(from, family, after)) {
      signal?.throwIfAborted()
      const changes = items.map((item): Change => ({ type: 'insert', family, item: toCopy(part, item) }))
      await to.commit(changes).catch((error: unknown) => {
        if (!(error instanceof ConstraintError)) throw error
        const which = `one of ${family} from "${items[0]?.id}" to "${items.at(-1)?.id}"`
        throw refuseCopy(`the target rejects ${which}: ${[error.rule, ...error.fields].join(' ')}`, error)
      })
      copied += items.length
      onProgress?.({ family, copied, total })
    }
    if (copied === total) return copied
    throw refuseCopy(`${family} had ${total} items at the start, and ${copied} were copied: something writes to one ` +
      'of the storages. Stop it, and start again with an empty target')
  }
}

interface CopiedFamily {
  readonly name: string
  readonly shapes: readonly FamilyShape[]
  readonly members: ReadonlySet<string>
  /** Members that are not copied. */
  readonly dropped: readonly string[]
}

interface CopyPlace {
  readonly after: Id | undefined
  readonly count: number
}

// As in a storage that has none: an entry without them is not in the chain.
const chainMembers = listNames(chainShape(logTable)).filter(name => !listNames(logTable).includes(name))

function listNames ({ fields }: FamilyShape): string[] {
  return fields.map(({ name }) => name)
}

function listCopied (from: Storage, to: Storage, families: readonly AnyFamily[]): CopiedFamily[] {
  if (!isStorage(from) || !isStorage(to) || from === to) throw refuseCopy('it needs two different storages')
  if (!Array.isArray(families) || families.length === 0) throw refuseCopy('"families" must be a list of all families')
  const shapes = [...families.map(shapeOf), logTable]
  const isChained = from.chain === true && to.chain === true
  return [...new Set(shapes.map(({ name }) => name))].map(name => {
    const own = shapes.filter(shape => shape.name === name)
    const isLog = name === logTable.name
    const members = own.flatMap(listNames)
    return {
      name,
      shapes: own,
      members: new Set(isLog && isChained ? [...members, ...chainMembers] : members),
      dropped: isLog && !isChained ? chainMembers : []
    }
  })
}

/** Where an interrupted copy ended. The target must hold a beginning of the source. */
async function findCopied (
  from: Storage, to: Storage, part: CopiedFamily, signal: AbortSignal | undefined
): Promise<CopyPlace> {
  let after: Id | undefined
  let count = 0
  for await (const present of walk(to, part.name)) {
    signal?.throwIfAborted()
    const { items } = await from.find(part.name, selectAfter(after, present.length))
    const other = present.find((item, index) => {
      const original = items[index]
      return original === undefined || !isDeepStrictEqual(toCopy(part, item), toCopy(part, original))
    })
    if (other !== undefined) {
      throw refuseCopy(`the target already has ${part.name} "${other.id}", which is not a copy of an item of the ` +
        'source. Start with an empty target')
    }
    after = present.at(-1)?.id
    count += present.length
  }
  return { after, count }
}

function toCopy ({ name, members, dropped }: CopiedFamily, item: Stored): Stored {
  const entries = Object.entries(item).filter(([member, value]) => value !== undefined && !dropped.includes(member))
  const unknown = entries.find(([member]) => !members.has(member))
  if (unknown !== undefined) {
    throw refuseCopy(`${name} "${item.id}" has the member "${unknown[0]}", which no version of it in "families" has`)
  }
  // A mapped table without a revision shows 0.
  return { ...Object.fromEntries(entries) as unknown as Stored, revision: Math.max(1, item.revision) }
}

function refuseCopy (flaw: string, cause?: unknown): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_COPY(flaw, { cause })
}
