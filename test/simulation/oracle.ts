import { isDeepStrictEqual } from 'node:util'
import { prunedId } from '../../lib/core/service/record.js'
import type { Id, Members, Stored } from '../../lib/index.js'
import type { Database, Made } from './database.js'
import {
  applyEntry, type Entry, isModelled, isVisible, listHidden, nameItem, noteMark, serviceMembers, tenantOf
} from './model.js'
import type { World } from './world.js'

/** An item as it was from one commit to the next that changed it. */
interface Version {
  readonly from: number
  readonly item: Stored | undefined
}

/** A log entry, and what became of it. */
export interface Known {
  readonly entry: Entry
  readonly committedAt: number
  position?: number
  prunedAt?: number
  hasEffect?: boolean
}

const changedBy = new Set(['accounts', 'tickets', 'effects', 'webhooks'])

/** Keeps its own journal, written at each commit, and checks every commit by itself. */
export class Journal {
  readonly #versions = new Map<string, Version[]>()
  /** By the ids of the rows. */
  readonly entries = new Map<string, Known>()
  readonly #byItem = new Map<string, Known[]>()
  /** The changes by the marks of the commands that made them. */
  readonly done = new Map<string, Known>()
  readonly byPosition: Known[] = []
  /** When each consumer was added, in commits. */
  readonly consumers = new Map<Id, number>()
  /** The events of webhooks that have arrived, and when that was noted, in commits. */
  readonly delivered = new Map<string, number>()
  /** Called when a consumer has handled an entry. */
  handled: (known: Known) => void = () => {}
  /** What clients were told that it is done. */
  readonly #acknowledged = new Set<Known>()
  #lastAccount = 0
  #hasSkipped = false
  /** Whether a failover has taken something back. */
  hasLost = false

