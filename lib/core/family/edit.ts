import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import type { Members } from '../values/json.js'
import type { EditDefinition, FamilyDefinition, Operation } from './definition.js'
import { nameAction } from './definition.js'

/** The operations of a family by their names: those that it declares, and the one that `edit` makes. */
export function listOperations (definition: FamilyDefinition): Readonly<Record<string, Operation<Members>>> {
  const { edit, operations = {} } = definition
  const declared = operations as Record<string, Operation<Members>>
  return edit === undefined ? declared : { ...declared, edit: makeEdit(definition, readEdit(edit)) }
}

/** The object form of `edit`. */
export function readEdit (edit: NonNullable<FamilyDefinition['edit']>): EditDefinition<unknown> {
  return isList(edit) ? { fields: edit } : edit
}

// Array.isArray does not know lists that are read-only.
function isList (edit: NonNullable<FamilyDefinition['edit']>): edit is readonly string[] {
  return Array.isArray(edit)
}

function makeEdit (
  { singular, fields: { properties, required = [] } }: FamilyDefinition,
  { fields: names, ...given }: EditDefinition<unknown>
): Operation<Members> {
  const optional = names.filter(name => !required.includes(name))
  const params = names.map(name => [name, makeParam(properties[name] as TSchema, optional.includes(name))])
  return {
    name: 'edit',
    verb: 'edit',
    participle: 'edited',
    noun: 'edits',
    action: nameAction('Edit', singular),
    summary: `Edit the ${singular}`,
    ...given,
    params: Type.Object(Object.fromEntries(params)),
    changes: names,
    apply (item, params) {
      const edited: Record<string, unknown> = { ...item, ...params }
      for (const name of optional) if (edited[name] === null) delete edited[name]
      return edited
    }
  }
}

// Without its default, since omitted fields stay as they are; null removes an optional one.
function makeParam ({ default: _, ...schema }: TSchema, isOptional: boolean): TSchema {
  return Type.Optional(isOptional ? addNull(schema as TSchema) : schema as TSchema)
}

function addNull (schema: TSchema): TSchema {
  const options: TSchema[] | undefined = schema.anyOf
  return options === undefined ? Type.Union([schema, Type.Null()]) : { ...schema, anyOf: [...options, Type.Null()] }
}
