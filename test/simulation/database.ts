import { compareScalars } from '../../lib/core/storage/conditions.js'
import { mergeShapes } from '../../lib/core/storage/shapes.js'
import {
  BusyError, type Change, checkChanges, completer, type Condition, ConflictError, DuplicateError, type FamilyShape,
  type Found, type Id, KeyRules, pageOf, type Query, type Scalar, type Storage, type Stored
} from '../../lib/index.js'
import type { Random } from './random.js'

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

  /** @param isNumberedLate whether items get their numbers when they are read, as on PostgreSQL */
  constructor (readonly isNumberedLate: boolean) {}

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

  find (family: string, query: Query): Found {
    const table = this.#getTable(family)
    const { items, complete, shape: { sequence } } = table
    if (sequence !== undefined && table.unnumbered.size > 0 && names(query.where, sequence)) this.#number(table)
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
    for (const { family, id, after } of done) {
      const table = this.#getTable(family)
      const { sequence } = table.shape
      if (after === undefined) table.items.delete(id)
      else table.items.set(id, after)
      if (sequence === undefined) continue
      if (after !== undefined && after[sequence] === undefined) table.unnumbered.add(id)
      else table.unnumbered.delete(id)
    }
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

  #check (change: Change): Made | undefined {
    const { family } = change
    const { items, complete } = this.#getTable(family)
    const id = 'item' in change ? change.item.id : change.id
    const before = items.get(id)
    if (change.type === 'insert') {
      if (before !== undefined) throw new DuplicateError(family, id)
    } else if (before?.revision !== change.expected) throw new ConflictError(family, id)
    if (change.type === 'require') return undefined
    return { family, id, before, after: change.type === 'delete' ? undefined : Object.freeze(complete(change.item)) }
  }

  #findEqual (family: string, values: Readonly<Record<string, unknown>>): Stored[] {
    const { items, complete } = this.#getTable(family)
    const wanted = Object.entries(values)
    return Array.from(items.values(), complete).filter(item => wanted.every(([field, value]) => item[field] === value))
  }

  #number ({ shape: { sequence }, items, unnumbered }: Table): void {
    if (sequence === undefined || unnumbered.size === 0) return
    const entries = Array.from(unnumbered, id => items.get(id) as Stored)
    const sorted = this.isNumberedLate ? sortByTime(entries) : entries
    let last = 0
    for (const item of items.values()) last = Math.max(last, item[sequence] as number | undefined ?? 0)
    const numbered = sorted.map(entry => Object.freeze({ ...entry, [sequence]: ++last }))
    for (const entry of numbered) items.set(entry.id, entry)
    unnumbered.clear()
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

function copy<T> (value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(member => copy(member ?? null))) as T
  const copied = { ...value } as Record<string, unknown>
  for (const name of Object.keys(copied)) {
    if (copied[name] === undefined) delete copied[name]
    else copied[name] = copy(copied[name])
  }
  return Object.freeze(copied) as T
}

/** Probabilities, and times in milliseconds. */
export interface Faults {
  /** Of a statement or its answer that is late. */
  late: number
  /** The longest delay of a late one; others take a few milliseconds. */
  latest: number
  /** Of a commit that is refused as a conflict though there is none, such as after a deadlock. */
  conflict: number
  /** Of a commit that fails, and has no effect. */
  lostBefore: number
  /** Of a commit that fails, and has its effect. */
  lostAfter: number
  /** Of a read that fails. */
  read: number
  busy: number
  /** Whether processes are notified of commits; otherwise they poll. */
  watches: boolean
}

export const noFaults: Faults =
  { late: 0, latest: 0, conflict: 0, lostBefore: 0, lostAfter: 0, read: 0, busy: 0, watches: true }

export interface Connection {
  readonly faults: Faults
  readonly random: Random
  /** Runs it in the database, whatever becomes of the process. */
  send (time: number, run: () => void): void
  /** Runs it in the process, unless that is dropped. */
  answer (time: number, run: () => void): void
  /** Of a commit: `done`, or why not. */
  note (changes: readonly Change[], outcome: string): void
}

/** The storage of one process. */
export function connect (database: Database, connection: Connection): Storage {
  const { random, faults, send, answer, note } = connection
  const chooseTime = (): number =>
    random.chance(faults.late) ? random.between(20, faults.latest) : random.between(0, 4)

  function ask<T> (work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      // Most are answered at once, which is one event less.
      if (random.chance(0.6)) return answer(chooseTime(), () => { run(work, resolve, reject)() })
      send(chooseTime(), () => {
        const settle = run(work, resolve, reject)
        // An old answer, if the time until it arrives is long.
        answer(chooseTime(), settle)
      })
    })
  }

  function read<T> (work: () => T): Promise<T> {
    return ask(() => {
      if (random.chance(faults.busy)) throw new BusyError('Too many reads')
      if (random.chance(faults.read)) throw new Error('the connection was closed')
      return work()
    })
  }

  function commit (changes: readonly Change[]): void {
    if (random.chance(faults.busy)) throw new BusyError('Too many commits')
    if (random.chance(faults.lostBefore)) throw new Error('the connection was closed before the commit')
    const changed = changes.find(({ type }) => type !== 'insert')
    if (changed !== undefined && random.chance(faults.conflict)) {
      throw new ConflictError(changed.family, 'item' in changed ? changed.item.id : changed.id)
    }
    database.commit(changes)
    if (random.chance(faults.lostAfter)) throw new Error('the connection was closed after the commit')
  }

  return {
    prepare: shape => ask(() => { database.prepare(shape) }),
    find: (family, query) => read(() => database.find(family, query)),
    get: (family, id) => read(() => database.get(family, id)),
    commit (changes) {
      const sent = copy(changes)
      return ask(() => {
        try {
          commit(sent)
          note(sent, 'done')
        } catch (error) {
          note(sent, String((error as Error).message))
          throw error
        }
      })
    },
    ...(faults.watches && {
      watch: (wake: () => void) => database.watch(() => { answer(chooseTime(), wake) })
    }),
    async close () {}
  }
}

function run<T> (work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): () => void {
  try {
    const value = work()
    return () => { resolve(value) }
  } catch (error) {
    return () => { reject(error) }
  }
}
