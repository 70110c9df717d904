import { errorCodes } from '../../core/errors.js'
import type { FamilyShape } from '../../core/storage/storage.js'
import { didYouMean } from '../../core/values/nearest.js'

/**
 * The fields that have an index, by the name of their family. Of a family that is not named, every field that can be
 * filtered has one.
 *
 * @example
 * sqliteStorage({ file: 'crm.db', indexes: { customers: ['age'], deals: ['status', 'createdAt'] } })
 */
export type IndexedFields = Readonly<Record<string, readonly string[]>>

/** The family with the indexes that the host has chosen. Those over several fields, and those of references, stay. */
export function chooseIndexes (shape: FamilyShape, chosen: IndexedFields, isMapped: boolean): FamilyShape {
  const fields = Object.hasOwn(chosen, shape.name) ? chosen[shape.name] : undefined
  if (fields === undefined) return shape
  if (isMapped) throw refuse(shape, 'it is in a table of yours, and so are the indexes')
  if (!Array.isArray(fields)) throw refuse(shape, 'it must be a list of fields')
  for (const name of fields) checkField(shape, name)
  const own = shape.indexes.filter(row => row.length > 1)
  // What is deleted is looked for in them.
  const referring = Object.keys(shape.references ?? {}).filter(field => !own.some(([first]) => first === field))
  return { ...shape, indexes: [...[...new Set([...fields, ...referring])].map(field => [field]), ...own] }
}

function checkField (shape: FamilyShape, name: unknown): void {
  const field = shape.fields.find(field => field.name === name)
  if (field === undefined) {
    const hint = didYouMean(String(name), shape.fields.map(({ name }) => name))
    throw refuse(shape, `there is no field "${String(name)}".${hint}`)
  }
  if (name === 'id') throw refuse(shape, '"id" has an index in any case')
  if (field.kind === 'json') throw refuse(shape, `"${field.name}" is JSON, which is neither filtered nor ordered by`)
}

function refuse ({ name }: FamilyShape, flaw: string): Error {
  return new errorCodes.FST_DEALBOOK_INVALID_STORAGE_OPTION(`the option "indexes.${name}": ${flaw}`)
}
