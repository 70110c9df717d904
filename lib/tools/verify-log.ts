import {
  checkEntry, type Condition, errorCodes, findOptionFlaw, type Id, logTable, optionRules, prunedId, type Storage,
  type Stored, Type
} from '../index.js'
import { endPart, rowsAtFirst, selectAfter } from './rows.js'

/** An entry of a chained log, which vouches for all entries before it. */
export interface LogHead {
  readonly position: number
  readonly hash: string
}

/** Options of `verifyLog`. */
export interface VerifyOptions {
  /** The head that an earlier call returned, kept where those who can write the database cannot: it must be there. */
  readonly expected?: LogHead | undefined
  /** Checks only what comes after this position. Default: all that there is. */
  readonly after?: number
  /** Entries per read. Default 500. */
  readonly batch?: number
  /** Stops it between two reads. */
  readonly signal?: AbortSignal
}

/**
 * What is wrong: an entry is not what was written at its position, entries before it are missing, there is one too
 * many, or it has no hash. Of the head that is expected: it has a different hash, the log ends before it, or it was
 * pruned.
 */
export type LogFault = 'changed' | 'removed' | 'added' | 'unchained' | 'rewritten' | 'cut' | 'pruned'

/** Where a chained log breaks. */
export interface LogBreak {
  readonly position: number
  readonly reason: LogFault
  /** The id of the entry, as for `findEntry`; undefined if there is none. */
  readonly id?: Id
  /** The family and the id of its item, as text. */
  readonly family?: string
  readonly target?: string
}

/** The result of `verifyLog`. */
export interface LogVerification {
  /** How many entries are as they were written. Some belong to no item: they are the proof of erasures. */
  readonly checked: number
  /** How many of these were erased since. */
  readonly erased: number
  /** The position of the first of them: earlier ones were pruned, or written without a chain. */
  readonly first?: number
  /** The last of them, or of what was pruned: keep it elsewhere for `expected`. */
  readonly head?: LogHead
  /** The first entry that is not as it was; undefined if all are. */
  readonly broken?: LogBreak
}

const head = Type.Object({ position: optionRules.size, hash: optionRules.text })
const verifyRules = Type.Partial(Type.Object({
  expected: { ...head, additionalProperties: false, description: 'a head, with its position and hash' },
  after: optionRules.count,
  batch: optionRules.size,
  signal: optionRules.any
}))

/**
 * Checks that no entry of a chained log was changed, removed, added or moved since it was written, and returns the
 * first one that was. Erased and pruned entries are no fault. It reads in parts, while the application runs.
 *
 * @example
 * const { head, broken } = await verifyLog(storage, { expected: lastHead })
 */
export async function verifyLog (storage: Storage, options: VerifyOptions = {}): Promise<LogVerification> {
  const flaw = storage.chain === true
    ? findOptionFlaw(verifyRules, options)
    : 'the log of this storage is not chained: open it with chain: true'
  if (flaw !== undefined) throw new errorCodes.FST_DEALBOOK_INVALID_VERIFICATION(flaw)
  await storage.prepare(logTable)
  const { expected, after, batch = 500, signal } = options
  const walk = new ChainWalk(storage, batch, signal)
  const broken = await walk.run(after ?? 0) ?? (expected && await walk.checkHead(expected))
  const { checked, erased, first, head } = walk
  return {
    checked,
    erased,
    ...first !== undefined && { first },
    ...head !== undefined && { head },
    ...broken && { broken }
  }
}

type Entry = Stored & Readonly<Record<'family' | 'target', string>> &
  { readonly position: number, readonly hash?: string, readonly erasure?: string }

/** Walks along the positions of a log. */
class ChainWalk {
  checked = 0
  erased = 0
  first: number | undefined
  /** The position that was reached, the entry that has it, and the last hash up to there. */
  #position = 0
  #id: Id | undefined
  #hash: string | undefined
  /** The position up to which the log was pruned. */
  #pruned = 0

  constructor (readonly storage: Storage, readonly batch: number, readonly signal: AbortSignal | undefined) {}

  get head (): LogHead | undefined {
    return this.#hash === undefined ? undefined : { position: this.#position, hash: this.#hash }
  }

  async run (after: number): Promise<LogBreak | undefined> {
    const added = await this.#begin(after)
    if (added !== undefined) return describeBreak('added', added)
    for (let limit = Math.min(rowsAtFirst, this.batch); ;) {
      this.signal?.throwIfAborted()
      const entries = await this.#read(limit)
      if (entries.length === 0) return undefined
      const broken = await this.#check(entries)
      if (broken !== undefined && !await this.#skipPruned()) return broken
      limit = await endPart(entries, limit, this.batch)
    }
  }

  /** Returns an entry from before what was pruned: there can be none. */
  async #begin (after: number): Promise<Entry | undefined> {
    const mark = await this.#getMark()
    this.#pruned = mark?.hash === undefined ? 0 : mark.position
    const start = this.#position = Math.max(after, this.#pruned)
    this.#hash = await this.#findHash(start) ?? mark?.hash
    if (this.#hash === undefined) await this.#skipUnchained(start)
    const [added] = after >= this.#pruned
      ? []
      : await this.#find([
        { field: 'position', op: 'gt', value: after }, { field: 'position', op: 'lte', value: this.#pruned }
      ], 1)
    return added
  }

