import { createHash } from 'node:crypto'
import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { makeValidator, type Validator } from '../values/validate.js'
import { findKind, withoutNull } from './fields.js'

/** What takes the place of a text that was erased. */
export const erasedText = 'erased'

const domain = 'erased.invalid'

const formatted: Readonly<Record<string, string>> = {
  date: '1970-01-01',
  'date-time': '1970-01-01T00:00:00.000Z',
  time: '00:00:00Z',
  duration: 'P0D',
  email: `${erasedText}@${domain}`,
  hostname: domain,
  ipv4: '0.0.0.0',
  ipv6: '::',
  uri: `https://${domain}/`,
  uuid: '00000000-0000-8000-8000-000000000000'
}

const validators = new WeakMap<TSchema, Validator>()

function fitsSchema (schema: TSchema, value: unknown): boolean {
  let validate = validators.get(schema)
  if (validate === undefined) validators.set(schema, validate = makeValidator(schema))
  return validate(value).length === 0
}

/**
 * A value that says nothing, for a place that must have one; undefined if none is known.
 *
 * @param schemas of the place; those of different versions differ
 * @param distinct makes it different from others, for a text that must be unique
 */
export function findNeutral (schemas: readonly TSchema[], distinct?: string): unknown {
  if (schemas.length === 0) return distinct ?? erasedText
  const found = schemas.flatMap(schema => distinct === undefined ? listNeutral(schema) : listDistinct(schema, distinct))
  return found.find(value => schemas.every(schema => fitsSchema(schema, value)))
}

/** The best first. */
function listNeutral (schema: TSchema): unknown[] {
  const plain = withoutNull(schema)
  const { type, default: value, minLength = 0, maxLength = Infinity, minimum, exclusiveMinimum, maximum } = plain
  const { format = '', anyOf = [], items, minItems = 0, properties, required = [], scale = 0 } = plain
  const text = erasedText.slice(0, maxLength).padEnd(minLength, '.')
  const byType: Readonly<Record<string, readonly unknown[]>> = {
    string: format === 'decimal'
      ? [0, minimum, maximum].flatMap(bound => bound === undefined ? [] : [Number(bound).toFixed(scale)])
      : [...Object.hasOwn(formatted, format) ? [formatted[format]] : [], text, value, ''],
    integer: [0, value, minimum, exclusiveMinimum + 1, maximum],
    number: [0, value, minimum, exclusiveMinimum + 1, maximum],
    boolean: [value, false, true],
    array: [Array.from({ length: minItems }, () => findNeutral([items ?? anySchema]))],
    object: [neutralizeObject(properties ?? {}, required)]
  }
  const own = byType[String([type].flat().find(each => each !== 'null'))] ?? [text, value]
  const options = (anyOf as TSchema[]).filter(option => option.const === undefined)
  return [null, ...own, ...options.flatMap(listNeutral)].filter(each => each !== undefined)
}

const anySchema = Type.Unknown()

function neutralizeObject (properties: TProperties, required: readonly string[]): object {
  return Object.fromEntries(required.map(name => [name, findNeutral([properties[name] ?? anySchema])]))
}

function listDistinct (schema: TSchema, distinct: string): unknown[] {
  const { format = '', maxLength = Infinity } = withoutNull(schema)
  const [a, b, c, d, e] = [[0, 8], [8, 12], [13, 16], [17, 20], [20, 32]].map(([from, to]) => distinct.slice(from, to))
  const texts: Readonly<Record<string, string>> = {
    email: `${distinct}@${domain}`,
    hostname: `${distinct}.${domain}`,
    uri: `https://${domain}/${distinct}`,
    uuid: `${a}-${b}-8${c}-8${d}-${e}`
  }
  const short = maxLength < shortest ? [] : [distinct.slice(0, maxLength)]
  return [texts[format] ?? `${erasedText}-${distinct}`, distinct, ...short]
}

// Of shorter ones, two might be the same.
const shortest = 16

/** The same for an item each time, and different for each. */
export function makeDistinct (family: string, id: string | number): string {
  return createHash('sha256').update(`${family}/${id}`).digest('hex').slice(0, 32)
}

/** Whether the values are one of a few, which say nothing elsewhere. */
export function isChoice (schema: TSchema): boolean {
  const plain = withoutNull(schema)
  return plain.type === 'boolean' || plain.enum !== undefined || plain.const !== undefined ||
    (plain.anyOf !== undefined && findKind(plain) === 'string')
}

/** Whether the text that says that something was erased may be in a place. */
export function isNeutralText (schemas: readonly TSchema[]): boolean {
  return schemas.every(schema => fitsSchema(schema, erasedText))
}
