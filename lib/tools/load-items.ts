import { type TSchema, Type } from '@sinclair/typebox'
import { type Family, getFamily, listShapes } from '../core/family/family.js'
import { CommandMembers, commandsShape, listDefaults, ServiceFields, toStored } from '../core/family/fields.js'
import { convertNested } from '../core/family/nested.js'
import { canonicalizeItem, haveSameContent, readDecimals } from '../core/family/params.js'
import { now as readClock } from '../core/runtime.js'
import { uuidv7 } from '../core/runtime.js'
import { deriveFields } from '../core/service/open-items.js'
import { type CommandRecord, digestParams } from '../core/service/record.js'
import { makeStorageAccess } from '../core/service/storage-access.js'
import { locateMissing } from '../core/storage/missing.js'
import { findByIds } from '../core/storage/pages.js'
import { endLongTurn } from '../core/storage/turns.js'
import { newIdPattern, textIdPattern } from '../core/values/ids.js'
import { findJsonFlaw, isObject } from '../core/values/json.js'
import { membersOf } from '../core/values/rules.js'
import {
  type AnyFamily, type Change, ConstraintError, DuplicateError, errorCodes, type Id, makeValidator, type MemberFlaw,
  type Members, type ProblemCode, problemCodes, type Storage, type Stored
} from '../index.js'
import { makeResumable } from './rows.js'

/** Options of `loadItems`. */
export interface LoadOptions {
  /** Items and entries of logs per commit. Default 1000. */
  readonly batchSize?: number
  /** Called after every commit with the number of items loaded so far, including those that already existed. */
  readonly onProgress?: (loaded: number) => void
  /** The member of the given items that has the log of each: a list of commands as `service.log` returns them. */
  readonly log?: string
  /** Stops it between two commits; loaded items stay. */
  readonly signal?: AbortSignal
}

/**
 * Loads many items into a family, in batches, from an array, any iterable, or a stream of objects. Fields with a
 * default may be omitted; `revision`, `createdAt` and `updatedAt` are kept if given.
 *
 * An item that does not fit the family, or breaks `unique` or `references`, stops it with an error that names the item
 * and the reason; earlier batches stay. Repeating it is safe: items that exist with the same content are skipped, so
 * an interrupted load continues (`FST_DEALBOOK_INTERRUPTED`).
 *
 * @example
 * await loadItems(storage, customers, [{ id: 1, age: 30, children: 2 }])
 * @returns how many were loaded, or existed already
 */
export async function loadItems (
  storage: Storage,
  family: AnyFamily,
  items: Iterable<unknown> | AsyncIterable<unknown>,
  options: LoadOptions = {}
): Promise<number> {
  const compiled = getFamily(family)
  checkLoadOptions(compiled, options)
  const { batchSize = 1000, onProgress, log, signal } = options
  const readRow = makeRowReader(compiled, log)
  const resumable = makeResumable(storage, 'loadItems')
  await makeStorageAccess(listShapes(compiled).filter(shape => shape !== commandsShape || log !== undefined))(storage)
  let loaded = 0
  let size = 0
  let batch: Row[] = []
  for await (const item of items) {
    const row = readRow(item, loaded + batch.length + 1)
    batch.push(row)
    size += 1 + row.entries.length
    if (size >= batchSize) await flush()
  }
  if (batch.length > 0) await flush()
  return loaded

  async function flush (): Promise<void> {
    signal?.throwIfAborted()
    await commitRows(resumable, compiled, batch)
    loaded += batch.length
    size = 0
    batch = []
    onProgress?.(loaded)
    await endLongTurn()
  }
}

function checkLoadOptions ({ name, shape, writable, renaming }: Family, { batchSize = 1, log }: LoadOptions): void {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
  if (renaming !== undefined) throw refuse('load items into the family itself, not into a renamed one')
  if (!Number.isSafeInteger(batchSize) || batchSize < 1) {
    throw refuse('the option "batchSize" must be a positive integer')
  }
  if (log !== undefined && !writable) throw refuse('the option "log" is for families that can be written')
  if (shape.fields.some(field => field.name === log)) {
    throw refuse(`the option "log" must be a member that is not a field; "${log}" is one`)
  }
}

