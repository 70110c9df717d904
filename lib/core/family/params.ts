import { isDeepStrictEqual } from 'node:util'
import type { TObject } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { invalidBody } from '../problems.js'
import type { Field } from '../storage/storage.js'
import type { Members } from '../values/json.js'
import type { MemberFlaw } from '../values/json.js'
import { makeValidator } from '../values/validate.js'
import { listFields, toStored } from './fields.js'

/** The parameters of a command: checked strictly, with one form for equal content. */
export interface Params {
  readonly schema: TObject
  readonly fields: readonly Field[]
  /** Whether these are members of the item, of which those that are left out stay as they are. */
  readonly isPartial: boolean
  read (value: unknown): { readonly params: Members } | { readonly flaws: readonly MemberFlaw[] }
}

export function compileParams (declared: TObject, isPartial = false): Params {
  const schema = Type.Object(declared.properties, { additionalProperties: false })
  const fields = listFields(schema)
  const validate = makeValidator(schema)
  return {
    schema,
    fields,
    isPartial,
    read (value) {
      const flaws = validate(value)
      return flaws.length > 0 ? { flaws } : { params: canonicalize(fields, value as Members) }
    }
  }
}

/** The members in the order of the fields, moments in UTC and no negative zero: equal content is deeply equal. */
export function canonicalize (fields: readonly Field[], members: Members): Members {
  const written: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    const value = members[name]
    if (value !== undefined) written[name] = toStored(kind, value)
  }
  return written
}

/** The same of an item. */
export function canonicalizeItem (fields: readonly Field[], item: Members): Members {
  const written: Record<string, unknown> = canonicalize(fields, item)
  // An optional field that takes anything takes null too, and is absent then: databases have one NULL for both.
  for (const { name, optional } of fields) if (optional && written[name] === null) delete written[name]
  return written
}

/** Whether canonical members are the same; only nested values are compared deeply. */
export function haveSameContent (fields: readonly Field[], a: Members, b: Members): boolean {
  return fields.every(({ name, kind }) =>
    a[name] === b[name] || (kind === 'json' && isDeepStrictEqual(a[name], b[name])))
}

/**
 * Reads the parameters of a command, or throws the problem that names all that is wrong with them.
 *
 * @param pointer their position in the body
 */
export function readParams (params: Params, sent: unknown, pointer = ''): Members {
  const read = params.read(sent)
  if ('params' in read) return read.params
  throw invalidBody(read.flaws.map(flaw => ({ ...flaw, pointer: pointer + flaw.pointer })))
}
