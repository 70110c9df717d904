import { compareScalars, isAbsent, makeComparator } from '../../core/storage/compare.js'
import type { Condition, FieldCondition, Query, Scalar, Stored } from '../../core/storage/storage.js'

// A block that grows beyond this is split, so that adding an item moves few others, however many there are.
const maxBlock = 512
const maxChoices = 100

/** Items in the order of some fields, the last of which is the id. */
export class SortedIndex {
  #blocks: Stored[][]
  readonly #compare: (a: Stored, b: Stored) => number

  constructor (readonly fields: readonly string[], blocks: Stored[][] = []) {
    this.#compare = makeComparator(fields.map(field => ({ field, descending: false })))
    this.#blocks = blocks
  }

  /** The same items, to be changed apart from these. */
  copy (): SortedIndex {
    return new SortedIndex(this.fields, this.#blocks.map(block => block.slice()))
  }

  add (item: Stored): void {
    const at = Math.max(0, countWhere(this.#blocks, block => this.#compare(block[0] as Stored, item) < 0) - 1)
    const block = this.#blocks[at]
    if (block === undefined) {
      this.#blocks.push([item])
      return
    }
    block.splice(countWhere(block, other => this.#compare(other, item) < 0), 0, item)
    if (block.length > maxBlock) this.#blocks.splice(at + 1, 0, block.splice(maxBlock / 2))
  }

  remove (item: Stored): void {
    const at = countWhere(this.#blocks, block => this.#compare(block[0] as Stored, item) <= 0) - 1
    const block = this.#blocks[at] as Stored[]
    block.splice(countWhere(block, other => this.#compare(other, item) < 0), 1)
    if (block.length === 0) this.#blocks.splice(at, 1)
  }

  /** Puts an item in the place of another, where there is one. */
  replace (before: Stored | undefined, item: Stored | undefined): void {
    if (before !== undefined) this.remove(before)
    if (item !== undefined) this.add(item)
  }

  /** How a query is answered along this index; undefined where it has no use for it. */
  plan ({ where, order }: Query): Walk | undefined {
    const choices = this.#listChoices(where)
    const depth = choices[0]?.length ?? 0
    const [given, rest] = [this.fields.slice(0, depth), this.fields.slice(depth)]
    const wanted = order.filter(({ field }) => !given.includes(field))
    const backwards = wanted[0]?.descending === true
    const isAlong = choices.length === 1 && wanted.length === rest.length &&
      wanted.every(({ field }, index) => field === rest[index])
    const isOneWay = wanted.every(({ descending }) => descending === backwards)
    const isOrdered = isAlong && (isOneWay || wanted.length === 2)
    if (!isOrdered && depth === 0) return undefined
    const bounds = where.filter((condition): condition is FieldCondition => condition.field === rest[0])
    if (isOrdered && !isOneWay) return { isOrdered, items: this.#walkGroups(choices[0] as Scalar[], bounds, backwards) }
    return { isOrdered, items: this.#walkAll(choices, bounds, isOrdered && backwards) }
  }

  /** The items that have these values in the first fields. */
  walkEqual (values: readonly Scalar[]): Iterable<Stored> {
    return this.#walk(values, [], false)
  }

  /** The values that the conditions leave for the first fields, in every combination of them. */
  #listChoices (where: readonly Condition[]): Scalar[][] {
    let choices: Scalar[][] = [[]]
    for (const field of this.fields) {
      const condition = where.find(condition => condition.field === field && condition.op === 'eq')
      const values = condition?.op === 'eq' ? [...new Set(condition.values)] : []
      if (values.length === 0 || choices.length * values.length > maxChoices) break
      choices = choices.flatMap(choice => values.map(value => [...choice, value]))
    }
    return choices
  }

  * #walkAll (choices: readonly Scalar[][], bounds: readonly FieldCondition[], backwards: boolean): Generator<Stored> {
    for (const choice of choices) yield * this.#walk(choice, bounds, backwards)
  }

  /** The items with these values in the first fields, and within bounds of the next. */
  * #walk (equal: readonly Scalar[], bounds: readonly FieldCondition[], backwards: boolean): Generator<Stored> {
    const { from, to } = this.#limit(equal, bounds)
    if (backwards) yield * this.#readBackwards(from, to)
    else yield * this.#read(from, to)
  }

  /** The same, one value of the next field after another, those that share it the other way round by their ids. */
  * #walkGroups (equal: readonly Scalar[], bounds: readonly FieldCondition[], backwards: boolean): Generator<Stored> {
    const field = this.fields[equal.length] as string
    let { from, to } = this.#limit(equal, bounds)
    for (;;) {
      const { value: edge } = (backwards ? this.#readBackwards(from, to) : this.#read(from, to)).next()
      if (edge === undefined) return
      const compare = makeComparator([{ field, descending: false }])
      const group = this.#locate(item => {
        const order = this.#compareFirst(item, equal) || compare(item, edge as Stored)
        return order < 0 || (order === 0 && !backwards)
      })
      if (backwards) {
        yield * this.#read(group, to)
        to = group
      } else {
        yield * this.#readBackwards(from, group)
        from = group
      }
    }
  }

  #limit (equal: readonly Scalar[], bounds: readonly FieldCondition[]): { from: Place, to: Place } {
    const isBelow = (item: Stored): boolean => {
      const order = this.#compareFirst(item, equal)
      return order < 0 || (order === 0 && bounds.some(bound => isShort(item, bound)))
    }
    const isWithin = (item: Stored): boolean => {
      const order = this.#compareFirst(item, equal)
      return order < 0 || (order === 0 && !bounds.some(bound => isBeyond(item, bound)))
    }
    return { from: this.#locate(isBelow), to: this.#locate(isWithin) }
  }

  #compareFirst (item: Stored, values: readonly Scalar[]): number {
    for (let index = 0; index < values.length; index++) {
      const value = item[this.fields[index] as string] as Scalar | null | undefined
      const order = isAbsent(value) ? -1 : compareScalars(value, values[index] as Scalar)
      if (order !== 0) return order
    }
    return 0
  }

  /** The place of the first item for which it does not hold; it holds for all before that. */
  #locate (holds: (item: Stored) => boolean): Place {
    const block = Math.max(0, countWhere(this.#blocks, ([first]) => holds(first as Stored)) - 1)
    return { block, at: countWhere(this.#blocks[block] ?? [], holds) }
  }

  * #read (from: Place, to: Place): Generator<Stored> {
    for (let block = from.block; block <= to.block && block < this.#blocks.length; block++) {
      const items = this.#blocks[block] as Stored[]
      const end = block === to.block ? to.at : items.length
      for (let at = block === from.block ? from.at : 0; at < end; at++) yield items[at] as Stored
    }
  }

  * #readBackwards (from: Place, to: Place): Generator<Stored> {
    for (let block = to.block; block >= from.block && block < this.#blocks.length; block--) {
      const items = this.#blocks[block] as Stored[]
      const end = block === from.block ? from.at : 0
      for (let at = (block === to.block ? to.at : items.length) - 1; at >= end; at--) yield items[at] as Stored
    }
  }
}

/** The items that can meet the conditions of a query, and whether they come in its order. */
export interface Walk {
  readonly isOrdered: boolean
  readonly items: Iterable<Stored>
}

interface Place {
  readonly block: number
  readonly at: number
}

function isShort (item: Stored, { field, ...bound }: FieldCondition): boolean {
  if (bound.op !== 'gt' && bound.op !== 'gte') return false
  const value = item[field] as Scalar | null | undefined
  if (isAbsent(value)) return true
  const order = compareScalars(value, bound.value)
  return order < 0 || (order === 0 && bound.op === 'gt')
}

function isBeyond (item: Stored, { field, ...bound }: FieldCondition): boolean {
  if (bound.op !== 'lt' && bound.op !== 'lte') return false
  const value = item[field] as Scalar | null | undefined
  if (isAbsent(value)) return false
  const order = compareScalars(value, bound.value)
  return order > 0 || (order === 0 && bound.op === 'lt')
}

/** How many of the entries, from the first on, it holds for; it holds for none after one for which it does not. */
function countWhere<T> (entries: readonly T[], holds: (entry: T) => boolean): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(entries[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}
