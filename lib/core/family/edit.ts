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
  return 'fields' in edit ? edit : { fields: edit }
}

function makeEdit (
  { singular, fields: { properties, required = [] } }: FamilyDefinition,
  { fields: names, ...given }: EditDefinition<unknown>
): Operation<Members> {
  const optional = names.filter(name => !required.includes(name))
  const params = names.map(name => {
    // Without its default, since omitted fields stay as they are; null removes an optional one.
    const { default: _, ...schema } = properties[name] as TSchema
    return [name, Type.Optional(optional.includes(name) ? addNull(schema as TSchema) : schema as TSchema)]
  })
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

function addNull (schema: TSchema): TSchema {
  return schema.anyOf === undefined
    ? Type.Union([schema, Type.Null()])
    : { ...schema, anyOf: [...schema.anyOf, Type.Null()] }
}
