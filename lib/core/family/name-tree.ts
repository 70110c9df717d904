import type { TProperties, TSchema } from '@sinclair/typebox'
import { isObject, type Members } from '../values/json.js'

export type Names = ReadonlyMap<string, string>

/** New names of members, and of those within them: of an object, or of the objects in a list. */
export interface NameTree {
  /** By the old names; without those that stay. */
  readonly names: Names
  /** By the old names. */
  readonly inner: ReadonlyMap<string, NameTree>
}

/** @param names by paths such as `lines.price` */
export function growNames (names: Iterable<readonly [path: string, name: string]>): NameTree {
  const own = new Map<string, string>()
  const below = new Map<string, (readonly [string, string])[]>()
  for (const [path, to] of names) {
    const [name = '', ...rest] = path.split('.')
    if (rest.length === 0) own.set(name, to)
    else below.set(name, [...below.get(name) ?? [], [rest.join('.'), to]])
  }
  return { names: own, inner: new Map(Array.from(below, ([name, paths]) => [name, growNames(paths)])) }
}

/** The names that the second tree gives to those of the first. */
export function joinNames (first: NameTree, second: NameTree): NameTree {
  const before = invertNames(first)
  const all = new Set([...first.names.keys(), ...first.inner.keys()])
  for (const name of [...second.names.keys(), ...second.inner.keys()]) all.add(before.names.get(name) ?? name)
  const names = new Map<string, string>()
  const inner = new Map<string, NameTree>()
  for (const name of all) {
    const between = first.names.get(name) ?? name
    names.set(name, second.names.get(between) ?? between)
    const [one, other] = [first.inner.get(name), second.inner.get(between)]
    const both = one === undefined || other === undefined ? one ?? other : joinNames(one, other)
    if (both !== undefined) inner.set(name, both)
  }
  return { names, inner }
}

/** The old names by the new ones. */
export function invertNames ({ names, inner }: NameTree): NameTree {
  return {
    names: new Map(Array.from(names, ([name, to]) => [to, name])),
    inner: new Map(Array.from(inner, ([name, tree]) => [names.get(name) ?? name, invertNames(tree)]))
  }
}

/** The value with the new names. Unknown members that have one of them are left out. */
export function renameWithin (tree: NameTree | undefined, value: unknown): unknown {
  if (tree === undefined) return value
  if (Array.isArray(value)) return value.map(each => renameWithin(tree, each))
  return isObject(value) ? renameMembers(tree, value) : value
}

function renameMembers ({ names, inner }: NameTree, members: Members): Members {
  const taken = new Set(names.values())
  return Object.fromEntries(Object.entries(members).flatMap(([name, value]) => {
    const to = names.get(name)
    if (to === undefined && taken.has(name)) return []
    return [[to ?? name, renameWithin(inner.get(name), value)]]
  }))
}

export function renamePath (tree: NameTree, path: string): string {
  let at: NameTree | undefined = tree
  return path.split('.').map(name => {
    const to = at?.names.get(name) ?? name
    at = at?.inner.get(name)
    return to
  }).join('.')
}

export function renameProperties ({ names, inner }: NameTree, properties: TProperties): TProperties {
  return Object.fromEntries(Object.entries(properties).map(([name, property]) =>
    [names.get(name) ?? name, renameSchema(inner.get(name), property)]))
}

/** What a schema says of lists and of what may be null holds for the objects in them. */
function renameSchema (tree: NameTree | undefined, schema: TSchema): TSchema {
  if (tree === undefined) return schema
  const { properties, required, items, default: value, examples } = schema
  const inAll = (schemas: unknown): unknown => (schemas as TSchema[]).map(each => renameSchema(tree, each))
  const parts = ['anyOf', 'allOf', 'oneOf'].filter(part => Array.isArray(schema[part]))
  return {
    // With its symbols, by which TypeBox knows it.
    ...schema,
    ...Object.fromEntries(parts.map(part => [part, inAll(schema[part])])),
    ...items !== undefined && { items: Array.isArray(items) ? inAll(items) : renameSchema(tree, items as TSchema) },
    ...properties !== undefined && { properties: renameProperties(tree, properties as TProperties) },
    ...required !== undefined && { required: (required as string[]).map(name => tree.names.get(name) ?? name) },
    ...value !== undefined && { default: renameWithin(tree, value) },
    ...examples !== undefined && { examples: (examples as unknown[]).map(each => renameWithin(tree, each)) }
  }
}

/** The segments of a JSON pointer, after its start. Indexes of lists stay. */
export function renameSegments (tree: NameTree, segments: readonly string[]): string[] {
  let at: NameTree | undefined = tree
  return segments.map((segment, index) => {
    if (index > 0 && /^\d+$/.test(segment)) return segment
    const to = at?.names.get(segment) ?? segment
    at = at?.inner.get(segment)
    return to
  })
}
