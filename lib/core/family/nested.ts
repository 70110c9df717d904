import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { readDecimal } from '../values/decimals.js'
import { isObject, type Members } from '../values/json.js'
import { listDefaults, toStored, withoutNull } from './fields.js'

/** Brings a value into the form that is stored; one that does not fit stays, and is refused later. */
type Convert = (value: unknown) => unknown

/** By the members whose values need it. */
export type Conversions = ReadonlyMap<string, Convert>

/**
 * For what is in lists and objects: decimals with their digits, times in UTC, and members with a default, which may be
 * omitted, as those of an item.
 */
export function compileNested (properties: TProperties): Conversions {
  const conversions = new Map<string, Convert>()
  for (const [name, property] of Object.entries(properties)) {
    const plain = withoutNull(property)
    const convert = plain.type === 'array' || plain.type === 'object' ? compileValue(plain) : undefined
    if (convert !== undefined) conversions.set(name, convert)
  }
  return conversions
}

/** @param known values that have their form */
export function convertNested (conversions: Conversions, members: Members, known: Members = {}): Members {
  const converted: Record<string, unknown> = { ...members }
  for (const [name, convert] of conversions) {
    const value = members[name]
    if (value !== undefined && value !== known[name]) converted[name] = convert(value)
  }
  return converted
}

/** Undefined if every value has its form. Recursive schemas refer to themselves, and are left as they are. */
function compileValue (schema: TSchema): Convert | undefined {
  const plain = withoutNull(schema)
  const { type, format, scale, items, properties } = plain
  if (format === 'decimal') return value => readDecimal(value, scale as number) ?? value
  if (type === 'string' && format === 'date-time') return value => toStored('date-time', value)
  if (isObject(properties)) return compileObject(properties as TProperties)
  const convert = type === 'array' && isObject(items) ? compileValue(items as TSchema) : undefined
  return convert && (value => Array.isArray(value) ? value.map(convert) : value)
}

function compileObject (properties: TProperties): Convert | undefined {
  const conversions = new Map<string, Convert>()
  for (const [name, property] of Object.entries(properties)) {
    const convert = compileValue(property)
    if (convert !== undefined) conversions.set(name, convert)
  }
  if (conversions.size === 0 && Object.keys(listGiven(properties)).length === 0) return undefined
  const names = Object.keys(properties)
  return value => {
    if (!isObject(value)) return value
    const all = convertNested(conversions, { ...listGiven(properties), ...omitUndefined(value) })
    // In the order of the schema, then those that it does not name.
    const order = new Set([...names.filter(name => Object.hasOwn(all, name)), ...Object.keys(all)])
    return Object.fromEntries(Array.from(order, name => [name, all[name]]))
  }
}

/** As JSON has it. */
function omitUndefined (value: Members): Members {
  const members = Object.entries(value)
  return members.every(([, member]) => member !== undefined)
    ? value
    : Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

/** A copy of each. One that may be null has no default by this alone: it must be sent. */
function listGiven (properties: TProperties): Members {
  return listDefaults(Object.fromEntries(Object.entries(properties).filter(([, property]) => hasDefault(property))))
}

function hasDefault (property: TSchema | undefined): boolean {
  return property?.default !== undefined
}

/** As clients send it: members inside lists and objects that have a default are optional. */
export function allowDefaults (schema: TObject): TObject {
  return { ...schema, properties: allowInside(schema.properties) }
}

function allowInside (properties: TProperties): TProperties {
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, allow(property)]))
}

function allow (schema: TSchema): TSchema {
  const { items, properties, required, anyOf } = schema
  if (Array.isArray(anyOf)) {
    const others = (anyOf as TSchema[]).filter(({ type }) => type !== 'null')
    return others.length > 1 ? schema : { ...schema, anyOf: (anyOf as TSchema[]).map(allow) }
  }
  if (isObject(properties)) {
    const members = allowInside(properties as TProperties)
    const needed = (required as string[] | undefined)?.filter(name => !hasDefault(members[name])) ?? []
    const { required: _, ...others } = schema
    return { ...others, properties: members, ...(needed.length > 0 && { required: needed }) } as unknown as TSchema
  }
  return isObject(items) ? { ...schema, items: allow(items as TSchema) } : schema
}