/** Tries to commit everything first, since looking for existing rows costs more and mostly finds none. */
async function commitRows (storage: Storage, family: Family, rows: readonly Row[]): Promise<void> {
  try {
    await storage.commit(rows.flatMap(({ item, entries }): Change[] => [
      { type: 'insert', family: family.name, item },
      ...entries.map((item): Change => ({ type: 'insert', family: 'commands', item }))
    ]))
  } catch (error) {
    if (!(error instanceof ConstraintError || error instanceof DuplicateError)) throw error
    const missing = await dropPresent(storage, family, rows)
    if (missing.length === 0) return
    if (missing.length < rows.length) return await commitRows(storage, family, missing)
    const [row] = rows as [Row]
    if (rows.length === 1) throw explainRefusal(family, row, error)
    // To find the one that is refused.
    const middle = Math.ceil(rows.length / 2)
    await commitRows(storage, family, rows.slice(0, middle))
    await commitRows(storage, family, rows.slice(middle))
  }
}

/** Why a row is refused that does not exist. */
function explainRefusal (family: Family, row: Row, error: ConstraintError | DuplicateError): Error {
  if (error instanceof DuplicateError) {
    const detail = `has the command id "${error.id}" in its log, which is taken`
    return error.family === family.name ? error : refuseRow(family, row, { pointer: '', detail })
  }
  const { rule, pointers, other = 'something' } = locateMissing(error, row.item)
  if (rule !== 'reference' && rule !== 'unique') return error
  const detail = rule === 'reference' ? `must be an existing id of ${other}` : 'is already taken'
  return refuseRow(family, row, { pointer: pointers.join(', '), detail })
}

async function dropPresent (storage: Storage, family: Family, rows: readonly Row[]): Promise<Row[]> {
  const present = await findByIds(storage, family.name, rows.map(({ item }) => item.id))
  return rows.filter(row => {
    const other = present.get(row.item.id)
    present.set(row.item.id, row.item)
    if (other === undefined) return true
    // Members that were not given are generated, and differ each time.
    // Derived fields may have had other rules when it was written.
    const fields = family.ownFields.filter(({ name }) => !family.derived.has(name))
    const isSame = haveSameContent(fields, row.item, canonicalizeItem(family.ownFields, other)) &&
      row.given.every(name => row.item[name] === other[name])
    if (isSame) return false
    throw refuseRow(family, row, { pointer: '/id', detail: 'belongs to a different item that already exists' })
  })
}

interface Row {
  /** Its number in the load, from 1. */
  readonly number: number
  readonly item: Stored
  /** The members of the service that came with it. */
  readonly given: readonly string[]
  readonly entries: readonly CommandRecord[]
}

function makeRowReader (family: Family, log: string | undefined): (item: unknown, number: number) => Row {
  const { schema, ownFields, singular, idKind, idSchema, writable } = family
  const own = Object.fromEntries(ownFields.map(({ name }) => [name, schema.properties[name] as TSchema]))
  // As for other new items. Those of a family that is only read may come from anywhere.
  if (writable && idKind === 'string') own['id'] = { ...own['id'] as TSchema, allOf: [{ pattern: newIdPattern }] }
  const defaults = listDefaults(own)
  const isMade = (name: string): boolean => Object.hasOwn(defaults, name) || family.derived.has(name)
  const id = Type.String({ pattern: textIdPattern })
  // As `service.log` returns it. Without an id it gets one; without an outcome it is `done`.
  const members = { ...CommandMembers.properties, id, chosenId: id, [singular]: idSchema }
  const entries = Type.Array(membersOf(members, ['action', 'revision', 'createdAt']))
  const validate = makeValidator(membersOf(
    { ...own, ...ServiceFields.properties, ...(log === undefined ? {} : { [log]: entries }) },
    Object.keys(own).filter(name => schema.required?.includes(name) === true && !isMade(name))
  ))

  return (given, number) => {
    const item = isObject(given) ? convertNested(family.nested, readDecimals(ownFields, given)) : given
    const refuseFlaw = (sent: unknown): void => {
      const flaw = findJsonFlaw(sent) ?? validate(sent)[0]
      if (flaw !== undefined) throw refuseRow(family, { number }, flaw)
    }
    refuseFlaw(item)
    const members = dropUndefined(item as Members)
    const derived = readDerived(family, number, { ...defaults, ...members })
    refuseFlaw({ ...members, ...derived })
    const stored = complete(family, { ...defaults, ...members, ...derived })
    const entries = log === undefined ? [] : (members[log] ?? []) as readonly Members[]
    return {
      number,
      item: stored,
      given: Object.keys(ServiceFields.properties).filter(name => members[name] !== undefined),
      entries: entries.map((entry, index) => readEntry(family, stored, entry, (member, detail) => {
        throw refuseRow(family, { number }, { pointer: `/${log}/${index}/${member}`, detail })
      }))
    }
  }
}

