import type { NounOperation } from '../family/definition.js'
import type { Family, Hiding } from '../family/family.js'
import { hideIn, holdsWhole, narrowFamily } from '../family/narrow.js'
import { invalidQuery, notFound } from '../problems.js'
import type { Moment } from '../query/moment.js'
import { listFieldConditions, mapConditions, matcher } from '../storage/conditions.js'
import { RequestDeadline } from '../storage/deadline.js'
import { findByIds, findMembers, selectById } from '../storage/pages.js'
import type {
  Condition, FieldCondition, Found, FoundText, Id, Query, StorageReads, Stored
} from '../storage/storage.js'
import { type Caller, canSee, type Grant, intendToRead, type Intent } from './caller.js'
import { type CommandId, identifyCommand, nameOtherRow, nameRow } from './command-ids.js'
import { findLastDeletion, findRevisionAt, rebuild, type Rebuilt, type State } from './history.js'
import { type CommandRecord, hasLog, isInLog, readTarget, selectLog } from './record.js'
import type { Called } from './renamed.js'
import { toShown } from './shown.js'
import type { GuardedStorage } from './storage-access.js'

/** The ids of items that a reader may see, of those that entries are about; undefined if it must find out itself. */
type FindVisible = (reader: Reader) => Promise<ReadonlySet<Id>> | undefined

interface Owner {
  readonly family: Family | undefined
  readonly visible: ReadonlySet<Id>
}

/** An item as it was. */
export interface PastItem extends Pick<Rebuilt, 'isDeleted' | 'prev' | 'next'> {
  readonly item: Stored
  /** The members whose values the log does not have. They are not in the item. */
  readonly missing: readonly string[]
  /** What it is now, or was when it was deleted. */
  readonly last: Stored
}

/** The part of a family that a caller may see: items that meet the grant's conditions, and their logs. */
export class Reader {
  /** Without what the grant hides. */
  readonly family: Family
  readonly called: Called
  readonly signal: AbortSignal | undefined
  readonly #where: readonly Condition[]
  /** In the names of a renamed version, too, it is asked and answers. */
  readonly #items: StorageReads
  // For followers, which ask for them with every commit.
  #fields: readonly string[] | undefined
  #holds: ((item: Stored) => boolean) | undefined
  #holdsStored: ((item: Stored) => boolean) | undefined

  constructor (called: Called, readonly storage: StorageReads, readonly grant: Grant) {
    this.family = narrowFamily(called.family, grant.hide)
    this.called = this.family === called.family ? called : { ...called, family: this.family }
    this.signal = called.caller.signal
    this.#where = grant.where ?? []
    this.#items = this.#open(storage)
  }

  get isNarrowed (): boolean {
    return this.#where.length > 0
  }