  /** @param isCounted whether ids of accounts are counted without gaps */
  constructor (readonly world: World, readonly database: Database, readonly isCounted: boolean) {
    database.committed = made => { this.#check(made) }
    database.lost = made => { for (const each of made) this.#lose(each) }
    database.numbered = entries => {
      for (const { id, position } of entries) {
        const known = this.entries.get(id as string)
        if (known === undefined) continue
        known.position = position as number
        this.byPosition.push(known)
      }
    }
  }

  get commits (): number {
    return this.database.commits
  }

  /** The states of an item at any moment since a commit, and before another. */
  * versionsSince (family: string, id: Id, since: number, before = Infinity): Generator<Stored | undefined> {
    const versions = this.#versions.get(nameItem(family, id)) ?? []
    if ((versions[0]?.from ?? Infinity) > since) yield undefined
    for (const [index, { from, item }] of versions.entries()) {
      if (from < before && (versions[index + 1]?.from ?? Infinity) > since) yield item
    }
  }

  /** The item after an entry, unless others followed in the same commit. */
  findAfter ({ entry: { family, target, revision }, committedAt }: Known): Stored | undefined {
    const item = this.#versions.get(nameItem(family, target))?.find(({ from }) => from === committedAt)?.item
    return item?.revision === revision ? item : undefined
  }

  /** The item at a revision, as far as it was that from one commit to the next. */
  findRevision (family: string, id: Id, revision: number): Stored | undefined {
    return this.#versions.get(nameItem(family, id))?.findLast(({ item }) => item?.revision === revision)?.item
  }

  /** The names of all items that ever were. */
  get items (): Iterable<string> {
    return this.#versions.keys()
  }

  listEntries (family: string, id: Id): readonly Known[] {
    return this.#byItem.get(nameItem(family, id)) ?? []
  }

  #check (made: readonly Made[]): void {
    const { world, commits } = this
    world.mix(commits * 31 + made.length)
    const inserted = new Map<string, Known[]>()
    const newest: Known[] = []
    for (const { family, id, before, after } of made) {
      if (family === 'command-consumers') this.#checkConsumer(id, before, after)
      if (family === 'webhook-deliveries' && after?.status === 'delivered') {
        this.delivered.set(String(after.event), commits)
      }
      if (family !== 'commands' || id === prunedId) continue
      if (after === undefined) this.#checkPruned(id as string, made)
      else if (before === undefined) {
        const known = { entry: after as Entry, committedAt: commits }
        this.entries.set(id as string, known)
        newest.push(known)
        if (known.entry.outcome === 'done') append(inserted, nameItem(known.entry.family, known.entry.target), known)
      } else world.fail(`entry ${id}: changed after it was written`)
    }
    const changed = new Map(made.filter(({ family }) => changedBy.has(family))
      .map(each => [nameItem(each.family, each.id), each]))
    // Of a commit of many commands, an item may be created and deleted: then it is not changed.
    for (const name of [...new Set([...changed.keys(), ...inserted.keys()])].sort(compareNames)) {
      const { before, after } = changed.get(name) ?? {}
      this.#checkItem(name, before, after, inserted.get(name) ?? [])
      if (changed.has(name)) append(this.#versions, name, { from: commits, item: after })
    }
    for (const known of newest) {
      if (known.entry.action === 'CreateEffect') this.#checkEffect(String(known.entry.params?.entry))
      this.#checkOthers(known.entry, newest)
      append(this.#byItem, nameItem(known.entry.family, known.entry.target), known)
    }
  }

  /** Revisions without gaps, one creation, and the effect of each entry. */
  #checkItem (name: string, before: Stored | undefined, after: Stored | undefined, known: readonly Known[]): void {
    const { world } = this
    const entries = known.map(({ entry }) => entry).sort((one, other) => one.revision - other.revision)
    const first = before?.revision ?? this.#findDeleted(name, entries[0])
    const last = after?.revision ?? first + entries.length
    if (entries.length === 0) return world.fail(`${name}: changed without an entry`)
    if (entries.some(({ revision }, index) => revision !== first + index + 1) || last !== first + entries.length) {
      const revisions = entries.map(({ revision }) => revision).join()
      return world.fail(`${name}: revisions ${first} to ${last}, but entries ${revisions}`)
    }
    if (before === undefined) this.#checkCreation(name, entries[0] as Entry)
    let expected: Members | undefined = before
    for (const entry of entries) {
      expected = this.#follow(expected, entry, after)
      this.#checkOnce(entry, known.find(each => each.entry === entry) as Known)
    }
    if (after === undefined) this.#hasSkipped ||= name.startsWith('accounts/')
    if (!entries.every(({ action }) => isModelled(action))) return
    if (before !== undefined && before.pin !== after?.pin && entries.every(({ action }) => !setsPin.has(action))) {
      world.fail(`${name}: lost what is hidden in it`)
    }
    if (expected === unknownItem) return
    const [is, shouldBe] = [after, expected].map(item => item && withoutServiceMembers(item))
    if (!isDeepStrictEqual(is, shouldBe)) {
      world.fail(`${name}: is ${JSON.stringify(is)} after ${entries.map(({ action }) => action).join()}, ` +
        `but should be ${JSON.stringify(shouldBe)}`)
    }
  }

  /** The revision at which a restored item was deleted; 0 for a new one. */
  #findDeleted (name: string, first: Entry | undefined): number {
    if (first?.action.startsWith('Restore') !== true) return 0
    const last = this.#byItem.get(name)?.findLast(({ entry }) => entry.outcome === 'done')
    if (last === undefined || !isDeletion(last)) this.world.fail(`${name}: restored, but not deleted`)
    return last?.entry.revision ?? 0
  }

  /** The item after an entry; what comes back is as it was. */
  #follow (item: Members | undefined, entry: Entry, after: Stored | undefined): Members | undefined {
    const { action, family, target, params, principal, revision } = entry
    const isRestored = action.startsWith('Restore')
    if (item === unknownItem || (!isRestored && !action.startsWith('Revert'))) return applyEntry(item, entry)
    const was = this.findRevision(family, target, isRestored ? revision - 2 : Number(params?.to))
    if (was === undefined) return unknownItem
    const hidden = isRestored ? [] : listHidden(family, principal)
    const kept = Object.fromEntries(hidden.map(name => [name, item?.[name]]))
    // A process of an earlier version does not know this field.
    return { ...was, ...kept, grade: after?.grade }
  }

