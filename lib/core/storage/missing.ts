import { listPathValues } from '../values/paths.js'
import { ConstraintError, type Id, type Stored } from './storage.js'

/** Of a reference by a path, a storage knows the ids that do not exist; this is where the item has them. */
export function locateMissing (error: ConstraintError, item: Stored): ConstraintError {
  const { family, id, rule, fields, fields: [path], other, declared, missing, cause } = error
  if (missing === undefined || path === undefined) return error
  const pointers = listPathValues(item, path).filter(({ value }) => missing.includes(value as Id))
    .map(({ pointer }) => pointer)
  if (pointers.length === 0) return error
  return new ConstraintError(family, id, rule, { fields, other, declared, missing, pointers, cause })
}

/** The ids at a path, each once, without those that it had before. */
export function listNewIds (path: string, item: Stored, before?: Stored): Id[] {
  const ids = new Set(listPathValues(item, path).map(({ value }) => value as Id))
  if (before !== undefined) for (const { value } of listPathValues(before, path)) ids.delete(value as Id)
  return [...ids]
}