  /** Of what is left. */
  async #findHash (position: number): Promise<string | undefined> {
    if (position === this.#pruned) return undefined
    const [last] = await this.#find([
      { field: 'hash', op: 'null', is: false }, { field: 'position', op: 'gt', value: this.#pruned },
      { field: 'position', op: 'lte', value: position }
    ], 1, true)
    return last?.hash
  }

  /** What was written before there was a chain. */
  async #skipUnchained (start: number): Promise<void> {
    const [first] = await this.#find(
      [{ field: 'hash', op: 'null', is: false }, { field: 'position', op: 'gt', value: start }], 1)
    const until = first?.position ?? Number.MAX_SAFE_INTEGER
    const [last] = await this.#find([{ field: 'position', op: 'lt', value: until }], 1, true)
    this.#position = Math.max(start, last?.position ?? 0)
  }

  /** Also what has the position that was reached: there should be only one. */
  async #read (limit: number): Promise<readonly Entry[]> {
    const isFirst = this.#id === undefined
    const from: Condition = { field: 'position', op: isFirst ? 'gt' : 'gte', value: this.#position }
    return (await this.#find([from], limit + 1)).filter(({ id }) => id !== this.#id)
  }

  async #check (entries: readonly Entry[]): Promise<LogBreak | undefined> {
    const erasures = await this.#findErasures(entries)
    for (const entry of entries) {
      const { id, position, hash, erasure } = entry
      if (hash === undefined) return describeBreak('unchained', entry)
      const found = checkEntry(entry, this.#hash, erasures.get(erasure as Id))
      if (found === 'changed') {
        if (position > this.#position + 1) return { position: this.#position + 1, reason: 'removed' }
        return describeBreak(position === this.#position ? 'added' : 'changed', entry)
      }
      this.first ??= position
      this.checked++
      if (found === 'erased') this.erased++
      this.#position = position
      this.#hash = hash
      this.#id = id
    }
    return undefined
  }

  async #findErasures (entries: readonly Entry[]): Promise<ReadonlyMap<Id, Stored>> {
    const values = [...new Set(entries.flatMap(({ erasure }) => erasure ?? []))]
    if (values.length === 0) return new Map()
    const { where: _, ...query } = selectAfter(undefined, values.length)
    const { items } = await this.storage.find('commands', { ...query, where: [{ field: 'id', op: 'eq', values }] })
    return new Map(items.map(item => [item.id, item]))
  }

  /** Whether entries that were to come next have been pruned meanwhile. */
  async #skipPruned (): Promise<boolean> {
    const { position = 0, hash } = await this.#getMark() ?? {}
    if (hash === undefined || position <= this.#pruned || position < this.#position) return false
    this.#pruned = this.#position = position
    this.#hash = hash
    this.#id = undefined
    return true
  }

  /** Of one that was changed, its hash is missing: everything that follows was written again, too. */
  async checkHead ({ position, hash }: LogHead): Promise<LogBreak | undefined> {
    const [entry] = await this.#find([{ field: 'position', op: 'eq', values: [position] }], 1)
    const mark = await this.#getMark()
    const isMark = mark?.hash !== undefined && mark.position === position
    if (entry?.hash === hash || (isMark && mark.hash === hash)) return undefined
    if (entry !== undefined) return describeBreak('rewritten', entry)
    if (isMark) return { position, reason: 'rewritten' }
    if (mark !== undefined && mark.position > position) return { position, reason: 'pruned' }
    return this.#position < position
      ? { position: this.#position + 1, reason: 'cut' }
      : { position, reason: 'removed' }
  }

  async #getMark (): Promise<Entry | undefined> {
    return await this.storage.get('commands', prunedId) as Entry | undefined
  }

  async #find (where: readonly Condition[], limit: number, descending = false): Promise<readonly Entry[]> {
    const order = [{ field: 'position', descending }]
    const entries: Condition = { field: 'id', op: 'ne', values: [prunedId] }
    const { items } = await this.storage.find('commands', {
      where: [{ field: 'position', op: 'gte', value: 1 }, ...where, entries], order, offset: 0, limit, count: false
    })
    return items as readonly Entry[]
  }
}

function describeBreak (reason: LogFault, { position, id, family, target }: Entry): LogBreak {
  return { position, reason, id, family, target }
}
