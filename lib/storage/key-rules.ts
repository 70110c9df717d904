import { errorCodes } from '../core/errors.js'
import { isAbsent } from '../core/storage/conditions.js'
import { listNewIds } from '../core/storage/missing.js'
import { completer, mergeShapes } from '../core/storage/shapes.js'
import { type Change, ConstraintError, type FamilyShape, getId, type Id, type Stored } from '../core/storage/storage.js'
import { listPathValues } from '../core/values/paths.js'

/** Access to the items of a storage, for `KeyRules`. */
export interface KeptItems {
  get (family: string, id: Id): Stored | undefined
  /**
   * All items that have exactly these values in these fields. Of `pathReferences`, the one field is a path, such as
   * `lines.product`: all items that have the value where it leads to, as `hasAtPath` tests it.
   */
  findEqual (family: string, values: Readonly<Record<string, unknown>>): Iterable<Stored>
}

interface Rules {
  readonly unique: readonly (readonly string[])[]
  readonly references: readonly (readonly [field: string, family: string])[]
  readonly pathReferences: readonly (readonly [path: string, family: string])[]
  /** By fields and paths. */
  readonly referrers: readonly (readonly [family: string, field: string])[]
  complete (item: Stored): Stored
}

type ItemChange = Extract<Change, { readonly item: Stored }>

/**
 * Enforces `unique`, `references` and `pathReferences` for a storage that has no such rules and makes one commit at a
 * time.
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
  #rules: ReadonlyMap<string, Rules> = new Map()

  /** @param present the existing items of the family, which must not break a new rule */
  add (shape: FamilyShape, present: Iterable<Stored> = []): void {
    const before = this.#shapes.get(shape.name)
    const merged = mergeShapes(before, shape)
    if ((merged.unique?.length ?? 0) > (before?.unique?.length ?? 0)) refusePresentClashes(merged, present)
    this.#shapes.set(shape.name, merged)
    this.#rules = listRules([...this.#shapes.values()])
  }

  /** Throws `ConstraintError` if the changes would break a rule. */
  check (changes: readonly Change[], items: KeptItems): void {
    if (!changes.some(({ family }) => this.#rules.has(family))) return
    const outcome = this.#workOut(changes, items)
    for (const change of changes) {
      const rules = this.#rules.get(change.family)
      if (rules === undefined) continue
      if ('item' in change) checkWrite(change, rules, outcome)
      if (change.type !== 'delete') continue
      const { family, id } = change
      for (const [other, field] of rules.referrers) {
        const [referring] = outcome.findEqual(other, { [field]: id })
        if (referring !== undefined) throw new ConstraintError(family, id, 'in-use', { other, declared: true })
      }
    }
  }

  /** The items as they will be after the changes. */
  #workOut (changes: readonly Change[], items: KeptItems): KeptItems {
    const changed = new Map<string, Map<Id, Stored | undefined>>()
    for (const change of changes) {
      const { family } = change
      const complete = this.#rules.get(family)?.complete
      if (complete === undefined || change.type === 'require') continue
      const ofFamily = changed.get(family) ?? new Map<Id, Stored | undefined>()
      changed.set(family, ofFamily.set(getId(change), change.type === 'delete' ? undefined : complete(change.item)))
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
          if (item !== undefined && entries.every(([field, value]) => hasAtPath(item, field, value))) yield item
        }
        for (const item of items.findEqual(family, values)) if (!ofFamily.has(item.id)) yield item
      }
    }
  }
}

/**
 * Whether an item has the value in a field, or where a path such as `lines.product` leads to, be it through lists: for
 * `findEqual` of `KeptItems`.
 *
 * @example
 * hasAtPath({ ...order, lines: [{ product: 'a' }, { product: 'b' }] }, 'lines.product', 'b')   // true
 */
export function hasAtPath (item: Stored, path: string, value: unknown): boolean {
  return item[path] === value || listPathValues(item, path).some(found => found.value === value)
}

/** The sets of fields by which items are looked up to check the rules of a family. */
export function listKeys ({ unique = [], references = {} }: FamilyShape): (readonly string[])[] {
  return [...unique, ...Object.keys(references).map(field => [field])]
}

function listRules (shapes: readonly FamilyShape[]): Map<string, Rules> {
  const rules = shapes.map((shape): [string, Rules] => [shape.name, {
    unique: shape.unique ?? [],
    references: Object.entries(shape.references ?? {}),
    pathReferences: Object.entries(shape.pathReferences ?? {}),
    referrers: shapes.flatMap(other => Object.entries({ ...other.references, ...other.pathReferences })
      .flatMap(([field, family]) => family === shape.name ? [[other.name, field] as const] : [])),
    complete: completer(shape)
  }])
  return new Map(rules.filter(([, { unique, references, pathReferences, referrers }]) =>
    unique.length + references.length + pathReferences.length + referrers.length > 0))
}

function checkWrite (change: ItemChange, rules: Rules, outcome: KeptItems): void {
  const { unique, references, pathReferences, complete } = rules
  const { family } = change
  const item = complete(change.item)
  const before = change.type === 'replace' && change.current !== undefined ? complete(change.current) : undefined
  // Absent values break no rule, and unchanged ones were checked before.
  const isToCheck = (fields: readonly string[]): boolean => !fields.some(field => isAbsent(item[field])) &&
    !(before !== undefined && fields.every(field => before[field] === item[field]))
  // References first, as on every storage.
  for (const [field, other] of references) {
    if (!isToCheck([field]) || outcome.get(other, item[field] as Id) !== undefined) continue
    throw new ConstraintError(family, item.id, 'reference', { fields: [field], other, declared: true })
  }
  for (const [path, other] of pathReferences) {
    const missing = listNewIds(path, item, before).filter(id => outcome.get(other, id) === undefined)
    if (missing.length === 0) continue
    throw new ConstraintError(family, item.id, 'reference', { fields: [path], other, missing, declared: true })
  }
  for (const fields of unique) {
    if (!isToCheck(fields)) continue
    for (const other of outcome.findEqual(family, Object.fromEntries(fields.map(field => [field, item[field]])))) {
      if (other.id !== item.id) throw new ConstraintError(family, item.id, 'unique', { fields, declared: true })
    }
  }
}

function refusePresentClashes (shape: FamilyShape, present: Iterable<Stored>): void {
  const items = Array.from(present, completer(shape))
  for (const fields of shape.unique ?? []) {
    const ids = new Map<string, Id[]>()
    for (const item of items) {
      const values = fields.map(field => item[field])
      if (values.some(isAbsent)) continue
      const key = JSON.stringify(values)
      const same = ids.get(key)
      if (same === undefined) ids.set(key, [item.id])
      else same.push(item.id)
    }
    const clashing = [...ids.values()].find(({ length }) => length > 1)
    if (clashing !== undefined) throw refuseClash(shape.name, fields, clashing)
  }
}

const maxShownIds = 5

export function refuseClash (family: string, fields: readonly string[], ids: readonly Id[]): Error {
  const shown = ids.slice(0, maxShownIds).map(id => JSON.stringify(id)).join(', ')
  const more = ids.length > maxShownIds ? ' and others' : ''
  return new errorCodes.FST_DEALBOOK_NOT_UNIQUE(family, fields.join(', '), shown + more)
}
