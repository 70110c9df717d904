import { errorCodes } from '../errors.js'
import type { FamilyShape, Field, Stored } from './storage.js'

// In characters: a page should have at most a thousand texts of this length.
const longText = 10_000

export function mayBeLong (fields: readonly Field[]): boolean {
  return fields.some(({ name, kind, values, maxLength = Infinity }) =>
    kind === 'json' || (kind === 'string' && name !== 'id' && values === undefined && maxLength > longText))
}

/** Mounts of different versions share their items, so a storage keeps the fields and rules of both. */
export function mergeShapes (before: FamilyShape | undefined, now: FamilyShape): FamilyShape {
  if (before === undefined) return now
  const names = new Set(now.fields.map(field => field.name))
  const earlier = new Map(before.fields.map(field => [field.name, field]))
  const indexes = new Map([...now.indexes, ...before.indexes].map(row => [row.join(), row]))
  const unique = new Map([...before.unique ?? [], ...now.unique ?? []].map(row => [row.toSorted().join(), row]))
  return {
    name: now.name,
    fields: [
      ...now.fields.map(field => widen(now.name, field, earlier.get(field.name))),
      ...before.fields.filter(field => !names.has(field.name))
    ],
    indexes: [...indexes.values()],
    creates: before.creates === true || now.creates === true,
    unique: [...unique.values()],
    references: { ...before.references, ...now.references },
    ...(before.pathReferences ?? now.pathReferences) && {
      pathReferences: { ...before.pathReferences, ...now.pathReferences }
    },
    ...(now.sequence === undefined ? {} : { sequence: now.sequence })
  }
}

function widen (family: string, { maxLength, ...given }: Field, other: Field | undefined): Field {
  // Items that a version without the default stores have it for the other.
  const isCompleted = given.default === undefined && other?.nullable !== true && other?.default !== undefined &&
    other.default !== null
  const field = isCompleted ? { ...given, default: other.default } : given
  if (other !== undefined && other.scale !== field.scale) {
    const [now, before] = [field, other].map(({ kind, scale }) => `${kind} (scale ${scale ?? 'none'})`)
    throw new errorCodes.FST_DEALBOOK_FIELD_KIND(family, field.name, now, before)
  }
  if (maxLength === undefined || (other !== undefined && other.maxLength === undefined)) return field
  return { ...field, maxLength: Math.max(maxLength, other?.maxLength ?? 0) }
}

/**
 * Returns a function that adds the defaults of fields that an item was stored without. For your own storage: apply it
 * before items are filtered, ordered and returned.
 *
 * @example
 * async prepare (shape) {
 *   this.complete = completer(shape)
 * }
 */
export function completer ({ fields }: Pick<FamilyShape, 'fields'>): (item: Stored) => Stored {
  const defaults = fields.filter(field => field.default !== undefined)
  return item => {
    const missing = defaults.filter(({ name }) => item[name] === undefined)
    if (missing.length === 0) return item
    return { ...item, ...Object.fromEntries(missing.map(field => [field.name, field.default])) }
  }
}

/** Whether a missing value, NULL in a database, means the default. */
export function isFillable ({ nullable, default: value }: Field): boolean {
  return nullable !== true && value !== undefined
}

export function getValue (item: Stored, { name, default: value }: Field): unknown {
  return item[name] === undefined ? value : item[name]
}

/** Refuses a field without a default, which existing items lack. @param remedy what else can be done */
export function refuseIncomplete (family: string, { name, optional, default: value }: Field, remedy = ''): void {
  if (optional || value !== undefined) return
  throw new errorCodes.FST_DEALBOOK_NEEDS_DEFAULT(family, name, remedy)
}