  #open (storage: StorageReads): StorageReads {
    return this.family.renaming?.read(storage) ?? storage
  }

  /** The conditions, under the names of the storage. */
  get #stored (): readonly Condition[] {
    return this.family.renaming?.parseConditions(this.#where) ?? this.#where
  }

  /** What the conditions are on, under the names of the storage. */
  get fields (): readonly string[] {
    this.#fields ??= [...new Set(['id', ...listFieldConditions(this.#stored).map(({ field }) => field)])]
    return this.#fields
  }

  /** The same for rules, from which nothing is hidden. */
  get forRules (): Reader {
    const { hiding } = this.family
    if (hiding === undefined) return this
    const { hide: _, ...grant } = this.grant
    return new Reader({ ...this.called, family: hiding.whole }, this.storage, grant)
  }

  /** Whether an item meets the conditions. */
  holds (item: Stored): boolean {
    this.#holds ??= holdsWhole(this.#where)
    return this.#holds(item)
  }

  /** The same for items with the names of the storage. */
  get holdsStored (): (item: Stored) => boolean {
    this.#holdsStored ??= matcher(this.#stored)
    return this.#holdsStored
  }

  renewTime (): void {
    if (this.signal instanceof RequestDeadline) this.signal.renew()
  }

  get findText (): ((query: Query, members: readonly string[]) => Promise<FoundText>) | undefined {
    const { findText } = this.#items
    // A text has whole fields.
    if ([...this.family.hiding?.names.values() ?? []].some(within => within !== 'whole')) return undefined
    return findText && ((query, members) =>
      findText.call(this.#items, this.family.name, this.#narrow(query), members, this.signal))
  }

  /** Undefined if the item does not exist for this caller. */
  get (id: Id): Promise<Stored | undefined> {
    const getting = this.#items.get(this.family.name, id, this.signal)
    if (this.#where.length === 0 && this.family.hiding === undefined) return getting
    return getting.then(item => canSee(this.grant, item) ? hideIn(this.family, item) : undefined)
  }

  /** An item as it was; undefined if it did not exist then, or not for this caller. */
  async getPast (id: Id, moment: Moment): Promise<PastItem | undefined> {
    const revision = moment.revision ?? await findRevisionAt(this, id, moment.at)
    const rebuilt = revision === undefined ? undefined : await rebuild(this, id, revision)
    if (rebuilt === undefined || !this.#seesPast(rebuilt)) return undefined
    const { item, unknown, last, ...around } = rebuilt
    const { renaming, members } = this.family
    return {
      ...around,
      item: hideIn(this.family, renaming?.show(item) ?? item),
      missing: members.filter(name => unknown.has(renaming?.toBase(name) ?? name)),
      last: hideIn(this.family, renaming?.show(last.item) ?? last.item)
    }
  }

  /** A caller who may not see the item now, or as it was last, may not see what it was before either. */
  #seesPast (rebuilt: Rebuilt): boolean {
    const { item, last } = rebuilt
    return this.seesState(last) && (item.revision === last.item.revision || this.seesState(rebuilt))
  }

  /** Whether the caller may see an item as it was. A condition on what the log does not have is not met. */
  seesState ({ item, unknown }: State): boolean {
    return !this.isNarrowed || (this.fields.every(field => !unknown.has(field)) && this.holdsStored(item))
  }

  async find (query: Query): Promise<Found> {
    const found = await this.#items.find(this.family.name, this.#narrow(query), this.signal)
    return this.family.hiding === undefined ? found : { ...found, items: this.#hide(found.items) }
  }

  /** Only with these members, if the storage can leave out others: items may be long. */
  async findMembers (query: Query, members: readonly string[], storage = this.storage): Promise<readonly Stored[]> {
    const items = storage === this.storage ? this.#items : this.#open(storage)
    return this.#hide(await findMembers(items, this.family.name, this.#narrow(query), members, this.signal))
  }

  /** Those of these items that the caller may see. */
  async findIds (ids: readonly Id[], storage?: StorageReads): Promise<ReadonlySet<Id>> {
    const query = selectById([{ field: 'id', op: 'eq', values: ids }], ids.length)
    const items = await this.findMembers(query, ['id'], storage)
    return new Set(items.map(({ id }) => id))
  }

  #hide (items: readonly Stored[]): readonly Stored[] {
    const { family } = this
    return family.hiding === undefined ? items : items.map(item => hideIn(family, item))
  }

  async findLog (id: Id, query: Query, operation?: NounOperation): Promise<Found> {
    const asked = mapConditions(query.where, condition => this.#addRows(condition, id))
    const where = [...selectLog(this.family, id, operation), ...asked]
    const found = await this.storage.find('commands', { ...query, where }, this.signal)
    return { ...found, items: await this.show(found.items as readonly CommandRecord[]) }
  }

  /**
   * Entries of the log as the caller sees them: with what the family has, and without what they say of other items that
   * the caller may not see. Every entry that is shown passes here.
   */
  async show<R extends CommandRecord> (
    entries: readonly R[], findVisible: FindVisible = () => undefined
  ): Promise<readonly R[]> {
    const { family, caller } = this.called
    const names = new Set(entries.flatMap(({ about }) => about?.family ?? []))
    const owners = new Map(await Promise.all(Array.from(names, async name =>
      [name, await this.#findOwner(name, entries, findVisible)] as const)))
    const { principal } = this.grant
    return entries.map(entry => {
      const { about, params, ...rest } = entry
      if (about === undefined) return toShown(family, entry, family, principal)
      const owner = owners.get(about.family) as Owner
      if (!owner.visible.has(about.id)) return toShown(family, rest as R, owner.family, principal)
      const shown = toShown(family, entry, owner.family, principal)
      return params !== undefined && owner.family === undefined && caller.isProgram === true
        ? { ...shown, params }
        : shown
    })
  }

  /** The family of commands that changed items of this one, and those of its items that the caller may see. */
  async #findOwner (name: string, entries: readonly CommandRecord[], findVisible: FindVisible): Promise<Owner> {
    const { family: own, caller } = this.called
    const ids = new Set(entries.flatMap(({ about }) => about?.family === name ? about.id : []))
    const there = name === own.name ? this.called : caller.other(name)
    const owner: Owner = { family: there?.family, visible: ids }
    if (!(there?.caller ?? caller).isGuarded) return owner
    const reader = there && await tryReader(there.family, there.caller, intendToRead(there.family, undefined))
    if (reader === undefined) return { ...owner, visible: new Set() }
    const { family } = reader
    if (!reader.isNarrowed) return { family, visible: ids }
    return { family, visible: await (findVisible(reader) ?? reader.findIds([...ids])) }
  }

  async getFromLog (id: Id, command: string, operation?: NounOperation): Promise<CommandRecord | undefined> {
    return await this.#getRecord(this.#listRows(command, id), record => isInLog(record, this.family, id, operation))
  }

  async getCommand (command: string): Promise<CommandRecord | undefined> {
    return await this.#getRecord(this.#listRows(command), ({ family }) => family === this.family.name)
  }

  /** @param target the item in whose log it is, which may differ from that of the command */
  #listRows (command: string, target?: Id): string[] {
    const rows = [...new Set([nameRow(command, this.grant.principal), command])]
    if (target === undefined) return rows
    return [...rows, ...rows.map(row => nameOtherRow(row, this.family.name, String(target)))]
  }

  /** A command of the reader, even if its item is deleted. A narrowed reader without a principal has none. */
  async getOwnCommand (command: string): Promise<CommandRecord | undefined> {
    if (this.grant.principal === undefined && this.#where.length > 0) return undefined
    const isOwn = ({ family, principal }: CommandRecord): boolean =>
      family === this.family.name && principal === this.grant.principal
    return await this.#getRecord(this.#listRows(command), isOwn)
  }

  /** Commands of the reader by their keys. */
  async findByKeys (keys: readonly string[]): Promise<ReadonlyMap<string, CommandRecord>> {
    const { principal } = this.grant
    const rows = new Map(keys.map(key => [(identifyCommand({ key }, principal) as CommandId).row, key]))
    const found = await findByIds(this.storage, 'commands', rows.keys(), this.signal)
    const own = [...found.values() as Iterable<CommandRecord>].filter(({ family }) => family === this.family.name)
    return new Map((await this.show(own)).map(record => [rows.get(record.id) as string, record]))
  }

  async #getRecord (
    rows: readonly string[],
    holds: (record: CommandRecord) => boolean
  ): Promise<CommandRecord | undefined> {
    for (const row of rows) {
      const record = await this.storage.get('commands', row, this.signal) as CommandRecord | undefined
      if (record !== undefined && holds(record)) return (await this.show([record]))[0]
    }
    return undefined
  }

  #addRows (condition: FieldCondition, target: Id): FieldCondition {
    if (condition.field !== 'id' || !(condition.op === 'eq' || condition.op === 'ne')) return condition
    return { ...condition, values: condition.values.flatMap(id => this.#listRows(String(id), target)) }
  }

  /** A log outlives its item. */
  async checkLog (id: Id): Promise<Stored | undefined> {
    const item = await this.get(id)
    if (item !== undefined || await this.hasLog(id)) return item
    throw notFound(this.family.singular, id)
  }

  /** Of an item that is gone. As for what it was, conditions must hold for it as it was last. */
  async hasLog (id: Id): Promise<boolean> {
    if (!this.isNarrowed) return await hasLog(this.storage, this.family, id, this.signal)
    const [present, deletion] = await Promise.all([
      this.storage.get(this.family.name, id, this.signal), findLastDeletion(this, id)
    ])
    return present === undefined && deletion?.last !== undefined && this.seesState(deletion.last)
  }

  // Before the client's conditions: the duration of a client's pattern would reveal what the grant excludes.
  #narrow (query: Query): Query {
    const { hiding } = this.family
    if (hiding !== undefined) refuseHiddenFields(hiding, query)
    return this.#where.length === 0 ? query : { ...query, where: [...this.#where, ...query.where] }
  }
}

/** Grammars refuse these names first; a page or tool must not ask for them either. */
function refuseHiddenFields ({ names }: Hiding, { where, order }: Query): void {
  const asked = [...listFieldConditions(where), ...order].map(({ field }) => field)
  const hidden = asked.filter(name => names.get(name) === 'whole')
  if (hidden.length === 0) return
  throw invalidQuery(hidden.map(parameter => ({ parameter, detail: `Unknown parameter "${parameter}".` })))
}

/** Not a promise unless it has to wait, so that a single request takes as few turns as possible. */
export function authorizeReader (family: Family, caller: Caller, intent: Intent): Reader | Promise<Reader> {
  const grant = caller.authorize(intent)
  if (grant instanceof Promise) return grant.then(grant => openReader(family, caller, grant))
  return openReader(family, caller, grant)
}

/** Undefined if `authorize` refuses it. */
export async function tryReader (family: Family, caller: Caller, intent: Intent): Promise<Reader | undefined> {
  let grant: Grant
  try {
    grant = await caller.authorize(intent)
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
  return await openReader(family, caller, grant)
}

// As errors of the host are answered.
export function isRefusal (error: unknown): boolean {
  const status = readErrorStatus(error)
  return status >= 400 && status < 500
}

export function readErrorStatus (error: unknown): number {
  const { status, statusCode = status } = (error ?? {}) as { status?: unknown, statusCode?: unknown }
  return Number.isInteger(statusCode) ? Number(statusCode) : 500
}

interface WrittenCommand {
  readonly record: CommandRecord
  readonly item: Stored | undefined
  readonly replayed: boolean
}

/**
 * The family as the caller may see its item after a command; undefined if the caller may not read it. Permission to
 * write does not include reading. The command is done, so a failure only hides the item.
 */
export async function findReadable (
  { family, caller }: Called, { record, item, replayed }: WrittenCommand
): Promise<Family | undefined> {
  if (!caller.isGuarded) return family
  const id = readTarget(family, record)
  try {
    const { where = [], hide } = await caller.authorize(intendToRead(family, id))
    const shown = narrowFamily(family, hide)
    if (where.length === 0) return shown
    const isVisible = holdsWhole(where)
    if (item !== undefined && !isVisible(item)) return undefined
    if (!replayed) return item && shown
    // A replay shows an earlier item, but the current one decides who may see it.
    const now = await (await openReader(family, caller, {})).get(id)
    return now === undefined ? item && shown : isVisible(now) ? shown : undefined
  } catch (error) {
    if (!isRefusal(error)) caller.report?.(error, 'The result of a command cannot be shown')
    return undefined
  }
}

export function openReader (family: Family, caller: Caller, grant: Grant): Reader | Promise<Reader> {
  const storage = caller.storage()
  const open = (storage: GuardedStorage): Reader =>
    new Reader({ family, caller }, chooseSource(storage, caller), grant)
  return storage instanceof Promise ? storage.then(open) : open(storage)
}

function chooseSource (storage: GuardedStorage, { shows }: Caller): StorageReads {
  const request = storage.replica === undefined ? undefined : shows?.()
  return request === undefined ? storage : storage.replica?.(request.seen) ?? storage
}
