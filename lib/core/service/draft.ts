import { pageOf } from '../storage/pages.js'
import { type Change, DuplicateError, getId, type Id, type Stored } from '../storage/storage.js'
import type { Caller } from './caller.js'
import type { GuardedStorage } from './storage-access.js'
import { Counters } from './write-queue.js'

/** A storage whose commits are made later, all as one. Its reads see them already. */
export interface Draft extends GuardedStorage {
  /** The command that is running now. */
  index: number
  /** The last command that changed the item; undefined if none did. */
  findOwner (family: string, id: Id): number | undefined
  /** The changed items, and their revisions in the storage. */
  listChanges (): Change[]
  /** Makes all commits. @param ended as of a commit */
  finish (signal: AbortSignal | undefined, ended: (error?: unknown) => void): Promise<void>
}

export function makeDraft (storage: GuardedStorage): Draft {
  const { findText, ...own } = storage
  const changes = new Map<string, Change>()
  const owners = new Map<string, number>()
  const reads = new Map<string, Promise<Stored | undefined>>()
  const endings: (() => void)[] = []
  const counters = new Counters()
  const draft: Draft = {
    ...own,
    index: 0,
    counters,
    findOwner: (family, id) => owners.get(nameItem(family, id)),
    listChanges: () => [...changes.values()],

    // Items are read once, so that all commands decide on the same.
    get (family, id, signal) {
      const name = nameItem(family, id)
      const change = changes.get(name)
      if (change !== undefined && change.type !== 'require') {
        return Promise.resolve(change.type === 'delete' ? undefined : change.item)
      }
      const reading = reads.get(name) ?? storage.get(family, id, signal)
      reads.set(name, reading)
      return reading
    },

    async find (family, query, signal) {
      const changed = [...changes.values()].filter(({ type, family: its }) => its === family && type !== 'require')
      if (changed.length === 0) return await storage.find(family, query, signal)
      const { where, offset, limit, count } = query
      const all = { ...query, offset: 0, limit: offset + limit + changed.length }
      const found = await storage.find(family, all, signal)
      const ids = new Set(changed.map(getId))
      const here = pageOf(changed.flatMap(change => 'item' in change ? change.item : []), { ...all, count: true })
      const page = pageOf([...found.items.filter(({ id }) => !ids.has(id)), ...here.items], { ...query, count: false })
      if (!count) return page
      const named = [...where, { field: 'id', op: 'eq', values: [...ids] } as const]
      const before = await storage.find(family, { ...all, where: named, limit: 0 }, signal)
      return { ...page, total: Number(found.total) - Number(before.total) + Number(here.total) }
    },

    async commit (more, _signal, ended) {
      for (const change of more) {
        const name = nameItem(change.family, getId(change))
        const combined = combine(changes.get(name), change)
        // The last change comes after those that it may depend on; nothing depends on one before its insertion.
        if (combined?.type !== 'insert') changes.delete(name)
        if (combined !== undefined) changes.set(name, combined)
        if (change.type !== 'require') owners.set(name, draft.index)
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
  return draft
}

/** As writers call the item. */
function nameItem (family: string, id: Id): string {
  return `${family}/${id}`
}

/** One change with the effect of both. */
function combine (before: Change | undefined, change: Change): Change | undefined {
  if (before === undefined || before.type === 'require') return change
  const { type, family } = change
  if (type === 'require') return before
  // As if the first of both had been committed.
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
    // All have one commit, which is traced once.
    trace: trace && ((step, work) => step === 'commit' ? work() : trace(step, work))
  }
}
