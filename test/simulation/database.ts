import { compareScalars } from '../../lib/core/storage/conditions.js'
import { mergeShapes } from '../../lib/core/storage/shapes.js'
import {
  type Change, checkChanges, completer, type Condition, ConflictError, DuplicateError, type FamilyShape, type Found,
  hasAtPath, type Id, isExpected, KeyRules, pageOf, type Query, type Scalar, type Stored
} from '../../lib/index.js'
import type { Copy } from './copies.js'

interface Table {
  shape: FamilyShape
  complete: (item: Stored) => Stored
  readonly items: Map<Id, Stored>
  /** Those that have no number yet. */
  readonly unnumbered: Set<Id>
}

/** A change that was made, with the item before and after it. */
export interface Made {
  readonly family: string
  readonly id: Id
  readonly before: Stored | undefined
  readonly after: Stored | undefined
}

/** One database for all processes: its methods have their effect at once. */
export class Database {
  readonly #tables = new Map<string, Table>()
  readonly #prepared = new Set<FamilyShape>()
  readonly #rules = new KeyRules()
  readonly #watchers = new Set<() => void>()
  commits = 0
  committed: (made: readonly Made[]) => void = () => {}
  numbered: (entries: readonly Stored[]) => void = () => {}
  /** Called with what a failover has taken back, the last first. */
  lost: (made: readonly Made[]) => void = () => {}
  /** Until then, nothing is answered: the database is away. */
  awayUntil = 0
  /** Of each family whose table is changed for the next version: until then, its statements wait. */
  readonly lockedUntil = new Map<string, number>()
  readonly copies: Copy[] = []
  /** How far its log is written; it begins a new timeline after each failover. */
  position = { timeline: 1, bytes: 0 }
  /** What the standby does not have; undefined while it is connected. */
  #unsafe: Made[] | undefined
  readonly #waiting: (() => void)[] = []
  #lastId = 0

  /** @param isNumberedLate whether items get their numbers when they are read, as on PostgreSQL */
  constructor (readonly isNumberedLate: boolean, readonly now: () => number = () => 0) {}

  /** The standby is gone: commits have their effect, but are not acknowledged. */
  cut (): void {
    this.#unsafe ??= []
  }

  get isCut (): boolean {
    return this.#unsafe !== undefined
  }

  /** The standby is back, or takes over without what it does not have. */
  heal (isFailover: boolean): void {
    const unsafe = this.#unsafe ?? []
    this.#unsafe = undefined
    if (!isFailover) this.#send(unsafe)
    else {
      this.position = { timeline: this.position.timeline + 1, bytes: this.position.bytes - unsafe.length }
      for (const copy of this.copies) copy.receive([], this.position)
      const lost = unsafe.reverse()
      for (const { family, id, before } of lost) this.#write(family, id, before)
      this.commits++
      this.lost(lost)
    }
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** Runs it once all that there is can no longer be lost. */
  whenSafe (run: () => void): void {
    if (this.isCut) this.#waiting.push(run)
    else run()
  }

  /** From a sequence that other programs use, too. */
  nextId (): number {
    return ++this.#lastId
  }

  /** Whether a table lacks fields of the next version. */
  needsMigration ({ name, fields }: FamilyShape): boolean {
    const names = this.#tables.get(name)?.shape.fields.map(field => field.name)
    return names !== undefined && fields.some(field => !names.includes(field.name))
  }

  prepare (shape: FamilyShape): void {
    if (this.#prepared.has(shape)) return
    const before = this.#tables.get(shape.name)
    const items = before?.items ?? new Map<Id, Stored>()
    this.#rules.add(shape, items.values())
    const merged = mergeShapes(before?.shape, shape)
    this.#tables.set(shape.name, {
      shape: merged, complete: completer(merged), items, unnumbered: before?.unnumbered ?? new Set()
    })
    this.#prepared.add(shape)
  }

  get (family: string, id: Id): Stored | undefined {
    const { items, complete } = this.#getTable(family)
    const item = items.get(id)
    return item && complete(item)
  }

  /** Whether a query is about numbers that are still missing: to write them is a commit. */
  needsNumbers (family: string, query: Query): boolean {
    const { shape: { sequence }, unnumbered } = this.#getTable(family)
    return sequence !== undefined && unnumbered.size > 0 && names(query.where, sequence)
  }

  /** @param copy the items of the family in a copy of the database */
  find (family: string, query: Query, copy?: ReadonlyMap<Id, Stored>): Found {
    const table = this.#getTable(family)
    const { complete } = table
    if (copy === undefined && this.needsNumbers(family, query)) this.#number(table)
    const items = copy ?? table.items
    const named = query.where.find(each => each.field === 'id' && each.op === 'eq')
    const found = named !== undefined && 'values' in named
      ? [...new Set(named.values)].flatMap(id => items.get(id as Id) ?? [])
      : [...items.values()]
    return pageOf(found.map(complete), query)
  }

