import type { Family } from '../family/family.js'
import { numberDecimals } from '../query/filters.js'
import { isAbsent, matcher } from '../storage/conditions.js'
import { pageOf, selectById } from '../storage/pages.js'
import {
  type Change, type Condition, ConstraintError, DuplicateError, getId, type Id, type Scalar, type Stored
} from '../storage/storage.js'
import type { Caller } from './caller.js'
import { type GuardedStorage, refuseByConstraint } from './storage-access.js'
import { Counters } from './write-queue.js'

/** A storage whose commits are made later, all as one. Its reads see them already. */
export interface Draft extends GuardedStorage {
  /** By the names of items, as writers call them. */
  readonly changes: ReadonlyMap<string, Change>
  /** @param ended as of a commit */
  finish (signal: AbortSignal | undefined, ended: (error?: unknown) => void): Promise<void>
}

/** @param families those whose items may be changed */
export function makeDraft (storage: GuardedStorage, families: readonly Family[]): Draft {
  const { findText, ...own } = storage
  const changes = new Map<string, Change>()
  const reads = new Map<string, Promise<Stored | undefined>>()
  const endings: (() => void)[] = []
  const counters = new Counters()
  const listItems = (family: string): Stored[] =>
    [...changes.values()].flatMap(change => change.family === family && 'item' in change ? change.item : [])
  return {
    ...own,
    changes,
    counters,

    // Once, so that all decide on the same.
    get (family, id, signal) {
      const name = nameItem(family, id)
      const change = changes.get(name)
      if (change !== undefined && change.type !== 'require') {
        return Promise.resolve('item' in change ? change.item : undefined)
      }
      const reading = reads.get(name) ?? storage.get(family, id, signal)
      reads.set(name, reading)
      return reading
    },

    async find (family, query, signal) {
      const changed = [...changes.values()].filter(({ type, family: its }) => its === family && type !== 'require')
      if (changed.length === 0) return await storage.find(family, query, signal)
      const ids = new Set(changed.map(getId))
      const all = { ...query, offset: 0, limit: query.offset + query.limit + ids.size }
      const found = await storage.find(family, all, signal)
      const here = pageOf(listItems(family), { ...all, count: true })
      const page = pageOf([...found.items.filter(({ id }) => !ids.has(id)), ...here.items], { ...query, count: false })
      if (!query.count) return page
      const named: Condition[] = [...query.where, { field: 'id', op: 'eq', values: [...ids] }]
      const before = await storage.find(family, { ...all, where: named, limit: 0 }, signal)
      return { ...page, total: Number(found.total) - Number(before.total) + Number(here.total) }
    },

    async commit (more, signal, ended) {
      for (const change of more) {
        if ('item' in change) await refuseTaken(change, signal)
        const name = nameItem(change.family, getId(change))
        const combined = combine(changes.get(name), change)
        if (combined === undefined) changes.delete(name)
        else changes.set(name, combined)
      }
      if (ended !== undefined) endings.push(ended)
    },

    async finish (signal, ended) {
      const end = (error?: unknown): void => {
        if (error === undefined) {
          for (const ended of endings) ended()
          storage.counters.add(counters)
        }
        ended(error)
      }
      if (changes.size > 0) await storage.commit([...changes.values()], signal, end)
      else end()
    }
  }

  /** Not every database can move a unique value from one item to another in one commit, so none does. */
  async function refuseTaken (change: Extract<Change, { item: Stored }>, signal: AbortSignal | undefined) {
    const { item, item: { id } } = change
    const shape = families.find(({ name }) => name === change.family)?.shape
    const current = 'current' in change ? change.current : undefined
    for (const fields of shape?.unique ?? []) {
      if (fields.some(name => isAbsent(item[name])) || fields.every(name => item[name] === current?.[name])) continue
      const same = fields.map(field => ({ field, op: 'eq', values: [item[field] as Scalar] }) as const)
      const where = [...numberDecimals(shape?.fields ?? [], same), { field: 'id', op: 'ne', values: [id] } as const]
      const { items } = await storage.find(change.family, selectById(where, 1), signal)
      if (items.length === 0 && !listItems(change.family).some(matcher(where))) continue
      throw refuseByConstraint(new ConstraintError(change.family, id, 'unique', { fields, declared: true }))
    }
  }
}

export function nameItem (family: string, id: Id): string {
  return `${family}/${id}`
}

/** One change with the effect of both; undefined if they have none. */
function combine (before: Change | undefined, change: Change): Change | undefined {
  if (before === undefined || before.type === 'require') return change
  const { type, family } = change
  if (type === 'require') return before
  // As if the first had been committed.
  if (type === 'insert' || before.type === 'delete') throw new DuplicateError(family, getId(change))
  if (before.type === 'insert') return type === 'delete' ? undefined : { type: 'insert', family, item: change.item }
  const { expected, current } = before
  return { ...change, expected, ...(type === 'replace' && current && { current }) } as Change
}

/** The same caller, who reads and writes the draft. */
export function useDraft (caller: Caller, draft: Draft): Caller {
  const { trace } = caller
  return {
    ...caller,
    async storage () {
      // It is prepared for the family too.
      await caller.storage()
      return draft
    },
    other (family) {
      const other = caller.other(family)
      return other && { ...other, caller: useDraft(other.caller, draft) }
    },
    // The one commit is traced by itself.
    trace: trace && ((step, work) => step === 'commit' ? work() : trace(step, work))
  }
}
