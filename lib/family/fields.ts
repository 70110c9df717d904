import type { TObject, TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Field, Kind } from '../storage/storage.js'

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
    const optional = !(schema.required ?? []).includes(name)
    return { name, kind: inferKind(property, values), optional, ...(values === undefined ? {} : { values }) }
  })
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
