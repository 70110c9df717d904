import type { Family } from '../family/family.js'
import { numberDecimals } from '../query/filters.js'
import { refuseByConstraint } from '../service/refusal.js'
import type { GuardedStorage } from '../service/storage-access.js'
import { isAbsent, matcher } from '../storage/conditions.js'
import { findByIds, pageOf, selectById } from '../storage/pages.js'
import {
  type Change, type Condition, ConstraintError, DuplicateError, type Found, getId, type Id, type Query, type Scalar,
  type Stored
} from '../storage/storage.js'

// As writers name items.
const nameTarget = (family: string, id: Id): string => `${family}/${id}`

export function nameChanged (change: Change): string {
  return nameTarget(change.family, getId(change))
}

type Signal = AbortSignal | undefined

/** Changes that are committed later, all as one, and a storage whose reads see them already. */
export class Draft {
  readonly #base: GuardedStorage
  readonly #families: readonly Family[]
  readonly #changes = new Map<string, Change>()
  readonly #reads = new Map<string, Promise<Stored | undefined>>()
  readonly storage: GuardedStorage

  /** @param families those whose items may be changed */
  constructor (base: GuardedStorage, families: readonly Family[]) {
    this.#base = base
    this.#families = families
    // What is read as text has no changes in it.
    const { findText, confirm, ...own } = base
    this.storage = {
      ...own,
      get: (family, id, signal) => this.#get(family, id, signal),
      getMany: (family, ids, signal) => this.#getMany(family, ids, signal),
      find: (family, query, signal) => this.#find(family, query, signal),
      ...(confirm !== undefined && {
        confirm: async (family, id, signal) => {
          if (!this.#changes.has(nameTarget(family, id))) await confirm.call(base, family, id, signal)
        }
      })
    }
  }

  get changes (): readonly Change[] {
    return [...this.#changes.values()]
  }

  /** Reads them together. If that fails, each is read when a command needs it. */
  async preload (items: readonly (readonly [string, Id])[], signal: Signal): Promise<void> {
    const names = new Set(items.map(([family]) => family))
    await Promise.allSettled(Array.from(names, async name => {
      const ids = new Set(items.flatMap(([family, id]) => family === name ? id : []))
      const found = await findByIds(this.#base, name, ids, signal)
      for (const id of ids) this.#reads.set(nameTarget(name, id), Promise.resolve(found.get(id)))
    }))
  }

  async add (change: Change, signal: Signal): Promise<void> {
    if ('item' in change) await this.#refuseClash(change, signal)
    const name = nameChanged(change)
    const combined = combineChanges(this.#changes.get(name), change)
    if (combined === undefined) this.#changes.delete(name)
    else this.#changes.set(name, combined)
  }

  /** Once, so that all decide on the same. */
  #get (family: string, id: Id, signal: Signal): Promise<Stored | undefined> {
    const name = nameTarget(family, id)
    const change = this.#changes.get(name)
    if (change !== undefined && change.type !== 'require') {
      return Promise.resolve('item' in change ? change.item : undefined)
    }
    const reading = this.#reads.get(name) ?? this.#base.get(family, id, signal)
    // A command that fails may have been done meanwhile.
    if (family === 'commands') this.#reads.delete(name)
    else this.#reads.set(name, reading)
    // Another process may restore it meanwhile: it is read again when it is asked for again.
    return reading.then(item => {
      if (item === undefined) this.#reads.delete(name)
      return item
    })
  }

  async #getMany (family: string, ids: readonly Id[], signal: Signal): Promise<ReadonlyMap<Id, Stored>> {
    const unread = ids.filter(id => {
      const name = nameTarget(family, id)
      return !this.#reads.has(name) && !this.#changes.has(name)
    })
    if (unread.length > 0) await this.preload(unread.map(id => [family, id]), signal)
    const items = await Promise.all(ids.map(id => this.#get(family, id, signal)))
    return new Map(items.flatMap(item => item === undefined ? [] : [[item.id, item]]))
  }

  async #find (family: string, query: Query, signal: Signal): Promise<Found> {
    const changed = this.changes.filter(({ type, family: its }) => its === family && type !== 'require')
    if (changed.length === 0) return await this.#base.find(family, query, signal)
    const ids = new Set(changed.map(getId))
    const all = { ...query, offset: 0, limit: query.offset + query.limit + ids.size }
    const found = await this.#base.find(family, all, signal)
    const here = pageOf(this.#listItems(family), { ...all, count: true })
    const page = pageOf([...found.items.filter(({ id }) => !ids.has(id)), ...here.items], { ...query, count: false })
    if (!query.count) return page
    const named: Condition[] = [...query.where, { field: 'id', op: 'eq', values: [...ids] }]
    const before = await this.#base.find(family, { ...all, where: named, limit: 0 }, signal)
    return { ...page, total: Number(found.total) - Number(before.total) + Number(here.total) }
  }

  #listItems (family: string): Stored[] {
    return this.changes.flatMap(change => change.family === family && 'item' in change ? change.item : [])
  }

  /** Not every database can move a unique value from one item to another in one commit, so none does. */
  async #refuseClash (change: Extract<Change, { item: Stored }>, signal: Signal): Promise<void> {
    const { family, item, item: { id } } = change
    const shape = this.#families.find(({ name }) => name === family)?.shape
    // The log has none.
    if (shape === undefined) return
    const current = 'current' in change ? change.current : undefined
    for (const fields of shape.unique ?? []) {
      if (fields.some(name => isAbsent(item[name])) || fields.every(name => item[name] === current?.[name])) continue
      const same = fields.map(field => ({ field, op: 'eq', values: [item[field] as Scalar] }) as const)
      const where = [...numberDecimals(shape.fields, same), { field: 'id', op: 'ne', values: [id] } as const]
      const { items } = await this.#base.find(family, selectById(where, 1), signal)
      if (items.length === 0 && !this.#listItems(family).some(matcher(where))) continue
      throw refuseByConstraint(new ConstraintError(family, id, 'unique', { fields, declared: true }))
    }
  }
}

/** One change with the effect of both; undefined if they have none. */
function combineChanges (before: Change | undefined, change: Change): Change | undefined {
  if (before === undefined || before.type === 'require') return change
  const { type, family } = change
  if (type === 'require') return before
  // An item that is restored.
  if (type === 'insert' && before.type === 'delete') {
    const { expected, current } = before
    return { type: 'replace', family, item: change.item, expected, ...(current && { current }) }
  }
  // As if the first had been committed.
  if (type === 'insert' || before.type === 'delete') throw new DuplicateError(family, getId(change))
  if (before.type === 'insert') return type === 'delete' ? undefined : { type: 'insert', family, item: change.item }
  const { expected, current } = before
  return type === 'delete'
    ? { type, family, id: change.id, expected, ...(current && { current }) }
    : { type, family, item: change.item, expected, ...(current && { current }) }
}
