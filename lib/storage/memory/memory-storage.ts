import { errorCodes } from '../../core/errors.js'
import { checkChanges, getId } from '../../core/storage/changes.js'
import { markHeeding } from '../../core/storage/patience.js'
import { completer, mergeShapes, refuseIncomplete } from '../../core/storage/shapes.js'
import type { Change, FamilyShape, Id, Storage, Stored } from '../../core/storage/storage.js'
import { ConflictError, DuplicateError } from '../../core/storage/storage.js'
import { Turn } from '../../core/storage/turn.js'
import { readLineLimits, WaitingLine } from '../../core/storage/waiting-line.js'
import { checkStorageOptions, lineRules } from '../check-options.js'
import type { KeptItems } from '../key-rules.js'
import { KeyRules, listKeys } from '../key-rules.js'
import { search } from './search.js'
import { SortedItems } from './sorted-items.js'

/** How a storage in memory works. */
export interface MemoryOptions {
  /** Reads that take long, as a sort, at once; 2 unless given. They are done in short turns. */
  readonly maxHeavyReads?: number
  /** How many of them may wait; 50 unless given. Beyond that they are refused (`BusyError`). */
  readonly maxWaitingReads?: number
}

/**
 * Keeps everything in this process, and loses it with the process: for tests, trials and small tools.
 *
 * @example
 * app.register(customers, { storage: memoryStorage() })
 */
export function memoryStorage (options: MemoryOptions = {}): Storage {
  checkStorageOptions(options, lineRules)
  const families = new Map<string, MemoryFamily>()
  const line = new WaitingLine(readLineLimits(options))
  const rules = new KeyRules()
  const kept: KeptItems = {
    get: (family, id) => getFamily(family).items.get(id),
    findEqual: (family, values) => getFamily(family).items.findEqual(values)
  }

  return markHeeding<Storage>({
    async prepare (shape) {
      const before = families.get(shape.name)
      const items = before?.items ?? new SortedItems()
      if (before !== undefined && items.items.length > 0) checkFields(before.shape, shape)
      rules.add(shape, items.items)
      const merged = mergeShapes(before?.shape, shape)
      const complete = completer(merged)
      families.set(shape.name, { shape: merged, items, complete })
      items.apply(completeAll(items.items, complete))
      for (const fields of shape.indexes) items.allowIndex(fields)
      for (const fields of listKeys(shape)) items.addIndex([...fields, 'id'])
    },

    async find (family, query, signal) {
      signal?.throwIfAborted()
      const turn = new Turn(signal, line)
      try {
        return await search(getFamily(family).items, query, turn)
      } finally {
        turn.end()
      }
    },

    async get (family, id, signal) {
      signal?.throwIfAborted()
      return getFamily(family).items.get(id)
    },

    async commit (changes) {
      checkChanges(changes)
      const edits = new Map<SortedItems, Map<Id, Stored | undefined>>()
      for (const change of changes) {
        const { items, complete } = getFamily(change.family)
        const id = getId(change)
        checkRevision(change, items.get(id))
        if (change.type === 'require') continue
        const edited = edits.get(items) ?? new Map<Id, Stored | undefined>()
        edits.set(items, edited.set(id, change.type === 'delete' ? undefined : copy(complete(change.item))))
      }
      rules.check(changes, kept)
      // Nothing is refused from here on.
      for (const [items, edited] of edits) items.apply(edited)
    },

    async close () {}
  })

  function getFamily (family: string): MemoryFamily {
    const found = families.get(family)
    if (found === undefined) throw new errorCodes.FST_DEALBOOK_NOT_PREPARED(family)
    return found
  }
}

interface MemoryFamily {
  /** With the fields of all versions that were prepared. */
  readonly shape: FamilyShape
  readonly items: SortedItems
  /** Gives an item the defaults of what it lacks. */
  complete (item: Stored): Stored
}

/** Refuses a shape that does not fit the items that are there. */
function checkFields ({ name: family, fields: before }: FamilyShape, now: FamilyShape): void {
  for (const field of now.fields) {
    const earlier = before.find(({ name }) => name === field.name)
    if (earlier === undefined) refuseIncomplete(family, field)
    else if (earlier.kind !== field.kind && !(earlier.kind === 'integer' && field.kind === 'number')) {
      throw new errorCodes.FST_DEALBOOK_FIELD_KIND(family, field.name, field.kind, earlier.kind)
    }
  }
}

/** The items that lack something, completed. */
function completeAll (items: readonly Stored[], complete: MemoryFamily['complete']): Map<Id, Stored> {
  const edits = new Map<Id, Stored>()
  for (const item of items) {
    const completed = complete(item)
    if (completed !== item) edits.set(item.id, copy(completed))
  }
  return edits
}

function checkRevision (change: Change, current: Stored | undefined): void {
  if (change.type === 'insert') {
    if (current !== undefined) throw new DuplicateError(change.family, current.id)
  } else if (current?.revision !== change.expected) {
    throw new ConflictError(change.family, getId(change))
  }
}

// Items are handed out as they are kept, so nobody may change them, nor what is nested in them. Not structuredClone:
// for a small item that takes four times as long.
function copy<T> (value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(copy)) as T
  const copied = { ...value } as Record<string, unknown>
  for (const name of Object.keys(copied)) copied[name] = copy(copied[name])
  return Object.freeze(copied) as T
}