  /** For the oracle and clients, who remember something. */
  peek (family: string, id: Id): Stored | undefined {
    return this.#tables.has(family) ? this.get(family, id) : undefined
  }

  list (family: string): Stored[] {
    const table = this.#tables.get(family)
    return table === undefined ? [] : Array.from(table.items.values(), table.complete)
  }

  commit (changes: readonly Change[]): void {
    checkChanges(changes)
    const made = changes.map(change => this.#check(change))
    this.#rules.check(changes, {
      get: (family, id) => this.get(family, id),
      findEqual: (family, values) => this.#findEqual(family, values)
    })
    const done = made.filter(each => each !== undefined)
    for (const { family, id, after } of done) this.#write(family, id, after)
    this.position = { ...this.position, bytes: this.position.bytes + done.length }
    if (this.#unsafe === undefined) this.#send(done)
    else this.#unsafe.push(...done)
    this.commits++
    this.committed(done)
    if (!this.isNumberedLate) for (const table of this.#tables.values()) this.#number(table)
    for (const wake of this.#watchers) wake()
  }

  watch (wake: () => void): () => void {
    this.#watchers.add(wake)
    return () => { this.#watchers.delete(wake) }
  }

  /** Everything that has no number gets one, an item's earlier revision before its later ones. */
  numberAll (family: string): void {
    this.#number(this.#getTable(family))
  }

  #write (family: string, id: Id, item: Stored | undefined): void {
    const { items, unnumbered, shape: { sequence } } = this.#getTable(family)
    if (item === undefined) items.delete(id)
    else items.set(id, item)
    if (sequence === undefined) return
    if (item !== undefined && item[sequence] === undefined) unnumbered.add(id)
    else unnumbered.delete(id)
  }

  #send (made: readonly Pick<Made, 'family' | 'id' | 'after'>[]): void {
    for (const copy of this.copies) copy.receive(made, this.position)
  }

  #check (change: Change): Made | undefined {
    const { family } = change
    const { items, complete } = this.#getTable(family)
    const id = 'item' in change ? change.item.id : change.id
    const before = items.get(id)
    if (change.type === 'insert') {
      if (before !== undefined) throw new DuplicateError(family, id)
    } else if (!isExpected(before, change)) throw new ConflictError(family, id)
    if (change.type === 'require') return undefined
    return { family, id, before, after: change.type === 'delete' ? undefined : Object.freeze(complete(change.item)) }
  }

  #findEqual (family: string, values: Readonly<Record<string, unknown>>): Stored[] {
    const { items, complete } = this.#getTable(family)
    const wanted = Object.entries(values)
    return Array.from(items.values(), complete)
      .filter(item => wanted.every(([field, value]) => hasAtPath(item, field, value)))
  }

  #number ({ shape: { name: family, sequence }, items, unnumbered }: Table): void {
    if (sequence === undefined || unnumbered.size === 0) return
    if (this.isCut) throw new Error('numbers cannot be written without the standby')
    const entries = Array.from(unnumbered, id => items.get(id) as Stored)
    const sorted = this.isNumberedLate ? sortByTime(entries) : entries
    let last = 0
    for (const item of items.values()) last = Math.max(last, item[sequence] as number | undefined ?? 0)
    const numbered = sorted.map(entry => Object.freeze({ ...entry, [sequence]: ++last }))
    for (const entry of numbered) items.set(entry.id, entry)
    unnumbered.clear()
    this.position = { ...this.position, bytes: this.position.bytes + numbered.length }
    this.#send(numbered.map(after => ({ family, id: after.id, after })))
    this.numbered(numbered)
  }

  #getTable (family: string): Table {
    const table = this.#tables.get(family)
    if (table === undefined) throw new Error(`the family "${family}" was not prepared`)
    return table
  }
}

function names (where: readonly Condition[], field: string): boolean {
  return where.some(each => each.op === 'any' ? each.of.some(part => names(part, field)) : each.field === field)
}

const logOrder = ['revision', 'outcome', 'createdAt', 'id'] as const

/** As `lib/storage/postgres/positions.ts` does: by the clocks of the processes, but never a revision before another. */
function sortByTime (entries: readonly Stored[]): Stored[] {
  const nameItem = (entry: Stored): string => `${String(entry.family)}/${String(entry.target)}`
  const inLog = entries.toSorted((one, other) => compareBy(logOrder, one, other))
  const latest = new Map<string, string>()
  const timed = inLog.map(entry => {
    const name = nameItem(entry)
    const time = [latest.get(name) ?? '', String(entry.createdAt)].sort().at(-1) as string
    latest.set(name, time)
    return { entry, key: `${time} ${name}` }
  })
  return timed.sort((one, other) => compareScalars(one.key, other.key)).map(({ entry }) => entry)
}

function compareBy (fields: readonly string[], one: Stored, other: Stored): number {
  for (const field of fields) {
    const order = compareScalars((one[field] ?? '') as Scalar, (other[field] ?? '') as Scalar)
    if (order !== 0) return order
  }
  return 0
}