  #checkCreation (name: string, { family, target, action }: Entry): void {
    const { world } = this
    if (action.startsWith('Restore')) return
    const earlier = this.#byItem.get(name) ?? []
    const id = Number(target)
    if (family === 'accounts') {
      if (earlier.length > 0) return world.fail(`${name}: a second creation under a counted id`)
      // After deletions and failovers, ids are skipped.
      if (this.isCounted && !this.#hasSkipped && id !== this.#lastAccount + 1) {
        world.fail(`${name}: comes after ${this.#lastAccount}`)
      }
      this.#lastAccount = Math.max(this.#lastAccount, id)
    } else if (earlier.some(({ prunedAt }) => prunedAt === undefined)) {
      world.fail(`${name}: a second creation in one log`)
    }
  }

  acknowledge (known: Known): void {
    this.#acknowledged.add(known)
  }

  /** A failover has taken a change back, which may be made again. */
  #lose ({ family, id, before, after }: Made): void {
    this.hasLost = true
    if (changedBy.has(family)) append(this.#versions, nameItem(family, id), { from: this.commits, item: before })
    // The next id may have been chosen after this one, on a server that had it.
    if (family === 'accounts' && before === undefined) this.#hasSkipped = true
    if (family === 'command-consumers' && before === undefined) this.consumers.delete(id)
    if (family === 'webhook-deliveries') this.delivered.delete(String(after?.event))
    const known = family === 'commands' ? this.entries.get(id as string) : undefined
    if (known === undefined) return
    if (after === undefined) {
      delete known.prunedAt
      return
    }
    const { entry } = known
    if (this.#acknowledged.has(known)) this.world.fail(`${entry.action} ${entry.target}: acknowledged, but lost`)
    this.entries.delete(id as string)
    const name = nameItem(entry.family, entry.target)
    this.#byItem.set(name, (this.#byItem.get(name) ?? []).filter(each => each !== known))
    for (const [mark, each] of this.done) if (each === known) this.done.delete(mark)
    const handled = entry.action === 'CreateEffect' ? this.entries.get(String(entry.params?.entry)) : undefined
    if (handled !== undefined) handled.hasEffect = false
  }

  /** No command changes an item twice. */
  #checkOnce (entry: Entry, known: Known): void {
    const { mark = entry.params?.note } = entry.params ?? {}
    if (mark === undefined || mark === null || entry.about !== undefined) return
    const name = String(mark).replace(noteMark, '')
    if (this.done.has(name)) this.world.fail(`${name}: done twice`)
    this.done.set(name, known)
  }

  #checkOthers (own: Entry, newest: readonly Known[]): void {
    const { id, chosenId = id, family, target, action, outcome, about, params } = own
    if (action !== 'TransferMoney' || outcome !== 'done' || about !== undefined) return
    const others = newest.filter(({ entry }) =>
      entry.about?.family === family && String(entry.about.id) === target && entry.target === String(params?.to) &&
        entry.chosenId === chosenId)
    if (others.length !== 1) this.world.fail(`${String(params?.mark)}: transferred, but ${others.length} got it`)
  }

  #checkEffect (entry: string): void {
    const known = this.entries.get(entry)
    if (known === undefined) return this.world.fail(`effect of an unknown entry ${entry}`)
    if (known.hasEffect === true) return this.world.fail(`entry ${known.position ?? entry}: a second effect`)
    known.hasEffect = true
    this.handled(known)
  }

  #checkConsumer (id: Id, before: Stored | undefined, after: Stored | undefined): void {
    if (before === undefined) this.consumers.set(id, this.commits)
    if (before === undefined || after === undefined) return
    const [from, to] = [before.position as number, after.position as number]
    if (to < from) this.world.fail(`consumer ${id}: went back from ${from} to ${to}`)
  }

  /** Nothing that a consumer has not handled, and never silently. */
  #checkPruned (id: string, made: readonly Made[]): void {
    const { world, database } = this
    const known = this.entries.get(id)
    if (known === undefined) return
    known.prunedAt = this.commits
    const { position = Infinity } = known
    const mark = made.find(each => each.id === prunedId)?.after?.position as number | undefined ?? 0
    if (mark < position) world.fail(`entry ${position}: pruned without a mark`)
    for (const place of database.list('command-consumers')) {
      const waiting = [place.parked, place.retried].flat() as { id: string }[]
      if (position > (place.position as number) || waiting.some(each => each.id === id)) {
        world.fail(`entry ${position}: pruned, but consumer ${place.id} is at ${String(place.position)}`)
      }
    }
  }

  /** An item that a caller got: it must have been like this at some moment since a commit, and visible. */
  wasSeen (family: string, item: Members, principal: string | undefined, since: number): boolean {
    const [tenant, hidden] = [tenantOf(principal), listHidden(family, principal)]
    for (const version of this.versionsSince(family, item.id as Id, since)) {
      if (version !== undefined && isVisible(version, tenant) && isShownOf(item, version, hidden)) return true
    }
    return false
  }
}

/** Whether these members, of a caller, are those of an item, without what is hidden. */
export function isShownOf (shown: Members, item: Stored, hidden: readonly string[] = []): boolean {
  return Object.entries(shown).every(([name, value]) =>
    name === 'links' || isDeepStrictEqual(value, item[name] ?? (name === 'grade' ? 1 : undefined))) &&
    Object.keys(item).every(name =>
      name === 'pin' || name === 'grade' || hidden.includes(name) || Object.hasOwn(shown, name))
}

/** In the place of an item that the journal has not seen, since others followed in the same commit. */
const unknownItem: Members = {}

export function isDeletion ({ entry: { action } }: Known): boolean {
  return action.startsWith('Delete')
}

/** `accounts/5` -> accounts, 5 */
export function readItemName (name: string): readonly [family: string, id: Id] {
  const [family = '', id = ''] = name.split('/')
  return [family, family === 'accounts' ? Number(id) : id]
}

const setsPin = new Set(['EditAccount', 'DeleteAccount'])

/** Without what the library sets, is hidden in the log, or is the default of the next version. */
function withoutServiceMembers (item: Members): Members {
  return Object.fromEntries(Object.entries(item).filter(([name, value]) =>
    !serviceMembers.has(name) && value !== undefined && name !== 'pin' && (name !== 'grade' || value !== 1)).sort())
}

/** In the order in which ids are counted. */
function compareNames (one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : 1)
}

function append<T> (map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
