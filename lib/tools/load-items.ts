import { errorCodes } from '../core/errors.js'
import type { AnyFamily, Family } from '../core/family/family.js'
import { getFamily, listShapes } from '../core/family/family.js'
import { commandsShape } from '../core/family/fields.js'
import { canonicalizeItem, haveSameContent } from '../core/family/params.js'
import { noteShapes } from '../core/service/storage-access.js'
import type { Change, Id, Storage, Stored } from '../core/storage/storage.js'
import { ConstraintError, DuplicateError } from '../core/storage/storage.js'
import { endLongTurn } from '../core/storage/turns.js'
import type { Row } from './load-row.js'
import { makeRowReader, refuseRow } from './load-row.js'

/** Options of `loadItems`. */
export interface LoadOptions {
  /** Items and entries of logs per commit. Default 1000. */
  readonly batchSize?: number
  /** Called after every commit with the number of items loaded so far, including those that already existed. */
  readonly onProgress?: (loaded: number) => void
  /** The member of the given items that has the log of each: a list of commands as `service.log` returns them. */
  readonly log?: string
  /** Ends it between two commits; what is loaded stays. */
  readonly signal?: AbortSignal
}

/**
 * Loads many items into a family of a storage, in batches: an array, any iterable, or a stream of objects. Fields with
 * a default may be left out; `revision`, `createdAt` and `updatedAt` are kept where they are given.
 *
 * An item that does not fit the family, or breaks `unique` or `references`, stops it with an error that says which and
 * why; earlier batches stay. It may be repeated: an item that already exists with the same content is skipped, so that
 * an interrupted load continues.
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
  checkOptions(compiled, options)
  const { batchSize = 1000, onProgress, log, signal } = options
  const readRow = makeRowReader(compiled, log)
  const shapes = listShapes(compiled)
  noteShapes(storage, shapes)
  for (const shape of shapes) if (shape !== commandsShape || log !== undefined) await storage.prepare(shape)
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
    await commitRows(storage, compiled, batch)
    loaded += batch.length
    size = 0
    batch = []
    onProgress?.(loaded)
    await endLongTurn()
  }
}

function checkOptions ({ name, shape, writable }: Family, { batchSize = 1, log }: LoadOptions): void {
  const refuse = (flaw: string): Error => new errorCodes.FST_DEALBOOK_INVALID_OPTION(name, flaw)
  if (!Number.isSafeInteger(batchSize) || batchSize < 1) {
    throw refuse('the option "batchSize" must be an integer from 1')
  }
  if (log !== undefined && !writable) throw refuse('the option "log" is for families that can be written')
  if (shape.fields.some(field => field.name === log)) {
    throw refuse(`the option "log" must be a member that is no field; "${log}" is one`)
  }
}

/** Commits what does not exist yet. It is tried first, since checking costs more and mostly finds nothing. */
async function commitRows (storage: Storage, family: Family, rows: readonly Row[]): Promise<void> {
  let missing = rows
  while (missing.length > 0) {
    try {
      await storage.commit(missing.flatMap(row => toChanges(family, row)))
      return
    } catch (error) {
      if (error instanceof ConstraintError) return await commitHalves(storage, family, missing, error)
      if (!(error instanceof DuplicateError)) throw error
      const left = await dropPresent(storage, family, missing)
      if (left.length === missing.length) throw nameTaken(family, missing, error)
      missing = left
    }
  }
}

/** Finds the item that breaks a rule: those before it stay. */
async function commitHalves (
  storage: Storage,
  family: Family,
  rows: readonly Row[],
  error: ConstraintError
): Promise<void> {
  const [first, second] = rows
  if (first !== undefined && second === undefined) {
    const { rule, fields, other = 'something' } = error
    const detail = rule === 'reference' ? `refers to nothing in ${other}` : 'is taken'
    if (rule !== 'reference' && rule !== 'unique') throw error
    throw refuseRow(family, first.number, { pointer: fields.map(field => `/${field}`).join(', '), detail })
  }
  const middle = Math.ceil(rows.length / 2)
  await commitRows(storage, family, rows.slice(0, middle))
  await commitRows(storage, family, rows.slice(middle))
}

function toChanges ({ name }: Family, { item, entries }: Row): Change[] {
  return [
    { type: 'insert', family: name, item },
    ...entries.map((entry): Change => ({ type: 'insert', family: 'commands', item: entry }))
  ]
}

/** Without the rows that already exist, in the storage or earlier in the batch. */
async function dropPresent (storage: Storage, family: Family, rows: readonly Row[]): Promise<Row[]> {
  const present = await findPresent(storage, family, rows.map(({ item }) => item.id))
  return rows.filter(row => {
    const other = present.get(row.item.id)
    present.set(row.item.id, row.item)
    if (other === undefined) return true
    if (isSame(family, row, other)) return false
    throw refuseRow(family, row.number, { pointer: '/id', detail: 'is that of a different item that exists already' })
  })
}

// As many as every storage takes in one condition.
const maxIds = 100

async function findPresent (storage: Storage, { name }: Family, ids: readonly Id[]): Promise<Map<Id, Stored>> {
  const present = new Map<Id, Stored>()
  for (let at = 0; at < ids.length; at += maxIds) {
    const values = ids.slice(at, at + maxIds)
    const order = [{ field: 'id', descending: false }]
    const where = [{ field: 'id', op: 'eq', values } as const]
    const { items } = await storage.find(name, { where, order, offset: 0, limit: values.length, count: false })
    for (const item of items) present.set(item.id, item)
  }
  return present
}

// Members that were not given were made up, and are different each time.
function isSame ({ ownFields }: Family, { item, given }: Row, other: Stored): boolean {
  return haveSameContent(ownFields, item, canonicalizeItem(ownFields, other)) &&
    given.every(name => item[name] === other[name])
}

/** The error of an entry whose id is taken, where no item of the batch exists. */
function nameTaken (family: Family, rows: readonly Row[], error: DuplicateError): Error {
  const row = rows.find(({ entries }) => entries.some(({ id }) => id === error.id))
  if (error.family === family.name || row === undefined) return error
  const detail = `has the command "${error.id}" in its log, which is taken`
  return refuseRow(family, row.number, { pointer: '', detail })
}
