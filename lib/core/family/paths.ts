import type { TObject, TSchema } from '@sinclair/typebox'
import { withoutNull } from './fields.js'

/**
 * The schema of the values that a path such as `lines.product` leads to, be it through lists; undefined if the path
 * leads nowhere.
 */
export function findPathSchema (schema: TObject, path: string): TSchema | undefined {
  let at: TSchema = schema
  for (const name of path.split('.')) {
    const properties = (at.properties ?? {}) as TObject['properties']
    if (!Object.hasOwn(properties, name)) return undefined
    at = takeElement(properties[name] as TSchema)
  }
  return at
}

/** Of a list, its elements; of anything else, itself. */
function takeElement (schema: TSchema): TSchema {
  const plain = withoutNull(schema)
  return isList(plain) ? withoutNull(plain.items as TSchema) : plain
}

/** Not a tuple, which has a schema for each element. */
function isList ({ type, items }: TSchema): boolean {
  return type === 'array' && typeof items === 'object' && !Array.isArray(items)
}

/** All paths of a schema, for suggestions. Recursive schemas have those down to a depth. */
export function listPaths (schema: TSchema, depth = 4): string[] {
  if (depth === 0) return []
  return Object.entries((schema.properties ?? {}) as TObject['properties']).flatMap(([name, property]) =>
    [name, ...listPaths(takeElement(property), depth - 1).map(rest => `${name}.${rest}`)])
}

/** Whether a reference is of a path in a field with nested values. */
export function isPathReference ({ properties }: TObject, name: string): boolean {
  if (name.includes('.')) return true
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  return property !== undefined && isList(withoutNull(property))
}
