import { errorCodes } from '../core/errors.js'
import { isAbsent } from '../core/storage/conditions.js'
import { completer, mergeShapes } from '../core/storage/shapes.js'
import { type Change, ConstraintError, type FamilyShape, getId, type Id, type Stored } from '../core/storage/storage.js'

/** Access to the items of a storage, for `KeyRules`. */
export interface KeptItems {
  get (family: string, id: Id): Stored | undefined
  /** All items that have exactly these values in these fields. */
  findEqual (family: string, values: Readonly<Record<string, unknown>>): Iterable<Stored>
}

/**
 * Enforces `unique` and `references` for a storage that has no such rules and makes one commit at a time.
 *
 * @example
 * async prepare (shape) {
 *   rules.add(shape, items.values())
 * }
 * async commit (changes) {
 *   rules.check(changes, { get, findEqual })
 *   // …
 * }
 */
export class KeyRules {
  readonly #shapes = new Map<string, FamilyShape>()
  /** Families that have rules, or are referred to. */
  readonly #ruled = new Set<string>()

  /** @param present the existing items of the family, which must not break a new rule */
  add (shape: FamilyShape, present: Iterable<Stored> = []): void {
    const before = this.#shapes.get(shape.name)
    const merged = mergeShapes(before, shape)
    const { unique = [], references = {} } = merged
    if (unique.length > (before?.unique?.length ?? 0)) refuseClashes(merged, present)
    this.#shapes.set(shape.name, merged)
    if (unique.length > 0) this.#ruled.add(shape.name)
    for (const family of Object.values(references)) this.#ruled.add(shape.name).add(family)
  }

  /** Throws `ConstraintError` if the changes would break a rule. */
  check (changes: readonly Change[], items: KeptItems): void {
    const ruled = changes.filter(({ family }) => this.#ruled.has(family))
    if (ruled.length === 0) return
    const outcome = this.#workOut(ruled, items)
    for (const change of ruled) {
      if ('item' in change) this.#checkWrite(change, outcome)
      else if (change.type === 'delete') this.#checkDelete(change.family, change.id, outcome)
    }
  }

  #complete (family: string, item: Stored): Stored {
    return completer(this.#shapes.get(family) ?? { fields: [] })(item)
  }

  /** The items as they will be after the changes. */
  #workOut (changes: readonly Change[], items: KeptItems): KeptItems {
    const changed = new Map<string, Map<Id, Stored | undefined>>()
    for (const change of changes) {
      if (change.type === 'require') continue
      const { family } = change
      const ofFamily = changed.get(family) ?? new Map<Id, Stored | undefined>()
      const item = change.type === 'delete' ? undefined : this.#complete(family, change.item)
      changed.set(family, ofFamily.set(getId(change), item))
    }
    return {
      get (family, id) {
        const ofFamily = changed.get(family)
        return ofFamily?.has(id) === true ? ofFamily.get(id) : items.get(family, id)
      },
      * findEqual (family, values) {
        const ofFamily = changed.get(family) ?? new Map<Id, Stored | undefined>()
        const entries = Object.entries(values)
        for (const item of ofFamily.values()) {
          if (item !== undefined && entries.every(([field, value]) => item[field] === value)) yield item
        }
        for (const item of items.findEqual(family, values)) if (!ofFamily.has(item.id)) yield item
      }
    }
  }

  #checkDelete (family: string, id: Id, outcome: KeptItems): void {
    for (const { name: other, references = {} } of this.#shapes.values()) {
      for (const [field, referred] of Object.entries(references)) {
        const [referring] = referred === family ? outcome.findEqual(other, { [field]: id }) : []
        if (referring !== undefined) throw new ConstraintError(family, id, 'in-use', { other, declared: true })
      }
    }
  }

  #checkWrite (change: Extract<Change, { readonly item: Stored }>, outcome: KeptItems): void {
    const { family } = change
    const { unique = [], references = {} } = this.#shapes.get(family) ?? {}
    const item = this.#complete(family, change.item)
    const current = change.type === 'replace' ? change.current : undefined
    const before = current && this.#complete(family, current)
    // Absent values break no rule, and unchanged ones were checked before.
    const isToCheck = (fields: readonly string[]): boolean => !fields.some(field => isAbsent(item[field])) &&
      !(before !== undefined && fields.every(field => before[field] === item[field]))
    // References first, as on every storage.
    for (const [field, other] of Object.entries(references)) {
      if (!isToCheck([field]) || outcome.get(other, item[field] as Id) !== undefined) continue
      throw new ConstraintError(family, item.id, 'reference', { fields: [field], other, declared: true })
    }
    for (const fields of unique) {
      if (!isToCheck(fields)) continue
      for (const other of outcome.findEqual(family, Object.fromEntries(fields.map(field => [field, item[field]])))) {
        if (other.id !== item.id) throw new ConstraintError(family, item.id, 'unique', { fields, declared: true })
      }
    }
  }
}

function refuseClashes (shape: FamilyShape, present: Iterable<Stored>): void {
  const items = Array.from(present, completer(shape))
  for (const fields of shape.unique ?? []) {
    const ids = new Map<string, Id[]>()
    for (const item of items) {
      const values = fields.map(field => item[field])
      const key = JSON.stringify(values)
      if (!values.some(isAbsent)) ids.set(key, [...ids.get(key) ?? [], item.id])
    }
    const clashing = [...ids.values()].find(({ length }) => length > 1)
    if (clashing !== undefined) throw refuseClash(shape.name, fields, clashing)
  }
}

const maxIds = 5

export function refuseClash (family: string, fields: readonly string[], ids: readonly Id[]): Error {
  const shown = ids.slice(0, maxIds).map(id => JSON.stringify(id)).join(', ')
  const more = ids.length > maxIds ? ' and others' : ''
  return new errorCodes.FST_DEALBOOK_NOT_UNIQUE(family, fields.join(', '), shown + more)
}
