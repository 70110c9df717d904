import { isDeepStrictEqual } from 'node:util'
import { type TObject, Type } from '@sinclair/typebox'
import { invalidBody } from '../problems.js'
import type { Field } from '../storage/storage.js'
import { readDecimal } from '../values/decimals.js'
import { transformText } from '../values/formats.js'
import { isObject, type MemberFlaw, type Members } from '../values/json.js'
import { makeValidator } from '../values/validate.js'
import { listFields, toStored } from './fields.js'
import { allowDefaults, compileNested, convertNested } from './nested.js'

export interface Params {
  readonly schema: TObject
  readonly fields: readonly Field[]
  /** Whether these are fields of the item; omitted ones stay unchanged. */
  readonly isPartial: boolean
  /** The values of members that a creation does not send. */
  readonly defaults: Members
  read (value: unknown): { readonly params: Members } | { readonly flaws: readonly MemberFlaw[] }
}

export function compileParams (declared: TObject, isPartial = false, defaults: Members = {}): Params {
  const schema = allowDefaults(Type.Object(declared.properties, { additionalProperties: false }))
  const nested = compileNested(declared.properties)
  const fields = listFields(schema)
  const validate = makeValidator(schema)
  const transformed = fields.filter(({ transform, scale }) => transform !== undefined || scale !== undefined)
  return {
    schema,
    fields,
    isPartial,
    defaults,
    read (value) {
      const read = transformed.length > 0 && isObject(value) ? transformMembers(transformed, value) : value
      const sent = nested.size > 0 && isObject(read) ? convertNested(nested, read) : read
      const flaws = validate(sent)
      return flaws.length > 0 ? { flaws } : { params: canonicalize(fields, sent as Members) }
    }
  }
}

function transformMembers (fields: readonly Field[], members: Members): Members {
  const changed: Record<string, unknown> = readDecimals(fields, members)
  for (const { name, transform = [] } of fields) {
    const value = changed[name]
    if (typeof value === 'string') changed[name] = transformText(transform, value)
  }
  return changed
}

/** A copy in which decimals have their canonical form; invalid ones stay, and are refused later. */
export function readDecimals (fields: readonly Field[], members: Members): Record<string, unknown> {
  const changed: Record<string, unknown> = { ...members }
  for (const { name, scale } of fields) {
    const text = scale === undefined ? undefined : readDecimal(changed[name], scale)
    if (text !== undefined) changed[name] = text
  }
  return changed
}

/** Members in the order of the fields, times in UTC and no negative zero: equal content is deeply equal. */
function canonicalize (fields: readonly Field[], members: Members): Members {
  const written: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    const value = members[name]
    if (value !== undefined) written[name] = toStored(kind, value)
  }
  return written
}

export function canonicalizeItem (fields: readonly Field[], item: Members): Members {
  const written: Record<string, unknown> = canonicalize(fields, item)
  // An optional field that accepts anything may be null, and is absent then: databases have one NULL for both.
  for (const { name, optional } of fields) if (optional && written[name] === null) delete written[name]
  return written
}

export function haveSameContent (fields: readonly Field[], a: Members, b: Members): boolean {
  return fields.every(({ name, kind }) =>
    a[name] === b[name] || (kind === 'json' && isDeepStrictEqual(a[name], b[name])))
}

/** Throws a problem that names all flaws. @param pointer the position of the parameters in the body */
export function readParams (params: Params, sent: unknown, pointer = ''): Members {
  const read = params.read(sent)
  if ('params' in read) return read.params
  throw invalidBody(read.flaws.map(flaw => ({ ...flaw, pointer: pointer + flaw.pointer })))
}

/** Without the members that clients never read. */
export function hideSecrets<T extends Members> (fields: readonly Field[], members: T): T {
  const secrets = fields.filter(({ name, writeOnly }) => writeOnly === true && members[name] !== undefined)
  if (secrets.length === 0) return members
  return Object.fromEntries(Object.entries(members).filter(([name]) => !secrets.some(each => each.name === name))) as T
}

/** The members that clients never read and that a command has set: its answer shows them. */
export function listSecrets (fields: readonly Field[], before: Members, after: Members): Members | undefined {
  const secrets = fields.filter(({ name, writeOnly }) => writeOnly === true && after[name] !== before[name])
  return secrets.length === 0 ? undefined : Object.fromEntries(secrets.map(({ name }) => [name, after[name]]))
}
