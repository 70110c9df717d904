import { type Family, getBase, listReferred } from '../family/family.js'
import type { Sent } from '../service/renamed.js'
import { endLongTurn, waitInQueue } from '../storage/turns.js'
import { isObject } from '../values/json.js'

/** Something that commands have in common. Two of them are in each other's way if their sides differ, or are `own`. */
interface Touch {
  readonly what: string
  readonly side: 'own' | 'any' | 'named' | 'refers' | 'is referred to' | 'frees' | 'takes'
}

// As many as wait for a commit together, and few enough that other requests get their turn.
const maxRunning = 64
// No id is longer.
const maxIdLength = 100

/**
 * Runs commands of one list side by side where that has the same outcome as one after the other: a command waits for
 * those before it that are about its item, name it or are named by it, need the same other items, or may take or free
 * what it refers to or must have alone.
 */
export class SideBySide {
  readonly #before = new Map<string, Map<Touch['side'], Promise<unknown>>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** @param sent undefined if the command cannot be read, and so touches nothing */
  async run<T> (sent: Sent | undefined, execute: () => Promise<T>): Promise<T> {
    const touches = sent === undefined ? [] : listTouches(sent)
    const running = this.#runAfter(touches.flatMap(touch => this.#findBefore(touch)), execute)
    for (const { what, side } of touches) {
      const sides = this.#before.get(what) ?? new Map<Touch['side'], Promise<unknown>>()
      this.#before.set(what, sides)
      sides.set(side, Promise.allSettled([sides.get(side), running]))
    }
    return await running
  }

  #findBefore ({ what, side }: Touch): Promise<unknown>[] {
    const sides = this.#before.get(what) ?? []
    return Array.from(sides).flatMap(([other, before]) => other !== side || side === 'own' ? [before] : [])
  }

  async #runAfter<T> (before: readonly Promise<unknown>[], execute: () => Promise<T>): Promise<T> {
    await Promise.all(before)
    if (this.#running < maxRunning) this.#running++
    else await waitInQueue(this.#waiting)
    try {
      await endLongTurn()
      return await execute()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

function listTouches ({ family: version, caller, command }: Sent): Touch[] {
  const family = getBase(version)
  const { name, lifecycle } = family
  const { action = '', target, params, interpret, id, key } = command
  const creates = action === lifecycle?.createAction
  const change = creates ? lifecycle : family.changes.get(action)
  const own = target ?? params.id
  // Facts may be about anything, and what the content means is only known with the item.
  const isOpen = family.prepare !== undefined || interpret !== undefined
  const touches: Touch[] = [{ what: 'all', side: isOpen ? 'own' : 'any' }, { what: `family ${name}`, side: 'any' }]
  const add = (what: string, side: Touch['side']): void => { touches.push({ what, side }) }
  if (own !== undefined) add(`id ${own as string}`, 'own')
  // Ids are counted, or made by the host, in the order of the list; a command after it may know the next.
  if (family.idKind === 'integer' || caller.makers.makeId !== undefined) {
    add(`ids of ${name}`, own === undefined ? 'own' : 'any')
    if (own === undefined) add(`references to ${name}`, 'is referred to')
  }
  if (id !== undefined || key !== undefined) add(`command ${id} ${key}`, 'own')
  for (const value of new Set(listPossibleIds(params))) if (value !== String(own)) add(`id ${value}`, 'named')
  for (const other of [...change?.others ?? [], ...change !== undefined && 'creates' in change ? change.creates : []]) {
    add(`family ${(other.family ?? family).name}`, 'own')
  }
  for (const other of new Set(listReferred(family))) add(`references to ${other.name}`, 'refers')
  if (change === lifecycle?.deletion) add(`references to ${name}`, 'is referred to')
  return [...touches, ...listTaken(family, command)]
}

/** What only one item may have: its values are known only of a new item whose client sends them. */
function listTaken ({ name, shape, constraints, lifecycle }: Family, { action, params }: Sent['command']): Touch[] {
  const { unique = [] } = shape
  const what = `unique of ${name}`
  const hasOthers = Object.keys(constraints).length > 0
  if (unique.length === 0 && !hasOthers) return []
  if (action === lifecycle?.deletion?.operation.action) return [{ what, side: 'frees' }]
  const isKnown = action === lifecycle?.createAction && lifecycle?.initial === undefined && !hasOthers &&
    unique.every(row => row.every(field => params[field] !== undefined))
  if (!isKnown) return [{ what, side: 'own' }]
  const values = unique.map(row => JSON.stringify([row, row.map(field => params[field])]))
  return [{ what, side: 'takes' }, ...values.map((each): Touch => ({ what: `${what} ${each}`, side: 'own' }))]
}

/** The values that may be ids. */
function listPossibleIds (value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(listPossibleIds)
  if (isObject(value)) return Object.values(value).flatMap(listPossibleIds)
  return typeof value === 'string' || typeof value === 'number' ? [String(value).slice(0, maxIdLength + 1)] : []
}
