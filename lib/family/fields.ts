import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Field, Kind } from '../storage/storage.js'
import { readDateTime } from '../values/dates.js'

/** The members that the service itself gives to every stored item. */
export const ServiceFields = Type.Object({
  revision: Type.Integer({ minimum: 1, description: 'One more with every change' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was created' }),
  updatedAt: Type.String({ format: 'date-time', description: 'When it last changed' })
})

/** The fields of a schema as storages and the query grammar see them. */
export function listFields (schema: TObject): Field[] {
  return Object.entries(schema.properties).map(([name, property]) => {
    const values = enumerate(property)
    const kind = inferKind(property, values)
    const optional = !(schema.required ?? []).includes(name)
    const hasDefault = !optional && property.default !== undefined
    return {
      name,
      kind,
      optional,
      ...(values === undefined ? {} : { values }),
      ...(hasDefault ? { default: toStored(kind, property.default) } : {})
    }
  })
}

/** A value as it is stored: moments in UTC and no negative zero. */
export function toStored (kind: Kind, value: unknown): unknown {
  // What was stored when the field was another is no moment, and stays.
  if (kind === 'date-time' && typeof value === 'string') return readDateTime(value) ?? value
  return value === 0 ? 0 : value
}

function inferKind (schema: TSchema, values: readonly string[] | undefined): Kind {
  if (values !== undefined) return 'string'
  if (schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean') return schema.type
  if (schema.type !== 'string') return 'json'
  return schema.format === 'date' || schema.format === 'date-time' ? schema.format : 'string'
}

// Type.Union of string literals, one literal, or a plain JSON schema with `enum`.
function enumerate (schema: TSchema): readonly string[] | undefined {
  const values: unknown[] | undefined = schema.enum ??
    (schema.const === undefined ? undefined : [schema.const]) ??
    (schema.anyOf as TSchema[] | undefined)?.map(option => option.const)
  return values?.every(value => typeof value === 'string') === true ? values : undefined
}
