import { compareScalars } from '../compare.js'
import type { Id, Stored } from '../storage.js'

const blockSize = 256

/**
 * Items ordered by id, in blocks, never changed in place: a commit makes a new one that shares all untouched blocks, so a
 * reader that pauses keeps seeing what it began with. By key and by position it goes straight to the block.
 */
export class Blocks {
  static readonly empty = new Blocks([])
  readonly #blocks: readonly (readonly Stored[])[]
  #starts: number[] | undefined

  private constructor (blocks: readonly (readonly Stored[])[]) {
    this.#blocks = blocks
  }

  get size (): number {
    return this.#positions().at(-1) as number
  }

  get (id: Id): Stored | undefined {
    const block = this.#blocks[this.#blockOf(id)]
    const item = block?.[lowerBound(block, id)]
    return item !== undefined && item.id === id ? item : undefined
  }

  /** How many items have an id below this one (or up to it, where `through` is set). */
  position (id: Id, through: boolean): number {
    const at = this.#blockOf(id)
    const block = this.#blocks[at]
    if (block === undefined) return 0
    let index = lowerBound(block, id)
    if (through && block[index]?.id === id) index++
    return (this.#positions()[at] as number) + index
  }

  /** The items from one position up to another, or backwards from the second to the first. */
  * between (from: number, to: number, backwards: boolean): Generator<Stored> {
    const starts = this.#positions()
    const step = backwards ? -1 : 1
    let position = backwards ? to - 1 : from
    let at = last(starts.length - 1, index => (starts[index] as number) <= position)
    while (position >= from && position < to) {
      const block = this.#blocks[at] as readonly Stored[]
      let index = position - (starts[at] as number)
      for (; index >= 0 && index < block.length && position >= from && position < to; index += step, position += step) {
        yield block[index] as Stored
      }
      at += step
    }
  }

  /** The same items with these put in place of what had their id, or taken out where `undefined`. */
  with (changes: ReadonlyMap<Id, Stored | undefined>): Blocks {
    const blocks = [...this.#blocks]
    const edited = new Map<number, Map<Id, Stored | undefined>>()
    for (const [id, item] of changes) {
      const at = this.#blockOf(id)
      let edits = edited.get(at)
      if (edits === undefined) edited.set(at, edits = new Map())
      edits.set(id, item)
    }
    // From the last block to the first, so that splitting one does not move those still to come.
    for (const at of [...edited.keys()].sort((a, b) => b - a)) {
      const merged = merge(blocks[at] ?? [], edited.get(at) as Map<Id, Stored | undefined>)
      blocks.splice(at, 1, ...split(merged))
    }
    return new Blocks(blocks)
  }

  // The last block that begins at or below the id.
  #blockOf (id: Id): number {
    return Math.max(0, last(this.#blocks.length, at => compareScalars((this.#blocks[at]?.[0] as Stored).id, id) <= 0))
  }

  #positions (): number[] {
    if (this.#starts === undefined) {
      let total = 0
      this.#starts = [0]
      for (const block of this.#blocks) this.#starts.push(total += block.length)
    }
    return this.#starts
  }
}

function lowerBound (block: readonly Stored[], id: Id): number {
  return last(block.length, at => compareScalars((block[at] as Stored).id, id) < 0) + 1
}

/** The last index below `length` for which the test holds, where it holds for a first part and no further; else -1. */
function last (length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) low = middle + 1
    else high = middle
  }
  return low - 1
}

function merge (block: readonly Stored[], edits: ReadonlyMap<Id, Stored | undefined>): Stored[] {
  if (edits.size > 8) return mergeMany(block, edits)
  const merged = block.slice()
  for (const [id, item] of edits) {
    const at = lowerBound(merged, id)
    const taken = merged[at]?.id === id ? 1 : 0
    if (item === undefined) merged.splice(at, taken)
    else merged.splice(at, taken, item)
  }
  return merged
}

// One pass, where searching and shifting for each would cost more.
function mergeMany (block: readonly Stored[], edits: ReadonlyMap<Id, Stored | undefined>): Stored[] {
  const kept = block.filter(item => !edits.has(item.id))
  const added = [...edits.values()].filter(item => item !== undefined).sort((a, b) => compareScalars(a.id, b.id))
  const merged: Stored[] = []
  let next = 0
  for (const item of kept) {
    while (next < added.length && compareScalars((added[next] as Stored).id, item.id) < 0) merged.push(added[next++] as Stored)
    merged.push(item)
  }
  return merged.concat(added.slice(next))
}

// Halves leave room for what comes between; a large batch is cut into full blocks.
function split (items: Stored[]): Stored[][] {
  if (items.length === 0) return []
  if (items.length <= blockSize) return [items]
  const size = items.length <= 2 * blockSize ? Math.ceil(items.length / 2) : blockSize
  const blocks: Stored[][] = []
  for (let at = 0; at < items.length; at += size) blocks.push(items.slice(at, at + size))
  return blocks
}
