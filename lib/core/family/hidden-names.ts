import type { TProperties, TSchema } from '@sinclair/typebox'
import { escapePointer, isObject, type Members } from '../values/json.js'

/** Names of members that are hidden: whole, or what is in them. A path such as `lines.price` leads through lists. */
export type HiddenNames = ReadonlyMap<string, HiddenNames | 'whole'>

export function growHidden (paths: readonly string[]): HiddenNames {
  const names = new Map<string, Map<string, unknown> | 'whole'>()
  for (const path of paths) {
    const segments = path.split('.')
    let at: Map<string, unknown> = names
    for (const [index, name] of segments.entries()) {
      const there = at.get(name) as Map<string, unknown> | 'whole' | undefined
      if (there === 'whole') break
      const next = index === segments.length - 1 ? 'whole' : there ?? new Map<string, unknown>()
      at.set(name, next)
      if (next !== 'whole') at = next
    }
  }
  return names as HiddenNames
}

/** Without what is hidden. Values without any of it stay the same. */
export function omitHidden<T> (hidden: HiddenNames, value: T): T {
  if (Array.isArray(value)) return value.map((each: unknown) => omitHidden(hidden, each)) as T
  if (!isObject(value)) return value
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const within = hidden.get(name)
    if (within !== 'whole') kept[name] = within === undefined ? value[name] : omitHidden(within, value[name])
  }
  return kept as T
}

/** Only what is hidden. */
export function pickHidden (hidden: HiddenNames, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => pickHidden(hidden, each))
  if (!isObject(value)) return undefined
  return Object.fromEntries(Array.from(hidden, ([name, within]) =>
    [name, within === 'whole' ? value[name] : pickHidden(within, value[name])]))
}

/** Whether the segments of a JSON pointer lead to something hidden. */
export function leadsToHidden (hidden: HiddenNames, segments: readonly string[]): boolean {
  let at: HiddenNames = hidden
  for (const [index, name] of segments.entries()) {
    if (index > 0 && /^\d+$/.test(name)) continue
    const within = at.get(name)
    if (within === 'whole') return true
    if (within === undefined) return false
    at = within
  }
  return false
}

const unions = ['anyOf', 'allOf', 'oneOf'] as const

/** The schema of what is left of a value. */
export function omitFromSchema (hidden: HiddenNames, schema: TSchema): TSchema {
  return narrowSchema(hidden, schema, false) as TSchema
}

/** The schema of what can be sent; undefined if something hidden would have to be sent. */
export function omitFromInput (hidden: HiddenNames, schema: TSchema): TSchema | undefined {
  return narrowSchema(hidden, schema, true)
}

function narrowSchema (hidden: HiddenNames, schema: TSchema, isInput: boolean): TSchema | undefined {
  const { properties, required = [], items, default: value, examples } = schema
  const narrowed: Record<string, unknown> = {}
  for (const word of unions) {
    if (!Array.isArray(schema[word])) continue
    const options = (schema[word] as TSchema[]).flatMap(each => narrowSchema(hidden, each, isInput) ?? [])
    if (options.length === 0) return undefined
    narrowed[word] = options
  }
  if (isObject(items)) {
    const each = narrowSchema(hidden, items as TSchema, isInput)
    if (each === undefined) return undefined
    narrowed.items = each
  }
  if (isObject(properties)) {
    const kept: Record<string, TSchema> = {}
    const needed = required as readonly string[]
    for (const [name, property] of Object.entries(properties as TProperties)) {
      const within = hidden.get(name)
      const own = within === undefined
        ? property
        : within === 'whole' ? undefined : narrowSchema(within, property, isInput)
      if (own !== undefined) kept[name] = own
      else if (isInput && needed.includes(name) && property.default === undefined) return undefined
    }
    narrowed.properties = kept
    if (needed.length > 0) narrowed.required = needed.filter(name => Object.hasOwn(kept, name))
  }
  if (value !== undefined) narrowed.default = omitHidden(hidden, value)
  if (Array.isArray(examples)) narrowed.examples = omitHidden(hidden, examples)
  // With its symbols, by which TypeBox knows it.
  return { ...schema, ...narrowed }
}

/** Without hidden members inside that have their default, which checks have added. */
export function omitDefaults (hidden: HiddenNames, schema: TSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    return isObject(schema.items) ? value.map(each => omitDefaults(hidden, schema.items as TSchema, each)) : value
  }
  const { properties } = schema
  if (!isObject(value) || !isObject(properties)) {
    const options = unions.flatMap(word => (schema[word] ?? []) as TSchema[]).filter(({ type }) => type !== 'null')
    return options.length === 1 ? omitDefaults(hidden, options[0] as TSchema, value) : value
  }
  return Object.fromEntries(Object.entries(value as Members).flatMap(([name, member]) => {
    const within = hidden.get(name)
    const property = (properties as TProperties)[name]
    if (within === undefined || property === undefined) return [[name, member]]
    if (within !== 'whole') return [[name, omitDefaults(within, property, member)]]
    return JSON.stringify(property.default) === JSON.stringify(member) ? [] : [[name, member]]
  }))
}

/** JSON pointers of what is hidden in a value. */
export function locateHidden (hidden: HiddenNames, value: unknown, pointer = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => locateHidden(hidden, each, `${pointer}/${index}`))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const within = hidden.get(name)
    const at = `${pointer}/${escapePointer(name)}`
    return within === undefined ? [] : within === 'whole' ? at : locateHidden(within, member, at)
  })
}
