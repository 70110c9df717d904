import { errorCodes } from '../errors.js'
import type { Context } from '../family/context.js'
import type { Family, NewDefinition, OtherDefinition } from '../family/family.js'
import { invalidBody } from '../problems.js'
import type { Id, Stored } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import { compareItem, completeItem, type ItemAfter, type OpenItem, openItem } from './open-items.js'
import { describeReturned } from './refusal.js'

// The other items of a decision: those that rules get, and those that they change and create.

/** Of a list in `with` or `creates`. */
export const maxListed = 100

export interface NeededItem {
  readonly name: string
  /** Whether it is one of a list. */
  readonly isList?: boolean
  readonly family: Family
  readonly current: Stored
}

export interface NewId {
  readonly name: string
  readonly isList?: boolean
  readonly family: Family
  readonly id: Id
}

/** An item that a rule made for a list. It has no id yet. */
export interface MadeItem {
  readonly name: string
  readonly family: Family
  readonly item: Members
}

/** The name by which a decision has another item. */
export function nameOther ({ name, isList = false }: Pick<NewId, 'name' | 'isList'>, id: Id): string {
  return isList ? `${name}/${id}` : name
}

/** By their names in `with`. */
export type OpenOthers = ReadonlyMap<string, OpenItem | readonly OpenItem[]>

export function openOthers (
  others: readonly NeededItem[], definitions: readonly OtherDefinition[]
): OpenOthers {
  const opened = new Map<string, OpenItem | OpenItem[]>()
  // A list may have no items.
  for (const { name, isList } of definitions) if (isList) opened.set(name, [])
  for (const { name, family, current } of others) {
    const list = opened.get(name)
    if (Array.isArray(list)) list.push(openItem(family, current))
    else opened.set(name, openItem(family, current))
  }
  return opened
}

function isOpenList (open: OpenItem | readonly OpenItem[]): open is readonly OpenItem[] {
  return Array.isArray(open)
}

export function addItems (context: Context, opened: OpenOthers): Context {
  if (opened.size === 0) return context
  const items = Object.fromEntries(Array.from(opened, ([name, open]) =>
    [name, isOpenList(open) ? Object.freeze(open.map(({ known }) => known)) : open.known]))
  // Facts belong to the host, so they are not frozen.
  return Object.freeze({ ...context, items: Object.freeze(items) }) as Context
}

/** Those that differ from what rules got. @param made by their names in `with` */
export function compareOthers (
  family: Family, opened: OpenOthers, operation: string, made: Members
): ReadonlyMap<string, ItemAfter> {
  const changed = new Map<string, ItemAfter>()
  const compare = (open: OpenItem, name: string, item: unknown): void => {
    const its = compareItem(open, operation, item)
    if (its.isChanged) changed.set(name, its)
  }
  for (const [name, open] of opened) {
    if (made[name] === undefined) continue
    if (!isOpenList(open)) {
      compare(open, name, made[name])
      continue
    }
    const unseen = new Map(open.map(each => [each.stored.id, each]))
    const refuse = makeRefusal(family, operation, `others.${name}`)
    for (const item of readMadeList(made[name], refuse)) {
      const { id } = item as { readonly id?: Id }
      const its = unseen.get(id as Id)
      if (its === undefined) throw refuse(`has the item ${JSON.stringify(id)}, which was not given to it, or twice`)
      unseen.delete(id as Id)
      compare(its, nameOther({ name, isList: true }, id as Id), item)
    }
  }
  return changed
}

type Refuse = (flaw: string) => Error

function makeRefusal ({ name }: Family, operation: string, member: string): Refuse {
  return flaw => new errorCodes.FST_DEALBOOK_INVALID_ITEM(name, operation, member, flaw)
}

function readMadeList (made: unknown, refuse: Refuse): readonly Members[] {
  if (!Array.isArray(made)) throw refuse(`must be a list of items, but the rule returned ${describeReturned(made)}`)
  const wrong: unknown = made.find(each => typeof each !== 'object' || each === null)
  if (wrong === undefined && !made.includes(undefined)) return made
  throw refuse(`must be a list of items, but the rule returned one with ${describeReturned(wrong)}`)
}

export function completeAll (
  items: ReadonlyMap<string, ItemAfter>, operation: string, now: string
): Map<string, Stored> {
  return new Map([...items].map(([name, item]) => [name, completeItem(item, operation, now)]))
}

/** What a rule returned, by names in `with` and `creates`. */
interface Made {
  readonly item: unknown
  readonly others: Members
  readonly created: Members
}

/** @param opened the other items that it was given; @param creates those that it may create */
export function readMade (
  { name: family }: Family,
  operation: string,
  made: unknown,
  opened: OpenOthers,
  creates: readonly NewDefinition[] = []
): Made {
  const has = (member: string): boolean => typeof made === 'object' && made !== null && Object.hasOwn(made, member)
  if (!has('others') && !has('created')) return { item: made, others: {}, created: {} }
  const { item, others = {}, created = {} } = made as { item: unknown, others?: Members, created?: Members }
  const [names, newNames] = [[...opened.keys()], creates.map(({ name }) => name)]
  for (const [member, given, known] of [['others', others, names], ['created', created, newNames]] as const) {
    const unknown = Object.keys(given).find(name => given[name] !== undefined && !known.includes(name))
    if (unknown === undefined) continue
    const flaw = known.length === 0 ? 'is unknown' : `is unknown; there is ${known.join(', ')}`
    throw new errorCodes.FST_DEALBOOK_INVALID_ITEM(family, operation, `${member}.${unknown}`, flaw)
  }
  return { item, others, created }
}

export interface CreatedItems {
  readonly created: readonly (NewId & MadeItem)[]
  readonly unnamed: readonly MadeItem[]
}

/** The items that a rule creates; those of lists have no ids yet. */
export function listMade (
  family: Family, operation: string, made: Members, creates: readonly NewDefinition[], newIds: readonly NewId[]
): CreatedItems {
  const created = newIds.flatMap(each => {
    const item = made[each.name]
    return item === undefined ? [] : { ...each, item: item as Members }
  })
  const unnamed = creates.flatMap(({ name, family: its, isList }) => {
    if (!isList || made[name] === undefined) return []
    const items = readMadeList(made[name], makeRefusal(family, operation, `created.${name}`))
    if (items.length <= maxListed) return items.map(item => ({ name, family: its, item }))
    // Usually because of what the client sent.
    throw invalidBody([{ pointer: '', detail: `must not make more than ${maxListed} ${its.name} at once` }])
  })
  return { created, unnamed }
}
