import { type TSchema, Type } from '@sinclair/typebox'
import { errorCodes } from '../errors.js'
import { type AnyFamily, type Family, getFamily, listShapes } from '../family/family.js'
import { CommandMembers, commandsShape, listDefaults, ServiceFields, toStored } from '../family/fields.js'
import { convertNested } from '../family/nested.js'
import { canonicalizeItem, haveSameContent, readDecimals } from '../family/params.js'
import { type ProblemCode, problemCodes } from '../problems.js'
import { now as readClock, uuidv7 } from '../runtime.js'
import { deriveFields } from '../service/open-items.js'
import { type CommandRecord, digestParams } from '../service/record.js'
import { makeStorageAccess } from '../service/storage-access.js'
import { locateMissing } from '../storage/missing.js'
import { findByIds } from '../storage/pages.js'
import { ConstraintError, DuplicateError, type Id, type Storage, type Stored } from '../storage/storage.js'
import { newIdPattern, textIdPattern } from '../values/ids.js'
import { findJsonFlaw, isObject, type MemberFlaw, type Members } from '../values/json.js'
import { membersOf } from '../values/rules.js'
import { makeValidator } from '../values/validate.js'

/** An item that was read, as it is stored. */
export interface ReadItem {
  /** Its number among those that are read, for errors. */
  readonly number: number
  readonly item: Stored
  /** Of `revision`, `createdAt` and `updatedAt`, those that came with it. */
  readonly given: readonly string[]
  /** The entries of its log. */
  readonly entries: readonly Stored[]
}

/** Reads items that come from elsewhere, for a storage: what `loadItems` is made of. */
export interface ItemReader {
  /** The name of the family. */
  readonly family: string
  /** Makes, or checks, the tables that the items need. */
  prepare (storage: Storage): Promise<void>
  /** Adds what an item lacks, such as defaults. Throws an error that names the item if it does not fit the family. */
  read (given: unknown, number: number): ReadItem
  /** Those that a storage does not have. Throws if it has one of them with other content. */
  findMissing (storage: Storage, rows: readonly ReadItem[]): Promise<ReadItem[]>
  /** The error that says why a storage has refused an item: `unique`, `references`, or a rule of the database. */
  explain (row: ReadItem, error: ConstraintError | DuplicateError): Error
}

/**
 * Makes a reader of items for a family. The log of each, if it comes too, is in the member `log`: a list of commands as
 * `service.log` returns them.
 *
 * @example
 * const reader = makeItemReader(customers)
 * await reader.prepare(storage)
 * const rows = given.map((each, index) => reader.read(each, index + 1))
 * await storage.commit(rows.map(({ item }) => ({ type: 'insert', family: reader.family, item })))
 */
export function makeItemReader (family: AnyFamily, { log }: { readonly log?: string | undefined } = {}): ItemReader {
  const compiled = getFamily(family)
  checkLog(compiled, log)
  const read = makeRead(compiled, log)
  const shapes = listShapes(compiled).filter(shape => shape !== commandsShape || log !== undefined)
  return {
    family: compiled.name,
    async prepare (storage) { await makeStorageAccess(shapes)(storage) },
    read,
    findMissing: async (storage, rows) => await findMissing(storage, compiled, rows),
    explain: (row, error) => explainRefusedRow(compiled, row, error)
  }
}

function checkLog ({ name, shape, writable, renaming }: Family, log: string | undefined): void {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
  if (renaming !== undefined) throw refuse('load items into the family itself, not into a renamed one')
  if (log !== undefined && !writable) throw refuse('the option "log" is for families that can be written')
  if (shape.fields.some(field => field.name === log)) {
    throw refuse(`the option "log" must be a member that is not a field; "${log}" is one`)
  }
}

/** Why a row is refused that does not exist. */
function explainRefusedRow (family: Family, row: ReadItem, error: ConstraintError | DuplicateError): Error {
  if (error instanceof DuplicateError) {
    const detail = `has the command id "${error.id}" in its log, which is taken`
    return error.family === family.name ? error : refuseRow(family, row, { pointer: '', detail })
  }
  const { rule, pointers, other = 'something' } = locateMissing(error, row.item)
  if (rule !== 'reference' && rule !== 'unique') return error
  const detail = rule === 'reference' ? `must be an existing id of ${other}` : 'is already taken'
  return refuseRow(family, row, { pointer: pointers.join(', '), detail })
}

async function findMissing (storage: Storage, family: Family, rows: readonly ReadItem[]): Promise<ReadItem[]> {
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

function makeRead (family: Family, log: string | undefined): (item: unknown, number: number) => ReadItem {
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

function refuseRow ({ name }: Family, { number }: Pick<ReadItem, 'number'>, { pointer, detail }: MemberFlaw): Error {
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
