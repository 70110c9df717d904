import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FamilyShape, Field, Kind } from '../storage/storage.js'
import { readDateTime } from '../values/formats.js'
import type { Members } from '../values/json.js'

export const ServiceFields = Type.Object({
  revision: Type.Integer({ minimum: 1, description: 'One more with every change' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was created' }),
  updatedAt: Type.String({ format: 'date-time', description: 'When it last changed' })
})

export function listFields (schema: TObject): Field[] {
  return Object.entries(schema.properties).map(([name, property]): Field => {
    const plain = withoutNull(property)
    const values = enumerate(plain)
    const kind = inferKind(plain, values)
    const optional = !(schema.required ?? []).includes(name)
    const nullable = !optional && acceptsNull(property)
    const value = property.default === undefined && nullable ? null : toStored(kind, structuredClone(property.default))
    return {
      name,
      kind,
      optional,
      ...(nullable ? { nullable } : {}),
      ...(values === undefined ? {} : { values }),
      ...(kind === 'string' && typeof plain.maxLength === 'number' ? { maxLength: plain.maxLength } : {}),
      ...(kind === 'decimal' ? { scale: plain.scale as number } : {}),
      ...(plain.transform === undefined ? {} : { transform: plain.transform }),
      ...(plain.writeOnly === true ? { writeOnly: true } : {}),
      ...(optional || value === undefined ? {} : { default: value })
    }
  })
}

const taggedByRevision = new WeakSet<TObject>()

/**
 * Marks fields that have not changed since entity tags had no hash of them: so that clients can still use theirs, the
 * tags of a family with these fields have none. An extension has new fields, and a hash.
 */
export function tagByRevision<T extends TObject> (fields: T): T {
  taggedByRevision.add(fields)
  return fields
}

export function isTaggedByRevision (fields: TObject): boolean {
  return taggedByRevision.has(fields)
}

export function listDefaults (properties: TProperties): Members {
  const defaults: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    // A copy: it is frozen before rules get it.
    if (property.default !== undefined) defaults[name] = structuredClone(property.default)
    else if (declaresNull(property)) defaults[name] = null
  }
  return defaults
}

/** A value as it is stored: times in UTC and no negative zero. */
export function toStored (kind: Kind, value: unknown): unknown {
  // A value from before the field had this type stays unchanged.
  if (kind === 'date-time' && typeof value === 'string') return readDateTime(value) ?? value
  return value === 0 ? 0 : value
}

/** The kind of a value, null apart. */
export function findKind (schema: TSchema): Kind {
  const plain = withoutNull(schema)
  return inferKind(plain, enumerate(plain))
}

function inferKind (schema: TSchema, values: readonly string[] | undefined): Kind {
  if (values !== undefined) return 'string'
  if (schema.type === 'integer' || schema.type === 'number' || schema.type === 'boolean') return schema.type
  if (schema.type !== 'string') return 'json'
  const { format } = schema
  return format === 'date' || format === 'date-time' || format === 'decimal' ? format : 'string'
}

export function declaresNull ({ type, const: literal, enum: values = [], anyOf = [] }: TSchema): boolean {
  return [type].flat().includes('null') || literal === null || (values as unknown[]).includes(null) ||
    (anyOf as TSchema[]).some(declaresNull)
}

// A schema without a type accepts anything, such as Type.Any().
function acceptsNull (schema: TSchema): boolean {
  const { type, const: literal, enum: values, anyOf } = schema
  return declaresNull(schema) || [type, literal, values, anyOf].every(word => word === undefined)
}

export function withoutNull (schema: TSchema): TSchema {
  if (!declaresNull(schema)) return schema
  const { type, enum: values, anyOf, ...rest } = schema
  const types = [type].flat().filter(each => each !== 'null' && each !== undefined)
  const options = (anyOf as TSchema[] | undefined)?.filter(option => option.type !== 'null').map(withoutNull)
  return {
    ...(options?.length === 1 ? options[0] : options === undefined ? {} : { anyOf: options }),
    ...rest,
    ...(types.length === 1 ? { type: types[0] } : {}),
    ...(values === undefined ? {} : { enum: (values as unknown[]).filter(value => value !== null) })
  } as TSchema
}

// Type.Union of string literals, one literal, or a plain JSON schema with `enum`.
function enumerate (schema: TSchema): readonly string[] | undefined {
  const values: unknown[] | undefined = schema.enum ??
    (schema.const === undefined ? undefined : [schema.const]) ??
    (schema.anyOf as TSchema[] | undefined)?.map(option => option.const)
  return values?.every(value => typeof value === 'string') === true ? values : undefined
}

/** The members of a command of any family that clients see, without the member that names the item. */
export const CommandMembers = Type.Object({
  id: Type.String({ description: 'The id of the command' }),
  action: Type.String({ description: 'The operation' }),
  params: Type.Optional(Type.Object({}, {
    additionalProperties: true,
    description: 'The parameters of the operation, if it changed something'
  })),
  changes: Type.Optional(Type.Record(Type.String(), Type.Object({
    from: Type.Optional(Type.Unknown({ description: 'The value before it' })),
    to: Type.Optional(Type.Unknown({ description: 'The value after it' })),
    omitted: Type.Optional(Type.Array(Type.Union([Type.Literal('from'), Type.Literal('to')]), {
      description: 'The values that are too long for the log'
    }))
  }), { description: 'What it changed of the item, by field, if that existed: all of it if it was deleted' })),
  outcome: Type.Union([Type.Literal('done'), Type.Literal('unchanged'), Type.Literal('refused')], {
    description: 'Its outcome'
  }),
  revision: Type.Integer({ description: 'The revision of the item after it' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was decided' }),
  principal: Type.Optional(Type.String({ description: 'The principal that sent it' })),
  chosenId: Type.Optional(Type.String({ description: 'The id that its principal chose, if it differs from id' })),
  problem: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Why it was refused' })),
  about: Type.Optional(Type.Object({
    family: Type.String({ maxLength: 100 }),
    id: Type.Union([Type.String({ maxLength: 100 }), Type.Integer()])
  }, { description: 'The item of the command, if it is a different item than this one' }))
})

export const logFields = listFields(CommandMembers)

/**
 * The table of the log, for reads of a storage: a condition on `position` finds everything that was committed before.
 * `openLog` shows its rows as clients see them.
 *
 * @example
 * const { items } = await storage.find(logTable.name, query)
 */
export const commandsShape: FamilyShape = {
  name: 'commands',
  fields: listFields(Type.Object({
    ...CommandMembers.properties,
    // Both are in an index, which limits their length.
    family: Type.String({ maxLength: 100 }),
    target: Type.String({ maxLength: 100 }),
    result: Type.Optional(Type.Object({})),
    createdHigh: Type.Optional(Type.Integer()),
    createdLow: Type.Optional(Type.Integer()),
    digest: Type.Optional(Type.String()),
    position: Type.Optional(Type.Integer()),
    updatedAt: Type.String({ format: 'date-time' })
  })),
  // By the second, PostgreSQL finds the entries without a position. The last is for all commands of a principal.
  indexes: [
    ['family', 'target', 'revision', 'outcome', 'createdAt', 'id'], ['position', 'createdAt', 'id'],
    ['family', 'position'], ['principal']
  ],
  unique: [['createdHigh', 'createdLow']],
  sequence: 'position'
}