/** Whatever values were given: those that the family computes now. */
function readDerived (family: Family, number: number, members: Members): Members {
  const { derived, ownFields } = family
  if (derived.size === 0) return {}
  const names = ownFields.map(({ name }) => name).filter(name => Object.hasOwn(members, name))
  const own = Object.fromEntries(names.map(name => [name, members[name]]))
  try {
    const item = deriveFields(family, 'loadItems', own)
    const made = Object.fromEntries(Array.from(derived.keys(), name => [name, item[name]]))
    return convertNested(family.nested, readDecimals(ownFields, made))
  } catch (error) {
    throw refuseRow(family, { number }, { pointer: '', detail: `has no derived fields: ${(error as Error).message}` })
  }
}

function refuseRow ({ name }: Family, { number }: Pick<Row, 'number'>, { pointer, detail }: MemberFlaw): Error {
  const error = new errorCodes.FST_DEALBOOK_INVALID_LOAD(name, number, pointer === '' ? 'it' : pointer, detail)
  // So that callers can report its origin, such as a line of a file.
  return Object.assign(error, { item: number })
}

function complete ({ ownFields }: Family, members: Members): Stored {
  const now = new Date(readClock()).toISOString()
  const [createdAt, updatedAt] = [members.createdAt, members.updatedAt].map(moment => toStored('date-time', moment))
  return {
    ...canonicalizeItem(ownFields, members) as { readonly id: Id },
    revision: (members.revision ?? 1) as number,
    createdAt: (createdAt ?? updatedAt ?? now) as string,
    updatedAt: (updatedAt ?? createdAt ?? now) as string
  }
}

function dropUndefined<T extends object> (members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}

function readEntry (
  { name: family, singular }: Family,
  item: Stored,
  entry: Members,
  refuse: (member: string, detail: string) => never
): CommandRecord {
  const { id = uuidv7(), outcome = 'done', [singular]: target = item.id, params, ...others } = entry
  if (target !== item.id) refuse(singular, `must be ${item.id}, the id of the item`)
  // Otherwise the next operation would be listed before it.
  const { revision } = item
  if (entry.revision as number > revision) refuse('revision', `must not be above ${revision}, that of the item`)
  const problem = outcome === 'refused' ? readProblem(entry.problem as Members | undefined) : undefined
  if (outcome === 'refused' && problem === undefined) {
    refuse('problem', 'must have the type and the detail of a problem')
  }
  const moment = toStored('date-time', entry.createdAt)
  return dropUndefined({
    ...others,
    id,
    family,
    target: String(target),
    ...(outcome === 'done' ? { params } : { digest: digestParams((params ?? {}) as Members) }),
    outcome,
    createdAt: moment,
    updatedAt: moment,
    problem
  }) as unknown as CommandRecord
}

const typePrefix = 'urn:dealbook:problem:'

/** Undefined if the body is not one of our problems. */
function readProblem (document: Members = {}): CommandRecord['problem'] {
  const { type, title, status, detail, ...members } = document
  const code = typeof type === 'string' && type.startsWith(typePrefix) ? type.slice(typePrefix.length) : ''
  if (!Object.hasOwn(problemCodes, code) || typeof detail !== 'string') return undefined
  return { code: code as ProblemCode, detail, members }
}
