import { escapePointer, isObject, type Members } from './json.js'

/** A value that a path leads to, and its JSON pointer in the item. */
export interface PathValue {
  readonly value: unknown
  readonly pointer: string
}

/**
 * The values that a path such as `lines.product` leads to. It leads through lists: there may be many, or none. Absent
 * and null ones are left out.
 */
export function listPathValues (item: Members, path: string): PathValue[] {
  let found: PathValue[] = [{ value: item, pointer: '' }]
  for (const name of path.split('.')) {
    found = found.flatMap(({ value, pointer }) => isObject(value) && Object.hasOwn(value, name)
      ? listElements(value[name], `${pointer}/${escapePointer(name)}`)
      : [])
  }
  return found
}

function listElements (value: unknown, pointer: string): PathValue[] {
  const all = Array.isArray(value)
    ? value.map((each: unknown, index) => ({ value: each, pointer: `${pointer}/${index}` }))
    : [{ value, pointer }]
  return all.filter(({ value }) => value !== undefined && value !== null)
}

/** A copy in which `map` has replaced the values that the path leads to. */
export function mapPathValues<T extends Members> (item: T, path: string, map: (value: unknown) => unknown): T {
  const [name = '', ...rest] = path.split('.')
  if (!Object.hasOwn(item, name)) return item
  const mapOne = (value: unknown): unknown => {
    if (value === undefined || value === null) return value
    if (rest.length === 0) return map(value)
    return isObject(value) ? mapPathValues(value, rest.join('.'), map) : value
  }
  const value = item[name]
  return { ...item, [name]: Array.isArray(value) ? value.map(mapOne) : mapOne(value) }
}

/** The name of the field that a path begins with. */
export function getPathField (path: string): string {
  return path.split('.', 1)[0] as string
}
