import { Type } from '@sinclair/typebox'
import type { TObject } from '@sinclair/typebox'
import type { Field } from '../../storage/storage.js'
import { readDateTime } from '../../values/dates.js'
import { compileValidator } from '../../values/validate.js'
import type { MemberFlaw } from '../../values/validate.js'
import { fieldsOf } from './shape.js'

export type Members = Readonly<Record<string, unknown>>

/** What is sent with a command: strict, and the same content always in the same form. */
export interface Params {
  readonly schema: TObject
  readonly fields: readonly Field[]
  read (value: unknown): { readonly params: Members } | { readonly flaws: readonly MemberFlaw[] }
}

export function compileParams (declared: TObject): Params {
  const schema = Type.Object(declared.properties, { additionalProperties: false })
  const fields = fieldsOf(schema)
  const validate = compileValidator(schema)
  return {
    schema,
    fields,
    read (value) {
      const flaws = validate(value)
      return flaws.length > 0 ? { flaws } : { params: canonical(fields, value as Members) }
    }
  }
}

/** The members in the order of the fields, moments in UTC and no negative zero: equal content is deeply equal. */
export function canonical (fields: readonly Field[], members: Members): Members {
  const written: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    const value = members[name]
    if (value === undefined) continue
    if (kind === 'date-time') written[name] = readDateTime(value as string)
    else written[name] = value === 0 ? 0 : value
  }
  return written
}
