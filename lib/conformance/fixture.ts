import assert from 'node:assert/strict'
import type {
  Change, FamilyShape, Field, FieldCondition, Id, Kind, Order, Query, Storage, Stored
} from '../core/storage/storage.js'

/** The context of a case: an empty storage with the families `things` and `notes` prepared. */
interface CaseContext {
  readonly storage: Storage
  /** Closes the storage and opens it again. Only for cases that need it. */
  reopen (): Promise<Storage>
}

export interface Case {
  readonly name: string
  /** A feature that the storage may lack; then the case is skipped. */
  readonly needs?: 'reopen' | 'findText' | 'watch' | 'chain'
  readonly run: (context: CaseContext) => Promise<void>
}

const moment = '2026-01-02T03:04:05.678Z'

export function shape (
  name: string,
  id: Kind,
  fields: readonly Field[],
  indexes: readonly string[][] = []
): FamilyShape {
  const own: Field[] = [
    { name: 'id', kind: id, optional: false },
    { name: 'revision', kind: 'integer', optional: false },
    { name: 'createdAt', kind: 'date-time', optional: false },
    { name: 'updatedAt', kind: 'date-time', optional: false }
  ]
  return { name, fields: [...own, ...fields], indexes }
}

/** Integer ids and one optional field of every kind but decimals. */
export const things = shape('things', 'integer', [
  { name: 'integer', kind: 'integer', optional: true },
  { name: 'number', kind: 'number', optional: true },
  { name: 'string', kind: 'string', optional: true },
  { name: 'boolean', kind: 'boolean', optional: true },
  { name: 'date', kind: 'date', optional: true },
  { name: 'dateTime', kind: 'date-time', optional: true },
  { name: 'mood', kind: 'string', optional: true, values: ['calm', 'glad', 'wild'] },
  { name: 'json', kind: 'json', optional: true }
], [['integer'], ['string'], ['mood', 'date'], ['string', 'integer', 'number', 'id']])

/** String ids. */
export const notes = shape('notes', 'string', [{ name: 'text', kind: 'string', optional: false }], [['text']])

export function thing (id: Id, members: Record<string, unknown> = {}, revision = 1): Stored {
  return { id, revision, createdAt: moment, updatedAt: moment, ...members }
}

export function note (id: string, text = 'note'): Stored {
  return thing(id, { text })
}

export function insert (family: string, ...items: Stored[]): Change[] {
  return items.map(item => ({ type: 'insert', family, item }))
}

export function replace (family: string, item: Stored, expected = item.revision - 1): Change {
  return { type: 'replace', family, item, expected }
}

export function remove (family: string, id: Id, expected = 1): Change {
  return { type: 'delete', family, id, expected }
}

/** An item that must exist, and stays unchanged. */
export function need (family: string, id: Id, expected = 1): Change {
  return { type: 'require', family, id, expected }
}

interface QueryParts extends Partial<Omit<Query, 'order'>> {
  /** Such as `-integer`; the id breaks ties. */
  readonly sort?: readonly string[]
}

export function query (parts: QueryParts = {}): Query {
  const { sort = [], ...rest } = parts
  const order: Order[] = sort.map(name => ({ field: name.replace(/^-/, ''), descending: name.startsWith('-') }))
  if (order.at(-1)?.field !== 'id') order.push({ field: 'id', descending: false })
  return { where: [], offset: 0, limit: 100, count: false, ...rest, order }
}

export function where (field: string, op: FieldCondition['op'], ...values: unknown[]): FieldCondition {
  const operands = operandNames[op]
  return { field, op, [operands]: operands === 'value' || operands === 'is' ? values[0] : values } as FieldCondition
}

const operandNames: Readonly<Record<FieldCondition['op'], string>> = {
  eq: 'values',
  ne: 'values',
  gt: 'value',
  gte: 'value',
  lt: 'value',
  lte: 'value',
  regex: 'patterns',
  has: 'texts',
  null: 'is'
}

export async function ids (storage: Storage, asked: Query, family = 'things'): Promise<Id[]> {
  return (await storage.find(family, asked)).items.map(item => item.id)
}

/** Asserts that exactly these items are found, in this order. */
export async function assertIds (
  storage: Storage,
  parts: QueryParts,
  expected: readonly Id[],
  family = 'things'
): Promise<void> {
  assert.deepEqual(await ids(storage, query(parts), family), expected)
}

/** Asserts that an item with these members is returned unchanged, by id and in a page. */
export async function assertComesBack (storage: Storage, members: Record<string, unknown>): Promise<void> {
  const item = thing(1, members)
  await storage.commit(insert('things', item))
  assert.deepEqual({ ...await storage.get('things', 1) }, item)
  const { items } = await storage.find('things', query())
  assert.deepEqual(items.map(each => ({ ...each })), [item])
}

/** How many of the promises were fulfilled, and the errors of the others. */
export async function settle (
  attempts: readonly Promise<unknown>[]
): Promise<{ fulfilled: number, reasons: unknown[] }> {
  const settled = await Promise.allSettled(attempts)
  const reasons = settled.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []))
  return { fulfilled: settled.length - reasons.length, reasons }
}
